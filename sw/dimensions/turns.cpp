// SPDX-License-Identifier: Apache-2.0
// A collective in predicted times, to fix the order of chunks within each dimension before it begins.
#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "sw/dimensions/themis.h"

namespace weft::dimensions {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();
constexpr double kNothing = 1e-3;    // ns: less is done
constexpr double kRounding = 1e-15;  // of a time: what real numbers do not tell apart

/// In nanoseconds as real numbers, which are the same on every rank: they decide an order and are no simulated times.
class Prediction {
 public:
  Prediction(const CollectiveConfig& config, const std::vector<DimensionCost>& costs, Plan& plan)
      : config_(config), costs_(costs), plan_(plan), lanes_(costs.size()) {}

  void run() {
    plan_.turns.assign(static_cast<std::size_t>(plan_.chunks) * plan_.orders.front().size(), 0);
    for (std::uint32_t chunk = 0; chunk < plan_.chunks; ++chunk) wait(0, chunk, 0);
    for (double now = 0;;) {
      for (Lane& lane : lanes_) start(lane);
      double next = kForever;
      for (const Lane& lane : lanes_) next = std::min(next, now + lane.until_end());
      if (next == kForever) break;
      for (Lane& lane : lanes_) lane.advance(next - now);
      now = next;
      // All that ends at a time has ended before anybody starts, so that no dimension is favoured.
      for (Lane& lane : lanes_) end(now, lane);
    }
    for (const Lane& lane : lanes_) plan_.turns_in.push_back(lane.started);
  }

 private:
  /// In the order in which they go: by size where the smallest does, then by coming, then by number.
  struct Waiting {
    std::int64_t size;
    double came;
    std::uint32_t chunk;
    std::uint32_t phase;
    bool operator<(const Waiting& other) const {
      return std::tie(size, came, chunk, phase) < std::tie(other.size, other.came, other.chunk, other.phase);
    }
  };
  struct Running {
    std::uint32_t chunk;
    std::uint32_t phase;
    double left;   ///< alone on its dimension
    double share;  ///< of this in which it uses the links
  };
  /// A dimension. Its running chunks share the links: as long as these are not all used each goes as if alone.
  struct Lane {
    std::set<Waiting> waiting;
    std::vector<Running> running;
    std::uint32_t started = 0;

    [[nodiscard]] double speed() const {
      double used = 0;
      for (const Running& each : running) used += each.share;
      return used > 1 ? 1 / used : 1;
    }
    [[nodiscard]] double until_end() const {
      double least = kForever;
      for (const Running& each : running) least = std::min(least, each.left);
      return least / speed();
    }
    void advance(double ns) {
      const double done = ns * speed();
      for (Running& each : running) each.left -= done;
    }
  };

  void wait(double now, std::uint32_t chunk, std::uint32_t phase) {
    const Plan::Phases& phases = plan_.phases(chunk);
    if (phase == phases.size()) return;
    const bool by_size = config_.intra_dimension == IntraDimension::kSmallestFirst;
    lanes_[phases[phase].dimension].waiting.insert({by_size ? phases[phase].whole() : 0, now, chunk, phase});
  }

  void start(Lane& lane) {
    while (!lane.waiting.empty() && static_cast<int>(lane.running.size()) < config_.active_chunks) {
      const Waiting next = *lane.waiting.begin();
      lane.waiting.erase(lane.waiting.begin());
      const Phase& phase = plan_.phases(next.chunk)[next.phase];
      plan_.turns[next.chunk * plan_.orders.front().size() + next.phase] = lane.started++;
      const PredictedTime time = predict(phase, costs_[phase.dimension]);
      const auto total = static_cast<double>(std::max(time.total(), Time(1)).count());
      lane.running.push_back({next.chunk, next.phase, total / 1000, static_cast<double>(time.beta.count()) / total});
    }
  }

  void end(double now, Lane& lane) {
    for (std::size_t i = 0; i < lane.running.size();) {
      const Running each = lane.running[i];
      if (each.left > std::max(kNothing, now * kRounding)) {
        ++i;
        continue;
      }
      lane.running.erase(lane.running.begin() + static_cast<std::ptrdiff_t>(i));
      wait(now, each.chunk, each.phase + 1);
    }
  }

  const CollectiveConfig& config_;
  const std::vector<DimensionCost>& costs_;
  Plan& plan_;
  std::vector<Lane> lanes_;
};

}  // namespace

void predict_turns(const CollectiveConfig& config, const std::vector<DimensionCost>& costs, Plan& plan) {
  Prediction(config, costs, plan).run();
}

}  // namespace weft::dimensions
