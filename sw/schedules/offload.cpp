// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/offload.h"

#include <algorithm>

#include "sw/collectives/pattern.h"
#include "sw/schedules/kernel_work.h"

namespace weft::schedules {

using firmware::Task;

namespace {

constexpr std::uint32_t kStored = Offload::kFirstSemaphore;
constexpr std::uint32_t kLoaded = Offload::kFirstSemaphore + 1;
constexpr std::uint32_t kMoments = Offload::kFirstSemaphore + 2;

// The kernel updates one while another is loaded or stored.
constexpr std::uint64_t kMomentBuffers = 2;
/// Slots begin where memory is aligned.
constexpr std::uint64_t kAlignment = 256;

void require_remote(const firmware::Rank& rank, const char* field) {
  if (rank.remote.exists()) return;
  throw ConfigError(std::string("workload.offload.") + field,
                    "expected false, since remote_memory.kind is none: there is nowhere to put it");
}

std::uint64_t seed_of(int step, std::uint64_t index, std::uint64_t kind) {
  return static_cast<std::uint64_t>(step) * 100'000 + index * 2 + kind;
}

}  // namespace

Offload::Offload(firmware::Rank& rank, const FsdpConfig& config, const FsdpPlan& plan, std::uint64_t shard,
                 firmware::Counter& stages)
    : rank_(rank),
      config_(config),
      plan_(plan),
      optimizer_(plan.update(0).kernels()),
      stages_(stages),
      layers_(plan.blocks()),
      pieces_stored_(*rank.processor, "a piece of moments to be stored") {
  if (config.offload.activations) place_activations();
  if (config.offload.optimizer && plan.streamed_bytes == 0) {
    throw ConfigError("workload.offload.optimizer", "expected false with workload.optimizer " +
                                                        config.optimizer.name.text() +
                                                        ", whose state cannot be loaded in pieces");
  }
  if (config.offload.optimizer && !optimizer_.empty()) {
    place_moments(static_cast<std::uint64_t>(plan.streamed_bytes) * shard);
  }
}

void Offload::place_activations() {
  require_remote(rank_, "activations");
  for (int b = 0; b < layers_; ++b) slot_bytes_ = std::max(slot_bytes_, plan_.activations_of(b, kAlignment));
  slots_ = std::min(config_.offload.buffers, layers_);
  offloaded_ = layers_ - slots_;
  slot_ = rank_.memory.allocate("activations of " + std::to_string(slots_) + " blocks on their way",
                                static_cast<std::uint64_t>(slots_) * slot_bytes_);
  if (offloaded_ == 0) return;
  const std::uint64_t away = plan_.activations_before(offloaded_, kAlignment);
  activations_ =
      rank_.remote.base +
      rank_.remote.own.allocate("activations of " + std::to_string(offloaded_) + " blocks in remote memory", away);
  remote_bytes_ += away;
  firmware::Processor& processor = *rank_.processor;
  activations_stored_ = &processor.create_completion_queue("stores of activations");
  activations_loaded_ = &processor.create_completion_queue("loads of activations");
}

void Offload::place_moments(std::uint64_t bytes) {
  require_remote(rank_, "optimizer");
  moment_bytes_ = bytes;
  piece_ = std::min(
      (static_cast<std::uint64_t>(config_.offload.piece.count()) + kAlignment - 1) / kAlignment * kAlignment, bytes);
  pieces_ = (bytes + piece_ - 1) / piece_;
  moment_buffers_ = rank_.memory.allocate("moments on their way", kMomentBuffers * piece_);
  moments_ = rank_.remote.base + rank_.remote.own.allocate(plan_.kept.state.front().first + " in remote memory", bytes);
  remote_bytes_ += bytes;
  firmware::Processor& processor = *rank_.processor;
  moments_stored_ = &processor.create_completion_queue("stores of moments");
  moments_loaded_ = &processor.create_completion_queue("loads of moments");
  updated_ = &processor.create_completion_queue("the optimiser");
  for (std::uint64_t p = 0; p < pieces_; ++p) fill_remote(moment(p), seed_of(0, p, 1));
}

void Offload::record(Probe& probe, const std::string& process) {
  probe_ = &probe;
  store_track_ = probe.add_track(process, "offload");
  load_track_ = probe.add_track(process, "prefetch");
}

void Offload::start(const std::string& name) {
  firmware::Processor& processor = *rank_.processor;
  if (offloaded_ > 0) {
    processor.spawn(name + " offload of activations", 3, store_activations());
    processor.spawn(name + " prefetch of activations", 4, load_activations());
  }
  if (pieces_ > 0) {
    processor.spawn(name + " offload of moments", 3, store_moments());
    processor.spawn(name + " prefetch of moments", 4, load_moments());
  }
}

Time Offload::waited() const {
  Time sum;
  for (std::uint32_t s = 0; s < kSemaphores; ++s) sum += rank_.accelerator.waited(kFirstSemaphore + s);
  return sum;
}

std::uint64_t Offload::stage_ended(int step, int stage) const {
  return static_cast<std::uint64_t>(step) * (plan_.stages.size() + 1) + static_cast<std::uint64_t>(stage) + 1;
}

Offload::Place Offload::activation(int block) const {
  return {slot_ + static_cast<std::uint64_t>(block % slots_) * slot_bytes_,
          activations_ + plan_.activations_before(block, kAlignment), plan_.activations_of(block, kAlignment)};
}

Offload::Place Offload::moment(std::uint64_t piece) const {
  const std::uint64_t begin = piece * piece_;
  return {moment_buffers_ + piece % kMomentBuffers * piece_, moments_ + begin, std::min(piece_, moment_bytes_ - begin)};
}

PlannedKernel Offload::adam_of(std::uint64_t piece) const {
  // The last kernel of the optimiser is Adam's, bound by memory: a piece takes its share.
  PlannedKernel kernel = optimizer_.back();
  const auto part = [&](std::int64_t whole) {
    return static_cast<std::int64_t>(static_cast<__int128>(whole) * static_cast<std::int64_t>(moment(piece).bytes) /
                                     static_cast<std::int64_t>(moment_bytes_));
  };
  const double share = static_cast<double>(moment(piece).bytes) / static_cast<double>(moment_bytes_);
  kernel.work.compute = Time(part(kernel.work.compute.count()));
  kernel.work.read = Bytes(part(kernel.work.read.count()));
  kernel.work.written = Bytes(part(kernel.work.written.count()));
  kernel.work.cached = Bytes(part(kernel.work.cached.count()));
  kernel.work.cache = Time(part(kernel.work.cache.count()));
  kernel.work.array_energy *= share;
  kernel.work.memory_energy *= share;
  kernel.work.moving_energy *= share;
  return kernel;
}

void Offload::admit(int step, const Stage& stage) {
  if (offloaded_ == 0) return;
  const auto before = static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(offloaded_);
  if (stage.forward_of >= slots_) {
    rank_.accelerator.wait(kComputeStream, kStored, before + static_cast<std::uint64_t>(stage.forward_of - slots_) + 1);
  }
  if (stage.backward_of >= 0 && stage.backward_of < offloaded_) {
    rank_.accelerator.wait(kComputeStream, kLoaded,
                           before + static_cast<std::uint64_t>(offloaded_ - stage.backward_of));
  }
}

void Offload::before_piece(int step, std::uint64_t piece) {
  rank_.accelerator.wait(kComputeStream, kMoments, piece_number(step, piece) + 1);
}

void Offload::after_piece(int step, std::uint64_t piece) {
  rank_.accelerator.notify(kComputeStream, *updated_, piece_number(step, piece));
}

Task Offload::store_activations() {
  std::uint64_t stored = 0;
  for (int step = 0; step < config_.steps; ++step) {
    for (int block = 0; block < offloaded_; ++block) {
      co_await stages_.reach(stage_ended(step, plan_.forward_stage(block)));
      const Place place = activation(block);
      const std::uint64_t seed = seed_of(step, static_cast<std::uint64_t>(block), 0);
      fill_local(place, seed);
      const Time began = rank_.processor->now();
      rank_.remote.store(place.remote, place.local, place.bytes, *activations_stored_, stored);
      co_await activations_stored_->next();
      compare_remote(place, seed);
      draw(store_track_, "activations", began);
      rank_.accelerator.signal(kStored, ++stored);
    }
  }
}

Task Offload::load_activations() {
  std::uint64_t loaded = 0;
  for (int step = 0; step < config_.steps; ++step) {
    for (int block = offloaded_ - 1; block >= 0; --block) {
      // The block whose slot this was has been through its backward pass.
      co_await stages_.reach(stage_ended(step, plan_.backward_stage(block + slots_)));
      const Place place = activation(block);
      const Time began = rank_.processor->now();
      rank_.remote.load(place.remote, place.local, place.bytes, *activations_loaded_, loaded);
      co_await activations_loaded_->next();
      compare_local(place, seed_of(step, static_cast<std::uint64_t>(block), 0));
      draw(load_track_, "activations", began);
      rank_.accelerator.signal(kLoaded, ++loaded);
    }
  }
}

Task Offload::load_moments() {
  for (int step = 0; step < config_.steps; ++step) {
    for (std::uint64_t piece = 0; piece < pieces_; ++piece) {
      // Its buffer has been stored, and so has what the step before made of this piece.
      const std::uint64_t number = piece_number(step, piece);
      if (number >= kMomentBuffers) co_await pieces_stored_.reach(number - kMomentBuffers + 1);
      if (step > 0) co_await pieces_stored_.reach(number - pieces_ + 1);
      const Place place = moment(piece);
      const Time began = rank_.processor->now();
      rank_.remote.load(place.remote, place.local, place.bytes, *moments_loaded_, number);
      co_await moments_loaded_->next();
      compare_local(place, seed_of(step, piece, 1));
      draw(load_track_, "moments", began);
      rank_.accelerator.signal(kMoments, number + 1);
    }
  }
}

Task Offload::store_moments() {
  for (int step = 0; step < config_.steps; ++step) {
    for (std::uint64_t piece = 0; piece < pieces_; ++piece) {
      co_await updated_->next();
      const Place place = moment(piece);
      const std::uint64_t seed = seed_of(step + 1, piece, 1);
      fill_local(place, seed);
      const Time began = rank_.processor->now();
      rank_.remote.store(place.remote, place.local, place.bytes, *moments_stored_, piece_number(step, piece));
      co_await moments_stored_->next();
      compare_remote(place, seed);
      draw(store_track_, "moments", began);
      pieces_stored_.increment();
    }
  }
}

void Offload::draw(int track, const char* what, Time began) {
  if (probe_ != nullptr) probe_->slice(track, {.what = what, .from = began, .to = rank_.processor->now()});
}

void Offload::fill_local(const Place& place, std::uint64_t seed) const {
  if (rank_.store == nullptr) return;
  const std::vector<std::byte> data = collectives::pattern_bytes(seed, rank_.index, place.bytes);
  rank_.store->write(place.local, data.data(), data.size());
}

void Offload::fill_remote(const Place& place, std::uint64_t seed) const {
  if (rank_.store == nullptr) return;
  const std::vector<std::byte> data = collectives::pattern_bytes(seed, rank_.index, place.bytes);
  rank_.remote.bytes().write(place.remote, data.data(), data.size());
}

void Offload::compare_local(const Place& place, std::uint64_t seed) {
  if (rank_.store == nullptr) return;
  wrong_ +=
      collectives::differing(*rank_.store, place.local, collectives::pattern_bytes(seed, rank_.index, place.bytes));
}

void Offload::compare_remote(const Place& place, std::uint64_t seed) {
  if (rank_.store == nullptr) return;
  wrong_ += collectives::differing(rank_.remote.bytes(), place.remote,
                                   collectives::pattern_bytes(seed, rank_.index, place.bytes));
}

}  // namespace weft::schedules
