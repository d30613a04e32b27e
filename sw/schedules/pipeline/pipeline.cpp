// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/pipeline/pipeline.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "sw/schedules/kernel_work.h"
#include "sw/schedules/step_ends.h"

namespace weft::schedules {

using firmware::Rank;
using workloads::PipelineOperation;

namespace {

// Ids of completions: what ended, and which.
constexpr std::uint64_t kEndedPass = 1ULL << 60;
constexpr std::uint64_t kCameForward = 2ULL << 60;
constexpr std::uint64_t kCameBackward = 3ULL << 60;
constexpr std::uint64_t kSentForward = 4ULL << 60;
constexpr std::uint64_t kSentBackward = 5ULL << 60;
constexpr std::uint64_t kWhat = 0xfULL << 60;

std::vector<accelerator::Command> commands_of(const accelerator::ComputeConfig& compute,
                                              const std::vector<const StageKernels*>& parts) {
  std::vector<accelerator::Command> commands;
  for (const StageKernels* part : parts) {
    for (const StageKernel& kernel : *part) {
      commands.push_back(kernel_command(kComputeStream, label_of(kernel), stage_work(compute, kernel)));
    }
  }
  return commands;
}

}  // namespace

/// What a stage computes as one.
struct StagePipeline::Pass {
  PipelineOperation operation;
  bool update = false;
  Time issued;
};

struct StagePipeline::Stage {
  int number = 0;
  Rank* rank = nullptr;
  firmware::CompletionQueue* events = nullptr;
  firmware::QueuePair to_next;
  firmware::QueuePair to_last;
  std::vector<accelerator::Command> forward;
  std::vector<accelerator::Command> backward;
  std::vector<accelerator::Command> update;
  std::vector<PipelineOperation> operations;  ///< of a step
  std::size_t next = 0;                       ///< operation of the step; their number: the update
  int step = 0;
  std::vector<int> came_forward;  ///< by microbatch, how often
  std::vector<int> came_backward;
  std::deque<Pass> passes;         ///< under way in the command stream
  std::uint64_t begun = 0;         ///< passes
  std::size_t on_way = 0;          ///< messages that are not acknowledged
  std::vector<Time> sent_forward;  ///< by microbatch, since when
  std::vector<Time> sent_backward;
  int ended_steps = 0;
  Time last;  ///< when the latest pass ended
  StageResult result;
  Time longest_forward;
  Time longest_backward;
  std::vector<Time> step_ends;
  Probe* probe = nullptr;
  int track = 0;

  [[nodiscard]] bool is_first() const { return number == 0; }
};

StagePipeline::StagePipeline(PipelineSite site, PipelineModel model, const PipelineConfig& config)
    : site_(std::move(site)), model_(std::move(model)), plan_(plan_pipeline(site_, model_, config)) {
  const auto none = StageKernels{};
  for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
    Stage& stage = *stages_.emplace_back(std::make_unique<Stage>());
    const PipelineStage& plan = plan_.stages[s];
    stage.number = static_cast<int>(s);
    stage.rank = site_.ranks[static_cast<std::size_t>(plan.rank)];
    const accelerator::ComputeConfig& compute = stage.rank->accelerator.compute();
    const StageHop* before = s > 0 ? &plan_.hops[s - 1] : nullptr;
    const StageHop* behind = s < plan_.hops.size() ? &plan_.hops[s] : nullptr;
    const auto unpack = [&none](const StageHop* hop) { return hop != nullptr ? &hop->unpack : &none; };
    const auto pack = [&none](const StageHop* hop) { return hop != nullptr ? &hop->pack : &none; };
    stage.forward = commands_of(compute, {unpack(before), &plan.forward, pack(behind)});
    stage.backward = commands_of(compute, {unpack(behind), &plan.backward, pack(before)});
    stage.update = commands_of(compute, {&plan.update});
    stage.operations = stage_operations(plan_.pipeline, stage.number);
    const auto microbatches = static_cast<std::size_t>(config.microbatches);
    stage.came_forward.resize(microbatches);
    stage.came_backward.resize(microbatches);
    stage.sent_forward.resize(microbatches);
    stage.sent_backward.resize(microbatches);
  }
  trains_ = site_.ranks.front()->store != nullptr && config.type == PipelineType::kFp32 && can_train(model_);
  watch_ = collectives::MessageWatch::of(site_.ranks, "stages");
  allocate();
  connect();
  if (site_.ranks.front()->store == nullptr) return;
  contents_ = trains_ ? pipeline_training(plan_, model_, site_.ranks, buffers_, site_.seed)
                      : pipeline_pattern(plan_, site_.ranks, buffers_);
}

StagePipeline::~StagePipeline() = default;

void StagePipeline::allocate() {
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    firmware::MemoryMap& memory = stages_[s]->rank->memory;
    const PipelineStage& plan = plan_.stages[s];
    StageBuffers& buffers = buffers_.emplace_back();
    const std::string of = " of stage " + std::to_string(s);
    buffers.state = memory.allocate("parameters, gradients and optimizer" + of, plan.state_bytes);
    buffers.kept = memory.allocate("activations" + of, trains_ ? kept_room(plan_, model_, s) : plan.kept_bytes);
    const auto messages = [&](std::size_t hop, const std::string& what) {
      std::vector<std::uint64_t> all;
      for (std::int64_t m = 0; m < plan_.config.microbatches; ++m) {
        all.push_back(memory.allocate(what + of, plan_.hops[hop].bytes));
      }
      return all;
    };
    if (s > 0) {
      buffers.activation_in = messages(s - 1, "activations that come");
      buffers.gradient_out = messages(s - 1, "gradients that are sent");
    }
    if (s < plan_.hops.size()) {
      buffers.activation_out = messages(s, "activations that are sent");
      buffers.gradient_in = messages(s, "gradients that come");
    }
  }
}

void StagePipeline::connect() {
  for (const auto& stage : stages_) {
    stage->events = &stage->rank->processor->create_completion_queue("stage " + std::to_string(stage->number) +
                                                                     " of a pipeline, queue");
  }
  const auto messages = static_cast<std::uint32_t>(plan_.config.microbatches * plan_.config.steps);
  for (std::size_t s = 0; s + 1 < stages_.size(); ++s) {
    Stage& here = *stages_[s];
    Stage& there = *stages_[s + 1];
    here.to_next = firmware::QueuePair(here.rank->towards(*there.rank), *here.events);
    there.to_last = firmware::QueuePair(there.rank->towards(*here.rank), *there.events);
    firmware::QueuePair::connect(here.to_next, there.to_last);
    here.to_next.provide(messages, kCameBackward);
    there.to_last.provide(messages, kCameForward);
  }
}

void StagePipeline::record(Probe& probe, int ranks) {
  for (const auto& stage : stages_) {
    if (stage->rank->index >= ranks) continue;
    stage->probe = &probe;
    stage->track =
        probe.add_track("accelerator " + std::to_string(stage->rank->place), "stage " + std::to_string(stage->number));
  }
}

void StagePipeline::start() {
  started_ = site_.ranks.front()->processor->now();
  for (const auto& stage : stages_) {
    stage->rank->processor->spawn("stage " + std::to_string(stage->number), 0, run(*stage));
  }
}

/// Whether what the next pass needs has come.
bool StagePipeline::is_ready(const Stage& stage) const {
  if (stage.step == plan_.config.steps) return false;
  if (stage.next == stage.operations.size()) return true;
  const PipelineOperation& next = stage.operations[stage.next];
  const auto m = static_cast<std::size_t>(next.microbatch);
  if (next.forward) return stage.is_first() || stage.came_forward[m] > stage.step;
  return stage.number + 1 == static_cast<int>(stages_.size()) || stage.came_backward[m] > stage.step;
}

void StagePipeline::issue(Stage& stage) {
  Pass pass;
  pass.issued = stage.rank->processor->now();
  pass.update = stage.next == stage.operations.size();
  if (!pass.update) {
    pass.operation = stage.operations[stage.next];
    if (watch_ != nullptr) [[unlikely]]
      watch(stage, pass.operation);
  }
  const auto& commands = pass.update ? stage.update : pass.operation.forward ? stage.forward : stage.backward;
  for (const accelerator::Command& command : commands) stage.rank->accelerator.submit(command);
  stage.rank->accelerator.notify(kComputeStream, *stage.events, kEndedPass);
  stage.passes.push_back(pass);
  ++stage.begun;
  ++stage.next;
  if (!pass.update) return;
  stage.next = 0;
  ++stage.step;
}

void StagePipeline::watch(const Stage& stage, const PipelineOperation& next) const {
  const auto s = static_cast<std::size_t>(stage.number);
  const auto m = static_cast<std::size_t>(next.microbatch);
  if (next.forward ? s == 0 : s + 1 == stages_.size()) return;
  const std::size_t peer = next.forward ? s - 1 : s + 1;
  const Time sent = next.forward ? stages_[peer]->sent_forward[m] : stages_[peer]->sent_backward[m];
  const Time since = stage.passes.empty() ? std::max(stage.last, started_) : stage.rank->processor->now();
  watch_->received(stages_[peer]->rank->index, next.forward ? "activations" : "gradients",
                   plan_.hops[std::min(s, peer)].bytes, sent, since);
}

void StagePipeline::send(Stage& stage, bool forward, std::int64_t microbatch) {
  const auto s = static_cast<std::size_t>(stage.number);
  const auto m = static_cast<std::size_t>(microbatch);
  if (forward ? s == plan_.hops.size() : s == 0) return;
  const Time now = stage.rank->processor->now();
  (forward ? stage.sent_forward : stage.sent_backward)[m] = now;
  ++stage.on_way;
  if (forward) {
    stage.to_next.write(buffers_[s].activation_out[m], buffers_[s + 1].activation_in[m], plan_.hops[s].bytes, true,
                        static_cast<std::uint32_t>(m), true, kSentForward | m);
  } else {
    stage.to_last.write(buffers_[s].gradient_out[m], buffers_[s - 1].gradient_in[m], plan_.hops[s - 1].bytes, true,
                        static_cast<std::uint32_t>(m), true, kSentBackward | m);
  }
}

void StagePipeline::draw(Stage& stage, const Pass& pass, Time to) {
  const std::string what =
      pass.update ? "update"
                  : (pass.operation.forward ? "forward " : "backward ") + std::to_string(pass.operation.microbatch);
  stage.probe->slice(stage.track, {.what = what, .from = std::max(pass.issued, stage.last), .to = to});
}

/// The earliest pass that is under way.
void StagePipeline::ended(Stage& stage) {
  const Pass pass = stage.passes.front();
  stage.passes.pop_front();
  const Time now = stage.rank->processor->now();
  stage.result.busy += now - std::max(pass.issued, stage.last);
  if (stage.probe != nullptr) draw(stage, pass, now);
  stage.last = now;
  if (pass.update) {
    if (contents_) contents_->update(stage.number, stage.ended_steps);
    ++stage.ended_steps;
    stage.step_ends.push_back(now);
    return;
  }
  const std::int64_t m = pass.operation.microbatch;
  if (contents_ && pass.operation.forward) contents_->forward(stage.number, m, stage.ended_steps);
  if (contents_ && !pass.operation.forward) contents_->backward(stage.number, m, stage.ended_steps);
  send(stage, pass.operation.forward, m);
}

firmware::Task StagePipeline::run(Stage& stage) {
  firmware::Processor& processor = *stage.rank->processor;
  while (stage.ended_steps < plan_.config.steps || stage.on_way > 0) {
    while (is_ready(stage)) issue(stage);
    const nic::Completion entry = co_await stage.events->next();
    const std::uint64_t number = entry.id & ~kWhat;
    switch (entry.id & kWhat) {
      case kEndedPass:
        ended(stage);
        break;
      case kCameForward:
        ++stage.came_forward[entry.immediate];
        break;
      case kCameBackward:
        ++stage.came_backward[entry.immediate];
        break;
      case kSentForward:
        --stage.on_way;
        stage.longest_forward = std::max(stage.longest_forward, processor.now() - stage.sent_forward[number]);
        break;
      default:
        --stage.on_way;
        stage.longest_backward = std::max(stage.longest_backward, processor.now() - stage.sent_backward[number]);
    }
  }
}

double StagePipeline::progress() const {
  std::uint64_t done = 0;
  for (const auto& stage : stages_) done += stage->begun - stage->passes.size();
  const auto all = static_cast<double>(stages_.size() * (stages_.front()->operations.size() + 1)) *
                   static_cast<double>(plan_.config.steps);
  return static_cast<double>(done) / all;
}

std::vector<Time> StagePipeline::step_ends() const {
  return ends_of_all(stages_, [](const auto& stage) -> const std::vector<Time>& { return stage->step_ends; });
}

PipelineResult StagePipeline::result() const {
  PipelineResult result;
  Time before = started_;
  for (const Time end : step_ends()) {
    result.steps.push_back(end - before);
    before = end;
  }
  if (!result.steps.empty()) result.step_time = result.steps.back();
  for (const auto& stage : stages_) result.stages.push_back(stage->result);
  for (std::size_t h = 0; h < plan_.hops.size(); ++h) {
    result.hops.push_back({std::max(stages_[h]->longest_forward, stages_[h + 1]->longest_backward)});
    const auto messages = 2 * static_cast<std::uint64_t>(plan_.config.microbatches);
    result.sent_bytes += messages * plan_.hops[h].bytes;
    result.dense_bytes += messages * plan_.hops[h].dense;
  }
  return result;
}

}  // namespace weft::schedules
