// SPDX-License-Identifier: Apache-2.0
// The link between an interface and memory, by itself and below a network interface.
#include "hw/nic/host_link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/support/benches/nic_bench.h"

namespace weft::nic {
namespace {

using namespace weft::literals;
using namespace test_bench;

/// PCI Express as in the paper of Neugebauer et al.: generation 3 with 8 lanes.
HostLink::Config paper() {
  HostLink::Config config{Rate(10'000'000'000'000), 300_ns, 200_ns, {}};
  config.pcie.generation = 3;
  config.pcie.lanes = 8;
  config.pcie.tags = 4096;
  config.pcie.posted_credits = 4096;
  return config;
}

double usable(const HostLink::Config& config) {
  return static_cast<double>(HostLink::packet_rate(config.pcie).count());
}
std::int64_t pieces(std::int64_t bytes, Bytes size) {
  return (bytes + size.count() - 1) / size.count();
}

struct Rates {
  double read = 0;
  double write = 0;
};
/// Bits per second of payload over a long time in which transfers of `bytes` follow each other.
Rates measure(const HostLink::Config& config, std::uint32_t bytes, bool reads, bool writes, std::uint64_t offset = 0,
              Time memory = Time()) {
  HostLink link(config, 4096);
  constexpr int kTransfers = 20'000;
  constexpr Time kWarm = 10_us;
  Time now;
  std::int64_t transfers = 0;
  for (int i = 0; i < kTransfers; ++i) {
    Time next = now;
    if (reads) {
      const Time asked = now + link.wait_to_read(now);
      next = std::max(next, link.read(now, now, HostLink::Answer(asked + memory), offset, bytes).tail -
                                config.read_latency - memory);
    }
    if (writes) {
      link.write(now, now + memory, Time(), offset, bytes);
      next = std::max(next, link.written(now));
    }
    if (now >= kWarm) ++transfers;
    now = next;
  }
  const double rate = 8e12 * static_cast<double>(transfers * bytes) / static_cast<double>((now - kWarm).count());
  return {reads ? rate : 0, writes ? rate : 0};
}

TEST(PciExpress, LeavesToItsPacketsWhatThePaperSays) {
  // Section 3: 62.96 Gb/s after coding, "57.88 Gb/s available at the TLP layer".
  EXPECT_NEAR(usable(paper()), 57.88e9, 0.01e9);
}

TEST(PciExpress, CarriesFlitsInGeneration6) {
  HostLink::Config config = paper();
  config.pcie.generation = 6;
  config.pcie.lanes = 16;
  // 16 lanes of 64 GT/s, 236 of the 256 bytes of a flit, and skips. Acknowledgements are in the flits.
  EXPECT_NEAR(usable(config), 1024e9 * 236 / 256 * (1 - 4.0 / 1538), 1);
  EXPECT_NEAR(usable(config), 941.5e9, 0.1e9);
  // Headers have 8 bytes less than below generation 6. 800 Gb/s of payload cross.
  for (const std::int64_t bytes : {64, 256, 4096}) {
    const std::int64_t packets = pieces(bytes, config.pcie.max_payload);
    const double share = static_cast<double>(bytes) / static_cast<double>(bytes + 16 * packets);
    EXPECT_NEAR(measure(config, static_cast<std::uint32_t>(bytes), false, true).write / (usable(config) * share), 1,
                0.01)
        << bytes;
    const std::int64_t asked = 16 * pieces(bytes, config.pcie.max_read_request);
    const double back = static_cast<double>(bytes) / static_cast<double>(std::max(asked, bytes + 12 * packets));
    EXPECT_NEAR(measure(config, static_cast<std::uint32_t>(bytes), true, false).read / (usable(config) * back), 1, 0.01)
        << bytes;
  }
  EXPECT_GT(measure(config, 4096, false, true).write, 800e9);
}

TEST(PciExpress, WritesAtTheRateOfThePaper) {
  const HostLink::Config config = paper();
  for (const std::int64_t bytes : {1, 64, 255, 256, 257, 512, 1024, 1500, 4096}) {
    const double sent = static_cast<double>(pieces(bytes, config.pcie.max_payload) * 24 + bytes);
    const double expected = usable(config) * static_cast<double>(bytes) / sent;
    EXPECT_NEAR(measure(config, static_cast<std::uint32_t>(bytes), false, true).write / expected, 1, 0.01) << bytes;
  }
}

TEST(PciExpress, ReadsAtTheRateOfThePaper) {
  for (const Bytes request : {128_B, 512_B, 4096_B}) {
    HostLink::Config config = paper();
    config.pcie.max_read_request = request;
    for (const std::int64_t bytes : {1, 64, 256, 257, 512, 1500, 4096}) {
      const std::int64_t requests = pieces(bytes, request) * 24;
      const std::int64_t data = pieces(bytes, config.pcie.max_payload) * 20 + bytes;
      const double expected =
          usable(config) * static_cast<double>(bytes) / static_cast<double>(std::max(requests, data));
      EXPECT_NEAR(measure(config, static_cast<std::uint32_t>(bytes), true, false).read / expected, 1, 0.01)
          << bytes << " by " << to_text(request);
    }
  }
}

TEST(PciExpress, SharesTheWayToTheHostBetweenWritesAndReadRequests) {
  const HostLink::Config config = paper();
  for (const std::int64_t bytes : {64, 256, 1500, 4096}) {
    const std::int64_t up =
        pieces(bytes, config.pcie.max_payload) * 24 + bytes + pieces(bytes, config.pcie.max_read_request) * 24;
    const double expected = usable(config) * static_cast<double>(bytes) / static_cast<double>(up);
    EXPECT_NEAR(measure(config, static_cast<std::uint32_t>(bytes), true, true).write / expected, 1, 0.01) << bytes;
  }
}

TEST(PciExpress, CutsWhatIsNotAlignedIntoMorePackets) {
  HostLink::Config config = paper();
  const double aligned = 256 + 24;
  const double two = 256 + 2 * 24;
  EXPECT_NEAR(measure(config, 256, false, true).write / measure(config, 256, false, true, 8).write, two / aligned,
              0.01);
  const double completions = (256.0 + 2 * 20) / (256 + 20);
  EXPECT_NEAR(measure(config, 256, true, false).read / measure(config, 256, true, false, 8).read, completions, 0.01);
  // A multiple of the completion boundary costs a read nothing.
  EXPECT_NEAR(measure(config, 256, true, false).read / measure(config, 256, true, false, 64).read, 1, 0.01);
}

TEST(PciExpress, ReadsNoFasterThanItsTagsInARoundTrip) {
  for (const int tags : {1, 3, 8, 20}) {
    HostLink::Config config = paper();
    config.pcie.tags = tags;
    for (const std::uint32_t bytes : {512U, 4096U, 65536U}) {
      const Time memory = 500_ns;
      const Time one = transfer_time(Bytes(512 + 2 * 20), HostLink::packet_rate(config.pcie));
      const double round = static_cast<double>((config.read_latency + memory + one).count());
      const double expected = std::min(8e12 * 512 * tags / round, usable(config) * 512 / (512 + 40));
      EXPECT_NEAR(measure(config, bytes, true, false, 0, memory).read / expected, 1, 0.05) << tags << " of " << bytes;
    }
  }
}

TEST(PciExpress, WritesNoFasterThanItsCreditsComeBack) {
  for (const int credits : {2, 8, 16}) {
    HostLink::Config config = paper();
    config.pcie.posted_credits = credits;
    config.write_latency = 800_ns;
    const Time one = transfer_time(Bytes(256 + 24), HostLink::packet_rate(config.pcie));
    const double round = static_cast<double>((config.write_latency + one).count());
    const double expected = 8e12 * 256 * credits / round;
    for (const std::uint32_t bytes : {256U, 512U, 16384U}) {
      EXPECT_NEAR(measure(config, bytes, false, true).write / expected, 1, 0.05) << credits << " of " << bytes;
    }
  }
}

TEST(PciExpress, CarriesEntriesAndDoorbellsBesideThePayload) {
  HostLink link(paper(), 4096);
  const Time entry = transfer_time(Bytes(64 + 24), HostLink::packet_rate(paper().pcie));
  const Time visible = link.write(1_us, 1_us, Time(), 0, 4096);
  EXPECT_EQ(link.notify(1_us, visible, 64), visible + entry);
  EXPECT_EQ(link.doorbell(2_us, 3_us, 64), 3_us + entry);
}

/// Payload rate of a long write between two interfaces, once all buffers are full.
double rate_of_write(const BenchConfig& config) {
  constexpr std::uint64_t kPart = 8 << 20;
  std::vector<Time> ends;
  for (const std::uint64_t parts : {1, 4}) {
    test::fresh_kernel();
    Bench bench(config);
    const Connection pair = bench.connect(0, 1);
    bench.ring_at(Time(), 0, write(pair.a, 0, 0, parts * kPart));
    bench.run();
    ends.push_back(bench.completions(0).at(0).at);
  }
  return 8e12 * 3 * kPart / static_cast<double>((ends[1] - ends[0]).count());
}

TEST(PciExpress, LimitsANetworkInterface) {
  BenchConfig config;
  config.data = false;
  const double line = rate_of_write(config);
  config.nic.pcie.generation = 5;
  EXPECT_NEAR(rate_of_write(config) / line, 1, 0.002);
  config.nic.pcie.generation = 3;
  const double expected = static_cast<double>(HostLink::packet_rate(config.nic.pcie).count()) * 256 / (256 + 24);
  for (const Bytes segment : {4_KiB, 64_KiB}) {
    config.network.segment = segment;
    EXPECT_NEAR(rate_of_write(config) / expected, 1, 0.01) << to_text(segment);
  }
  config.network.segment = 4_KiB;
  config.nic.pcie.tags = 16;
  const Time one = transfer_time(Bytes(512 + 2 * 20), HostLink::packet_rate(config.nic.pcie));
  const double round = static_cast<double>((config.nic.read_latency + config.memory.latency + one).count());
  EXPECT_NEAR(rate_of_write(config) / (8e12 * 16 * 512 / round), 1, 0.02);
}

}  // namespace
}  // namespace weft::nic
