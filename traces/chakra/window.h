// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/chakra/id_set.h"
#include "traces/chakra/reader.h"

namespace weft::chakra {

/// A trace for whoever executes it: hands out nodes whose dependencies have completed, and is told of completions.
///
///     TraceWindow window("w.0.et");
///     while (const Node* node = window.next()) start(*node);   // and again after each completion
///     ...
///     window.complete(id);                                     // when the node's work is done
///
/// Of the file it holds only the live nodes, those read and not completed. It reads ahead in file order to keep
/// `read_ahead` of them, and further only when none is ready and none is out. A node may depend on one later in the
/// file.
///
/// What is wrong with the graph is a traces::FormatError that names file and nodes, when it is met: an id that was
/// there before, a node that depends on itself, and at the end of the file a dependency on an id that never came, or
/// nodes that wait for each other.
class TraceWindow {
 public:
  static constexpr std::size_t kReadAhead = 4096;

  explicit TraceWindow(std::filesystem::path file, std::size_t read_ahead = kReadAhead);

  [[nodiscard]] const std::filesystem::path& file() const { return reader_.file(); }
  [[nodiscard]] const Metadata& metadata() const { return reader_.metadata(); }

  /// The ready node of the lowest id, which is out from then on; it stays valid until it is completed. Null if none is
  /// ready: then either completions must come first, or all is done.
  [[nodiscard]] const Node* next();
  /// The node, which must be out, is done; throws std::logic_error otherwise. Its dependents may become ready.
  void complete(std::uint64_t id);
  /// Reads on, beyond what is read ahead, until one more node is ready; false if none is at the end of the file. For an
  /// engine all of whose ranks wait for messages: what they wait for may lie beyond the others' windows.
  bool read_further();
  /// Whether every node of the file has completed. Only after next() gave null.
  [[nodiscard]] bool done() const { return at_end_ && live_.empty(); }

  [[nodiscard]] std::size_t live() const { return live_.size(); }
  [[nodiscard]] std::size_t most_live() const { return most_live_; }
  /// Nodes given by next() and not completed.
  [[nodiscard]] std::size_t out() const { return out_; }
  [[nodiscard]] std::uint64_t read() const { return read_; }
  [[nodiscard]] std::uint64_t completed() const { return read_ - live_.size(); }

 private:
  struct Entry {
    Node node;
    std::size_t waits_for = 0;  ///< dependencies that have not completed, each as often as it is named
    std::vector<Entry*> dependents;
    bool is_out = false;
  };

  using Ready = std::pair<std::uint64_t, Entry*>;  ///< ids are unique, so that pointers are never compared

  void read_ahead();
  /// False at the end of the file.
  bool read_one();
  /// Counts those dependencies that have not completed.
  void wait_for(Entry& entry, const std::vector<std::uint64_t>& dependencies);
  /// A dependency on an id that never came.
  void check_end() const;
  [[noreturn]] void fail_by_cycle() const;
  [[noreturn]] void fail(const std::string& message) const;

  TraceReader reader_;
  std::size_t wanted_;
  bool at_end_ = false;
  std::size_t out_ = 0;
  std::uint64_t read_ = 0;
  std::size_t most_live_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<Entry>> live_;
  /// Of ids that have not been read: who waits for them.
  std::unordered_map<std::uint64_t, std::vector<Entry*>> expected_;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;
  IdSet completed_;
  std::vector<std::unique_ptr<Entry>> spare_;  ///< used again, with the memory that their nodes hold
};

}  // namespace weft::chakra
