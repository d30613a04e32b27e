// SPDX-License-Identifier: Apache-2.0
#include "platforms/commands/analytical/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "platforms/cli/output.h"
#include "platforms/cli/progress.h"
#include "platforms/cli/signals.h"
#include "platforms/commands/analytical/platform.h"
#include "platforms/commands/command.h"
#include "platforms/config/text.h"
#include "platforms/results/format.h"
#include "platforms/results/stopwatch.h"
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
           const analytical::AnalyticalConfig& config, Operation operation, const std::vector<std::uint64_t>& sizes,
           std::function<void(const Row&)> ended)
      : sc_module(name),
        dispatcher_(dispatcher),
        network_(network),
        collectives_(network, config.whole_collectives(), *this, config.end.bus),
        operation_(operation),
        sizes_(sizes),
        ended_(std::move(ended)) {
    dispatcher.attach(*this, this->name());
  }

  void check_ended() const {
    if (rows_.size() == sizes_.size()) return;
    throw std::runtime_error("a collective has not ended: " + collectives_.waits_for(0));
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
    ended_(rows_.back());
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
  std::function<void(const Row&)> ended_;
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

/// What is said of rows as they end.
class Table {
 public:
  Table(const AnalyticalCollectiveOptions& options, Operation operation, const AnalyticalPlatform& platform,
        const analytical::Network& network)
      : options_(options), operation_(operation), platform_(platform), network_(network) {}

  void add(const Row& row);

  [[nodiscard]] const ordered_json& rows() const { return rows_; }
  [[nodiscard]] double time_us() const { return time_us_; }
  [[nodiscard]] double mean_utilisation() const {
    return rows_.empty() ? 0 : utilisation_ / static_cast<double>(rows_.size());
  }

 private:
  [[nodiscard]] std::string head() const;
  [[nodiscard]] std::string padded_text(const Row& row) const;

  const AnalyticalCollectiveOptions& options_;
  Operation operation_;
  const AnalyticalPlatform& platform_;
  const analytical::Network& network_;
  ordered_json rows_ = ordered_json::array();
  double time_us_ = 0;
  double utilisation_ = 0;
};

std::string Table::head() const {
  std::string text =
      fmt::format("# {}, {} on {} ends, analytical network\n", platform_.name, options_.name, network_.ends());
  const auto add = [&](const auto&... cells) {
    text += fmt::format("#{:>12} {:>13} {:>7} {:>12} {:>9} {:>9} {:>7}", cells...);
  };
  add("size", "count", "type", "time", "algbw", "busbw", "util");
  for (std::size_t i = 0; i < network_.dimensions().size(); ++i)
    text += fmt::format(" {:>7}", fmt::format("dim {}", i));
  text += "\n";
  add("(B)", "(elements)", "", "(us)", "(GB/s)", "(GB/s)", "(%)");
  for (std::size_t i = 0; i < network_.dimensions().size(); ++i) text += fmt::format(" {:>7}", "(%)");
  return text + "\n";
}

std::string Table::padded_text(const Row& row) const {
  // As in Chakra, an Allgather's size is that of the shard.
  const bool gathers = operation_ == Operation::kAllgather;
  const std::int64_t given = static_cast<std::int64_t>(row.bytes) / (gathers ? network_.ends() : 1);
  const std::int64_t least = std::int64_t{gathers ? 1 : network_.ends()} * platform_.config.collectives.splits;
  if (given >= least) return "";
  return gathers ? fmt::format("# {} B an end are padded to {} B, a byte for each chunk\n", given, least)
                 : fmt::format("# {} B are padded to {} B, a byte for each end and chunk, as ASTRA-sim does\n", given,
                               least);
}

void Table::add(const Row& row) {
  const double ends = network_.ends();
  const double share = (operation_ == Operation::kAllReduce ? 2 : 1) * (ends - 1) / ends;
  const double algbw = static_cast<double>(row.bytes) / (static_cast<double>(row.time.count()) / 1000);
  const Utilisation used = utilisation(network_, row);
  std::string text = rows_.empty() ? head() : "";
  time_us_ += to_us(row.time);
  utilisation_ += used.total;
  rows_.push_back({{"bytes", row.bytes},
                   {"time_us", to_us(row.time)},
                   {"algbw", algbw},
                   {"busbw", algbw * share},
                   {"utilisation", used.total},
                   {"utilisation_by_dimension", used.by_dimension}});
  if (options_.json) return;
  text += padded_text(row);
  text +=
      fmt::format("{:>13} {:>13} {:>7} {:>12.2f} {:>9.2f} {:>9.2f} {:>7.2f}", row.bytes, row.bytes / options_.element,
                  options_.type, to_us(row.time), algbw, algbw * share, used.total * 100);
  for (const double each : used.by_dimension) text += fmt::format(" {:>7.2f}", each * 100);
  print(text + "\n");
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
  Table table(options, operation, platform, *network);
  ListProgress done(dispatcher, options.bytes);
  Progress* line = nullptr;
  const Sequence sequence("collectives", dispatcher, *network, platform.config, operation, options.bytes,
                          [&](const Row& row) {
                            done.end_one();
                            line->hide();
                            table.add(row);
                          });
  std::optional<Interrupted> interrupted;
  try {
    Progress progress(
        dispatcher, [&done] { return done.done(); }, Progress::kTimes);
    line = &progress;
    platform.checked([&] { dispatcher.run_to_end(); });
    sequence.check_ended();
  } catch (const Interrupted& by) {
    interrupted = by;
    interrupted->kept = counted_done(table.rows().size(), options.bytes.size(), "row");
  }
  if (options.json) {
    print_json(ordered_json{{"platform", platform.name},
                            {"op", options.name},
                            {"type", options.type},
                            {"ranks", network->ends()},
                            {"partial", partial_json(interrupted)},
                            {"rows", table.rows()},
                            {"mean_utilisation_percent", 100 * table.mean_utilisation()},
                            {"total_time_us", table.time_us()},
                            {"messages", network->messages()},
                            {"events", network->agenda().handled()},
                            {"digest", to_hex(network->agenda().digest())},
                            {"wall_s", watch.seconds()},
                            {"cpu_s", watch.cpu_seconds()}});
  }
  if (interrupted) throw Interrupted(*interrupted);
  return kDone;
}

}  // namespace weft::platforms
