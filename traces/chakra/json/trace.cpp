// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/json/trace.h"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "traces/chakra/json.h"
#include "traces/chakra/json/messages.h"

namespace weft::chakra {

using nlohmann::json;
using traces::FileKind;

JsonTrace::JsonTrace(traces::InputFile& file, FileKind kind) : file_(file), kind_(kind), text_(file) {
  if (kind_ == FileKind::kChakraJsonizer) {
    begin_jsonizer();
  } else {
    text_.expect('{', "an object");
    read_members();
  }
}

const char* JsonTrace::list() const {
  return kind_ == FileKind::kChakraJson ? "nodes" : "workload_graph";
}

void JsonTrace::fail(const std::string& message) const {
  throw traces::FormatError(file_.name(), 0, message);
}

/// Up to the list of nodes.
void JsonTrace::read_members() {
  const bool is_own = kind_ == FileKind::kChakraJson;
  if (text_.peek() != '}') {
    do {
      const std::string key = text_.key();
      if (key == list()) {
        if (is_own && !has_metadata_) fail("nodes: expected metadata before it");
        if (!text_.take('[')) fail(key + ": expected a list");
        return;
      }
      if (is_own && key != "metadata") fail(key + ": expected one of metadata, nodes");
      if (is_own && has_metadata_) fail("metadata: is there twice");
      text_.value();
      const json parsed = text_.parse();
      try {
        if (is_own) {
          metadata_ = metadata_from_json(parsed);
          check_unknown(metadata_);
        } else {
          metadata_.attributes.push_back(attribute_from_feeder_json(key, parsed));
        }
      } catch (const std::invalid_argument& error) {
        fail(error.what());
      }
      has_metadata_ = true;
    } while (text_.take(','));
  }
  if (is_own && !has_metadata_) fail("metadata: expected an object, got nothing");
  fail(std::string(list()) + ": expected a list, got nothing");
}

void JsonTrace::begin_jsonizer() {
  is_list_ = text_.take('[');
  if (is_list_ && text_.peek() == ']') return;
  const std::string_view first = text_.value();
  if (is_message_of_node(text_.parse())) {
    if (!is_list_) fail("expected the metadata of a Chakra trace, got a node: the metadata is missing");
    has_first_ = true;
    return;
  }
  try {
    metadata_from_message_json(first, metadata_);
  } catch (const std::invalid_argument& error) {
    fail(std::string("metadata: ") + error.what());
  }
}

bool JsonTrace::next(Node& node) {
  if (done_) return false;
  if (std::exchange(has_first_, false)) {
    take(node);
    return true;
  }
  done_ = !(is_list_ ? next_of_list() : next_of_sequence());
  if (!done_) take(node);
  return !done_;
}

bool JsonTrace::next_of_list() {
  if (text_.take(']')) {
    end_members();
    return false;
  }
  // The metadata comes before the first node of a jsonizer's list.
  if (nodes_ > 0 || kind_ == FileKind::kChakraJsonizer) text_.expect(',', "',' or ']' after a node");
  text_.value();
  return true;
}

bool JsonTrace::next_of_sequence() {
  if (text_.at_end()) return false;
  text_.value();
  return true;
}

/// Behind the list of nodes.
void JsonTrace::end_members() {
  if (kind_ != FileKind::kChakraJsonizer) {
    while (text_.take(',')) {
      const std::string key = text_.key();
      if (key == list() || (kind_ == FileKind::kChakraJson && key == "metadata")) fail(key + ": is there twice");
      if (kind_ == FileKind::kChakraJson) fail(key + ": expected one of metadata, nodes");
      text_.value();
      constexpr std::size_t kMostTold = 8;
      if (left_out_.size() < kMostTold) left_out_.push_back(key);
    }
    text_.expect('}', "',' or '}' after the nodes");
  }
  text_.expect_end();
}

void JsonTrace::take(Node& node) {
  const auto place = [this] {
    return kind_ == FileKind::kChakraJsonizer
               ? "node " + std::to_string(nodes_ + 1) + " of the file, line " + std::to_string(line())
               : list() + ("[" + std::to_string(nodes_) + "]");
  };
  try {
    if (kind_ == FileKind::kChakraJson) {
      node = node_from_json(text_.parse());
      check_unknown(node);
    } else if (kind_ == FileKind::kChakraFeederJson) {
      node = node_from_feeder_json(text_.parse());
    } else {
      static_cast<void>(text_.parse());  // protobuf's reader has other rules for what JSON is
      node_from_message_json(text_.value_text(), node);
    }
  } catch (const std::invalid_argument& error) {
    const std::string text = error.what();
    const bool is_path = kind_ != FileKind::kChakraJsonizer;
    fail(place() + (!is_path ? ": " : text.starts_with(":") ? "" : ".") + text);
  }
  ++nodes_;
}

}  // namespace weft::chakra
