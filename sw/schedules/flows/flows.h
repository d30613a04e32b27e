// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/fields.h"
#include "hw/core/quantity.h"
#include "sw/collectives/watch.h"
#include "sw/firmware/rank.h"
#include "sw/firmware/task.h"

namespace weft::schedules {

/// Who sends to whom. `shift`: each rank to the next one. `permutation`: each to one other, and each gets from one, at
/// random. `incast`: all to rank 0. `all_to_all`: each to all others. `write` and `read`: the last `servers` ranks
/// stand for servers of storage; each other rank writes to one of them, or reads from it, in turn.
enum class FlowPattern : std::uint8_t { kShift, kPermutation, kIncast, kAllToAll, kWrite, kRead };
inline EnumNames<FlowPattern> enum_names(FlowPattern /*tag*/) {
  return {{"shift", FlowPattern::kShift},   {"permutation", FlowPattern::kPermutation},
          {"incast", FlowPattern::kIncast}, {"all_to_all", FlowPattern::kAllToAll},
          {"write", FlowPattern::kWrite},   {"read", FlowPattern::kRead}};
}

struct FlowsConfig {
  FlowPattern pattern = FlowPattern::kPermutation;
  Bytes bytes = Bytes(2'000'000);
  int messages = 1;
  Time every;
  int servers = 1;

  [[nodiscard]] bool has_servers() const { return pattern == FlowPattern::kWrite || pattern == FlowPattern::kRead; }

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit(
        "pattern", pattern,
        "Who sends to whom: each to the next, each to one other at random, all to rank 0, each to all others; or each "
        "writes to, or reads from, one of the last ranks, which stand for servers");
    visit("bytes", bytes, "Bytes of a message", Range{1, 1LL << 40});
    visit("messages", messages, "Messages of a flow, one after the other", Range{1, 1'000'000});
    visit("every", every,
          "From the start of a message to that of the next, if it has ended by then, as checkpoints; 0: at once",
          Range{0, 1'000'000'000'000'000});
    visit("servers", servers, "write and read: ranks that stand for servers, the last ones", Range{1, 1 << 20});
  }
};

/// A flow: messages from one rank to another. The initiator is the one that its completions come to.
struct Flow {
  int from = 0;
  int to = 0;

  friend bool operator==(const Flow&, const Flow&) = default;
};

/// Of `ranks` ranks; what is random follows from `seed`. Throws ConfigError where the pattern needs more ranks.
[[nodiscard]] std::vector<Flow> flows_of(const FlowsConfig& config, int ranks, std::int64_t seed);

struct FlowsResult {
  /// Of each message, from when it is posted until its initiator knows that it is over, by flow and in order.
  std::vector<std::vector<Time>> times;
  Time last;                ///< from the start until the last one has ended
  std::int64_t wrong = -1;  ///< bytes that are not what was sent; -1 where data is off
};

/// Messages between ranks, each flow by a queue pair and a thread of its own: the patterns by which networks are
/// compared, and the traffic of storage. A message is an RDMA write, and an RDMA read with `read`; between ranks of a
/// node it goes by their ports. A flow has a place of its own in the memory of its target.
class Flows {
 public:
  /// Throws ConfigError as flows_of(), and std::length_error where memory is too small.
  Flows(std::vector<firmware::Rank*> ranks, const FlowsConfig& config, std::int64_t seed);
  ~Flows();
  Flows(const Flows&) = delete;
  Flows& operator=(const Flows&) = delete;

  void start();
  /// Share of the messages that have ended.
  [[nodiscard]] double progress() const;
  [[nodiscard]] const std::vector<Flow>& flows() const { return flows_; }
  [[nodiscard]] FlowsResult result() const;

 private:
  struct End;

  [[nodiscard]] firmware::Task run(End& end);

  std::vector<firmware::Rank*> ranks_;
  FlowsConfig config_;
  std::vector<Flow> flows_;
  std::vector<std::unique_ptr<End>> ends_;
  std::unique_ptr<collectives::MessageWatch> watch_;  ///< where the critical path is kept
  std::vector<std::uint64_t> source_;                 ///< by rank, what it sends
  Time started_;
  std::size_t done_ = 0;
};

}  // namespace weft::schedules
