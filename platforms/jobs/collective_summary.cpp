// SPDX-License-Identifier: Apache-2.0
#include "platforms/jobs/collective_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "platforms/config/choices.h"
#include "platforms/config/text.h"
#include "platforms/jobs/collective_details.h"
#include "platforms/jobs/kernel_digest.h"
#include "platforms/machine/starvation.h"
#include "platforms/results/format.h"
#include "platforms/results/summary.h"
#include "platforms/results/version.h"
#include "sw/compression/blocks.h"

namespace weft::platforms {

using nlohmann::ordered_json;

namespace {

std::vector<std::string> broadcast_trees() {
  std::vector<std::string> names;
  for (const auto& [name, value] : enum_names(collectives::BroadcastAlgorithm{})) {
    if (value != collectives::BroadcastAlgorithm::kAutomatic) names.emplace_back(name);
  }
  return names;
}

/// Whether a compressor can take messages of such a table.
bool can_travel(const compression::CompressionConfig& how, const CollectiveRequest& request) {
  const bool is_fp32 = request.type == ElementType::kFp32;
  const bool exact = compression::compressor_of(how).exact;
  const bool by_blocks = compression::Blocks::has(how);
  switch (request.op) {
    case CollectiveOp::kAllReduce:
      // Quantisers sum AllReduces as a message.
      if (!by_blocks || !compression::Blocks(how, sizeof(float)).hops()) return is_fp32;
      [[fallthrough]];
    case CollectiveOp::kAllgather:
    case CollectiveOp::kReduceScatter:
    case CollectiveOp::kAllgatherReduceScatter:
    case CollectiveOp::kAllToAll:
      return by_blocks && (exact || request.type != ElementType::kInt32);
    default:
      return false;
  }
}

/// Messages that it can take, for an error.
std::string takes(const compression::CompressionConfig& how) {
  if (!compression::Blocks::has(how)) return "all_reduce of fp32";
  const bool hops = compression::Blocks(how, sizeof(float)).hops();
  const bool exact = compression::compressor_of(how).exact;
  return std::string(hops ? "all_reduce, " : "all_reduce of fp32, or ") +
         "reduce_scatter, all_gather, all_gather+reduce_scatter or all_to_all of " +
         (exact ? "fp32, bf16, fp16 or int32" : "fp32, bf16 or fp16");
}

std::string without_repeats(const std::vector<std::string_view>& of_parts) {
  std::vector<std::string> names;
  for (const std::string_view name : of_parts) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  }
  return join(names, "+");
}

ordered_json rows_to_json(const std::vector<CollectiveResult>& results, bool has_nodes) {
  ordered_json rows = ordered_json::array();
  for (const CollectiveResult& result : results) {
    ordered_json row = {
        {"bytes", result.bytes},      {"time_us", to_us(result.time)},           {"algbw", result.algbw_GBps},
        {"busbw", result.busbw_GBps}, {"host_busy_us", to_us(result.host_busy)}, {"wrong", nullptr}};
    row["algorithm"] = result.algorithm();
    const std::string protocol = result.protocol();
    row["protocol"] = protocol.empty() ? ordered_json() : ordered_json(protocol);
    if (result.wrong >= 0) row["wrong"] = result.wrong;
    if (result.dpa_busy) row["dpa_busy_us"] = to_us(*result.dpa_busy);
    for (std::size_t p = 0; p < kPassedParts; ++p) {
      row["busy"][std::string(described(static_cast<Passed>(p)).key)] = result.busy[p];
    }
    const Passed* const bound = binding(result);
    row["binds"] = bound == nullptr ? ordered_json() : ordered_json(described(*bound).key);
    if (result.multicast) {
      collectives::MulticastCounters::each(
          [&](const char* name, auto field) { row["multicast"][name] = *result.multicast.*field; });
    }
    if (result.compressed) {
      const CompressedResult& by = *result.compressed;
      row["compression"] = {{"sent_bytes", by.sent_bytes},
                            {"ratio", by.ratio ? ordered_json(*by.ratio) : ordered_json()},
                            {"kernels_us", to_us(by.kernels)},
                            {"error", by.error ? ordered_json(*by.error) : ordered_json()}};
    }
    if (result.phases) row["phases"] = to_json(*result.phases);
    row["traffic"] = to_json(result.traffic, has_nodes);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

std::string CollectiveResult::algorithm() const {
  return without_repeats(algorithms);
}

std::string CollectiveResult::protocol() const {
  return without_repeats(protocols);
}

std::vector<std::string> collective_algorithms() {
  std::vector<std::string> names = names_of<collectives::AlgorithmName>();
  for (std::string& name : broadcast_trees()) names.push_back(std::move(name));
  return names;
}

std::vector<std::string> compressor_names() {
  return names_of<compression::CompressorName>();
}

std::vector<OptionValue> options_of(const CollectiveRequest& request, const std::string& option) {
  std::vector<OptionValue> options;
  if (!request.compression.empty()) {
    compression::CompressionConfig how;
    how.method = compression::CompressorName(request.compression);
    if (how.on() && !can_travel(how, request)) {
      throw UsageError(fmt::format("--compression: {} cannot compress {} of {}; it compresses {}", request.compression,
                                   name_of(request.op), name_of(request.type), takes(how)));
    }
    options.push_back({"collectives.compression.method", request.compression, "--compression"});
  }
  if (request.algorithm.empty()) return options;
  const auto set = [&](const char* field, const std::string& value) { options.push_back({field, value, option}); };
  const bool broadcasts = request.op == CollectiveOp::kBroadcast;
  const std::vector<std::string> trees = broadcast_trees();
  if (std::find(trees.begin(), trees.end(), request.algorithm) == trees.end()) {
    set("collectives.algorithm", request.algorithm);
    if (broadcasts) set("collectives.broadcast.algorithm", "automatic");
    return options;
  }
  if (!broadcasts) {
    throw UsageError(option + ": expected one of " + join(names_of<collectives::AlgorithmName>(), ", ") + " for " +
                     std::string(name_of(request.op)) + ", since " + request.algorithm +
                     " is a tree for broadcasts only, got " + in_quotes(request.algorithm));
  }
  set("collectives.broadcast.algorithm", request.algorithm);
  return options;
}

const Passed* binding(const CollectiveResult& result) {
  constexpr double kNearlyAll = 0.85;
  static constexpr std::array<Passed, kPassedParts> kParts = {Passed::kLink, Passed::kDmaRead, Passed::kDmaWrite,
                                                              Passed::kMemory, Passed::kNicCores};
  const auto most = std::max_element(result.busy.begin(), result.busy.end());
  return *most < kNearlyAll ? nullptr : &kParts[static_cast<std::size_t>(most - result.busy.begin())];
}

CollectiveRows::CollectiveRows(Platform& platform, CollectiveRequest request)
    : platform_(platform), request_(std::move(request)) {
  platform.ignore_workload();
  platform.document().check_unused();
}

Machine& CollectiveRows::build() {
  machine_ = &platform_.checked([&]() -> Machine& { return build_machine(platform_.machine()); });
  if (platform_.machine().data) {
    const CollectiveOp op = request_.op;
    const int buffers = op == CollectiveOp::kAllgatherReduceScatter
                            ? 3
                            : (op == CollectiveOp::kReduceScatter || op == CollectiveOp::kAllToAll ? 2 : 1);
    const std::uint64_t largest = *std::max_element(request_.sizes.begin(), request_.sizes.end());
    require_host_memory(static_cast<double>(largest) * machine_->size() * buffers);
  }
  return *machine_;
}

void CollectiveRows::run(const std::function<void(const CollectiveResult&, bool)>& ended) {
  platform_.checked([&] {
    run_collective(
        *machine_, request_.op, request_.sizes, request_.type, &remark_, request_.warms_up,
        [&](const CollectiveResult& result, bool measured) {
          const Time now = machine_->dispatcher().now();
          if (measured) {
            ends_.push_back(now);
            results_.push_back(result);
          } else {
            from_ = now;
            since_ = link_baseline(*machine_);
            used_ = used_so_far(*machine_, now);
            hosts_ = hosts_so_far(*machine_);
            if (Causes* causes = machine_->dispatcher().causes(); causes != nullptr) causes->tables().begin_again(now);
          }
          if (ended) ended(result, measured);
        },
        drawn_);
  });
}

namespace {

/// Of a message and of its blocks, whichever of them travel.
void add_kernels(KernelDigest& digest, const accelerator::ComputeConfig& compute,
                 const compression::CompressionConfig& how, const compression::Message& message, int ranks) {
  const auto add = [&](const compression::Kernels& kernels) {
    for (const compression::Kernel& kernel : kernels) digest.add(compression::kernel_work(compute, kernel));
  };
  if (compression::Blocks::has(how)) {
    const compression::Blocks blocks(how, message.element_bytes);
    const std::int64_t elements = std::max<std::int64_t>(1, message.elements / ranks);
    add(blocks.compress(elements));
    add(blocks.decompress(elements));
    add(blocks.hops() ? blocks.hop(elements) : blocks.add(elements, ranks));
  }
  if (message.element_bytes != compression::kElement) return;
  const compression::Plan plan = compression::plan_of(message, how);
  for (const compression::Plan::Round& round : plan.rounds) add(round.kernels);
  if (plan.after) add(plan.after(ranks));
}

}  // namespace

std::function<std::uint64_t(const accelerator::ComputeConfig&)> CollectiveRows::kernels_on() const {
  const compression::CompressionConfig& how = machine_->config().collectives.compression;
  if (!how.on()) return {};
  const auto element = static_cast<std::int64_t>(size_of(request_.type));
  return [how, element, sizes = request_.sizes, ranks = machine_->size()](const accelerator::ComputeConfig& compute) {
    KernelDigest digest;
    for (const std::uint64_t bytes : sizes) {
      const std::int64_t elements = std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes) / element);
      add_kernels(digest, compute, how, {elements, {}, element}, ranks);
    }
    return digest.value();
  };
}

bool CollectiveRows::has_wrong() const {
  return std::any_of(results_.begin(), results_.end(), [](const auto& result) { return result.wrong > 0; });
}

ordered_json CollectiveRows::summary(const ordered_json& partial) {
  MachineUse use = use_of(*machine_);
  use.energy = false;
  if (use.kernels) use.kernels_on = kernels_on();
  std::vector<IdleFields> more = platform_.replaced();
  more.push_back({"workload", {}, "weft run runs it", false, {}});
  idle_.emplace(platform_.document(), platform_.machine(), use, std::move(more));
  const auto add = [this](std::vector<std::string> lines) {
    for (std::string& line : lines) warnings_.push_back(std::move(line));
  };
  warnings_ = platform_.document().remarks();
  add(machine_->warnings());
  const CollectiveOp op = request_.op;
  const bool both = op == CollectiveOp::kAllReduce || op == CollectiveOp::kAllgatherReduceScatter;
  const RingUse rings{.sums = both || op == CollectiveOp::kReduceScatter,
                      .gathers = both || op == CollectiveOp::kAllgather || op == CollectiveOp::kBroadcast};
  const fabric::Plan* node = machine_->node_count() > 0 ? &machine_->node_network(0).plan() : nullptr;
  add(describe_starved_rings(machine_->config(), machine_->network().plan(), node, rings));
  const std::string& algorithm = request_.algorithm;
  return {{"weft", version_json()},
          {"platform", platform_.name()},
          {"workload", {{"kind", "collective"}, {"op", name_of(op)}}},
          {"op", name_of(op)},
          {"type", name_of(request_.type)},
          {"ranks", machine_->size()},
          {"algorithm", algorithm.empty() ? std::string(name_of(machine_->config().collectives.algorithm)) : algorithm},
          {"warm_up", request_.warms_up},
          {"remark", remark_},
          // What changes nothing is known at the end alone.
          {"without_effect", partial.is_null() ? idle_->json() : ordered_json::array()},
          {"partial", partial},
          {"simulated_us", to_us(length())},
          {"timeline", nullptr},
          {"rows", rows_to_json(results_, machine_->node_count() > 0)},
          {"links", link_totals(*machine_)},
          {"counters", interface_summary(*machine_)},
          {"warnings", warnings_},
          {"events", machine_->dispatcher().handled()},
          {"hops", machine_->hops()},
          {"digest", to_hex(machine_->dispatcher().digest())},
          {"wall_s", watch_.seconds()},
          {"cpu_s", watch_.cpu_seconds()}};
}

}  // namespace weft::platforms
