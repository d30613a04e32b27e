// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "sw/workloads/parts.h"
#include "sw/workloads/workload.h"
#include "traces/chakra/exchange.h"

namespace weft::workloads {

/// Ids of nodes that something waits for.
using Ids = std::vector<std::uint64_t>;
Ids joined(std::initializer_list<Ids> all);

/// A collective of a rank.
struct Collective {
  chakra::CollectiveType type = chakra::CollectiveType::kAllReduce;
  std::int64_t bytes = 0;  ///< of the whole buffer
  Members among;
  /// Of an AllToAll whose parts differ: what goes to each member and comes from it.
  std::vector<std::int64_t> to = {};
  std::vector<std::int64_t> from = {};
  /// Tokens that come to several members, each once, in place of parts.
  std::optional<chakra::Tokens> tokens = std::nullopt;
};

/// Makes the nodes of a rank, and the dependencies that keep them in the program's order.
class Emitter {
 public:
  /// `elements`: bytes of one by what is communicated for; 0: not all are alike.
  using Elements = std::array<int, kPurposes>;

  /// `launch`: what the host takes for a kernel; 0: nodes say nothing of it.
  Emitter(const Parallelism& parallel, const Groups& groups, std::int64_t rank, const Elements& elements, Time launch,
          const std::function<void(const chakra::Node&)>& take)
      : parallel_(parallel), groups_(groups), rank_(rank), elements_(elements), launch_(launch), take_(take) {}

  /// How a host launches a compute node.
  struct Host {
    static constexpr std::int64_t kNone = -1;
    std::int64_t graph = kNone;  ///< that it is in; what follows each other in one graph is launched at once
    bool waits = false;          ///< it launches nothing more before the node has ended
  };
  /// After `data` and the compute node before.
  Ids compute(std::string name, const Work& work, const Ids& data, const Host& host);
  Ids compute(std::string name, const Work& work, const Ids& data) {
    return compute(std::move(name), work, data, Host());
  }
  /// After `data`, the compute node before and `control`; `data` itself if the rank is alone.
  Ids collective(std::string name, Purpose purpose, const Collective& what, const Ids& data, const Ids& control = {});
  /// An AllReduce between the first and the last stage, and with DualPipe between those with the same parts of the
  /// model.
  Ids tied_all_reduce(std::string name, std::int64_t bytes, const Ids& data);
  Ids mirrored_all_reduce(std::string name, std::int64_t bytes, const Ids& data);
  /// Over when the other side has it.
  Ids send(std::string name, Purpose purpose, std::int64_t to, std::int64_t tag, std::int64_t bytes, const Ids& data);
  /// `control` says from when on there is a buffer for it.
  Ids receive(std::string name, std::int64_t from, std::int64_t tag, std::int64_t bytes, const Ids& control);

  /// The compute node that the program has now come to; none before the first.
  [[nodiscard]] Ids last_compute() const {
    if (recorded_ != nullptr && recorded_->last_compute) return {*recorded_->last_compute};
    return last_compute_ ? Ids{*last_compute_} : Ids{};
  }

  /// What a part of a program emits, to be merged with another: nodes whose ids are given later. Those that others wait
  /// for have provisional ids, which may be kept.
  struct Recorded {
    struct Each {
      chakra::Node node;
      Ids data;
      Ids control;
      bool is_compute = false;
      bool ends_turn = false;  ///< what is behind it waits for it: an exchange of experts
      Host host = {};
      std::vector<int> launches = {};  ///< of a compute node, by kernel
      bool is_in_graph = false;        ///< of a communication: a graph that is launched before it has it, too
    };
    std::vector<Each> nodes;
    std::optional<std::uint64_t> last_compute;
  };
  /// From now on nodes are not emitted but recorded; null: no longer.
  void record(Recorded* recorded) { recorded_ = recorded; }
  /// Emits both, in turns that end with an exchange of experts.
  void merge(Recorded one, Recorded other);
  [[nodiscard]] RankSums& sums() { return sums_; }

 private:
  Ids emit(Recorded::Each each);
  Ids emit(chakra::Node& node, const Ids& data, const Ids& control, bool ends_turn = false);
  /// Says in the node when the host has launched it.
  void set_host(Recorded::Each& each);
  void emit_now(Recorded::Each& each);
  [[nodiscard]] bool is_known(const Recorded::Each& each) const;
  [[nodiscard]] Ids known(const Ids& ids) const;
  /// The compute node before, when the node is emitted.
  [[nodiscard]] Ids program_order() const;
  /// Says what a node is for, as schedules::GraphEngine reads it.
  void set_traffic(chakra::Node& node, Purpose purpose) const;
  Ids emit_collective(std::string name, Purpose purpose, const Collective& what, std::int64_t members,
                      const std::string& group, const Ids& data, const Ids& control);

  const Parallelism& parallel_;
  const Groups& groups_;
  std::int64_t rank_;
  Elements elements_;
  Time launch_;
  std::int64_t graph_ = Host::kNone;  ///< that the last node is in
  Time launched_;                     ///< communications since the last compute node
  const std::function<void(const chakra::Node&)>& take_;
  std::uint64_t next_id_ = 0;
  std::optional<std::uint64_t> last_compute_;
  Recorded* recorded_ = nullptr;
  std::vector<std::optional<std::uint64_t>> provisional_;  ///< ids of those that were recorded
  RankSums sums_;
};

}  // namespace weft::workloads
