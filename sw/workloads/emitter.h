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
};

/// Makes the nodes of a rank, and the dependencies that keep them in the program's order.
class Emitter {
 public:
  /// `elements`: bytes of one by what is communicated for; 0: not all are alike.
  using Elements = std::array<int, kPurposes>;

  Emitter(const Parallelism& parallel, const Groups& groups, std::int64_t rank, const Elements& elements,
          const std::function<void(const chakra::Node&)>& take)
      : parallel_(parallel), groups_(groups), rank_(rank), elements_(elements), take_(take) {}

  /// After `data` and the compute node before.
  Ids compute(std::string name, const Work& work, const Ids& data);
  /// After `data`, the compute node before and `control`; `data` itself if the rank is alone.
  Ids collective(std::string name, Purpose purpose, const Collective& what, const Ids& data, const Ids& control = {});
  /// The same between the first and the last stage.
  Ids tied_all_reduce(std::string name, std::int64_t bytes, const Ids& data);
  /// Over when the other side has it.
  Ids send(std::string name, Purpose purpose, std::int64_t to, std::int64_t tag, std::int64_t bytes, const Ids& data);
  /// `control` says from when on there is a buffer for it.
  Ids receive(std::string name, std::int64_t from, std::int64_t tag, std::int64_t bytes, const Ids& control);

  /// The compute node that the program has now come to; none before the first.
  [[nodiscard]] Ids last_compute() const { return last_compute_ ? Ids{*last_compute_} : Ids{}; }
  [[nodiscard]] RankSums& sums() { return sums_; }

 private:
  Ids emit(chakra::Node& node, const Ids& data, const Ids& control);
  /// Says what a node is for, as schedules::GraphEngine reads it.
  void set_traffic(chakra::Node& node, Purpose purpose) const;
  Ids emit_collective(std::string name, Purpose purpose, const Collective& what, std::int64_t members,
                      const std::string& group, const Ids& data, const Ids& control);

  const Parallelism& parallel_;
  const Groups& groups_;
  std::int64_t rank_;
  Elements elements_;
  const std::function<void(const chakra::Node&)>& take_;
  std::uint64_t next_id_ = 0;
  std::optional<std::uint64_t> last_compute_;
  RankSums sums_;
};

}  // namespace weft::workloads
