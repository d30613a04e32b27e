// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/nccl/nccl_collectives.h"

#include <algorithm>

#include "sw/collectives/followed.h"
#include "sw/collectives/in_network/in_network.h"
#include "sw/collectives/in_network/in_network_algorithm.h"
#include "sw/collectives/nodes.h"
#include "sw/collectives/ring/ring_algorithm.h"

namespace weft::collectives {

using dimensions::Operation;
using firmware::Rank;
using firmware::Task;

namespace {

/// NCCL's steps of NVLSTree (calcCollChunking() of its enqueue.cc): a chunk for each channel and head, which shortens
/// with the buffer. Channels share the links and so keep step with each other.
TwoLevel::PieceCount nvls_steps(std::uint64_t longest, std::uint64_t parts) {
  return [longest, parts](std::uint64_t bytes) {
    constexpr std::pair<std::uint64_t, std::uint64_t> kShorter[] = {
        {32, 256 << 10}, {16, 128 << 10}, {4, 64 << 10}, {1, 32 << 10}};
    std::uint64_t chunk = longest;
    for (const auto& [steps, shorter] : kShorter) {
      if (bytes < steps * parts * chunk) chunk = std::min(chunk, shorter);
    }
    return std::max<std::uint64_t>((bytes + parts * chunk - 1) / (parts * chunk), 1);
  };
}

/// With what switches could do for it, whatever NcclConfig says.
NcclGroup able_group(const GroupSite& site) {
  const Nodes nodes(site.ranks);
  const Rank& rank = *site.ranks.front();
  const std::int64_t ports = std::min(nodes.per_node(), site.channels);
  NcclGroup group{static_cast<int>(site.ranks.size()),
                  nodes.count(),
                  site.channels,
                  rank.scale_up.rate,
                  rank.scale_out.rate * ports,
                  protocol_flags(site.config)};
  group.version = site.own.as<NcclConfig>().version;
  const auto sum = [&site](const std::vector<int>& members) {
    return InNetworkGroup::can_reduce(pick(site.ranks, members)) &&
           InNetworkGroup::can_receive(pick(site.ranks, members));
  };
  const bool even = nodes.even();
  group.pat = even && nodes.per_node() == 1;
  // Of two GPUs NCCL has no NVLS (ncclNvlsInit() of its src/transport/nvls.cc, version 2.22).
  group.nvls = even && nodes.per_node() > 2 && sum(nodes.row(0));
  group.collnet = even && nodes.count() > 1 && sum(nodes.column(0));
  return group;
}

/// What NcclConfig leaves of it.
NcclGroup allowed(NcclGroup group, const NcclConfig& config) {
  group.nvls &= config.nvls;
  group.collnet &= config.collnet;
  group.pat &= config.pat;
  return group;
}

NcclWay choose(const NcclGroup& group, NcclCollective what, std::uint64_t bytes) {
  return group.members == 1 ? NcclWay() : nccl_way(group, what, bytes);
}

NcclCollective kind_of(Operation what) {
  return what == Operation::kAllReduce ? NcclCollective::kAllReduce : NcclCollective::kBlocks;
}

std::string_view protocol_name(Flags flags) {
  switch (flags) {
    case Flags::kWords:
      return "LL";
    case Flags::kLines:
      return "LL128";
    case Flags::kNone:
      break;
  }
  return "Simple";
}

constexpr NcclVersion kFirstWithWindows = NcclVersion::k2_27;

void check_windows(const NcclConfig& config) {
  if (!config.symmetric || config.version >= kFirstWithWindows) return;
  throw ConfigError("collectives.nccl.symmetric", "expected false, since collectives.nccl.version is " +
                                                      std::string(name_of(config.version)) +
                                                      " and symmetric windows are of 2.27 and later, got true");
}

void check_copy_engines(const GroupSite& site) {
  const NcclConfig& config = site.own.as<NcclConfig>();
  if (config.cta_policy != CtaPolicy::kZero) return;
  constexpr const char* kField = "collectives.nccl.cta_policy";
  if (config.version < NcclVersion::k2_28) {
    throw ConfigError(kField, "expected default, since collectives.nccl.version is " +
                                  std::string(name_of(config.version)) +
                                  " and collectives by copy engines are of 2.28 and later, got zero");
  }
  const auto without =
      std::find_if(site.ranks.begin(), site.ranks.end(), [](const Rank* rank) { return rank->dma_engines == 0; });
  if (without == site.ranks.end()) return;
  throw ConfigError(kField, "expected default, since accelerator.dma.engines of rank " +
                                std::to_string((*without)->index) + " is 0, got zero");
}

PatMember::Options pat_options(const CommunicatorConfig& config) {
  return {static_cast<std::uint64_t>(config.chunk.count()), config.slots, config.queue_pairs};
}

}  // namespace

NcclCollectives::NcclCollectives(const GroupSite& site)
    : ranks_(site.ranks),
      config_(site.own.as<NcclConfig>()),
      two_level_(two_level_options(site)),
      pat_options_(pat_options(site.config)),
      channels_(site.channels),
      name_(site.name),
      able_(able_group(site)),
      nccl_(allowed(able_, config_)),
      rings_(make_rings(site, [group = nccl_](NcclCollective what,
                                              std::uint64_t bytes) { return choose(group, what, bytes).flags; })),
      trees_(site) {
  check_windows(config_);
  check_copy_engines(site);
}

std::optional<SymmetricKernel> NcclCollectives::symmetric(Operation what, std::uint64_t bytes, ElementType type) const {
  constexpr std::uint64_t kMost = std::uint64_t{64} << 30;  // ncclSymPickKernel(): its loops count in 32 bits
  if (!config_.symmetric || nccl_.nodes > 1 || size() == 1 || bytes == 0 || bytes >= kMost) return std::nullopt;
  if (what == Operation::kAllToAll || copies(what)) return std::nullopt;
  if (what != Operation::kAllgather && type == ElementType::kInt32) return std::nullopt;
  const bool multicast = symmetric_ == nullptr ? nccl_.nvls : symmetric_->has_multicast();
  return symmetric_kernel({size(), is_blackwell(nccl_.within), multicast}, what, bytes);
}

std::optional<SymmetricKernel> NcclCollectives::begin_symmetric(Operation what, std::uint64_t bytes, ElementType type) {
  if (!config_.symmetric) return std::nullopt;
  if (nccl_.nodes > 1) by_slots_.insert(name_of(what));
  if (!symmetric(what, bytes, type)) return std::nullopt;
  if (symmetric_ == nullptr) {
    std::uint64_t& followed = ranks_.front()->followed;
    follow(followed, Followed::kSymmetric);
    if (able_.nvls) follow(followed, Followed::kNvls);
    symmetric_ = std::make_unique<SymmetricKernels>(ranks_, nccl_.nvls, name_ + " by symmetric windows");
    if (nccl_.nvls && !symmetric_->has_multicast()) {
      follow(followed, Followed::kFull);
      remark_ = "the switches have no room for the groups of " + name_ +
                ", so that its kernels for symmetric windows do without them";
    }
  }
  return symmetric(what, bytes, type);
}

bool NcclCollectives::copies(Operation what) const {
  const bool can = what == Operation::kAllToAll || what == Operation::kAllgather;
  return can && config_.cta_policy == CtaPolicy::kZero && nccl_.nodes == 1;
}

std::string_view NcclCollectives::way(Operation what, std::uint64_t bytes, ElementType type) const {
  if (copies(what)) return "copy-engines";
  if (symmetric(what, bytes, type)) return "symmetric";
  if (what == Operation::kAllToAll) return "send-receive";
  return name_of(choose(nccl_, kind_of(what), bytes).algorithm);
}

std::string_view NcclCollectives::way(Rooted /*what*/) const {
  return name_of(NcclAlgorithm::kRing);
}

std::string_view NcclCollectives::protocol(Operation what, std::uint64_t bytes, ElementType type) const {
  if (const auto how = symmetric(what, bytes, type)) return kernel_name(how->kind, what);
  if (copies(what) || what == Operation::kAllToAll) return {};
  return protocol_name(choose(nccl_, kind_of(what), bytes).flags);
}

std::string_view NcclCollectives::protocol(Rooted what, std::uint64_t bytes) const {
  if (what != Rooted::kBroadcast) return {};
  return protocol_name(choose(nccl_, NcclCollective::kBroadcast, bytes).flags);
}

void NcclCollectives::follow_config(NcclCollective what, NcclWay how, std::uint64_t bytes) {
  std::uint64_t& followed = ranks_.front()->followed;
  if (how.algorithm == NcclAlgorithm::kNvls || how.algorithm == NcclAlgorithm::kNvlsTree) {
    follow(followed, Followed::kNvlsSteps);
  }
  if (how.algorithm == NcclAlgorithm::kNvlsTree) follow(followed, Followed::kVersion);  // of its chunks and heads
  if (!looked_at_.insert({what, bytes, how.algorithm}).second) return;
  const auto changes = [&](bool NcclGroup::*able) {
    NcclGroup other = nccl_;
    other.*able = able_.*able && !(other.*able);
    return nccl_way(other, what, bytes) != how;
  };
  if (changes(&NcclGroup::nvls)) follow(followed, Followed::kNvls);
  if (changes(&NcclGroup::collnet)) follow(followed, Followed::kCollnet);
  if (changes(&NcclGroup::pat)) follow(followed, Followed::kPat);
  if (has_followed(followed, Followed::kVersion)) return;
  for (const auto& [name, version] : enum_names(NcclVersion())) {
    NcclGroup other = nccl_;
    other.version = version;
    if (nccl_way(other, what, bytes) != how) return follow(followed, Followed::kVersion);
  }
}

NcclWay NcclCollectives::choose_for(int member, NcclCollective what, std::uint64_t bytes) {
  const NcclWay how = choose(nccl_, what, bytes);
  if (member == 0 && size() > 1) follow_config(what, how, bytes);
  return how;
}

int NcclCollectives::kernel_cores(Operation what, std::uint64_t bytes, bool of_equal_parts) const {
  if (const auto how = symmetric(what, bytes, ElementType::kFp32)) return how->blocks;
  const bool copies = what == Operation::kAllgather || (what == Operation::kAllToAll && of_equal_parts);
  if (copies && config_.cta_policy == CtaPolicy::kZero && nccl_.nodes == 1) return 0;
  const int most = rules_of(config_.version).most_ctas;
  if (!is_blackwell(nccl_.within) || ranks_.front()->copy_engines <= rules_of(kNewestNccl).most_ctas)
    return kUsualCores;
  follow(ranks_.front()->followed, Followed::kVersion);
  return std::min(most, ranks_.front()->copy_engines);
}

EngineCopies* NcclCollectives::engine_copies() {
  if (config_.cta_policy != CtaPolicy::kZero || nccl_.nodes > 1) return nullptr;
  if (engine_copies_ == nullptr) {
    follow(ranks_.front()->followed, Followed::kCopyEngines);
    firmware::align_memory(ranks_);
    engine_copies_ = std::make_unique<EngineCopies>(ranks_, name_ + " copy engines");
  }
  return engine_copies_.get();
}

std::string NcclCollectives::remark() const {
  std::string text = remark_;
  const auto add = [&](const std::set<std::string_view>& those, const std::string& how, const std::string& what) {
    if (those.empty()) return;
    std::string names;
    for (const std::string_view name : those) names += (names.empty() ? "" : " and ") + std::string(name);
    text += (text.empty() ? "" : "; ") + names + how + ", since " + name_ + " is of " + std::to_string(nccl_.nodes) +
            " nodes and " + what + " reach one";
  };
  add(by_kernels_, " by kernels in spite of collectives.nccl.cta_policy", "copy engines");
  add(by_slots_, " without symmetric windows in spite of collectives.nccl.symmetric", "these");
  return text;
}

PatGroup& NcclCollectives::pat() {
  if (pat_ == nullptr) pat_ = std::make_unique<PatGroup>(ranks_, channels_, pat_options_, name_ + " PAT");
  return *pat_;
}

Task NcclCollectives::allgather(int member, std::uint64_t buffer, BlockMap blocks, std::uint64_t granule) {
  if (EngineCopies* const copies = engine_copies()) return copies->allgather(member, buffer, std::move(blocks));
  if (config_.cta_policy == CtaPolicy::kZero) by_kernels_.insert("all_gather");
  const std::uint64_t bytes = whole(blocks);
  if (const auto how = begin_symmetric(Operation::kAllgather, bytes, ElementType::kInt32)) {
    return symmetric_->allgather(member, buffer, std::move(blocks), *how);
  }
  for (;;) {
    const NcclWay how = choose_for(member, NcclCollective::kBlocks, bytes);
    if (how.algorithm == NcclAlgorithm::kPat) return pat().allgather(member, buffer, bytes, granule);
    Group* const group = how.algorithm == NcclAlgorithm::kRing ? rings_.get() : switches(how.algorithm);
    if (group != nullptr) return group->allgather(member, buffer, std::move(blocks), granule);
  }
}

Task NcclCollectives::reduce_scatter(int member, std::uint64_t input, std::uint64_t output, BlockMap blocks,
                                     ElementType type) {
  const std::uint64_t bytes = whole(blocks);
  if (const auto how = begin_symmetric(Operation::kReduceScatter, bytes, type)) {
    return symmetric_->reduce_scatter(member, input, output, std::move(blocks), type, *how);
  }
  for (;;) {
    const NcclWay how = choose_for(member, NcclCollective::kBlocks, bytes);
    if (how.algorithm == NcclAlgorithm::kPat) return pat().reduce_scatter(member, input, output, bytes, type);
    Group* const group = how.algorithm == NcclAlgorithm::kRing ? rings_.get() : switches(how.algorithm);
    if (group != nullptr) return group->reduce_scatter(member, input, output, std::move(blocks), type);
  }
}

Task NcclCollectives::all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) {
  if (const auto how = begin_symmetric(Operation::kAllReduce, bytes, type)) {
    return symmetric_->all_reduce(member, buffer, bytes, type, *how);
  }
  for (;;) {
    const NcclWay how = choose_for(member, NcclCollective::kAllReduce, bytes);
    if (how.algorithm == NcclAlgorithm::kTree) return trees_.get().all_reduce(member, buffer, bytes, type, how.flags);
    Group* const group = how.algorithm == NcclAlgorithm::kRing ? rings_.get() : switches(how.algorithm);
    if (group != nullptr) return group->all_reduce(member, buffer, bytes, type);
  }
}

Exchange& NcclCollectives::sends_and_receives() {
  if (exchange_ == nullptr) {
    firmware::align_memory(ranks_);
    const int cores = kernel_cores(Operation::kAllToAll, 0, /*of_equal_parts=*/false);
    exchange_ = std::make_unique<Exchange>(
        ranks_, able_.within, cores == kUsualCores ? ranks_.front()->copy_engines : cores, name_ + " send-receive");
  }
  return *exchange_;
}

Task NcclCollectives::all_to_all(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes) {
  if (EngineCopies* const copies = engine_copies()) return copies->all_to_all(member, input, output, bytes);
  if (config_.cta_policy == CtaPolicy::kZero) by_kernels_.insert("all_to_all");
  return sends_and_receives().all_to_all(member, input, output, bytes);
}

Task NcclCollectives::exchange(int member, std::uint64_t input, std::uint64_t output, std::uint64_t place,
                               Parts parts) {
  return sends_and_receives().exchange(member, input, output, place, std::move(parts));
}

Task NcclCollectives::broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) {
  return rings_->broadcast(member, root, buffer, bytes);
}

Group* NcclCollectives::switches(NcclAlgorithm algorithm) {
  if (switches_ != nullptr) return switches_.get();
  firmware::align_memory(ranks_);
  const std::string name = name_ + " by " + std::string(name_of(algorithm));
  TwoLevel::Options options = two_level_;
  if (algorithm == NcclAlgorithm::kCollnet) {
    options.within = false;
  } else {
    const Nodes nodes(ranks_);
    options.in_network.all_reduce = AllReducePattern::kReduceMulticast;
    options.in_network.staging.channels = config_.nvls_channels;
    // NVLS and NVLSTree copy buffers of any size through their channels.
    options.in_network.low_latency_limit = Bytes();
    options.in_network.heads = std::min(rules_of(config_.version).most_nvls_heads, nodes.per_node());
    const Bytes chunk = longest_nvls_chunk(config_.version, nodes.count(), options.in_network.staging.chunk);
    options.pieces =
        nvls_steps(static_cast<std::uint64_t>(chunk.count()), static_cast<std::uint64_t>(config_.nvls_channels) *
                                                                  static_cast<std::uint64_t>(options.in_network.heads));
    if (algorithm == NcclAlgorithm::kNvlsTree) {
      options.across = TwoLevel::Across::kTrees;
      options.heads = options.in_network.heads;
      options.staging = options.in_network.staging;
      options.staging.chunk = chunk;
    }
  }
  std::string why = "the switches have no room for the reduction trees of " + name;
  try {
    switches_ = join_switches(ranks_, options, name);
  } catch (const ConfigError& error) {
    // Nobody has asked for it by name, and the collective is under way.
    why = std::string("the switches cannot sum for ") + name + " (" + error.what() + ")";
  }
  if (switches_ == nullptr) {
    follow(ranks_.front()->followed, Followed::kFull);
    nccl_.nvls = nccl_.collnet = false;
    remark_ = why + ", so that it takes rings or trees";
  }
  return switches_.get();
}

Algorithm nccl_algorithm() {
  return {.name = std::string(NcclConfig::kAlgorithm),
          .doc = "rings, trees or switches and a protocol, as NCCL would choose; sends and receives for an AllToAll",
          .operations = {Operation::kAllgather, Operation::kReduceScatter, Operation::kAllReduce, Operation::kAllToAll},
          .config = NcclConfig(),
          .config_doc = "Which release nccl is, and what it may choose beside rings and trees",
          .make = [](GroupSite& site) {
            const NcclVersion version = site.own.as<NcclConfig>().version;
            if (is_blackwell(site.ranks.front()->scale_up.rate)) {
              site.channels = std::min(site.channels, rules_of(version).most_ctas);
            }
            return std::make_unique<NcclCollectives>(site);
          }};
}

}  // namespace weft::collectives
