// SPDX-License-Identifier: Apache-2.0
#include "hw/nic/host_link.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "hw/core/packet.h"

namespace weft::nic {
namespace {

/// How many pieces of `size` a transfer is cut into, at multiples of it.
std::uint32_t pieces(std::uint32_t offset, std::uint32_t bytes, std::uint32_t size) {
  return (offset % size + bytes + size - 1) / size;
}

std::uint32_t offset_of(std::uint64_t address) {
  return static_cast<std::uint32_t>(address % 4096);  // what no request crosses (section 2.2.7)
}

/// Symbol times from one acknowledgement, or update of flow control, to the next (tables 2-46 to 2-48, 3-7 to 3-9): a
/// packet's, times a factor, and the internal delay.
double update_interval(const PcieConfig& config) {
  constexpr double kOverhead = 28;  // of a packet, as the tables count it
  const bool small = config.max_payload <= Bytes(256);
  double factor = small ? 1.4 : 1.0;
  if (config.lanes >= 8) factor = small ? 2.5 : 1.0;
  if (config.lanes >= 16) factor = small ? 3.0 : 2.0;
  const double delay = config.generation == 1 ? 19 : config.generation == 2 ? 70 : 115;
  return std::floor((static_cast<double>(config.max_payload.count()) + kOverhead) * factor / config.lanes + delay);
}

/// Bytes of a request beside its payload: with framing, sequence number and LCRC (section 2.2), which flits do without.
std::uint32_t request_header(const PcieConfig& config) {
  return config.generation >= PcieConfig::kFlits ? 16 : 24;
}

std::uint32_t completion_header(const PcieConfig& config) {
  return config.generation >= PcieConfig::kFlits ? 12 : 20;
}

}  // namespace

Time Window::opens(Time now, std::int64_t ahead) {
  while (!bunches_.empty() && (bunches_.front().last <= now || bunches_.front().end <= left_ - capacity_)) {
    bunches_.pop_front();
  }
  const std::int64_t awaited = std::min(left_ + ahead - capacity_, left_ - 1);
  for (std::size_t i = 0; i < bunches_.size(); ++i) {
    const Bunch& bunch = bunches_[i];
    if (awaited >= bunch.end) continue;
    const std::int64_t place = awaited - (bunch.end - bunch.units);
    if (place < 0) break;
    if (place + 1 == bunch.units) return std::max(now, bunch.last);
    return std::max(now, bunch.first + (bunch.last - bunch.first) * place / (bunch.units - 1));
  }
  return now;
}

void Window::leave(std::int64_t units, Time first, Time last) {
  left_ += units;
  bunches_.push_back({left_, units, first, last});
}

Rate HostLink::packet_rate(const PcieConfig& config) {
  constexpr std::array<double, PcieConfig::kFlits> kTransfers = {2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
  constexpr double kFlit = 236.0 / 256;  // packets' bytes in a flit, whose others have acknowledgements and updates
  const bool flits = config.generation >= PcieConfig::kFlits;
  const double coding = flits ? kFlit : config.generation < 3 ? 8.0 / 10 : 128.0 / 130;
  const double raw = kTransfers[static_cast<std::size_t>(config.generation - 1)] * coding * config.lanes;
  constexpr double kUpdate = 8;          // bytes of an acknowledgement or update, with framing
  constexpr double kSkips = 4.0 / 1538;  // section 4.2.7.3
  const double taken = (flits ? 0 : 2 * kUpdate / update_interval(config)) + kSkips;
  return Rate(std::llround(raw * (1 - taken)));
}

Time HostLink::passage(const Config& config, Bytes bytes) {
  const Time engine = transfer_time(bytes, config.dma_rate);
  if (config.pcie.generation == 0) return engine;
  const std::int64_t packets = bytes / config.pcie.max_payload + 1;
  return std::max(engine,
                  transfer_time(bytes + Bytes(request_header(config.pcie)) * packets, packet_rate(config.pcie)));
}

HostLink::HostLink(const Config& config, std::uint32_t mtu)
    : pcie_(config.pcie.generation > 0),
      mtu_(mtu),
      dma_time_(config.dma_rate),
      read_latency_(config.read_latency),
      write_latency_(config.write_latency),
      max_payload_(static_cast<std::uint32_t>(config.pcie.max_payload.count())),
      max_read_request_(static_cast<std::uint32_t>(config.pcie.max_read_request.count())),
      boundary_(static_cast<std::uint32_t>(config.pcie.read_completion_boundary.count())),
      request_header_(request_header(config.pcie)),
      completion_header_(completion_header(config.pcie)),
      time_(pcie_ ? packet_rate(config.pcie) : config.dma_rate),
      tags_(config.pcie.tags),
      credits_(config.pcie.posted_credits) {}

HostLink::Arrival HostLink::read_by_pcie(Arrival engine, Time now, const Answer& memory, std::uint64_t address,
                                         std::uint32_t bytes) {
  const std::uint32_t offset = offset_of(address);
  const std::uint32_t requests = pieces(offset, bytes, max_read_request_);
  const auto crossing = [&](std::uint32_t part) {
    return time_(part + completion_header_ * pieces(offset % boundary_, part, max_payload_));
  };
  const Time asked = now + wait_to_read(now);
  const Time asking = time_(request_header_) * requests;
  requests_free_ = std::max(requests_free_, now) + asking;
  up_free_ = std::max(up_free_, now) + asking;
  const Time length = crossing(bytes);
  down_free_ = std::max(down_free_, now) + length;
  const Time unhindered = std::max(down_free_, memory.last) + read_latency_;
  // What one request takes by itself, and when the last one finds a tag.
  const Time one = crossing(std::min(bytes, max_read_request_));
  const Time round = std::max(memory.first, down_free_ - length) + read_latency_ + one - asked;
  Time last_asked = std::max(asked, tags_.opens(now, requests - 1));
  // More than there are tags go at the rate at which these come back.
  if (requests > tags_.capacity()) last_asked = std::max(last_asked, asked + round * (requests - 1) / tags_.capacity());
  const Time tail = std::max({unhindered, last_asked + round, last_read_});
  last_read_ = tail;
  tags_.leave(requests, std::min(asked + round, tail), tail);
  const Time last = std::max(engine.tail, tail);
  if (bytes <= mtu_) return {last, Time()};
  // The first packet's worth is here when link and memory have brought it, and those of its requests that wait for a
  // tag are answered.
  const std::uint32_t ahead = pieces(offset, mtu_, max_read_request_);
  const Time streamed = std::max(down_free_ - (length - crossing(mtu_)), memory.first) + read_latency_;
  const Time tagged = asked + (last_asked - asked) * ahead / requests + round;
  const Time first = std::max({engine.tail - engine.spread, streamed, std::min(tagged, tail)});
  return {last, std::min(last - first, kLongestPassage)};
}

Time HostLink::write_by_pcie(Time now, Time memory, std::uint64_t address, std::uint32_t bytes) {
  const std::uint32_t writes = pieces(offset_of(address), bytes, max_payload_);
  cross(now, address, bytes, writes);
  write_free_ = std::max(write_free_, up_free_);
  const Time visible = std::max({std::max(write_free_, now) + write_latency_, memory, last_write_});
  last_write_ = visible;
  credits_.leave(writes, visible - write_time(bytes, writes) + write_time(max_payload_, 1), visible);
  return visible;
}

void HostLink::cross(Time now, std::uint64_t address, std::uint32_t bytes, std::uint32_t writes) {
  const Time length = write_time(bytes, writes);
  const std::uint32_t head = std::min(bytes, mtu_);
  const Time first = write_time(head, pieces(offset_of(address), head, max_payload_));
  up_free_ = std::max(up_free_, now - (length - first)) + length;
  // The last one needs a credit as well; more than there are credits go at the rate at which these come back.
  Time last = credits_.opens(now, writes - 1);
  const Time one = write_time(std::min(bytes, max_payload_), 1);
  if (const std::int64_t more = writes - credits_.capacity(); more > 0) {
    last += (write_latency_ + one) * more / credits_.capacity();
  }
  if (last > now) up_free_ = std::max(up_free_, last + one);
}

}  // namespace weft::nic
