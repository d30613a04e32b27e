// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/kfac/kfac.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "hw/core/number_text.h"
#include "sw/firmware/program_fields.h"
#include "sw/models/named_model.h"
#include "sw/schedules/kernel_work.h"
#include "sw/schedules/kfac/kfac_member.h"

namespace weft::schedules {

using collectives::Communicator;
using firmware::Rank;
using firmware::Task;

namespace {

constexpr std::uint64_t kCount = 4;

const firmware::ProgramFields kFieldsOfLaunches({"kfac rank launch"}, {"workload.launch"});
const firmware::ProgramFields kFieldsOfCommunication({"kfac rank all-reduce", "kfac rank broadcast"},
                                                     {"workload.negotiation", "collectives.entry"});

KfacPart part_of(KfacTraffic traffic) {
  switch (traffic) {
    case KfacTraffic::kGradients:
    case KfacTraffic::kDelayed:
      return KfacPart::kGradientComm;
    case KfacTraffic::kFactors:
      return KfacPart::kFactorComm;
    case KfacTraffic::kInverses:
      break;
  }
  return KfacPart::kInverseComm;
}

models::Network network_of(const KfacConfig& config) {
  try {
    models::Network network = models::named_network(config.network);
    if (config.batch != 0) network.batch = config.batch;
    return network;
  } catch (const std::exception& error) {
    throw ConfigError("workload.network", error.what());
  }
}

const models::Network& with_layers(const models::Network& network) {
  if (network.layers.empty()) throw ConfigError("workload.network", "expected a network with at least one layer");
  return network;
}

Communicator::Config with(const Communicator::Config& platform, const KfacCollectives& which) {
  Communicator::Config config = platform;
  if (which.is_platform()) return config;
  config.broadcast.algorithm = collectives::BroadcastAlgorithm::kAutomatic;
  config.algorithm = which;
  return config;
}

compression::Traffic traffic_of(const KfacMessage& message) {
  return message.traffic == KfacTraffic::kGradients ? compression::Traffic::kGradients : compression::Traffic::kOther;
}

/// SMs that the kernel of its collective keeps.
int kernel_cores(const KfacSite& site, const KfacMessage& message) {
  using dimensions::Operation;
  const collectives::Carries carries{message.type, traffic_of(message)};
  const auto of = [&](Operation what) { return site.group->kernel_cores(site.member, what, message.bytes, carries); };
  switch (message.collective) {
    case KfacCollective::kReduceScatter:
      return of(Operation::kReduceScatter);
    case KfacCollective::kAllgather:
      return of(Operation::kAllgather);
    case KfacCollective::kAllToAll:
      return of(Operation::kAllToAll);
    case KfacCollective::kBroadcast:
      return site.group->kernel_cores(site.member, collectives::Rooted::kBroadcast);
    case KfacCollective::kAllReduce:
      return of(Operation::kAllReduce);
    case KfacCollective::kCompressed:
      break;
  }
  return site.group->kernel_cores(site.member, Operation::kAllReduce, message.bytes);
}

/// What is wrong with an algorithm is told of the field that chose it.
template <typename Call>
auto told_of(const KfacCollectives& which, const char* field, const Call& call) {
  try {
    return call();
  } catch (const ConfigError& error) {
    if (which.is_platform() || error.path() != "collectives.algorithm") throw;
    throw ConfigError(std::string("workload.") + field, error.expected());
  }
}

/// Collectives of one kind.
std::unique_ptr<Communicator> communicator(const std::vector<Rank*>& ranks, const Communicator::Config& platform,
                                           const KfacCollectives& which, const char* field, const char* name) {
  return told_of(which, field, [&] { return std::make_unique<Communicator>(ranks, with(platform, which), name); });
}

}  // namespace

Kfac::Kfac(std::vector<Rank*> ranks, const KfacConfig& config, const Communicator::Config& collectives,
           const accelerator::ComputeConfig& compute)
    : Kfac(std::move(ranks), network_of(config), config, collectives, compute) {}

Kfac::Kfac(std::vector<Rank*> ranks, models::Network network, const KfacConfig& config,
           const Communicator::Config& collectives, const accelerator::ComputeConfig& compute)
    : ranks_(std::move(ranks)),
      config_(checked(config)),
      layout_(ranks_, with_layers(network), config_),
      plan_(std::move(network), config_, compute, static_cast<int>(ranks_.size()), layout_),
      lag_(static_cast<std::size_t>(plan_.trainer().lag())),
      shown_(steps_shown(plan_.trainer(), config_.steps)),
      whose_("schedule " + config_.algorithm.text()) {
  connect(collectives);
  decisions_ = plan_.unmeasured();
  if (profiles()) {
    profile_buffer_ = firmware::allocate_together(ranks_, "what collectives are measured with", kProfileBytes);
    profile_step_ = plan_.profile();
  } else {
    plan_steps();
  }
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    members_.emplace_back(std::make_unique<Member>(static_cast<int>(i), *ranks_[i]));
    if (layout_.compressed.empty()) continue;
    members_.back()->compressed.emplace(
        collectives::CompressedEnd::make(*ranks_[i], static_cast<int>(i), layout_.compressed.front().plan.varies));
  }
}

Kfac::~Kfac() = default;

void Kfac::connect(const Communicator::Config& collectives) {
  // All that steps send, whatever is decided of it.
  std::vector<KfacMessage> sent = plan_.rest(plan_.unmeasured()).messages;
  std::set<KfacUpdates> kinds;
  for (int number = 0; number < config_.steps; ++number) {
    if (!kinds.insert(updates(number)).second) continue;
    const KfacStep step = plan_.step(plan_.unmeasured(), updates(number));
    sent.insert(sent.end(), step.messages.begin(), step.messages.end());
  }
  const auto any = [&sent](const auto& is) { return std::any_of(sent.begin(), sent.end(), is); };
  all_reduce_group_ = communicator(ranks_, collectives, config_.all_reduces, "all_reduces", "all-reduce");
  if (config_.second_order() || any([](const KfacMessage& message) { return is_broadcast(message) == 1; })) {
    broadcast_group_ = communicator(ranks_, collectives, config_.broadcasts, "broadcasts", "broadcast");
    if (!broadcast_group_->has(collectives::Rooted::kBroadcast)) {
      const bool platform = config_.broadcasts.is_platform();
      throw ConfigError(platform ? "collectives.algorithm" : "workload.broadcasts",
                        "expected one that has a Broadcast here, for inverses, such as ring or nccl, got " +
                            std::string(platform ? name_of(collectives.algorithm) : name_of(config_.broadcasts)) +
                            (platform ? "; or one only for inverses in workload.broadcasts" : ""));
    }
  }
  if (any([](const KfacMessage& message) { return message.collective == KfacCollective::kAllToAll; })) {
    told_of(config_.all_reduces, "all_reduces", [this] { all_reduce_group_->check(dimensions::Operation::kAllToAll); });
  }
  for (const KfacMessage& message : sent) {
    if (message.within == kAllRanks || subgroups_[is_broadcast(message)].contains(message.within)) continue;
    const bool copies = is_broadcast(message) == 1;
    const KfacCollectives& which = copies ? config_.broadcasts : config_.all_reduces;
    told_of(which, copies ? "broadcasts" : "all_reduces", [&] {
      subgroups_[is_broadcast(message)].try_emplace(message.within, ranks_,
                                                    plan_.subgroups().at(static_cast<std::size_t>(message.within)),
                                                    with(collectives, which), copies ? "broadcast" : "all-reduce");
    });
  }
}

void Kfac::record(Probe& probe, int ranks) {
  for (int i = 0; i < std::min(ranks, static_cast<int>(members_.size())); ++i) {
    Member& member = *members_[static_cast<std::size_t>(i)];
    const std::string process = "accelerator " + std::to_string(member.rank.place);
    member.probe = &probe;
    member.tracks = {probe.add_track(process, config_.schedule().row), probe.add_track(process, "broadcast"),
                     probe.add_track(process, "exposed"), probe.add_phases(process, "steps")};
  }
}

void Kfac::start() {
  started_ = members_.front()->rank.processor->now();
  for (auto& member : members_) {
    firmware::Processor& processor = *member->rank.processor;
    const std::string name = "kfac rank " + std::to_string(member->index);
    processor.spawn(name + " launch", 0, run(*member));
    processor.spawn(name + " progress", 0, watch(*member));
    processor.spawn(name + " all-reduce", 1, communicate(*member, false));
    if (broadcast_group_ != nullptr) processor.spawn(name + " broadcast", 2, communicate(*member, true));
  }
}

void Kfac::enqueue(Member& member, const KfacStage& stage) {
  if (stage.doers.has(member.index)) {
    for (const PlannedKernel& kernel : stage.kernels) {
      member.rank.accelerator.submit(kernel_command(kComputeStream, kernel.label, kernel.work));
    }
  }
  member.rank.accelerator.notify(kComputeStream, member.progress, 0);
}

Task Kfac::run(Member& member) {
  const firmware::Processor::Part part(*member.rank.processor, whose_);
  if (profiles()) {
    co_await profile(member);
    profiled_at_ = std::max(profiled_at_, member.rank.processor->now());
    if (++profiled_ == members_.size() && after_profile_) after_profile_(profiled_at_);
  }
  member.began = profiles() ? member.rank.processor->now() : started_;
  if (profiles() && member.probe != nullptr) {
    member.probe->begin(member.tracks[3], "profile", Time());
    member.probe->end(member.tracks[3], member.began);
  }
  if (!times_ && repeats_.left_out && !steady_ && longest_row_ > kRowToShorten) {
    times_.emplace(ranks_.size(), config_.equal_within);
  }
  member.last_end = member.began;
  member.step_began = member.began;
  member.decided.set(1);
  std::uint64_t submitted = 0;
  for (std::size_t position = 0; has_position(position); ++position) {
    const KfacStep& plan = step(positions_[position].number);
    std::array<std::size_t, kKfacTraffics> asked{};
    for (const KfacStage& stage : plan.stages) {
      if (submitted > kAhead) co_await member.stages.reach(submitted - kAhead);
      for (std::size_t t = 0; t < kKfacTraffics; ++t) {
        if (stage.after[t] == asked[t]) continue;
        asked[t] = stage.after[t];
        const std::uint64_t needed = sent_before(position, static_cast<KfacTraffic>(t)) + asked[t];
        member.rank.accelerator.wait(kComputeStream, static_cast<std::uint32_t>(t), needed);
        co_await member.arrived[t].reach(needed);
      }
      if (stage.behind_metrics) {
        co_await member.stages.reach(submitted);
        co_await member.rank.processor->delay(config_.metrics_wait());
      }
      if (stage.doers.has(member.index)) {
        co_await member.rank.processor->delay(config_.launch * static_cast<std::int64_t>(stage.kernels.size()));
      }
      member.submitted.push_back({&stage, static_cast<int>(position), &stage == &plan.stages.back()});
      enqueue(member, stage);
      ++submitted;
      if (stage.host_waits) co_await member.stages.reach(submitted);
    }
  }
}

void Kfac::attribute_wait(Member& member, KfacTraffic traffic, Time from, Time to) {
  // What was on its way meanwhile is what was waited for, be it ahead of it in the queue. Later waits begin later.
  member.transfers.remove_if([&](const Member::Transfer& transfer) { return transfer.to <= from; });
  Time rest = to - from;
  for (const Member::Transfer& transfer : member.transfers) {
    if ((transfer.traffic == KfacTraffic::kInverses) != (traffic == KfacTraffic::kInverses)) continue;
    const Time overlap = std::min(transfer.to, to) - std::max(transfer.from, from);
    if (overlap <= Time()) continue;
    member.parts[index(part_of(transfer.traffic))] += overlap;
    if (transfer.times != nullptr) transfer.times->exposed += overlap;
    rest = rest - overlap;
  }
  member.parts[index(part_of(traffic))] += rest;
}

void Kfac::end_stage(Member& member, const KfacStage& stage) {
  const Time now = member.rank.processor->now();
  Time computed = now - member.last_end;
  for (std::size_t t = 0; t < kKfacTraffics; ++t) {
    const Time sum = member.rank.accelerator.waited(t);
    const Time stood = sum - member.waited[t];
    member.waited[t] = sum;
    if (stood <= Time()) continue;
    const Time from = now - computed;
    attribute_wait(member, static_cast<KfacTraffic>(t), from, from + stood);
    computed = computed - stood;
    if (member.probe != nullptr) {
      constexpr std::array<const char*, kKfacTraffics> kNames = {"waits for gradients", "waits for factors",
                                                                 "waits for inverses", "waits for an earlier step"};
      member.probe->slice(member.tracks[2], {.what = kNames[t], .from = from, .to = from + stood});
    }
  }
  if (stage.behind_metrics) {
    const Time averaging = config_.metrics_wait();
    const Time from = now - computed;
    if (member.probe != nullptr)
      member.probe->slice(member.tracks[2], {.what = "averages metrics", .from = from, .to = from + averaging});
    member.parts[index(KfacPart::kForwardBackward)] += averaging;
    computed = computed - averaging;
  }
  member.parts[index(stage.part)] += computed;
  member.last_end = now;
  if (times_) times_->stage_ended(static_cast<std::size_t>(member.index), now);
  if (arithmetic_ && stage.doers.has(member.index)) arithmetic_(member.rank, member.index, stage);
}

void Kfac::end_step(Member& member, std::size_t position) {
  const Position& ended = positions_[position];
  member.finished = ended.last() + 1 == config_.steps + (has_rest() ? 1 : 0);
  if (ended.number == config_.steps) {
    member.rest_end = member.last_end + member.left_out;
    return;
  }
  if (member.probe != nullptr) {
    const std::string as_well = ended.also > 0 ? ", then " + std::to_string(ended.also) + " left out" : "";
    member.probe->begin(member.tracks[3], "step " + std::to_string(ended.number + 1) + as_well, member.step_began);
    member.probe->end(member.tracks[3], member.last_end);
  }
  member.latest.emplace_back(member.last_end - member.step_began, member.parts);
  const std::size_t repeat = std::max(KfacStepTimes::kMostSteps, steady_ ? steady_->longest() : 0);
  if (member.latest.size() > repeat) member.latest.pop_front();
  member.step_began = member.last_end;
  member.simulated.push_back(member.last_end);
  for (int number = ended.number; number <= ended.last(); ++number) {
    // A step that is left out is the one a cycle before it.
    const std::size_t back =
        number == ended.number ? 1 : ended.cycle - static_cast<std::size_t>(number - ended.number - 1) % ended.cycle;
    const auto& [time, parts] = member.latest[member.latest.size() - back];
    if (number > ended.number) member.left_out += time;
    member.ends.push_back(member.last_end + member.left_out);
    if (!shown_.has(number)) continue;
    for (std::size_t p = 0; p < kKfacParts; ++p) member.kept[p] += parts[p];
  }
  if (times_) {
    const std::size_t before = times_->ended();
    times_->step_ended(static_cast<std::size_t>(member.index));
    if (times_->ended() > before) repeats_.ended(before);
  }
  if (steady_) {
    const Time busy = member.rank.accelerator.counters().busy;
    const Time at = member.last_end;
    steady_->ended(ended.number, static_cast<std::size_t>(member.index), {at, busy, {at - busy}});
  }
  member.parts = {};
  std::erase_if(member.transfers, [](const Member::Transfer& transfer) { return transfer.to != kNever; });
}

Task Kfac::watch(Member& member) {
  while (!member.finished) {
    co_await member.progress.next();
    const Member::Submitted done = member.submitted.front();
    member.submitted.pop_front();
    if (done.step < 0) {
      const Time now = member.rank.processor->now();
      member.profile_times.push_back(now - member.last_end);
      member.last_end = now;
      member.profile_stages.increment();
      continue;
    }
    end_stage(member, *done.stage);
    member.stages.increment();
    hand_over(member, static_cast<std::size_t>(done.step));
    if (done.ends_step) end_step(member, static_cast<std::size_t>(done.step));
  }
  if (left_out_ == 0) co_return;
  for (firmware::Counter& ready : member.ready) ready.increment();  // who waited for what is left out
}

void Kfac::hand_over(Member& member, std::size_t position) {
  const int number = positions_[position].number;
  const KfacStep& plan = step(number);
  const bool detailed = member.index == 0 && shown_.has(number) && &plan == &fullest();
  for (; member.handed < plan.messages.size() && plan.messages[member.handed].ready == member.stage; ++member.handed) {
    const KfacMessage& message = plan.messages[member.handed];
    if (detailed) detailed_began_ = member.step_began;
    member.queues[is_broadcast(message)].push_back({&message, detailed ? &message_times_[member.handed] : nullptr});
    member.ready[is_broadcast(message)].increment();
  }
  if (++member.stage == plan.stages.size()) member.stage = member.handed = 0;
}

Task Kfac::communicate(Member& member, bool broadcasts) {
  co_await member.decided.reach(1);
  auto& queue = member.queues[broadcasts ? 1 : 0];
  for (std::uint64_t done = 0; done < messages_[broadcasts ? 1 : 0]; ++done) {
    co_await member.ready[broadcasts ? 1 : 0].reach(done + 1);
    if (queue.empty()) co_return;
    const Member::Ready next = queue.front();
    queue.pop_front();
    co_await transfer(member, *next.message, next.times);
  }
}

Task Kfac::transfer(Member& member, const KfacMessage& message, KfacMessageTimes* times) {
  firmware::Processor& processor = *member.rank.processor;
  const Time from = processor.now();
  // The wait for it ends before it is told of: what has begun counts as going on.
  Member::Transfer& transfer = member.transfers.emplace_back(Member::Transfer{message.traffic, from, kNever, times});
  if (times != nullptr) *times = {from, Time(), Time()};
  if (const KfacSite site = site_of(member, message); site.group != nullptr) {
    co_await processor.delay(config_.negotiation * message.tensors);
    CollectiveKernel& kernel = member.kernels[is_broadcast(message)];
    co_await kernel.begin(kernel_cores(site, message));
    co_await collect(member, site, message);
    kernel.end();
  }
  transfer.to = processor.now();
  if (times != nullptr) times->to = transfer.to;
  if (times_) times_->sent(static_cast<std::size_t>(member.index), from, transfer.to);
  if (member.probe != nullptr) draw(member, message, from);
  firmware::Counter& arrived = member.arrived[index(message.traffic)];
  member.rank.accelerator.signal(static_cast<std::uint32_t>(index(message.traffic)), arrived.value() + 1);
  arrived.increment();
}

void Kfac::draw(const Member& member, const KfacMessage& message, Time from) const {
  constexpr std::array<std::string_view, 6> kOperations = {"AllReduce", "ReduceScatter", "AllGather",
                                                           "SendRecv",  "Broadcast",     "AllGather"};
  const KfacSite site = site_of(member, message);
  const auto traffic = static_cast<std::uint32_t>(index(message.traffic));
  const std::string process = "accelerator " + std::to_string(member.rank.place);
  member.probe->slice(member.tracks[is_broadcast(message)],
                      {.what = message.name,
                       .from = from,
                       .to = member.rank.processor->now(),
                       .kind = SliceKind::kCollective,
                       .operation = kOperations[static_cast<std::size_t>(message.collective)],
                       .bytes = static_cast<std::int64_t>(message.bytes),
                       .ranks = site.group != nullptr ? site.group->size() : 0,
                       .leads = arrow_id(process, traffic, member.arrived[traffic].value() + 1)});
}

KfacSite Kfac::site_of(const Member& member, const KfacMessage& message) const {
  const std::size_t which = is_broadcast(message);
  if (message.within != kAllRanks) return subgroups_[which].at(message.within).of(member.index);
  return {(which == 1 ? broadcast_group_ : all_reduce_group_).get(), member.index};
}

Task Kfac::collect(Member& member, const KfacSite& site, const KfacMessage& message) {
  Communicator& group = *site.group;
  const compression::Traffic traffic = traffic_of(message);
  switch (message.collective) {
    case KfacCollective::kAllReduce:
      return group.all_reduce(site.member, message.address, message.bytes, message.type, {message.type, traffic});
    case KfacCollective::kReduceScatter: {
      const std::uint64_t own = group.block(message.bytes, site.member, kKfacElement).offset;
      return group.reduce_scatter(site.member, message.address, message.address + own, message.bytes,
                                  ElementType::kFp32, {ElementType::kFp32, traffic});
    }
    case KfacCollective::kAllgather:
      return group.allgather(site.member, message.address, message.bytes, kKfacElement, {ElementType::kFp32, traffic});
    case KfacCollective::kAllToAll:
      return group.all_to_all(site.member, message.address, message.output, message.bytes,
                              {ElementType::kFp32, traffic});
    case KfacCollective::kCompressed:
      return collectives::send_compressed(group, *member.compressed, layout_.compressed[message.first], message.round,
                                          arithmetic_ != nullptr);
    case KfacCollective::kBroadcast:
      break;
  }
  return group.broadcast(site.member, message.root, message.address, message.bytes);
}

}  // namespace weft::schedules
