// SPDX-License-Identifier: Apache-2.0
// hw/rtl/credit_link.sv against fabric::Transmitter, to the cycle, and with receivers that stall: in Verilator, then
// the same cycles in Icarus.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <vector>

#include "Vcredit_link.h"
#include "hw/core/random.h"
#include "tests/rtl/ports.h"
#include "tests/rtl/recorder.h"
#include "tests/rtl/simulators.h"
#include "tests/support/benches/fabric_end.h"

namespace weft::test {
namespace {

constexpr std::uint32_t kBuffer = 16;  // beats
constexpr int kFlight = 10;
constexpr std::size_t kLinkLanes = 2;

struct LinkPacket {
  std::uint8_t lane = 0;
  std::uint32_t beats = 1;
};
std::vector<LinkPacket> random_packets(std::uint64_t seed, std::size_t count) {
  Random random(seed, "packets");
  std::vector<LinkPacket> packets(count);
  for (LinkPacket& packet : packets) {
    packet.lane = random.next() % 3 == 0 ? 1 : 0;
    packet.beats = 1 + static_cast<std::uint32_t>(random.next() % (random.next() % 4 == 0 ? kBuffer : 5));
  }
  return packets;
}

/// Offers the packets in their order, and sees what comes out.
class LinkBench {
 public:
  explicit LinkBench(std::vector<LinkPacket> packets, Recorder* recorder = nullptr)
      : packets_(std::move(packets)), recorder_(recorder) {
    rtl.reset = 1;
    for (int i = 0; i <= kFlight; ++i) clock(rtl);
    rtl.reset = 0;
    if (recorder_ != nullptr) {
      for (int i = 0; i <= kFlight; ++i) recorder_->cycle({{1, 1}, {0, 27}}, {{0, 48, false}});
    }
  }
  [[nodiscard]] bool done() const { return done_ == packets_.size(); }
  [[nodiscard]] std::uint64_t cycles() const { return cycles_; }

  /// One clock. Whether a beat is offered, and which lanes of the output take one.
  void cycle(bool offers, std::uint32_t ready) {
    const bool more = next_ < packets_.size();
    const LinkPacket packet = more ? packets_[next_] : LinkPacket{};
    rtl.in_valid = offers && more;
    rtl.in_first = beat_ == 0;
    rtl.in_last = beat_ + 1 == packet.beats;
    rtl.in_lane = packet.lane;
    rtl.in_size = static_cast<std::uint8_t>(packet.beats);
    rtl.in_data = number_;
    rtl.out_ready = static_cast<std::uint8_t>(ready);
    rtl.eval();
    record();
    EXPECT_EQ(rtl.overflow, 0);
    for (std::size_t lane = 0; lane < kLinkLanes; ++lane) take(lane, ready);
    if (rtl.in_valid != 0) {
      const std::uint32_t credit = rtl.credits >> (5 * packet.lane) & 31;
      EXPECT_EQ(rtl.in_ready != 0, beat_ != 0 || credit >= packet.beats);
      if (rtl.in_ready != 0) send(packet);
    }
    clock(rtl);
    ++cycles_;
  }
  /// In which cycle each packet's last beat came out.
  [[nodiscard]] const std::vector<std::uint64_t>& ends() const { return ends_; }

  Vcredit_link rtl;

 private:
  struct Expected {
    std::uint16_t data;
    bool last;
    std::uint32_t beats;
  };

  void record() {
    if (recorder_ == nullptr) return;
    const std::uint32_t valid = rtl.out_valid;
    const std::uint32_t last = rtl.out_last;
    recorder_->cycle({{rtl.reset, 1},
                      {rtl.in_valid, 1},
                      {rtl.in_first, 1},
                      {rtl.in_last, 1},
                      {rtl.in_lane, 1},
                      {rtl.in_size, 5},
                      {rtl.in_data, 16},
                      {rtl.out_ready, 2}},
                     {{rtl.in_ready, 1},
                      {rtl.credits, 10},
                      {valid, 2},
                      {last >> 1, 1, (valid & 2) != 0},
                      {last, 1, (valid & 1) != 0},
                      {rtl.out_data >> 16U, 16, (valid & 2) != 0},
                      {rtl.out_data, 16, (valid & 1) != 0},
                      {rtl.overflow, 1}});
  }
  void send(const LinkPacket& packet) {
    if (beat_ == 0) {
      room_[packet.lane] += packet.beats;
      EXPECT_LE(room_[packet.lane], kBuffer) << "a packet left without credit";
    }
    inside_[packet.lane].push_back({number_++, rtl.in_last != 0, packet.beats});
    if (++beat_ == packet.beats) {
      beat_ = 0;
      ++next_;
    }
  }
  void take(std::size_t lane, std::uint32_t ready) {
    if ((rtl.out_valid >> lane & 1) == 0 || (ready >> lane & 1) == 0) return;
    ASSERT_FALSE(inside_[lane].empty());
    const Expected expected = inside_[lane].front();
    inside_[lane].pop_front();
    EXPECT_EQ(word_of(rtl.out_data, 0) >> (16 * lane) & 0xffff, expected.data);
    EXPECT_EQ((rtl.out_last >> lane & 1) != 0, expected.last);
    if (!expected.last) return;
    room_[lane] -= expected.beats;
    ends_.push_back(cycles_);
    ++done_;
  }

  std::vector<LinkPacket> packets_;
  Recorder* recorder_;
  std::size_t next_ = 0;
  std::uint32_t beat_ = 0;
  std::uint16_t number_ = 0;
  std::array<std::deque<Expected>, kLinkLanes> inside_;
  std::array<std::uint32_t, kLinkLanes> room_{};  // of packets that have not been taken whole
  std::size_t done_ = 0;
  std::uint64_t cycles_ = 0;
  std::vector<std::uint64_t> ends_;
};

class CreditLink : public RtlTest {};

TEST_F(CreditLink, KeepsTheModelsTimes) {
  using namespace fabric::test_ends;
  constexpr std::int64_t kBeat = 64;  // bytes; a cycle is 1 ns
  const std::vector<LinkPacket> packets = random_packets(1, 500);

  Dispatcher dispatcher("dispatcher");
  Script script("script", dispatcher);
  PacketPool pool;
  const fabric::LinkConfig config = link(512_Gbps, Time((kFlight + 2) * 1000), Bytes(kBuffer * kBeat));
  End left("left", dispatcher, pool, config);
  End right("right", dispatcher, pool, config);
  left.out.bind(right.in);
  right.out.bind(left.in);
  script.at(1_us, [&] {
    for (const LinkPacket& packet : packets) left.send(0, 1, packet.beats * kBeat, packet.lane);
  });
  sc_core::sc_start();
  ASSERT_EQ(right.arrivals.size(), packets.size());

  LinkBench bench(packets);
  while (!bench.done() && bench.cycles() < 100'000) bench.cycle(true, 3);
  ASSERT_EQ(bench.ends().size(), packets.size());
  for (std::size_t i = 0; i < packets.size(); ++i) {
    ASSERT_EQ(1_us + Time(static_cast<std::int64_t>(bench.ends()[i] + 1) * 1000), right.arrivals[i].tail)
        << "packet " << i;
  }
  // The buffer is shorter than the round trip, so that credits decided most of it.
  std::uint64_t beats = 0;
  for (const LinkPacket& packet : packets) beats += packet.beats;
  EXPECT_GT(bench.cycles(), beats * 3 / 2);
}

TEST_F(CreditLink, LosesNothingWhateverStalls) {
  std::uint64_t cycles = 0;
  {
    Recorder recorder(folder_ / "cycles");
    LinkBench bench(random_packets(2, 1500), &recorder);
    Random random(3, "stalls");
    std::uint64_t phase = 0;
    while (!bench.done() && !HasFailure()) {
      ASSERT_LT(bench.cycles(), 1'000'000U) << "stands still";
      if (bench.cycles() % 500 == 0) phase = random.next();
      // Each phase has chances of its own.
      const std::uint64_t any = random.next();
      const std::uint32_t ready = static_cast<std::uint32_t>((any & 7) <= (phase & 7)) |
                                  static_cast<std::uint32_t>((any >> 8 & 7) <= (phase >> 8 & 7)) << 1;
      bench.cycle((any >> 16 & 7) <= (phase >> 16 & 7), ready);
    }
    for (int i = 0; i < 2 * kFlight; ++i) bench.cycle(false, 3);
    EXPECT_EQ(bench.rtl.credits, kBuffer << 5 | kBuffer) << "not all credits are back";
    cycles = recorder.cycles();
  }
  play("credit_link.sv", "cycles", cycles);
}

TEST_F(CreditLink, SendsABufferEachRoundTrip) {
  // Of single beats, a buffer lasts for 16 cycles, and a beat's room is back after 2 * FLIGHT + 5.
  LinkBench bench(std::vector<LinkPacket>(320, LinkPacket{0, 1}));
  while (!bench.done() && bench.cycles() < 100'000) bench.cycle(true, 3);
  EXPECT_EQ(bench.cycles(), (320 / kBuffer - 1) * (2 * kFlight + 5) + kBuffer + kFlight + 2);
}

}  // namespace
}  // namespace weft::test
