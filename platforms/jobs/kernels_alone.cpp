// SPDX-License-Identifier: Apache-2.0
#include "platforms/jobs/kernels_alone.h"

#include <fmt/format.h>

#include <vector>

#include "platforms/results/format.h"
#include "platforms/results/write_file.h"
#include "sw/firmware/processor.h"

namespace weft::platforms {
namespace {

using accelerator::Accelerator;
using accelerator::Command;

/// By kind, what it took.
firmware::Task run_alone(firmware::Rank& rank, firmware::CompletionQueue& ended, std::vector<Command> kernels,
                         std::vector<Time>& took) {
  constexpr std::uint32_t kStream = 0;
  for (Command& kernel : kernels) {
    const Time before = rank.accelerator.counters().taken;
    kernel.stream = kStream;
    rank.accelerator.submit(kernel);
    rank.accelerator.notify(kStream, ended, 0);
    co_await ended.next();
    took.push_back(rank.accelerator.counters().taken - before);
  }
}

}  // namespace

std::optional<KernelTimes> measure_kernels_alone(Machine& machine, const Baseline* since) {
  const auto accelerators = static_cast<std::size_t>(machine.size());
  KernelTimes sum;
  std::vector<std::vector<std::int64_t>> counts(accelerators);
  std::int64_t kernels = 0;
  for (std::size_t i = 0; i < accelerators; ++i) {
    const Accelerator::Counters& all = machine.accelerator(static_cast<int>(i)).counters();
    const Accelerator::Counters before = since != nullptr ? since->accelerators[i] : Accelerator::Counters();
    if (all.of_no_kind > before.of_no_kind) return std::nullopt;
    kernels += all.kernels - before.kernels;
    sum.taken += all.taken - before.taken;
    sum.alone += all.calculated - before.calculated;
    counts[i] = all.of_kind;
    for (std::size_t kind = 0; kind < before.of_kind.size(); ++kind) counts[i][kind] -= before.of_kind[kind];
  }
  if (kernels == 0) return std::nullopt;

  std::vector<std::vector<Time>> took(accelerators);
  bool runs = false;
  for (std::size_t i = 0; i < accelerators; ++i) {
    Accelerator& array = machine.accelerator(static_cast<int>(i));
    if (array.kinds().all().empty()) continue;
    runs = true;
    array.end_recording();
    firmware::Rank& rank = machine.rank(static_cast<int>(i));
    firmware::CompletionQueue& ended = rank.processor->create_completion_queue("a kernel alone");
    rank.processor->spawn("kernels alone", 0, run_alone(rank, ended, array.kinds().all(), took[i]));
  }
  if (runs) machine.run();  // else nothing moves time, and the kernel complains
  for (std::size_t i = 0; i < accelerators; ++i) {
    for (std::size_t kind = 0; kind < counts[i].size(); ++kind) sum.alone += took[i][kind] * counts[i][kind];
  }
  return KernelTimes{sum.taken / machine.size(), sum.alone / machine.size()};
}

nlohmann::ordered_json to_json(const std::optional<KernelTimes>& times) {
  if (!times) return nullptr;
  return {{"time_us", to_us(times->taken)},
          {"alone_us", to_us(times->alone)},
          {"longer_us", to_us(times->taken - times->alone)}};
}

std::string to_text(const std::optional<KernelTimes>& times, const std::string& of) {
  if (!times) return "";
  constexpr double kShown = 0.0005;
  const Time longer = times->taken - times->alone;
  const double share = times->taken > Time() ? to_seconds(longer) / to_seconds(times->taken) : 0;
  const std::string why = share < kShown ? "as long as they take alone"
                                         : fmt::format("of it {}, {:.1f} %, because of what runs beside them",
                                                       short_time(longer), share * 100);
  return fmt::format("kernels                 {:>10}  {}{}{}\n", short_time(times->taken), of, of.empty() ? "" : ", ",
                     why);
}

}  // namespace weft::platforms
