// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/pipeline/stage_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace weft::schedules {
namespace {

constexpr std::uint64_t kFloatBytes = 4;

double seconds_of(const accelerator::ComputeConfig& compute, const StageKernels& kernels) {
  Time sum;
  for (const StageKernel& kernel : kernels) sum += estimate(stage_work(compute, kernel), compute.memory);
  return static_cast<double>(sum.count()) * 1e-12;
}

double message_seconds(const StageLink& link, double bytes) {
  const Time sending = transfer_time(Bytes(static_cast<std::int64_t>(bytes)), link.rate);
  return static_cast<double>((link.time + sending).count()) * 1e-12;
}

void append(StageKernels& all, const StageKernels& more) {
  all.insert(all.end(), more.begin(), more.end());
}

/// Units' times on each part.
class UnitTimes {
 public:
  UnitTimes(const PipelineSite& site, const PipelineModel& model) : site_(site), model_(model) {}

  double operator()(std::size_t unit, int rank) {
    const auto at = static_cast<std::size_t>(rank);
    std::vector<double>& seconds = of_part_[site_.parts[at]];
    if (seconds.empty()) {
      const accelerator::ComputeConfig& compute = site_.ranks[at]->accelerator.compute();
      for (const PipelineUnit& each : model_.units) {
        seconds.push_back(seconds_of(compute, each.forward) + seconds_of(compute, each.backward));
      }
    }
    return seconds[unit];
  }

 private:
  const PipelineSite& site_;
  const PipelineModel& model_;
  std::map<int, std::vector<double>> of_part_;
};

std::int64_t under_way(const workloads::Pipeline& pipeline, std::int64_t stage) {
  if (pipeline.schedule == workloads::PipelineSchedule::kGPipe) return pipeline.microbatches;
  return std::min(pipeline.microbatches, pipeline.stages - stage);
}

struct StageBytes {
  std::uint64_t state = 0;
  std::uint64_t kept = 0;
  std::uint64_t messages = 0;  ///< without compression, of which there can be no more
  [[nodiscard]] std::uint64_t all() const { return state + kept + messages; }
};

StageBytes bytes_of(const PipelineModel& model, const PipelineConfig& config, const workloads::Pipeline& pipeline,
                    std::size_t first, std::size_t end, int stage) {
  StageBytes bytes;
  for (std::size_t u = first; u < end; ++u) {
    bytes.state += static_cast<std::uint64_t>(model.units[u].parameters * model.state_bytes);
    bytes.kept += static_cast<std::uint64_t>(model.units[u].kept * under_way(pipeline, stage));
  }
  const auto add = [&](std::size_t unit) {
    bytes.messages +=
        static_cast<std::uint64_t>(2 * config.microbatches * model.units[unit].crossing * config.element_bytes());
  };
  if (first > 0) add(first - 1);
  if (end < model.units.size()) add(end - 1);
  return bytes;
}

/// As compressors see it: samples are its tensors.
compression::Message message_of(const StageHop& hop) {
  const compression::Message::Tensor sample{1, hop.elements / hop.samples};
  return {hop.elements, std::vector<compression::Message::Tensor>(static_cast<std::size_t>(hop.samples), sample)};
}

void compress(StageHop& hop, const PipelineConfig& config, double factor, double longest) {
  hop.reduction = reduction_of(config.compressed_links, 1 / config.compression.ratio, factor, hop.seconds, longest);
  hop.how = config.compression;
  hop.how.error_feedback = false;
  hop.how.ratio = 1 / hop.reduction;
  const compression::Plan plan = plan_of(message_of(hop), hop.how);
  if (plan.wire != compression::Wire::kGathered || plan.varies || plan.rounds.size() != 1) {
    throw ConfigError("workload.compression.method",
                      "expected a compressor whose messages are gathered and of one length, such as top-k, qsgd, "
                      "terngrad, sign or scaled-sign, got " +
                          config.compression.method.text());
  }
  std::uint64_t bytes = plan.rounds[0].bytes;
  if (plan.unit == compression::kPair && config.index_bits == 64) bytes += bytes / 2;
  // Values with their indices are longer than all values.
  if (bytes >= hop.dense) {
    hop.reduction = 1;
    return;
  }
  hop.compressed = true;
  hop.bytes = bytes;
  for (const compression::Kernel& kernel : plan.rounds[0].kernels) hop.pack.emplace_back(kernel);
  for (const compression::Kernel& kernel : plan.after(1)) hop.unpack.emplace_back(kernel);
}

bool widens(const StageHop& hop) {
  const compression::Plan plan = plan_of(message_of(hop), hop.how);
  return plan.rounds[0].bytes != hop.bytes;
}

workloads::Pipeline pipeline_of(const PipelineConfig& config, int stages) {
  const auto schedule = config.schedule == StageOrder::kGPipe ? workloads::PipelineSchedule::kGPipe
                                                              : workloads::PipelineSchedule::kOneForwardOneBackward;
  return {schedule, stages, 1, config.microbatches};
}

void check(const PipelineConfig& config, int ranks) {
  if (config.stages > ranks) {
    throw ConfigError("workload.stages", "expected at most the " + std::to_string(ranks) + " accelerators, got " +
                                             std::to_string(config.stages));
  }
  if (config.index_bits != 32 && config.index_bits != 64) {
    throw ConfigError("workload.index_bits", "expected 32 or 64, got " + std::to_string(config.index_bits));
  }
  if (!config.compression.on()) return;
  compression::check(config.compression, "workload.compression");
  if (config.type == PipelineType::kFp32) return;
  throw ConfigError("workload.type", "expected fp32 where workload.compression is on, got bf16");
}

}  // namespace

double StageHop::sent_seconds() const {
  return message_seconds(link, static_cast<double>(bytes));
}

double PipelinePlan::estimate() const {
  double sum = 0;
  double longest = 0;
  const auto add = [&](double time) {
    sum += time;
    longest = std::max(longest, time);
  };
  for (const PipelineStage& stage : stages) add(stage.seconds);
  for (const StageHop& hop : hops) add(2 * hop.sent_seconds());
  return sum + static_cast<double>(pipeline.microbatches - 1) * longest;
}

PipelinePlan plan_pipeline(const PipelineSite& site, const PipelineModel& model, const PipelineConfig& config) {
  const auto all = static_cast<int>(site.ranks.size());
  const LinkBetween& link = site.link;
  check(config, all);
  const int count = config.stages == 0 ? all : config.stages;
  PipelinePlan plan{config, pipeline_of(config, count), {}, {}};
  const std::vector<int> order = place_stages(config.placement, all, count, site.seed, link);
  const auto rank_of = [&order](int stage) { return order[static_cast<std::size_t>(stage)]; };
  UnitTimes times(site, model);
  const auto dense = [&](std::size_t unit) {
    return static_cast<std::uint64_t>(model.units[unit].crossing * config.element_bytes());
  };
  CutCosts costs{model.units.size(), count, {}, {}, {}};
  costs.compute = [&](std::size_t unit, int stage) { return times(unit, rank_of(stage)); };
  // With compression the slowest link is that much shorter, and others at least as far as it matters.
  const double shorter = config.compression.on() ? 1 / config.compression.ratio : 1;
  costs.message = [&](std::size_t unit, int stage) {
    return 2 * message_seconds(link(rank_of(stage), rank_of(stage + 1)), static_cast<double>(dense(unit)) / shorter);
  };
  costs.fits = [&](std::size_t first, std::size_t end, int stage) {
    const firmware::Rank& rank = *site.ranks[static_cast<std::size_t>(rank_of(stage))];
    return bytes_of(model, config, plan.pipeline, first, end, stage).all() <= rank.memory.capacity();
  };
  costs.memory = [&] {
    constexpr double kGiB = 1 << 30;
    double room = 0;
    for (int s = 0; s < count; ++s) {
      room += static_cast<double>(site.ranks[static_cast<std::size_t>(rank_of(s))]->memory.capacity());
    }
    const StageBytes whole = bytes_of(model, config, plan.pipeline, 0, model.units.size(), 0);
    return fmt::format(
        "{:.4g} GiB of weights, gradients and optimizer and {:.4g} GiB of activations for {} units, and "
        "{:.4g} GiB in all of {} stages",
        static_cast<double>(whole.state) / kGiB, static_cast<double>(whole.kept) / kGiB, model.units.size(),
        room / kGiB, count);
  };
  const std::vector<std::size_t> first = cut_units(config.cut, costs);
  for (int s = 0; s < count; ++s) {
    PipelineStage& stage = plan.stages.emplace_back();
    const auto at = static_cast<std::size_t>(s);
    stage.rank = rank_of(s);
    stage.first = first[at];
    stage.end = s + 1 == count ? model.units.size() : first[at + 1];
    for (std::size_t u = stage.first; u < stage.end; ++u) {
      const PipelineUnit& unit = model.units[u];
      append(stage.forward, unit.forward);
      stage.backward.insert(stage.backward.begin(), unit.backward.begin(), unit.backward.end());
      append(stage.update, unit.update);
      stage.parameters += unit.parameters;
      stage.seconds += times(u, stage.rank);
    }
    const StageBytes bytes = bytes_of(model, config, plan.pipeline, stage.first, stage.end, s);
    stage.state_bytes = bytes.state;
    stage.kept_bytes = bytes.kept;
    if (s + 1 == count) break;
    StageHop& hop = plan.hops.emplace_back();
    hop.link = link(rank_of(s), rank_of(s + 1));
    hop.elements = model.units[stage.end - 1].crossing;
    hop.samples = config.samples();
    hop.dense = hop.bytes = dense(stage.end - 1);
    hop.seconds = message_seconds(hop.link, static_cast<double>(hop.dense));
  }
  if (config.compression.on()) {
    double longest = 0;
    for (const StageHop& hop : plan.hops) longest = std::max(longest, hop.seconds);
    const double factor = static_cast<double>(32 + config.index_bits) / 32;
    for (StageHop& hop : plan.hops) compress(hop, config, factor, longest);
  }
  for (std::size_t h = 0; h < plan.hops.size(); ++h) {
    const std::uint64_t buffers = 2 * static_cast<std::uint64_t>(config.microbatches) * plan.hops[h].bytes;
    plan.stages[h].message_bytes += buffers;
    plan.stages[h + 1].message_bytes += buffers;
  }
  return plan;
}

std::vector<std::byte> packed(const StageHop& hop, std::span<const float> values) {
  if (!hop.compressed) {
    std::vector<std::byte> bytes(values.size_bytes());
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  const compression::Message message = message_of(hop);
  const auto codec = compression::codec_of({message, hop.how});
  std::vector<std::byte> sent = codec->compress(values, 0, {});
  if (!widens(hop)) return sent;
  // An index of 64 bits, then the value.
  std::vector<std::byte> wide(sent.size() / compression::kPair * (compression::kPair + kFloatBytes));
  for (std::size_t from = 0, to = 0; from < sent.size(); from += compression::kPair, to += 12) {
    std::memcpy(wide.data() + to, sent.data() + from, kFloatBytes);
    std::memcpy(wide.data() + to + 8, sent.data() + from + kFloatBytes, kFloatBytes);
  }
  return wide;
}

std::vector<float> unpacked(const StageHop& hop, std::span<const std::byte> message) {
  std::vector<float> values(static_cast<std::size_t>(hop.elements));
  if (!hop.compressed) {
    std::memcpy(values.data(), message.data(), message.size());
    return values;
  }
  std::vector<std::byte> narrow(message.begin(), message.end());
  if (widens(hop)) {
    narrow.resize(message.size() / 12 * compression::kPair);
    for (std::size_t from = 0, to = 0; from < message.size(); from += 12, to += compression::kPair) {
      std::memcpy(narrow.data() + to, message.data() + from, kFloatBytes);
      std::memcpy(narrow.data() + to + kFloatBytes, message.data() + from + 8, kFloatBytes);
    }
  }
  const compression::Message of = message_of(hop);
  compression::codec_of({of, hop.how})->add(narrow, values);
  return values;
}

}  // namespace weft::schedules
