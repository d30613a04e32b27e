// SPDX-License-Identifier: Apache-2.0
// The hierarchical pool of remote memory through its sockets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/random.h"
#include "hw/memory/remote/remote_memory.h"
#include "tests/support/benches/remote_bench.h"
#include "tests/support/kernel.h"

namespace weft::memory {
namespace {

using namespace test_remote;
using test::pattern_bytes;

/// FACTS 3.2 has HierMem's closed formula: n stages of a pipeline, T = sum + (n - 1) * longest. There R groups stand
/// behind each of S switches. Plain loads move a chunk per group in a stage, and each link and port its share of these.
struct Shape {
  int nodes;
  int per_node;
  int groups;
  int switches;
  int memory;  ///< GB/s
  int out;
  int in;
};

class Pool : public testing::TestWithParam<Shape> {
 protected:
  static constexpr std::int64_t kChunk = 1000;
  static Rate gbps(int rate) { return Rate(rate * 8'000'000'000LL); }
  static RemoteMemory::Config config() {
    const Shape& s = GetParam();
    return pool(s.groups, s.switches, gbps(s.memory), gbps(s.out), gbps(s.in));
  }
  static Time time(std::int64_t bytes, int rate) { return transfer_time(Bytes(bytes), gbps(rate)); }
};

/// Ends load parts of their own, which begin in one group after the other. With as many ends as groups each stage is
/// even and the pipeline is that of the formula. Filling it may take less, since a chunk goes on where the formula's
/// stage has the whole of a link's share in it. Ends may get out of step by their window, four stages, at each resource
/// that is as slow as the slowest: requests are served as they come, and those of the first window come all at once.
TEST_P(Pool, LoadsAndStoresTakeWhatThePipelineOfTheFormulaTakes) {
  const Shape& s = GetParam();
  const int ends = s.nodes * s.per_node;
  constexpr std::int64_t kChunks = 200;
  const std::int64_t per_stage = std::max(1, s.groups / ends);  // chunks of an end in a stage
  const std::int64_t stages = kChunks / per_stage;
  const std::int64_t in_stage = static_cast<std::int64_t>(ends) * per_stage;  // all chunks of it
  const Time memory = time(kChunk * in_stage / s.groups, s.memory);
  const Time link = time(kChunk * in_stage / (s.switches * s.nodes), s.out);
  const Time port = time(kChunk * per_stage, s.in);
  const Time longest = std::max({memory, link, port});
  const Time formula = memory + link + port + longest * (stages - 1);
  const std::int64_t slowest = (memory == longest ? 1 : 0) + (link == longest ? 1 : 0) + (port == longest ? 1 : 0);
  for (const tlm::tlm_command command : {kRead, kWrite}) {
    test::fresh_kernel();
    Bench bench(config(), ends, s.per_node);
    std::vector<Time> ended(static_cast<std::size_t>(ends));
    bench.run([&] {
      for (int e = 0; e < ends; ++e) {
        const std::uint64_t base = static_cast<std::uint64_t>(e) * (s.groups * 100 + per_stage) * kChunk;
        bench.stream(e, command, base, kChunks * kChunk, 4 * static_cast<int>(per_stage),
                     ended[static_cast<std::size_t>(e)]);
      }
    });
    for (const Time each : ended) {
      // Each piece's time is rounded to the picosecond.
      EXPECT_LE(each, formula + 4 * slowest * longest + Time(3 * kChunks));
      EXPECT_GE(each, formula - (memory + link + port - longest) - 4 * longest - Time(3 * kChunks));
    }
    const auto direction = command == kRead ? RemoteMemory::kLoad : RemoteMemory::kStore;
    EXPECT_EQ(bench.memory->port(direction, 0).bytes, kChunks * kChunk);
  }
}

/// A group's load brings the same bytes to all: each crosses its memory and the link to each node once, so that the
/// links carry R and the ports R * S chunks in a stage of R * S.
TEST_P(Pool, GathersTakeWhatTheFormulaWithCollectivesTakes) {
  const Shape& s = GetParam();
  const int ends = s.nodes * s.per_node;
  const std::int64_t chunks = s.groups * 20;
  const Time memory = time(kChunk, s.memory);
  const Time link = time(kChunk * s.groups / s.switches, s.out);
  const Time port = time(kChunk * s.groups, s.in);
  const Time longest = std::max({memory, link, port});
  const Time formula = memory + link + port + longest * (chunks / s.groups - 1);
  for (const tlm::tlm_command command : {kRead, kWrite}) {
    test::fresh_kernel();
    RemoteMemory::Config gathering = config();
    gathering.hierarchy.in_switch = true;
    Bench bench(gathering, ends, s.per_node);
    std::vector<std::uint32_t> members;
    for (int e = 0; e < ends; ++e) members.push_back(static_cast<std::uint32_t>(e));
    InSwitch group;
    group.group = bench.memory->create_group(members);
    std::vector<Time> ended(static_cast<std::size_t>(ends));
    bench.run([&] {
      for (int e = 0; e < ends; ++e) {
        bench.stream(e, command, 0, static_cast<std::uint64_t>(chunks * kChunk), 2 * s.groups,
                     ended[static_cast<std::size_t>(e)], &group);
      }
    });
    // Filling takes the first chunk's way in place of a stage's, the pieces are rounded.
    for (const Time each : ended) {
      EXPECT_LE(each, formula + Time(3 * chunks));
      EXPECT_GE(each, formula - (memory + link + port - longest) - Time(3 * chunks));
    }
    const auto direction = command == kRead ? RemoteMemory::kLoad : RemoteMemory::kStore;
    std::int64_t read = 0;
    for (std::size_t m = 0; m < bench.memory->memories(); ++m) read += bench.memory->memory(m).bytes;
    EXPECT_EQ(read, chunks * kChunk);
    for (int n = 0; n < s.nodes; ++n) {
      std::int64_t crossed = 0;
      for (int w = 0; w < s.switches; ++w) crossed += bench.memory->link(direction, w, n).bytes;
      EXPECT_EQ(crossed, chunks * kChunk);
    }
    for (int e = 0; e < ends; ++e) {
      EXPECT_EQ(bench.memory->port(direction, static_cast<std::size_t>(e)).bytes, chunks * kChunk);
    }
    EXPECT_EQ(command == kRead ? bench.memory->totals().gathers : bench.memory->totals().reductions, chunks);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Pool,
                         testing::Values(Shape{4, 4, 16, 4, 100, 256, 256}, Shape{4, 4, 16, 4, 500, 100, 512},
                                         Shape{4, 4, 16, 4, 500, 512, 100}, Shape{2, 8, 16, 8, 100, 100, 100},
                                         Shape{4, 2, 16, 4, 100, 256, 256}));

TEST(RemotePool, AHotGroupIsSharedAndTheOthersAreNot) {
  Bench bench(pool(4, 2, 1000_GBps, 10'000_GBps, 10'000_GBps), 4, 2);
  std::vector<Time> ended(4);
  const auto hammer = [&](int end, int group) {
    for (int i = 0; i < 50; ++i) {
      bench.ends[static_cast<std::size_t>(end)]->ask(kRead, static_cast<std::uint64_t>(group) * 1000, nullptr, 1000,
                                                     [&ended, end](Time now, tlm::tlm_response_status /*status*/) {
                                                       ended[static_cast<std::size_t>(end)] = now - 1_us;
                                                     });
    }
  };
  bench.run([&] {
    hammer(0, 0);
    hammer(1, 1);
    hammer(2, 3);
    hammer(3, 3);
  });
  EXPECT_EQ(ended[0], Time(50'000 + 200));
  EXPECT_EQ(ended[1], Time(50'000 + 200));
  EXPECT_GE(ended[2], Time(50'000));
  EXPECT_EQ(ended[3], Time(100'000 + 200));
  EXPECT_EQ(bench.memory->memory(3).bytes, 100'000);
  EXPECT_EQ(bench.memory->memory(2).bytes, 0);
  EXPECT_EQ(bench.memory->link(RemoteMemory::kLoad, 1, 1).bytes, 100'000);  // group 3 is behind switch 1
}

TEST(RemotePool, AGatherWaitsForItsLastMember) {
  RemoteMemory::Config config = pool(4, 2, 1000_GBps, 1000_GBps, 1000_GBps);
  config.hierarchy.in_switch = true;
  Bench bench(config, 4, 2, true);
  InSwitch some;
  some.group = bench.memory->create_group({0, 1, 3});
  const auto bytes = pattern_bytes(500, 7);
  bench.memory->store(0).write(1200, bytes.data(), bytes.size());
  std::vector<std::vector<std::byte>> got(4, std::vector<std::byte>(500));
  std::vector<Time> times(4);
  for (const std::size_t e : {0U, 1U, 3U}) {
    bench.script.at(1_us + static_cast<std::int64_t>(e) * 10_us, [&, e] {
      bench.ends[e]->ask(
          kRead, 1200, got[e].data(), 500,
          [&times, e](Time now, tlm::tlm_response_status status) {
            EXPECT_EQ(status, tlm::TLM_OK_RESPONSE);
            times[e] = now;
          },
          &some);
    });
  }
  bench.run([&] { EXPECT_EQ(bench.memory->left_over().size(), 1u); });
  for (const std::size_t e : {0U, 1U, 3U}) {
    EXPECT_TRUE(got[e] == bytes);
    EXPECT_EQ(times[e], 31_us + 1500_ps);
  }
  EXPECT_EQ(bench.memory->memory(1).bytes, 500);
  EXPECT_TRUE(bench.memory->left_over().empty());
}

TEST(RemotePool, AReductionStoresTheSum) {
  for (const ElementType type : {ElementType::kFp32, ElementType::kBf16, ElementType::kInt32}) {
    test::fresh_kernel();
    RemoteMemory::Config config = pool(4, 2, 1000_GBps, 1000_GBps, 1000_GBps);
    config.hierarchy.in_switch = true;
    Bench bench(config, 6, 2, true);
    InSwitch all;
    all.group = bench.memory->create_group({5, 1, 0, 2, 3});  // of the last node one
    all.type = type;
    std::vector<std::vector<std::byte>> parts;
    for (std::size_t e = 0; e < 6; ++e) {
      parts.push_back(pattern_bytes(800, e));
      for (std::size_t i = 0; i < 800; ++i) parts[e][i] &= std::byte{0x3f};  // no infinities
    }
    bench.run([&] {
      for (const std::size_t e : {3U, 0U, 5U, 2U, 1U}) {
        bench.ends[e]->ask(
            kWrite, 3000, parts[e].data(), 800,
            [](Time /*now*/, tlm::tlm_response_status status) { EXPECT_EQ(status, tlm::TLM_OK_RESPONSE); }, &all);
      }
    });
    // Each node, then the nodes.
    std::vector<std::byte> sum(800);
    std::vector<std::byte> second(800);
    add(type, parts[0].data(), parts[1].data(), sum.data(), 800);
    add(type, parts[2].data(), parts[3].data(), second.data(), 800);
    add(type, sum.data(), second.data(), sum.data(), 800);
    add(type, sum.data(), parts[5].data(), sum.data(), 800);
    std::vector<std::byte> stored(800);
    bench.memory->store(0).read(3000, stored.data(), 800);
    EXPECT_TRUE(stored == sum) << name_of(type);
    EXPECT_EQ(bench.memory->memory(3).bytes, 800);
    EXPECT_EQ(bench.memory->link(RemoteMemory::kStore, 1, 0).bytes, 800);
    EXPECT_EQ(bench.memory->link(RemoteMemory::kStore, 1, 2).bytes, 800);
  }
}

TEST(RemotePool, RefusesCollectivesThatAreNone) {
  RemoteMemory::Config config = pool(4, 2, 1000_GBps, 1000_GBps, 1000_GBps);
  config.hierarchy.in_switch = true;
  Bench bench(config, 4, 2);
  InSwitch pair;
  pair.group = bench.memory->create_group({0, 1});
  InSwitch unknown;
  unknown.group = 7;
  std::vector<tlm::tlm_response_status> statuses;
  const auto note = [&](Time /*now*/, tlm::tlm_response_status status) { statuses.push_back(status); };
  bench.run([&] {
    bench.ends[2]->ask(kRead, 0, nullptr, 100, note, &pair);     // no member
    bench.ends[0]->ask(kRead, 0, nullptr, 100, note, &unknown);  // no group
    bench.ends[0]->ask(kRead, 950, nullptr, 100, note, &pair);   // across chunks
    bench.ends[0]->ask(kWrite, 0, nullptr, 6, note, &pair);      // half an element
    bench.ends[0]->ask(kRead, 0, nullptr, 100, {}, &pair);
    bench.ends[1]->ask(kRead, 0, nullptr, 101, note, &pair);  // unlike the other's
    bench.ends[1]->ask(kRead, 0, nullptr, 100, {}, &pair);
  });
  EXPECT_EQ(statuses, (std::vector{tlm::TLM_GENERIC_ERROR_RESPONSE, tlm::TLM_GENERIC_ERROR_RESPONSE,
                                   tlm::TLM_BURST_ERROR_RESPONSE, tlm::TLM_BURST_ERROR_RESPONSE,
                                   tlm::TLM_GENERIC_ERROR_RESPONSE}));
}

/// Requests of any size and direction, at any time, some in groups: every byte is where it must be, every resource has
/// carried what it must have and never more than its rate.
TEST(RemotePool, ConservesBytesUnderRandomRequests) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    test::fresh_kernel();
    RemoteMemory::Config config = pool(5, 3, 100_GBps, 150_GBps, 200_GBps);
    config.latency = 100_ns;
    config.hierarchy.in_switch = true;
    constexpr int kEnds = 6;
    Bench bench(config, kEnds, 2, true, 2_us);
    Random random(seed, "requests");
    InSwitch trio;
    trio.group = bench.memory->create_group({1, 2, 4});
    trio.type = ElementType::kInt32;
    std::int64_t loaded[kEnds] = {};
    std::int64_t stored[kEnds] = {};
    std::int64_t in_memories = 0;
    int answers = 0;
    int asked = 0;
    std::vector<std::unique_ptr<std::vector<std::byte>>> buffers;
    // Each end has 100,000 bytes of its own, which it writes once from the front and reads back.
    for (int e = 0; e < kEnds; ++e) {
      std::uint64_t at = static_cast<std::uint64_t>(e) * 100'000;
      for (int i = 0; i < 30; ++i) {
        const auto bytes = static_cast<std::uint32_t>(random.next() % 3000);
        buffers.push_back(std::make_unique<std::vector<std::byte>>(pattern_bytes(bytes, random.next())));
        std::vector<std::byte>* const out = buffers.back().get();
        buffers.push_back(std::make_unique<std::vector<std::byte>>(bytes));
        std::vector<std::byte>* const in = buffers.back().get();
        stored[e] += bytes;
        loaded[e] += bytes;
        in_memories += 2 * static_cast<std::int64_t>(bytes);
        asked += 2;
        bench.script.at(1_us + Time(static_cast<std::int64_t>(random.next() % 1'000'000)), [&, e, at, bytes, out, in] {
          Requester& end = *bench.ends[static_cast<std::size_t>(e)];
          end.ask(kWrite, at, out->data(), bytes, [&, at, bytes, out, in](Time /*now*/, tlm::tlm_response_status s) {
            EXPECT_EQ(s, tlm::TLM_OK_RESPONSE);
            ++answers;
            end.ask(kRead, at, in->data(), bytes, [&, out, in](Time /*now*/, tlm::tlm_response_status status) {
              EXPECT_EQ(status, tlm::TLM_OK_RESPONSE);
              EXPECT_TRUE(*in == *out);
              ++answers;
            });
          });
        });
        at += bytes;
      }
    }
    for (int i = 0; i < 20; ++i) {
      const auto bytes = static_cast<std::uint32_t>(random.next() % 250 + 1) * 4;
      const std::uint64_t at = 900'000 + static_cast<std::uint64_t>(i) * 1000;
      in_memories += 2 * static_cast<std::int64_t>(bytes);
      auto left = std::make_shared<int>(3);
      for (const std::size_t e : {1U, 2U, 4U}) {
        stored[e] += bytes;
        loaded[e] += bytes;
        asked += 2;
        buffers.push_back(std::make_unique<std::vector<std::byte>>(pattern_bytes(bytes, e)));
        std::vector<std::byte>* const data = buffers.back().get();
        // In order within a member, whatever the others do.
        bench.script.at(1_us + i * 30_ns + Time(static_cast<std::int64_t>(random.next() % 20'000)),
                        [&, e, at, bytes, data, left] {
                          bench.ends[e]->ask(
                              kWrite, at, data->data(), bytes,
                              [&, e, at, bytes, data](Time /*now*/, tlm::tlm_response_status status) {
                                EXPECT_EQ(status, tlm::TLM_OK_RESPONSE);
                                ++answers;
                                std::vector<std::byte> sum = pattern_bytes(bytes, 1);
                                for (const std::size_t other : {2U, 4U}) {
                                  const auto part = pattern_bytes(bytes, other);
                                  add(ElementType::kInt32, sum.data(), part.data(), sum.data(), bytes);
                                }
                                bench.ends[e]->ask(
                                    kRead, at, data->data(), bytes,
                                    [&answers, data, sum](Time /*now*/, tlm::tlm_response_status last) {
                                      EXPECT_EQ(last, tlm::TLM_OK_RESPONSE);
                                      EXPECT_TRUE(*data == sum);
                                      ++answers;
                                    },
                                    &trio);
                              },
                              &trio);
                        });
      }
    }
    bench.run([] {});
    EXPECT_EQ(answers, asked);
    EXPECT_TRUE(bench.memory->left_over().empty());
    std::int64_t moved = 0;
    for (std::size_t m = 0; m < bench.memory->memories(); ++m) {
      moved += bench.memory->memory(m).bytes;
      EXPECT_LE(bench.memory->memory(m).busy, bench.dispatcher.last_change());
    }
    EXPECT_EQ(moved, in_memories);
    for (std::size_t e = 0; e < kEnds; ++e) {
      EXPECT_EQ(bench.memory->port(RemoteMemory::kLoad, e).bytes, loaded[e]);
      EXPECT_EQ(bench.memory->port(RemoteMemory::kStore, e).bytes, stored[e]);
    }
  }
}

}  // namespace
}  // namespace weft::memory
