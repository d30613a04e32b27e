// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/kernel_table.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platforms/results/format.h"

namespace weft::platforms {
namespace {

using accelerator::Accelerator;
using nlohmann::ordered_json;

struct KernelRow {
  std::int64_t count = 0;
  Time taken;
  double flops = 0;
  bool has_flops = true;
  double bytes = 0;
};

/// Those of a kind; without labels, what tells it from others.
std::string name_of(const accelerator::KernelKinds& kinds, std::uint32_t number) {
  std::vector<std::string_view> names;
  for (const char* label : kinds.labels(number)) {
    if (label != nullptr) names.emplace_back(label);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  if (!text.empty()) return text;
  const accelerator::Command& kernel = kinds.all()[number];
  return "kernel of " + short_time(Time(kernel.compute_ps)) + " and " +
         short_bytes(static_cast<double>(kernel.read + kernel.written));
}

}  // namespace

ordered_json kernel_table(Machine& machine, const Baseline* since) {
  std::map<std::string, KernelRow> rows;
  for (int i = 0; i < machine.size(); ++i) {
    const Accelerator& accelerator = machine.accelerator(i);
    const Accelerator::Counters& all = accelerator.counters();
    const Accelerator::Counters before =
        since != nullptr ? since->accelerators[static_cast<std::size_t>(i)] : Accelerator::Counters();
    for (std::uint32_t kind = 0; kind < all.of_kind.size(); ++kind) {
      const bool has_before = kind < before.of_kind.size();
      const std::int64_t count = all.of_kind[kind] - (has_before ? before.of_kind[kind] : 0);
      if (count == 0) continue;
      const accelerator::Command& kernel = accelerator.kinds().all()[kind];
      KernelRow& row = rows[name_of(accelerator.kinds(), kind)];
      const auto times = static_cast<double>(count);
      row.count += count;
      row.taken += all.taken_of_kind[kind] - (has_before ? before.taken_of_kind[kind] : Time());
      row.flops += times * kernel.flops;
      row.has_flops = row.has_flops && kernel.flops > 0;
      row.bytes += times * static_cast<double>(kernel.read + kernel.written);
    }
  }
  std::vector<std::pair<std::string, KernelRow>> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.taken > b.second.taken; });
  ordered_json kernels = ordered_json::array();
  for (const auto& [name, row] : sorted) {
    kernels.push_back({{"name", name},
                       {"count", row.count},
                       {"time_us", to_us(row.taken)},
                       {"flops", row.has_flops ? ordered_json(row.flops) : ordered_json(nullptr)},
                       {"hbm_bytes", row.bytes}});
  }
  const accelerator::ComputeConfig& compute = machine.config().accelerator.array.compute;
  constexpr double kBits = 8;
  return {{"tensor_16bit_flops", static_cast<double>(compute.tensor_16bit.count())},
          {"tensor_8bit_flops", static_cast<double>(compute.tensor_8bit.count())},
          {"vector_fp32_flops", static_cast<double>(compute.vector_fp32.count())},
          {"hbm_bytes_per_s", static_cast<double>(machine.config().accelerator.hbm.sustained().count()) / kBits},
          {"kernels", kernels}};
}

}  // namespace weft::platforms
