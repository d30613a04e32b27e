// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/dram/ecc_stage.h"

#include <algorithm>
#include <stdexcept>

namespace weft::dram {

EccStage::EccStage(const Device& device, const ControllerConfig& config)
    : covers_(config.inline_covers()), latency_(clocks_of(config.ecc, device.timing.clock)) {
  if (covers_ == 0) return;
  first_check_ = static_cast<std::uint16_t>(device.geometry.columns / (covers_ + 1) * covers_);
  entries_.resize(static_cast<std::size_t>(config.ecc.cache));
}

bool EccStage::modifies(const Location& location) const {
  return std::any_of(modifying_.begin(), modifying_.end(),
                     [&](std::uint32_t job) { return jobs_[job].request.location == location; });
}

std::uint32_t EccStage::take_job(const Request& request) {
  if (free_jobs_.empty()) {
    jobs_.emplace_back();
    free_jobs_.push_back(static_cast<std::uint32_t>(jobs_.size() - 1));
  }
  const std::uint32_t job = free_jobs_.back();
  free_jobs_.pop_back();
  jobs_[job] = {request, 1, 0};
  return job;
}

EccStage::Place EccStage::find(const Location& location) const {
  Place place;
  place.column = static_cast<std::uint16_t>(first_check_ + location.column / covers_);
  place.bit = 1ULL << (location.column % covers_);
  std::uint64_t oldest = UINT64_MAX;
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (entry.used && entry.column == place.column && entry.bank == location.bank && entry.row == location.row) {
      place.entry = i;
      place.there = true;
      place.known = entry.whole || (entry.written & place.bit) != 0;
      return place;
    }
    if (entry.fetching || entry.latest >= oldest) continue;
    oldest = entry.latest;
    place.entry = i;
  }
  return place;
}

Accept EccStage::push(PseudoChannel& queues, const Request& request, Clock now, std::uint64_t& order) {
  if (!modifying_.empty() && modifies(request.location)) return Accept::kBehindRead;
  const bool modify = request.write && request.partial;
  const bool reads = modify || !request.write;
  Place place;
  int more_reads = 0;
  int writes = static_cast<int>(modifying_.size()) + (request.write ? 1 : 0);  // places that are promised
  if (covers_ != 0) {
    place = find(request.location);
    if (place.entry == kNone) return Accept::kFull;
    const Entry& entry = entries_[place.entry];
    if (reads && !place.known && !(place.there && entry.fetching)) more_reads = 1;
    if (!place.there && entry.dirty) ++writes;
  }
  if (queues.room(1) < writes || (reads && queues.room(0) < 1 + more_reads)) return Accept::kFull;

  Request data = request;
  std::uint32_t job = kNone;
  if (modify || (reads && covers_ != 0)) {
    job = take_job(request);
    data.write = false;
    data.tag = kOwn | job;
  }
  const Accept accept = queues.push(data, now, ++order);
  if (accept == Accept::kForwarded && modify) {
    // The rest of the burst still waits to be written: it needs no check.
    modifying_.push_back(job);
    part_done(job, now, now);
    return Accept::kQueued;
  }
  if (accept != Accept::kQueued) {
    if (job != kNone) free_jobs_.push_back(job);
    return accept;
  }
  if (modify) {
    modifying_.push_back(job);
    ++counters_.modified;
  }
  if (covers_ != 0) take_place(queues, request, place, job, now, order);
  return Accept::kQueued;
}

void EccStage::take_place(PseudoChannel& queues, const Request& request, const Place& place, std::uint32_t job,
                          Clock now, std::uint64_t& order) {
  Entry& entry = entries_[place.entry];
  entry.latest = ++uses_;
  if (!place.there) {
    if (entry.dirty) {
      Request back{{.bank = entry.bank, .column = entry.column, .row = entry.row}, true, Time(), kOwn | kCheck | kNone};
      back.location.channel = request.location.channel;
      back.location.pseudo_channel = request.location.pseudo_channel;
      if (queues.push(back, now, ++order) != Accept::kQueued) throw std::logic_error("no place for check bits");
      ++counters_.check_writes;
    }
    entry.row = request.location.row;
    entry.column = place.column;
    entry.bank = request.location.bank;
    entry.used = true;
    entry.whole = entry.dirty = false;
    entry.written = 0;
  }
  if (job != kNone && !place.known) {
    ++jobs_[job].pending;
    entry.jobs.push_back(job);
    if (!entry.fetching) {
      Request fetch = request;
      fetch.write = false;
      fetch.location.column = place.column;
      fetch.tag = kOwn | kCheck | place.entry;
      if (queues.push(fetch, now, ++order) == Accept::kForwarded) {
        entry.whole = true;
        entry.jobs.pop_back();
        part_done(job, now, now);
      } else {
        entry.fetching = true;
        ++counters_.check_reads;
      }
    }
  }
  if (!request.write) return;
  entry.dirty = true;
  entry.written |= place.bit;
  if (entry.written == (1ULL << covers_) - 1) entry.whole = true;
}

PseudoChannel::Served EccStage::served(const PseudoChannel::Served& served, Clock now) {
  if ((served.tag & kOwn) == 0) return served;
  const auto index = static_cast<std::uint32_t>(served.tag);
  if ((served.tag & kCheck) == 0) {
    part_done(index, served.done, now);
  } else if (index != kNone) {
    Entry& entry = entries_[index];
    entry.whole = true;
    entry.fetching = false;
    for (const std::uint32_t job : entry.jobs) part_done(job, served.done, now);
    entry.jobs.clear();
  }
  if (!answers_.empty()) return answer();
  PseudoChannel::Served own = served;
  own.internal = true;
  return own;
}

void EccStage::part_done(std::uint32_t index, Clock done, Clock now) {
  Job& job = jobs_[index];
  job.done = std::max(job.done, done);
  if (--job.pending > 0) return;
  if (job.request.write) {
    const auto place = std::upper_bound(writes_.begin(), writes_.end(), job.done,
                                        [](Clock at, const Due& due) { return at < due.at; });
    writes_.insert(place, {std::max(job.done, now), index});
    return;
  }
  answers_.push_back({true, false, false, job.request.created, job.request.tag, job.done});
  answered_at_ = now;
  free_jobs_.push_back(index);
}

PseudoChannel::Served EccStage::answer() {
  const PseudoChannel::Served first = answers_.front();
  answers_.pop_front();
  return first;
}

PseudoChannel::Served EccStage::step(PseudoChannel& queues, std::uint64_t& order) {
  if (!answers_.empty()) return answer();
  const Due due = writes_.front();
  writes_.pop_front();
  Request write = jobs_[due.job].request;
  modifying_.erase(std::find(modifying_.begin(), modifying_.end(), due.job));
  free_jobs_.push_back(due.job);
  if (queues.push(write, due.at, ++order) != Accept::kQueued) throw std::logic_error("no place for a modified burst");
  // Requests for this burst need wait no longer.
  return {.any = true, .internal = true, .created = write.created, .tag = write.tag, .done = due.at};
}

}  // namespace weft::dram
