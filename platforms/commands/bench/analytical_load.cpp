// SPDX-License-Identifier: Apache-2.0
#include "platforms/commands/bench/analytical_load.h"

#include <nlohmann/json.hpp>

#include "platforms/cli/process.h"
#include "platforms/results/format.h"
#include "platforms/results/stopwatch.h"
#include "sw/analytical/collectives.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

/// All ends enter when the simulation starts.
class AllReduce final : public sc_core::sc_module, analytical::Listener {
 public:
  AllReduce(sc_core::sc_module_name name, analytical::Network& network, const dimensions::CollectiveConfig& config)
      : sc_module(name), network_(network), collectives_(network, config, *this) {}

  [[nodiscard]] bool done() const { return done_ == network_.ends(); }

 private:
  void start_of_simulation() override {
    constexpr std::int64_t kBytes = 64 << 20;
    for (std::uint32_t r = 0; r < network_.ends(); ++r) {
      collectives_.enter(Time(), r, {}, dimensions::Operation::kAllReduce, kBytes, 0, r);
    }
  }
  void collective_done(Time /*now*/, std::uint32_t /*rank*/, std::uint64_t /*token*/) override { ++done_; }

  analytical::Network& network_;
  analytical::Collectives collectives_;
  std::uint32_t done_ = 0;
};

}  // namespace

ordered_json analytical_load(const std::string& what, const std::vector<analytical::Dimension>& dimensions,
                             const std::vector<dimensions::Algorithm>& algorithms, analytical::Congestion congestion,
                             int chunks) {
  dimensions::CollectiveConfig config;
  config.algorithms = {algorithms, algorithms, algorithms, algorithms};
  config.splits = chunks;
  Dispatcher dispatcher("dispatcher");
  analytical::Network network(dispatcher, dimensions, congestion, "network");
  const AllReduce all_reduce("all_reduce", network, config);
  const Stopwatch watch;
  dispatcher.run_to_end();
  const double seconds = watch.seconds();
  const double cpu_seconds = watch.cpu_seconds();
  if (!all_reduce.done()) throw std::runtime_error(what + " has not ended");
  return {{"what", what},
          {"unit", "messages/s"},
          {"value", static_cast<double>(network.messages()) / seconds},
          {"value_by_cpu", static_cast<double>(network.messages()) / cpu_seconds},
          {"messages", network.messages()},
          {"events", network.agenda().handled()},
          {"most_resident_bytes", most_resident_bytes()},
          {"simulated_us", to_us(dispatcher.last_change())},
          {"wall_s", seconds},
          {"cpu_s", cpu_seconds},
          {"digest", to_hex(network.agenda().digest())}};
}

}  // namespace weft::platforms
