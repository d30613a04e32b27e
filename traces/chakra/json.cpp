// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/json.h"

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "traces/chakra/reader.h"
#include "traces/chakra/writer.h"

namespace weft::chakra {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Takes a document apart while it is parsed, so that only one node of it is held.
class JsonReader {
 public:
  JsonReader(fs::path file, fs::path trace) : file_(std::move(file)), trace_(std::move(trace)) {}

  void run() {
    std::ifstream stream(file_, std::ios::binary);
    if (!stream || fs::is_directory(file_)) throw traces::FormatError(file_.string(), 0, "cannot open");
    try {
      const json rest = json::parse(
          stream, [this](int depth, json::parse_event_t event, json& parsed) { return take(depth, event, parsed); });
      if (!rest.is_object()) fail("expected an object with the members metadata and nodes");
    } catch (const json::exception& error) {
      // nlohmann's texts begin with the error's id in brackets.
      const std::string text = error.what();
      const std::size_t begin = text.find("] ");
      fail(begin == std::string::npos ? text : text.substr(begin + 2));
    }
    if (writer_ == nullptr) fail("metadata: expected an object, got nothing");
    if (!has_nodes_) fail("nodes: expected a list, got nothing");
    writer_->close();
  }

 private:
  /// Whether to keep what was parsed.
  bool take(int depth, json::parse_event_t event, json& parsed) {
    using Event = json::parse_event_t;
    if (depth == 0) {
      if (event == Event::array_start || event == Event::value)
        fail("expected an object with the members metadata and nodes");
      return true;
    }
    if (depth == 1 && event == Event::key) return begin(parsed.get<std::string>());
    const bool is_end = event == Event::object_end || event == Event::array_end || event == Event::value;
    if (member_ == "nodes") {
      if (depth == 1 && (event == Event::object_start || event == Event::value)) fail("nodes: expected a list");
      if (depth != 2 || !is_end) return true;
      take_node(parsed);
      return false;
    }
    if (depth == 1 && is_end) take_metadata(parsed);
    return true;
  }

  bool begin(std::string member) {
    member_ = std::move(member);
    if (member_ == "nodes") {
      if (writer_ == nullptr) fail("nodes: expected metadata before it");
      if (has_nodes_) fail("nodes: is there twice");
      has_nodes_ = true;
    } else if (member_ == "metadata") {
      if (writer_ != nullptr) fail("metadata: is there twice");
    } else {
      fail(member_ + ": expected one of metadata, nodes");
    }
    return true;
  }

  void take_node(const json& parsed) {
    try {
      writer_->write(node_from_json(parsed));
    } catch (const std::invalid_argument& error) {
      const std::string path = "nodes[" + std::to_string(nodes_) + "]";
      const std::string text = error.what();
      fail(path + (text.starts_with(":") ? "" : ".") + text);
    }
    ++nodes_;
  }

  void take_metadata(const json& parsed) {
    try {
      writer_ = std::make_unique<TraceWriter>(trace_, metadata_from_json(parsed));
    } catch (const std::invalid_argument& error) {
      fail(error.what());
    }
  }

  [[noreturn]] void fail(const std::string& message) const { throw traces::FormatError(file_.string(), 0, message); }

  fs::path file_;
  fs::path trace_;
  std::string member_;
  bool has_nodes_ = false;
  std::uint64_t nodes_ = 0;
  std::unique_ptr<TraceWriter> writer_;
};

}  // namespace

void convert_to_json(const fs::path& trace, const fs::path& json_file) {
  TraceReader reader(trace);
  traces::WholeFile file(json_file);
  file.write("{\"metadata\": " + to_json(reader.metadata()).dump() + ", \"nodes\": [");
  bool is_first = true;
  for (Node node; reader.next(node); is_first = false) file.write((is_first ? "\n" : ",\n") + to_json(node).dump());
  file.write("\n]}\n");
  file.close();
}

void convert_from_json(const fs::path& json_file, const fs::path& trace) {
  JsonReader(json_file, trace).run();
}

}  // namespace weft::chakra
