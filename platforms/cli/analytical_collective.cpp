// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/analytical_collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "platforms/cli/analytical_platform.h"
#include "platforms/cli/command.h"
#include "platforms/cli/output.h"
#include "platforms/cli/process.h"
#include "sw/analytical/collectives.h"

namespace weft::platforms {
namespace {

using dimensions::Operation;
using nlohmann::ordered_json;

struct Row {
  std::uint64_t bytes = 0;
  Time time;
  std::vector<std::int64_t> carried;  ///< by dimension
};

/// One collective after the other, each entered by all ends when the one before has ended for all.
class Sequence final : public sc_core::sc_module, public EventTarget, analytical::Listener {
 public:
  Sequence(sc_core::sc_module_name name, Dispatcher& dispatcher, analytical::Network& network,
           const analytical::AnalyticalConfig& config, Operation operation, const std::vector<std::uint64_t>& sizes)
      : sc_module(name),
        dispatcher_(dispatcher),
        network_(network),
        collectives_(network, config.whole_collectives(), *this, config.end.bus),
        operation_(operation),
        sizes_(sizes) {
    dispatcher.attach(*this, this->name());
  }

  [[nodiscard]] const std::vector<Row>& rows() const {
    if (rows_.size() != sizes_.size())
      throw std::runtime_error("a collective has not ended: " + collectives_.waits_for(0));
    return rows_;
  }

  void on_event(Time now, std::uint32_t /*tag*/, std::uint64_t /*data*/) override {
    const std::uint64_t whole = sizes_[rows_.size()];
    const std::uint64_t bytes = operation_ == Operation::kAllgather ? whole / network_.ends() : whole;
    began_ = now;
    before_ = carried();
    left_ = network_.ends();
    for (std::uint32_t r = 0; r < network_.ends(); ++r) {
      collectives_.enter(now, r, {}, operation_, static_cast<std::int64_t>(bytes), 0, r);
    }
  }

 private:
  void start_of_simulation() override { dispatcher_.post(Time(), *this, 0); }

  void collective_done(Time now, std::uint32_t /*rank*/, std::uint64_t /*token*/) override {
    if (--left_ != 0) return;
    Row row{sizes_[rows_.size()], now - began_, carried()};
    for (std::size_t i = 0; i < before_.size(); ++i) row.carried[i] -= before_[i];
    rows_.push_back(std::move(row));
    if (rows_.size() < sizes_.size()) dispatcher_.post(now, *this, 0);
  }

  [[nodiscard]] std::vector<std::int64_t> carried() const {
    std::vector<std::int64_t> bytes;
    for (std::size_t i = 0; i < network_.dimensions().size(); ++i) bytes.push_back(network_.carried(i));
    return bytes;
  }

  Dispatcher& dispatcher_;
  analytical::Network& network_;
  analytical::Collectives collectives_;
  Operation operation_;
  std::vector<std::uint64_t> sizes_;
  std::vector<Row> rows_;
  Time began_;
  std::vector<std::int64_t> before_;
  std::uint32_t left_ = 0;
};

Operation operation_of(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kAllReduce:
      return Operation::kAllReduce;
    case CollectiveOp::kAllgather:
      return Operation::kAllgather;
    case CollectiveOp::kReduceScatter:
      return Operation::kReduceScatter;
    default:
      throw UsageError("--op: expected all_reduce, all_gather or reduce_scatter on an analytical network");
  }
}

/// Shares of what links can carry, by dimension, and of all together.
struct Utilisation {
  std::vector<double> by_dimension;
  double total = 0;
};

Utilisation utilisation(const analytical::Network& network, const Row& row) {
  Utilisation result;
  double possible = 0;
  const double ns = static_cast<double>(row.time.count()) / 1000;
  for (std::size_t i = 0; i < row.carried.size(); ++i) {
    const double most = network.bytes_per_ns(i) * network.ends() * ns;
    result.by_dimension.push_back(static_cast<double>(row.carried[i]) / most);
    possible += most;
  }
  const auto all = std::accumulate(row.carried.begin(), row.carried.end(), std::int64_t{0});
  result.total = static_cast<double>(all) / possible;
  return result;
}

}  // namespace

int run_analytical_collective(const AnalyticalCollectiveOptions& options) {
  const Operation operation = operation_of(options.op);
  AnalyticalPlatform platform(options.platform);
  static_cast<void>(platform.document.root().child("workload").raw());
  platform.document.check_unused();

  Dispatcher dispatcher("dispatcher");
  const Stopwatch watch;
  const auto network = platform.make_network(dispatcher);
  const Sequence sequence("collectives", dispatcher, *network, platform.config, operation, options.bytes);
  {
    const Progress progress(dispatcher);
    platform.checked([&] { dispatcher.run_to_end(); });
  }
  const std::vector<Row>& rows = sequence.rows();

  const double ends = network->ends();
  const bool gathers = operation == Operation::kAllgather;
  const double share = (operation == Operation::kAllReduce ? 2 : 1) * (ends - 1) / ends;
  ordered_json json_rows = ordered_json::array();
  std::string text = fmt::format("#{:>12} {:>13} {:>7} {:>12} {:>9} {:>9} {:>7}", "size", "count", "type", "time",
                                 "algbw", "busbw", "util");
  for (std::size_t i = 0; i < network->dimensions().size(); ++i)
    text += fmt::format(" {:>7}", fmt::format("dim {}", i));
  text += fmt::format("\n#{:>12} {:>13} {:>7} {:>12} {:>9} {:>9} {:>7}", "(B)", "(elements)", "", "(us)", "(GB/s)",
                      "(GB/s)", "(%)");
  for (std::size_t i = 0; i < network->dimensions().size(); ++i) text += fmt::format(" {:>7}", "(%)");
  text += "\n";
  std::string padded;
  double times = 0;
  double totals = 0;
  for (const Row& row : rows) {
    const double algbw = static_cast<double>(row.bytes) / (static_cast<double>(row.time.count()) / 1000);
    const Utilisation used = utilisation(*network, row);
    times += to_us(row.time);
    // As in Chakra, an Allgather's size is that of the shard.
    const std::int64_t given = static_cast<std::int64_t>(row.bytes) / (gathers ? network->ends() : 1);
    const std::int64_t least = std::int64_t{gathers ? 1 : network->ends()} * platform.config.collectives.splits;
    if (given < least) {
      padded += gathers ? fmt::format("# {} B an end are padded to {} B, a byte for each chunk\n", given, least)
                        : fmt::format("# {} B are padded to {} B, a byte for each end and chunk, as ASTRA-sim does\n",
                                      given, least);
    }
    totals += used.total;
    json_rows.push_back({{"bytes", row.bytes},
                         {"time_us", to_us(row.time)},
                         {"algbw", algbw},
                         {"busbw", algbw * share},
                         {"utilisation", used.total},
                         {"utilisation_by_dimension", used.by_dimension}});
    text +=
        fmt::format("{:>13} {:>13} {:>7} {:>12.2f} {:>9.2f} {:>9.2f} {:>7.2f}", row.bytes, row.bytes / options.element,
                    options.type, to_us(row.time), algbw, algbw * share, used.total * 100);
    for (const double each : used.by_dimension) text += fmt::format(" {:>7.2f}", each * 100);
    text += "\n";
  }
  if (options.json) {
    print_json(ordered_json{{"platform", platform.name},
                            {"op", options.name},
                            {"type", options.type},
                            {"ranks", network->ends()},
                            {"rows", json_rows},
                            {"mean_utilisation_percent", 100 * totals / static_cast<double>(rows.size())},
                            {"total_time_us", times},
                            {"messages", network->messages()},
                            {"events", network->agenda().handled()},
                            {"digest", to_hex(network->agenda().digest())},
                            {"wall_s", watch.seconds()}});
    return kDone;
  }
  print(fmt::format("# {}, {} on {} ends, analytical network\n{}", platform.name, options.name, network->ends(),
                    padded + text));
  return kDone;
}

}  // namespace weft::platforms
