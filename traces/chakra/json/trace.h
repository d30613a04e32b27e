// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/chakra/json/stream.h"
#include "traces/chakra/node.h"
#include "traces/files/kind/file_kind.h"

namespace weft::chakra {

/// A trace as JSON, node by node, of which one is held. There are three ways to write one:
///
/// - Weft's (traces/chakra/json.h), whose "metadata" must come before "nodes";
/// - that of chakra_jsonizer: messages in protobuf's own JSON, one after the other or in a list, the first of them the
///   metadata, which a list may be without;
/// - that of Chakra's feeder, {"workload_graph": [{"Id": 1, "Name": "a", "NodeType": 4, "runtime": 5, ...}]}. Members
///   before the graph become attributes of the metadata, those after it are left out.
///
/// Throws traces::FormatError.
class JsonTrace {
 public:
  /// `kind` is one of kChakraJson, kChakraJsonizer and kChakraFeederJson.
  JsonTrace(traces::InputFile& file, traces::FileKind kind);

  [[nodiscard]] const Metadata& metadata() const { return metadata_; }
  bool next(Node& node);
  /// Names of members behind the nodes, after the last one.
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

  /// Of the node that was read last: where it begins.
  [[nodiscard]] std::uint64_t line() const { return text_.line(); }
  [[nodiscard]] std::uint64_t offset() const { return text_.offset(); }

 private:
  void read_members();
  void begin_jsonizer();
  bool next_of_list();
  bool next_of_sequence();
  void end_members();
  void take(Node& node);
  [[nodiscard]] const char* list() const;
  [[noreturn]] void fail(const std::string& message) const;

  traces::InputFile& file_;
  traces::FileKind kind_;
  JsonStream text_;
  Metadata metadata_;
  std::vector<std::string> left_out_;
  bool has_metadata_ = false;
  bool is_list_ = true;     ///< nodes are elements of a list, else they follow each other
  bool has_first_ = false;  ///< a node was read in place of the metadata
  bool done_ = false;
  std::uint64_t nodes_ = 0;
};

}  // namespace weft::chakra
