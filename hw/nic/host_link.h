// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "hw/core/fields.h"
#include "hw/core/fifo.h"
#include "hw/core/packet.h"
#include "hw/core/quantity.h"

namespace weft::nic {

/// PCI Express between an interface and its host (PCI Express Base Specification 6.0; sections are those of 5.0).
/// Generation 0: there is none, and payload crosses at `dma_rate` alone.
struct PcieConfig {
  /// From this generation on the link carries flits (PAM4).
  static constexpr int kFlits = 6;
  /// Widths of a link (section 4.2.4).
  static constexpr std::array kWidths = {1, 2, 4, 8, 12, 16, 32};

  int generation = 0;
  int lanes = 16;
  Bytes max_payload = Bytes(256);
  Bytes max_read_request = Bytes(512);
  Bytes read_completion_boundary = Bytes(64);
  int tags = 256;
  int posted_credits = 127;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("generation", generation, "PCI Express generation; 0: no PCI Express, only dma_rate and the latencies",
          Range{0, kFlits});
    visit("lanes", lanes, "Lanes: 1, 2, 4, 8, 12, 16 or 32", Range{1, 32});
    visit("max_payload", max_payload, "Most bytes in one write, and in one completion of a read; a power of two",
          Range{128, 4096});
    visit("max_read_request", max_read_request, "Most bytes that one read asks for; a power of two", Range{128, 4096});
    visit("read_completion_boundary", read_completion_boundary,
          "A read that does not begin at a multiple of this has a shorter first completion; 64B or 128B",
          Range{64, 128});
    visit("tags", tags, "Reads on their way at once", Range{1, 65'536});
    visit("posted_credits", posted_credits,
          "Writes of up to max_payload that the host accepts before memory has taken them", Range{1, 65'536});
  }
};

/// A limit on what is under way, whose units are free again when they have come back. Units leave in bunches, and those
/// of one come back evenly spread; what is remembered is a few words for each bunch.
class Window {
 public:
  explicit Window(std::int64_t capacity) : capacity_(capacity) {}

  [[nodiscard]] std::int64_t capacity() const { return capacity_; }
  /// When the unit `ahead` places behind the next one may leave. One that waits for a unit which has not left is told
  /// about the last that has.
  [[nodiscard]] Time opens(Time now, std::int64_t ahead = 0);
  /// The next `units` leave: the first is back at `first`, the last at `last`. Bunches come back in their order.
  void leave(std::int64_t units, Time first, Time last);

 private:
  struct Bunch {
    std::int64_t end;  ///< of all units, those up to here
    std::int64_t units;
    Time first;
    Time last;
  };

  std::int64_t capacity_;
  std::int64_t left_ = 0;
  Fifo<Bunch> bunches_;
};

/// What lies between an interface and memory: the DMA engines, which move payload at `dma_rate` in each direction, and
/// with PciExpress the link behind them. Time arithmetic only, a few operations for each call and no events, so that a
/// packet costs the same whatever it is cut into.
///
/// The link carries transaction-layer packets (section 2.2): writes and read requests with a header of 24 bytes towards
/// the host, framing, sequence number and LCRC included, completions of reads with 20 bytes the other way, doorbells
/// and entries of completion queues among them. Its rate is what line coding, acknowledgements, flow-control updates
/// and skips leave (Neugebauer et al., Understanding PCIe performance for end host networking, SIGCOMM 2018, section 3,
/// with the intervals that section 3.6.2 of the specification recommends).
///
/// Generation 6 carries flits of 256 bytes instead: 236 of packets, 6 of acknowledgements and flow control, 8 of CRC
/// and 6 of error correction, with no line coding (PCI-SIG, PCI Express 6.0). Packets have neither framing, sequence
/// number nor LCRC of their own there: a header has 16 bytes, that of a completion 12. Skips are taken to be as rare as
/// before. What error correction takes is in the latencies.
///
/// Reads are non-posted: each holds a tag from its request until its data is here, so that their rate is at most tags x
/// max_read_request in a round trip. Writes are posted: each holds a credit until memory has taken it (section 2.6),
/// and what follows waits for it, as the rules of ordering ask (section 2.4).
///
/// Left out: credits of read requests, which come back long before the tags; those that a completion entry holds; data
/// completions split at less than `max_payload`; replays. Packets share the link in the order of
/// the calls, but requests of reads go before writes that wait: these wait in the interface, which takes turns.
class alignas(64) HostLink {
 public:
  struct Config {
    Rate dma_rate;
    Time read_latency;   ///< request to data, without the memory's share
    Time write_latency;  ///< until it is visible
    PcieConfig pcie;
  };
  /// `mtu` is the part of a read that must be here before a packet may leave.
  HostLink(const Config& config, std::uint32_t mtu);

  /// What a PCI Express link leaves to transaction-layer packets in each direction.
  [[nodiscard]] static Rate packet_rate(const PcieConfig& config);
  /// How long `bytes` take to cross without waiting for anything else.
  [[nodiscard]] static Time passage(const Config& config, Bytes bytes);

  struct Arrival {
    Time tail;    ///< when the last byte is here
    Time spread;  ///< how much earlier the first packet's worth was
  };
  /// When memory has the first packet's worth of a read, and all of it.
  struct Answer {
    explicit Answer(Time at) : first(at), last(at) {}
    Time first;
    Time last;
  };
  /// Of memory that has all of it at `last` and streams as fast as the engine.
  [[nodiscard]] Answer streamed(Time last, std::uint32_t bytes) const {
    Answer answer(last);
    if (bytes > mtu_) answer.first = last - (dma_time_(bytes) - dma_time_(mtu_));
    return answer;
  }
  /// How long after `now` memory can be asked for the next read: when there is a tag.
  [[nodiscard]] Time wait_to_read(Time now) {
    return pcie_ ? std::max(Time(), std::max(tags_.opens(now), requests_free_) - now) : Time();
  }
  /// Reads `bytes` that memory has ready at `memory`; the engine hands nothing on before `not_before`.
  Arrival read(Time now, Time not_before, const Answer& memory, std::uint64_t address, std::uint32_t bytes) {
    // The engine streams behind the memory: its first packet decides when sending may start, its last when it must end.
    read_rest_ = now > read_free_ ? 0 : read_rest_;
    const Time length = dma_time_.next(bytes, read_rest_);
    read_free_ = std::max(std::max(read_free_, now) + length, not_before);
    Arrival engine{std::max(read_free_, memory.last) + read_latency_, Time()};
    if (bytes > mtu_) {
      const Time streamed = read_free_ - (length - dma_time_(mtu_));
      engine.spread = std::min(engine.tail - (std::max(streamed, memory.first) + read_latency_), kLongestPassage);
    }
    return pcie_ ? read_by_pcie(engine, now, memory, address, bytes) : engine;
  }
  /// `bytes` of what the engine was to read, and has not begun to at `now`, are not read after all. What a PCI Express
  /// link has been asked for still crosses it.
  void give_up(Time now, std::int64_t bytes) {
    if (!pcie_ && bytes > 0) read_free_ = std::max(now, read_free_ - dma_time_(bytes));
  }
  /// Writes `bytes` of a packet that is here at `now`, which memory has taken by `memory`, and the engine after
  /// `handling`. Returns when they are visible.
  Time write(Time now, Time memory, Time handling, std::uint64_t address, std::uint32_t bytes) {
    if (bytes == 0) return std::max(write_free_, now) + write_latency_;
    // All but the last packet of a segment crossed while the rest was arriving.
    write_rest_ = now > write_free_ ? 0 : write_rest_;
    const Time length = dma_time_.next(bytes, write_rest_);
    const Time begin = bytes <= mtu_ ? now : now - (length - dma_time_(mtu_));
    write_free_ = std::max(write_free_, begin) + std::max(length, handling);
    if (pcie_) return write_by_pcie(now, memory, address, bytes);
    return std::max(std::max(write_free_, now) + write_latency_, memory);
  }
  /// When all that was to be written will have left the interface.
  [[nodiscard]] Time written(Time now) const { return std::max(now, write_free_); }

  /// For whoever explains the latest read: when its first packet's worth would have been here with a memory that
  /// takes no time, as far as what was read before it allows.
  [[nodiscard]] Time read_without_memory(std::uint32_t bytes) const {
    const std::uint32_t rest = bytes > mtu_ ? bytes - mtu_ : 0;
    const Time engine = read_free_ - dma_time_(rest);
    return (pcie_ ? std::max(engine, down_free_ - time_(rest)) : engine) + read_latency_;
  }
  /// What the first packet's worth of a read takes of a link that nobody else uses.
  [[nodiscard]] Time alone(std::uint32_t bytes) const {
    const std::uint32_t first = std::min(bytes, mtu_);
    return pcie_ ? std::max(dma_time_(first), time_(first)) : dma_time_(first);
  }
  [[nodiscard]] bool has_pcie() const { return pcie_; }

  /// A short write by the interface, which would be visible at `at` by all else. Returns when it is.
  Time notify(Time now, Time at, std::uint32_t bytes) {
    if (!pcie_) return at;
    up_free_ = std::max(up_free_, now) + time_(bytes + request_header_);
    return std::max(at, up_free_ + write_latency_);
  }
  /// A short write by the host that begins at `at`. Returns when it is here. It passes the completions of reads, as
  /// posted writes may, and takes its share of the link.
  Time doorbell(Time now, Time at, std::uint32_t bytes) {
    if (!pcie_) return at;
    const Time length = time_(bytes + request_header_);
    down_free_ = std::max(down_free_, now) + length;
    return at + length;
  }

 private:
  Arrival read_by_pcie(Arrival engine, Time now, const Answer& memory, std::uint64_t address, std::uint32_t bytes);
  [[nodiscard]] Time write_time(std::uint32_t bytes, std::uint32_t writes) const {
    return time_(bytes + request_header_ * writes);
  }
  Time write_by_pcie(Time now, Time memory, std::uint64_t address, std::uint32_t bytes);
  void cross(Time now, std::uint64_t address, std::uint32_t bytes, std::uint32_t writes);

  // What every packet touches comes first, in one cache line.
  bool pcie_;
  std::uint32_t mtu_;
  ByteTime dma_time_;
  Time read_latency_;
  Time write_latency_;
  Time read_free_;
  Time write_free_;
  ByteTime::Rest read_rest_ = 0;  ///< of read_free_
  ByteTime::Rest write_rest_ = 0;

  std::uint32_t max_payload_;
  std::uint32_t max_read_request_;
  std::uint32_t boundary_;
  std::uint32_t request_header_;
  std::uint32_t completion_header_;
  ByteTime time_;       ///< on the link
  Time up_free_;        ///< towards the host
  Time requests_free_;  ///< of this, by requests of reads
  Time down_free_;
  Window tags_;
  Window credits_;
  Time last_read_;  ///< that has been promised: data of reads comes in their order
  Time last_write_;
};

}  // namespace weft::nic
