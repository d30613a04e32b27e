// SPDX-License-Identifier: Apache-2.0
// hw/rtl/chunk_bitmap.sv against collectives::ChunkMap: in Verilator, then the same cycles in Icarus.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "Vchunk_bitmap.h"
#include "hw/core/random.h"
#include "sw/collectives/multicast/chunk_map.h"
#include "tests/rtl/ports.h"
#include "tests/rtl/recorder.h"
#include "tests/rtl/simulators.h"

namespace weft::test {
namespace {

using collectives::ChunkMap;
constexpr std::uint32_t kMostChunks = 256;

/// The bitmap and its model side by side.
class BitmapBench {
 public:
  explicit BitmapBench(Recorder& recorder) : recorder_(recorder) {
    rtl.reset = 1;
    cycle();
    rtl.reset = 0;
    wait_until_ready();
  }

  /// One clock, which records what the ports are before it.
  void cycle() {
    rtl.eval();
    recorder_.cycle({{rtl.reset, 1},
                     {rtl.begin_valid, 1},
                     {rtl.begin_size, 9},
                     {rtl.begin_own, 9},
                     {rtl.set_valid, 1},
                     {rtl.set_number, 9},
                     {rtl.find_valid, 1},
                     {rtl.find_from, 9},
                     {rtl.find_end, 9}},
                    {{rtl.ready, 1, started_},
                     {rtl.set_done, 1, started_},
                     {rtl.set_had, 1, rtl.set_done != 0},
                     {rtl.find_ready, 1, started_},
                     {rtl.hole_valid, 1, started_},
                     {rtl.hole_first, 9, rtl.hole_valid != 0},
                     {rtl.hole_count, 9, rtl.hole_valid != 0},
                     {rtl.missing, 9, started_},
                     {rtl.complete, 1, started_}});
    clock(rtl);
    started_ = true;
    rtl.begin_valid = rtl.set_valid = rtl.find_valid = 0;
  }
  void wait_until_ready() {
    int cycles = 0;
    for (; rtl.ready == 0; ++cycles) cycle();
    EXPECT_EQ(cycles, static_cast<int>(kMostChunks / 64));
  }
  void begin(const std::vector<std::uint32_t>& counts, int own) {
    map.begin(counts, own);
    rtl.begin_valid = 1;
    rtl.begin_size = static_cast<std::uint16_t>(map.size());
    rtl.begin_own = static_cast<std::uint16_t>(counts[static_cast<std::size_t>(own)]);
    cycle();
    wait_until_ready();
    check_counts();
  }
  void offer(std::uint32_t number) {
    rtl.set_valid = 1;
    rtl.set_number = static_cast<std::uint16_t>(number);
  }
  /// A clock in which a chunk is set.
  void set(std::uint32_t number) {
    offer(number);
    cycle();
    rtl.eval();
    EXPECT_EQ(rtl.set_done, 1);
    EXPECT_EQ(rtl.set_had != 0, map.set(number) == ChunkMap::kHadIt) << number;
    check_counts();
  }
  /// The first hole of a source. While it looks, chunks outside its range come, of `others`.
  void find(int source, std::uint32_t from, std::vector<std::uint32_t> others) {
    const std::uint32_t end = map.first(source + 1);
    const ChunkMap::Hole hole = map.next_hole(source, from);
    rtl.find_valid = 1;
    rtl.find_from = static_cast<std::uint16_t>(from);
    rtl.find_end = static_cast<std::uint16_t>(end);
    EXPECT_EQ(rtl.find_ready, 1);
    cycle();
    rtl.eval();
    std::uint32_t cycles = 0;
    for (; rtl.hole_valid == 0; ++cycles) {
      ASSERT_LT(cycles, 100U) << "no answer";
      EXPECT_EQ(rtl.find_ready, 0);
      if (others.empty()) {
        cycle();
      } else {
        set(others.back());
        others.pop_back();
      }
      rtl.eval();
    }
    EXPECT_EQ(rtl.hole_first, hole.first) << "from " << from;
    EXPECT_EQ(rtl.hole_count, hole.count) << "from " << from;
    // A word a cycle, and one cycle more where the hole begins.
    EXPECT_LE(cycles, (end - 1) / 64 - from / 64 + 2);
  }
  void check_counts() {
    EXPECT_EQ(rtl.missing, map.missing());
    EXPECT_EQ(rtl.complete != 0, map.missing() == 0);
  }

  Vchunk_bitmap rtl;
  ChunkMap map;

 private:
  Recorder& recorder_;
  bool started_ = false;  // before, nothing is known of any register
};

class ChunkBitmap : public RtlTest {};

TEST_F(ChunkBitmap, DoesWhatTheModelDoes) {
  std::uint64_t cycles = 0;
  {
    Recorder recorder(folder_ / "cycles");
    BitmapBench bench(recorder);
    Random random(1, "bitmap");
    for (int round = 0; round < 40; ++round) {
      // A few sources, one of which is the member itself; in some rounds all room is used.
      std::vector<std::uint32_t> counts(2 + random.next() % 3);
      for (std::uint32_t& count : counts) count = 1 + static_cast<std::uint32_t>(random.next() % (kMostChunks / 4));
      if (round % 4 == 0) counts[0] = kMostChunks - std::accumulate(counts.begin() + 1, counts.end(), 0U);
      const int own = static_cast<int>(random.next() % counts.size());
      bench.begin(counts, own);

      std::vector<std::uint32_t> numbers;
      for (std::uint32_t number = 0; number < bench.map.size(); ++number) {
        if (bench.map.source_of(number) != own) numbers.push_back(number);
      }
      const auto any = [&] { return numbers[random.next() % numbers.size()]; };
      // All but a few come, some twice, in runs of any length; then holes are looked for; then the rest comes.
      for (int burst = 0; burst < 60; ++burst) {
        std::size_t at = random.next() % numbers.size();
        for (std::uint64_t i = random.next() % 12; i != 0 && at < numbers.size(); --i) bench.set(numbers[at++]);
        if (random.next() % 2 == 0) bench.cycle();
        const int source = bench.map.source_of(any());
        const std::uint32_t first = bench.map.first(source);
        const std::uint32_t end = bench.map.first(source + 1);
        std::vector<std::uint32_t> others;
        for (int i = 0; i < 6; ++i) {
          const std::uint32_t number = any();
          if (bench.map.source_of(number) != source) others.push_back(number);
        }
        bench.find(source, first, others);
        bench.find(source, first + static_cast<std::uint32_t>(random.next() % (end - first + 1)), {});
        if (testing::Test::HasFailure()) return;
      }
      for (const std::uint32_t number : numbers) bench.set(number);
      EXPECT_EQ(bench.rtl.complete, 1);
      for (std::size_t source = 0; source < counts.size(); ++source) {
        if (static_cast<int>(source) == own) continue;
        bench.find(static_cast<int>(source), bench.map.first(static_cast<int>(source)), {});
        EXPECT_EQ(bench.rtl.hole_count, 0);
      }
    }
    cycles = recorder.cycles();
  }
  play("chunk_bitmap.sv", "cycles", cycles);
}

TEST_F(ChunkBitmap, BeginEndsAFindWithoutAnswer) {
  Recorder recorder(folder_ / "cycles");
  BitmapBench bench(recorder);
  bench.begin({128, 128}, 1);
  bench.rtl.find_valid = 1;
  bench.rtl.find_from = 0;
  bench.rtl.find_end = 128;
  bench.cycle();
  bench.begin({64, 64}, 0);
  for (int cycle = 0; cycle < 10; ++cycle) {
    EXPECT_EQ(bench.rtl.hole_valid, 0);
    bench.cycle();
  }
  bench.find(1, 64, {});
}

}  // namespace
}  // namespace weft::test
