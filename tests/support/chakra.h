// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/shared.h"
#include "traces/chakra/node.h"
#include "traces/chakra/reader.h"
#include "traces/chakra/writer.h"
#include "traces/files/format_error.h"

/// Chakra traces made for tests. A test that includes this has WEFT_SOURCE_DIR.
namespace weft::test {

inline chakra::Node chakra_node(std::uint64_t id, std::vector<std::uint64_t> data_dependencies = {},
                                chakra::NodeType type = chakra::NodeType::kCompute) {
  chakra::Node node;
  node.id = id;
  node.name = "n" + std::to_string(id);
  node.type = type;
  node.data_dependencies = std::move(data_dependencies);
  return node;
}

inline chakra::Node collective_node(std::uint64_t id, chakra::CollectiveType type, std::int64_t bytes) {
  chakra::Node node = chakra_node(id, {}, chakra::NodeType::kCollective);
  node.attributes = {chakra::Attribute::integer("comm_type", static_cast<int>(type)),
                     chakra::Attribute::integer("comm_size", bytes)};
  return node;
}

inline chakra::Node message_node(std::uint64_t id, chakra::NodeType type, std::int64_t peer, std::int64_t tag,
                                 std::int64_t bytes) {
  chakra::Node node = chakra_node(id, {}, type);
  node.attributes = {chakra::Attribute::integer(type == chakra::NodeType::kSend ? "comm_dst" : "comm_src", peer),
                     chakra::Attribute::integer("comm_tag", tag), chakra::Attribute::integer("comm_size", bytes)};
  return node;
}

/// Each test has an empty folder of its own.
class ChakraTest : public testing::Test {
 protected:
  ChakraTest() : folder_(std::filesystem::path(testing::TempDir()) / ("weft_chakra_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~ChakraTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  /// The names of all that is in the folder, hidden ones as well.
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  [[nodiscard]] std::filesystem::path file(const std::string& name = "w.0.et") const { return folder_ / name; }

  std::filesystem::path write(const std::vector<chakra::Node>& nodes, const std::string& name = "w.0.et") const {
    chakra::Metadata metadata;
    metadata.version = "0.0.4";
    chakra::TraceWriter writer(file(name), metadata);
    for (const chakra::Node& node : nodes) writer.write(node);
    writer.close();
    return file(name);
  }

  std::filesystem::path write_bytes(const std::string& bytes, const std::string& name = "w.0.et") const {
    // A file that is replaced is flushed to the disk at once by some file systems, which takes milliseconds.
    std::filesystem::remove(file(name));
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }

  static std::string bytes(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  static std::vector<chakra::Node> read(const std::filesystem::path& file) {
    chakra::TraceReader reader(file);
    std::vector<chakra::Node> nodes;
    for (chakra::Node node; reader.next(node);) nodes.push_back(node);
    return nodes;
  }

  /// The text of the FormatError that `action` throws, without the folder; "" and a failure if it throws none.
  template <typename Action>
  std::string refused(const Action& action) const {
    try {
      action();
    } catch (const traces::FormatError& error) {
      std::string text = error.what();
      const std::string folder = folder_.string() + "/";
      for (std::size_t at = 0; (at = text.find(folder)) != std::string::npos;) text.erase(at, folder.size());
      return text;
    }
    ADD_FAILURE() << "nothing was refused";
    return "";
  }

  std::filesystem::path folder_;
};

}  // namespace weft::test
