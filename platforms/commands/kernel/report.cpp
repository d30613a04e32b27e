// SPDX-License-Identifier: Apache-2.0
#include "platforms/commands/kernel/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string_view>

#include "platforms/cli/output.h"
#include "platforms/commands/command.h"
#include "platforms/config/sizes.h"
#include "platforms/results/format.h"
#include "platforms/results/write_file.h"

namespace weft::platforms {
namespace {

using accelerator::Cost;
using accelerator::DataType;

/// Where the part has no units for the type of the products: which rate is taken instead.
std::string note_on(const KernelShape& shape, const TimedOn& on) {
  if (!shape.product || multiplies(on.compute, shape.units)) return {};
  const Compute peak = peak_of(on.compute, shape.units);
  std::string_view other;
  for (const auto& [name, type] : enum_names(DataType{})) {
    if (other.empty() && multiplies(on.compute, type) && peak_of(on.compute, type) == peak) other = name;
  }
  const std::string rate = fmt::format("{:.4g} TFLOPS", static_cast<double>(peak.count()) * 1e-12);
  return fmt::format("{} has no units for {}: taken are {}{}", on.name, name_of(shape.units), rate,
                     other.empty() ? "" : fmt::format(", the peak of {}", other));
}

std::string bound(const KernelRow& row) {
  return row.costs.empty() ? "nothing" : std::string(name_of(row.costs.front().first));
}

/// Bytes of HBM, both ways.
double moved(const KernelRow& row) {
  return static_cast<double>((row.work.read + row.work.written).count());
}
double intensity(const KernelRow& row) {
  return moved(row) > 0 ? row.work.flops / moved(row) : 0;
}
/// Operations for each byte from which the peak, not HBM, is the limit.
double ridge(const KernelRow& row) {
  return row.peak * 1e12 / (static_cast<double>(row.rate.count()) / 8);
}

double clock_mhz(const KernelRow& row, const TimedOn& on) {
  return row.work.clock * static_cast<double>(on.compute.clock.count()) * 1e-6;
}
/// Whether the clock is below what the clock cap leaves.
bool held_by_power(const KernelRow& row, const TimedOn& on) {
  return on.compute.clock_cap <= Frequency() ||
         clock_mhz(row, on) * 1e6 < static_cast<double>(on.compute.clock_cap.count()) * (1 - 1e-9);
}

std::string plan_text(const KernelRow& row) {
  if (row.plan.units == 0) return "-";
  return fmt::format("tile {}x{}, split k {}, {} units in {} waves", row.plan.tile_m, row.plan.tile_n, row.plan.split_k,
                     row.plan.units, row.plan.waves);
}

/// "1830MHz", and what holds it below that of the peaks.
std::string clock_text(const KernelRow& row, const TimedOn& on) {
  if (row.work.clock >= 1) return to_text(on.compute.clock);
  std::string text = fmt::format("{:.0f}MHz, {} of {}, which the ", clock_mhz(row, on), percent(row.work.clock),
                                 to_text(on.compute.clock));
  text += held_by_power(row, on) ? "power cap of " + to_text(on.compute.power.cap)
                                 : "clock cap of " + to_text(on.compute.clock_cap);
  text += " leaves";
  if (row.work.paused > Time()) {
    text += fmt::format("; pauses for {} of the time", percent(to_seconds(row.work.paused) / to_seconds(row.time)));
  }
  return text;
}

}  // namespace

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

KernelRow time_of(const KernelShape& shape, const TimedOn& on) {
  KernelRow row{.shape = shape, .work = {}, .plan = {}, .rate = {}, .time = {}, .memory = {}, .costs = {}, .note = {}};
  try {
    row.work = shape.work(on.compute, &row.plan);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
  if (on.warm) row.work = with_warm_operands(on.compute, row.work);
  row.rate = on.part.hbm.sustained(row.work.read, row.work.written);
  row.time = estimate(row.work, row.rate);
  row.memory = transfer_time(row.work.read + row.work.written, row.rate);
  row.costs = breakdown(row.work, row.rate);
  if (row.rate == on.part.hbm.interconnect_rate) {
    for (auto& cost : row.costs) {
      if (cost.first == accelerator::Cost::kMemory) cost.first = accelerator::Cost::kInterconnect;
    }
  }
  row.peak = static_cast<double>(peak_of(on.compute, shape.units).count()) * 1e-12;
  row.note = note_on(shape, on);
  row.energy = energy(on.compute.power, row.work, row.rate);
  if (row.time > Time()) {
    row.tflops = row.work.flops / to_seconds(row.time) * 1e-12;
    row.power = row.energy / to_seconds(row.time);
  }
  return row;
}

nlohmann::ordered_json to_json(const KernelRow& row, const TimedOn& on) {
  nlohmann::ordered_json json = row.shape.json;
  if (row.plan.units > 0) {
    json["plan"] = {{"tile_m", row.plan.tile_m},   {"tile_n", row.plan.tile_n},
                    {"split_k", row.plan.split_k}, {"units", row.plan.units},
                    {"waves", row.plan.waves},     {"reduction_us", to_us(row.plan.reduction)}};
  }
  json["time_us"] = to_us(row.time);
  json["tflops"] = row.tflops;
  json["peak_tflops"] = row.peak;
  json["bound"] = bound(row);
  json["launch_us"] = to_us(row.work.launch);
  json["compute_us"] = to_us(row.work.compute);
  json["memory_us"] = to_us(row.memory);
  json["breakdown_us"] = nlohmann::ordered_json::object();
  for (const auto& [cost, time] : row.costs) json["breakdown_us"][std::string(name_of(cost))] = to_us(time);
  json["read_bytes"] = row.work.read.count();
  json["written_bytes"] = row.work.written.count();
  json["l2_bytes"] = row.work.cached.count();
  json["l2_hit_rate"] = hit_rate(row.work);
  json["l2_us"] = to_us(row.work.cache);
  json["flops"] = row.work.flops;
  json["intensity"] = intensity(row);
  json["ridge"] = ridge(row);
  json["energy_j"] = row.energy;
  json["power_w"] = row.power;
  json["clock"] = row.work.clock;
  json["clock_mhz"] = clock_mhz(row, on);
  json["paused_us"] = to_us(row.work.paused);
  if (!row.note.empty()) json["note"] = row.note;
  return json;
}

void print_report(const KernelRow& row, const TimedOn& on) {
  const double seconds = to_seconds(row.time);
  print(fmt::format("{} on {} ({} SMs): {}, bound by {}\n", row.shape.text, on.name, on.compute.sms,
                    short_time(row.time), bound(row)));
  std::vector<std::vector<std::string>> parts;
  for (const auto& [cost, time] : row.costs) {
    parts.push_back({"  " + std::string(name_of(cost)), short_time(time), percent(to_seconds(time) / seconds)});
  }
  const auto& [compute, cache] = row.work.uncapped;  // what caps add is a line of its own
  const Time longest = std::max({compute, row.memory, cache});
  bool shown = false;
  for (const auto& [name, time] :
       {std::pair("  computing", compute), std::pair("  HBM", row.memory), std::pair("  L2", cache)}) {
    if (time == longest && !shown) {
      shown = true;
    } else if (time > Time()) {
      parts.push_back({name, short_time(time), "hidden"});
    }
  }
  print(in_columns(parts));
  const double memory = static_cast<double>(row.rate.count()) / 8;
  std::string text;
  if (row.work.flops > 0) {
    text += fmt::format("operations  {:.4g} GFLOP, {:.4g} TFLOPS, {} of the peak of {:.4g} TFLOPS\n",
                        row.work.flops * 1e-9, row.tflops, percent(row.tflops / row.peak), row.peak);
  }
  text += fmt::format("HBM         {} read, {} written, {:.4g} GB/s, {} of {:.4g} GB/s\n",
                      short_bytes(static_cast<double>(row.work.read.count())),
                      short_bytes(static_cast<double>(row.work.written.count())), moved(row) / seconds * 1e-9,
                      percent(moved(row) / seconds / memory), memory * 1e-9);
  if (row.work.cached > Bytes(0)) {
    text += fmt::format("L2          {} asked of it, {} hits{}\n",
                        short_bytes(static_cast<double>(row.work.cached.count())), percent(hit_rate(row.work)),
                        on.warm ? ", with warm operands" : "");
  }
  text += fmt::format("intensity   {:.4g} FLOP/byte; the ridge is at {:.4g}\n", intensity(row), ridge(row));
  if (row.plan.units > 0) text += "plan        " + plan_text(row) + "\n";
  text += fmt::format(
      "energy      {:.4g} mJ: operations {:.4g}, HBM {:.4g}, moving its bytes {:.4g}, idle {:.4g}; {:.4g} W on "
      "average\n",
      row.energy * 1e3, row.work.array_energy * 1e3, row.work.memory_energy * 1e3, row.work.moving_energy * 1e3,
      (row.energy - drawn(row.work)) * 1e3, row.power);
  text += "clock       " + clock_text(row, on) + "\n";
  if (!row.note.empty()) text += "note        " + row.note + "\n";
  print(text);
}

void print_table(const std::vector<KernelRow>& rows) {
  std::vector<std::vector<std::string>> table = {
      {"kernel", "time (us)", "TFLOPS", "of peak", "bound by", "share", "launch", "compute", "HBM", "W", "plan"}};
  for (const KernelRow& row : rows) {
    const double share = row.costs.empty() ? 0 : to_seconds(row.costs.front().second) / to_seconds(row.time);
    table.push_back({row.shape.text, fmt::format("{:.2f}", to_us(row.time)), fmt::format("{:.1f}", row.tflops),
                     percent(row.tflops / row.peak), bound(row), percent(share),
                     fmt::format("{:.2f}", to_us(row.work.launch)), fmt::format("{:.2f}", to_us(row.work.compute)),
                     fmt::format("{:.2f}", to_us(row.memory)), fmt::format("{:.0f}", row.power), plan_text(row)});
  }
  print(in_columns(table));
  std::set<std::string> notes;
  for (const KernelRow& row : rows) {
    if (!row.note.empty() && notes.insert(row.note).second) print("note: " + row.note + "\n");
  }
}

}  // namespace weft::platforms
