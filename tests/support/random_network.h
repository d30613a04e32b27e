// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/random.h"
#include "hw/fabric/topology/plan.h"

namespace weft::test {

#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kShare = 20;
#else
constexpr std::uint64_t kShare = 1;
#endif

/// Seeds from 1 on; WEFT_TEST_SEED runs one alone.
inline std::vector<std::uint64_t> seeds(std::uint64_t count) {
  if (const char* one = std::getenv("WEFT_TEST_SEED")) return {std::stoull(one)};
  std::vector<std::uint64_t> all(count / kShare);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i + 1;
  return all;
}

inline std::string describe(const fabric::Plan& plan) {
  const fabric::FabricConfig& config = plan.config();
  const auto name = [](auto value) {
    for (const auto& [text, each] : enum_names(value)) {
      if (each == value) return std::string(text);
    }
    return std::string();
  };
  return name(config.topology) + ", " + name(config.routing) + ", " + name(config.link.flow_control) + ", " +
         std::to_string(plan.topology().ends.size()) + " ends, " + std::to_string(plan.topology().switches.size()) +
         " switches, " + std::to_string(config.link.lanes) + " lanes of " + to_text(config.link.buffer) + " and " +
         to_text(config.link.shared);
}

/// Draws of one seed.
class Draw {
 public:
  explicit Draw(std::uint64_t seed, std::string_view what) : random_(seed, what) {}

  /// From `low` to `high`, both included.
  int operator()(int low, int high) {
    return low + static_cast<int>(random_.next() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(double share) { return random_.share() < share; }
  template <typename T>
  T of(const std::vector<T>& values) {
    return values[static_cast<std::size_t>((*this)(0, static_cast<int>(values.size()) - 1))];
  }
  std::uint64_t bits() { return random_.next(); }

 private:
  Random random_;
};

/// What reaches an input of a switch after it has asked for silence (IEEE 802.1Qbb annex O): what is on the wire both
/// ways, what the sender answers in, the frame and the packet before it, the packet that the sender is at, and the one
/// that was too much. An arbiter chooses so far ahead as its switch takes, on either side.
inline std::int64_t pause_headroom(const fabric::FabricConfig& config, Rate fastest) {
  const fabric::LinkConfig& link = config.link;
  const std::int64_t wire = config.wire_bytes(static_cast<std::uint32_t>(config.segment.count()));
  const Time round = 2 * link.propagation + link.pause_response + 2 * config.switch_config.total_latency();
  const double bytes = static_cast<double>(round.count()) * 1e-12 * static_cast<double>(fastest.count()) / 8;
  return static_cast<std::int64_t>(bytes) + 64 + 4 * wire;
}

namespace detail {

inline void draw_shape(Draw& draw, fabric::FabricConfig& config, int& ends) {
  using fabric::Shape;
  config.topology = draw.of<Shape>({Shape::kSwitch, Shape::kRing, Shape::kFatTree, Shape::kFatTree, Shape::kDimensions,
                                    Shape::kTorus, Shape::kMesh, Shape::kHyperX, Shape::kDragonfly, Shape::kGraph});
  const auto product = [](const std::vector<int>& sizes) {
    int all = 1;
    for (const int size : sizes) all *= size;
    return all;
  };
  ends = draw(2, 12);
  switch (config.topology) {
    case Shape::kFatTree:
      config.hosts_per_leaf = draw(1, 4);
      config.radix = draw.of<int>({4, 6, 8});
      config.levels = draw(2, 3);
      config.uplinks = draw(0, 2);
      config.spines = draw.chance(0.5) ? 0 : draw(1, 3);
      ends = draw(2, 16);
      break;
    case Shape::kTorus:
    case Shape::kMesh:
    case Shape::kHyperX:
      for (int d = draw(1, 3); d > 0; --d) config.sizes.push_back(draw(2, 4));
      if (product(config.sizes) > 24) config.sizes.pop_back();
      config.hosts_per_router = config.topology == Shape::kHyperX ? draw(1, 2) : 1;
      ends = product(config.sizes) * config.hosts_per_router;
      break;
    case Shape::kDimensions: {
      int routers = 1;
      for (int d = draw(1, 3); d > 0 && routers <= 8; --d) {
        const int size = draw(2, 4);
        routers *= size;
        const auto* const block = draw.of<const char*>({"Ring", "Mesh", "FullyConnected", "Switch"});
        config.dimensions.push_back({block + ("(" + std::to_string(size) + ")"), config.link, draw(1, 2)});
      }
      ends = routers;
      break;
    }
    case Shape::kDragonfly:
      config.routers_per_group = draw(1, 4);
      config.hosts_per_router = draw(1, 2);
      config.global_links = draw(1, 2);
      config.groups = draw(2, 5);
      ends = config.groups * config.routers_per_group * config.hosts_per_router;
      break;
    case Shape::kGraph: {
      // A tree, and some links more.
      const int switches = draw(1, 7);
      const auto add = [&config](const std::string& a, const std::string& b, int links) {
        config.edges.push_back({a + " - " + b, config.link, links});
      };
      for (int e = 0; e < ends; ++e) {
        add("end" + std::to_string(e), "s" + std::to_string(e < switches ? e : draw(0, switches - 1)), 1);
      }
      ends = std::max(ends, switches);
      for (int e = static_cast<int>(config.edges.size()); e < ends; ++e) {
        add("end" + std::to_string(e), "s" + std::to_string(e), 1);
      }
      for (int s = 1; s < switches; ++s) {
        add("s" + std::to_string(s), "s" + std::to_string(draw(0, s - 1)), draw(1, 2));
      }
      for (int more = switches > 2 ? draw(0, 4) : 0; more > 0; --more) {
        const int a = draw(0, switches - 1);
        const int b = (a + draw(1, switches - 1)) % switches;
        add("s" + std::to_string(a), "s" + std::to_string(b), 1);
      }
      break;
    }
    default:
      break;
  }
}

inline void draw_switch(Draw& draw, fabric::Switch::Config& config, int lanes) {
  config.latency = Time(draw.of<int>({0, 20'000, 220'000}));
  for (fabric::Stage* stage :
       {&config.parse, &config.route, &config.admission, &config.arbitration, &config.crossbar, &config.egress}) {
    if (!draw.chance(0.15)) continue;
    stage->latency = Time(draw(0, 30'000));
    stage->interval = Time(draw(0, 40'000));
  }
  if (draw.chance(0.3)) config.speedup = draw.of<double>({1, 1.5, 2});
  if (draw.chance(0.3)) {
    for (int lane = 0; lane < lanes; ++lane) config.weights.push_back(draw(1, 8));
  }
  if (draw.chance(0.3)) config.marking = {Bytes(draw(64, 4096)), Bytes(draw(4097, 32768)), draw(1, 10) * 0.1};
}

}  // namespace detail

/// A network of any family, with any routing that fits, and everything else at random. The same seed gives the same
/// one.
inline std::shared_ptr<const fabric::Plan> random_plan(Draw& draw,
                                                       const std::vector<fabric::FlowControl>& flow_controls) {
  using fabric::Routing;
  for (;;) {
    fabric::FabricConfig config;
    fabric::LinkConfig& link = config.link;
    link.rate = Rate(draw.of<std::int64_t>({50, 100, 400, 3600}) * 1'000'000'000);
    link.propagation = Time(draw.of<int>({0, 1'000, 10'000, 500'000}));
    link.lanes = draw(1, 5);
    link.flow_control = draw.of(flow_controls);
    if (draw.chance(0.5)) link.pause_response = Time(draw(0, 200'000));
    config.mtu = Bytes(draw.of<int>({64, 256, 1024, 4096}));
    config.segment = config.mtu * draw.of<int>({1, 1, 1, 3});
    config.header = Bytes(draw.of<int>({0, 30, 66}));
    const std::int64_t wire = config.wire_bytes(static_cast<std::uint32_t>(config.segment.count()));
    link.buffer = Bytes(wire * draw(1, 6) + draw(0, 100));
    if (link.flow_control == fabric::FlowControl::kCredits)
      link.shared = Bytes(draw.of<std::int64_t>({0, wire, 8 * wire}));
    config.routing = draw.of<Routing>({Routing::kAuto, Routing::kDmodk, Routing::kEcmp, Routing::kAdaptive,
                                       Routing::kDimensionOrder, Routing::kValiant, Routing::kUpDown});
    detail::draw_switch(draw, config.switch_config, link.lanes);
    fabric::SharedBuffer::Config& buffer = config.switch_config.buffer;
    buffer.shared = Bytes(draw.of<std::int64_t>({0, wire, 10 * wire, 1 << 20}));
    buffer.alpha = draw.of<double>({0.125, 1, 8});
    buffer.resume = Bytes(draw.of<std::int64_t>({0, wire, 8 << 10}));
    int ends = 0;
    detail::draw_shape(draw, config, ends);
    try {
      // An end's link can be as fast as all of its router's together.
      Rate fastest = link.rate;
      for (const fabric::LinkConfig& each : fabric::Topology::build(config, ends, "fabric").links) {
        fastest = std::max(fastest, each.rate);
      }
      buffer.headroom = Bytes(pause_headroom(config, fastest));
      return std::make_shared<fabric::Plan>(config, ends, "fabric", draw.bits());
    } catch (const ConfigError&) {
      // Another one: that errors say what is wrong is tested elsewhere.
    }
  }
}

}  // namespace weft::test
