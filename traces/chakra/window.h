// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "traces/chakra/id_set.h"
#include "traces/chakra/live/live_nodes.h"
#include "traces/chakra/live/record_pool.h"
#include "traces/chakra/reader.h"

namespace weft::chakra {

/// A trace for whoever executes it: hands out nodes whose dependencies have completed, and is told of completions.
///
///     TraceWindow window("w.0.et");
///     while (const Node* node = window.next()) start(*node);   // and again after each completion
///     ...
///     window.complete(id);                                     // when the node's work is done
///
/// Of the file it holds only the live nodes, those read and not completed: as encoded records, which windows of one
/// pool share where they are equal, until they are ready. It reads ahead in file order to keep `read_ahead` of them,
/// and further only when none is ready and none is out. A node may depend on one later in the file.
///
/// What is wrong with the graph is a traces::FormatError that names file and nodes, when it is met: an id that was
/// there before, a node that depends on itself, and at the end of the file a dependency on an id that never came, or
/// nodes that wait for each other.
class TraceWindow {
 public:
  static constexpr std::size_t kReadAhead = 4096;

  /// Nodes of windows with one pool may be the same object; without one, the window has its own.
  explicit TraceWindow(std::filesystem::path file, std::size_t read_ahead = kReadAhead,
                       std::shared_ptr<RecordPool> pool = nullptr);
  ~TraceWindow();
  TraceWindow(const TraceWindow&) = delete;
  TraceWindow& operator=(const TraceWindow&) = delete;

  /// As messages call it.
  [[nodiscard]] const std::filesystem::path& file() const { return name_.empty() ? reader_.file() : name_; }
  /// Messages call the file so, where it is a conversion of another.
  void set_name(std::filesystem::path name) { name_ = std::move(name); }
  [[nodiscard]] const Metadata& metadata() const { return reader_.metadata(); }

  /// The ready node of the lowest id, which is out from then on; it stays valid until it is completed. Null if none is
  /// ready: then either completions must come first, or all is done.
  [[nodiscard]] const Node* next();
  /// The node, which must be out, is done; throws std::logic_error otherwise. Its dependents may become ready.
  void complete(std::uint64_t id);
  /// Reads on, beyond what is read ahead, until one more node is ready; false if none is at the end of the file. For an
  /// engine all of whose ranks wait for messages: what they wait for may lie beyond the others' windows.
  bool read_further();
  /// Nodes that are as if they were not in the file: from one id to before another, of a file whose nodes have ids by
  /// their place in it. They repeat those before them, so many at a time.
  struct Gap {
    std::uint64_t from;
    std::uint64_t to;
    std::uint64_t length;  ///< after which nodes repeat themselves; the gap holds whole ones
    std::uint64_t
        reach;  ///< nodes behind the gap depend on what repeats up to so far back, which is no more than the gap
  };
  /// None of the nodes has been read. What depends on them depends on those that they repeat: if it repeats itself, as
  /// far before the gap as it was before the gap's end, else on the last ones.
  void leave_out(const Gap& gap);
  /// Before the first next(): how many nodes it reads ahead.
  void set_read_ahead(std::size_t read_ahead) { wanted_ = std::max<std::size_t>(read_ahead, 1); }
  /// Whether every node of the file has completed. Only after next() gave null.
  [[nodiscard]] bool done() const { return at_end_ && read_ == completed_count_; }

  [[nodiscard]] std::size_t live() const { return read_ - completed_count_; }
  [[nodiscard]] std::size_t most_live() const { return most_live_; }
  /// Nodes given by next() and not completed.
  [[nodiscard]] std::size_t out() const { return out_; }
  [[nodiscard]] std::uint64_t read() const { return read_; }
  [[nodiscard]] std::uint64_t completed() const { return completed_count_; }

 private:
  using Slot = LiveNodes::Slot;
  using State = LiveNodes::State;
  using Ready = std::pair<std::uint64_t, Slot>;

  void read_ahead();
  /// False at the end of the file.
  bool read_one();
  /// Counts those dependencies that have not completed.
  void wait_for(Slot slot, const std::vector<std::uint64_t>& dependencies);
  /// What stands for a dependency that is left out.
  [[nodiscard]] std::uint64_t in_place_of(std::uint64_t dependency) const;
  void make_ready(Slot slot);
  const Node& node_of(Slot slot);
  /// A record could not be read: the file is read again up to it, for the place.
  [[noreturn]] void fail_by_damage(std::uint64_t id) const;
  /// A dependency on an id that never came.
  void check_end();
  [[noreturn]] void fail_by_cycle();
  [[noreturn]] void fail(const std::string& message) const;

  TraceReader reader_;
  std::filesystem::path name_;
  std::size_t wanted_;
  std::shared_ptr<RecordPool> pool_;
  bool at_end_ = false;
  std::size_t out_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t completed_count_ = 0;
  std::size_t most_live_ = 0;
  LiveNodes live_;  ///< and those that somebody depends on and that have not been read
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;
  IdSet completed_;
  std::vector<std::uint64_t> control_;  ///< of the node that is read
  std::vector<std::uint64_t> data_;
  std::vector<Gap> gaps_;  ///< ascending
};

}  // namespace weft::chakra
