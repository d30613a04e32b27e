// SPDX-License-Identifier: Apache-2.0
// The streams of hw/rtl/reduction_lane.sv: four children whose beats come and go at random, against
// fabric::ReductionModel, and its pace and latency.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <vector>

#include "Vlane_4x8.h"
#include "hw/fabric/reduction/reduction_model.h"
#include "tests/rtl/element_pairs.h"
#include "tests/rtl/ports.h"

namespace weft::test {
namespace {

constexpr std::size_t kChildren = 4;
constexpr std::size_t kWords = 2;
constexpr std::uint64_t kLatency = 9;

struct Beat {
  std::array<std::uint32_t, kWords> data{};
  bool last = false;
  bool adds = true;
  std::uint32_t id = 0;

  friend bool operator==(const Beat&, const Beat&) = default;
};

/// What the model makes of a beat of each child.
class Model {
 public:
  Model(ElementType type, std::uint32_t children) : type_(type), engine_(config(), kChildren, packets_) {
    fabric::ReductionEngine::Tree tree;
    for (std::uint16_t child = 0; child < kChildren; ++child) {
      if ((children >> child & 1) != 0) tree.children.push_back(child);
    }
    tree.window = 1;
    EXPECT_TRUE(engine_.open(0, tree));
    children_ = tree.children;
  }

  Beat sum(const std::array<Beat, kChildren>& beats) {
    // The engine takes them in any order.
    for (std::size_t i = 0; i < children_.size(); ++i) {
      const std::uint16_t child = children_[(i + order_) % children_.size()];
      Packet& packet = *packets_.take();
      packet.queue_pair = static_cast<std::uint32_t>(type_);
      if (beats[child].adds) {
        packet.payload_bytes = sizeof beats[child].data;
        packets_.attach_payload(packet, packet.payload_bytes);
        std::memcpy(packet.payload, beats[child].data.data(), packet.payload_bytes);
      }
      Packet* sum = engine_.take(0, child, packet, Time()).sum;
      if (sum == nullptr) continue;
      Beat beat = {{}, beats[children_[0]].last, sum->payload_bytes != 0, beats[children_[0]].id};
      if (beat.adds) std::memcpy(beat.data.data(), sum->payload, sum->payload_bytes);
      packets_.give_back(sum);
      ++order_;
      return beat;
    }
    ADD_FAILURE() << "no sum";
    return {};
  }

 private:
  static fabric::ReductionEngine::Config config() {
    fabric::ReductionEngine::Config config;
    config.trees = 1;
    return config;
  }

  ElementType type_;
  PacketPool packets_;
  fabric::ReductionModel engine_;
  std::vector<std::uint16_t> children_;
  std::size_t order_ = 0;
};

struct Lane : Vlane_4x8 {
  explicit Lane(ElementType type, std::uint32_t mask) {
    kind = static_cast<std::uint8_t>(type);
    children = static_cast<std::uint8_t>(mask);
    restart();
  }
  void restart() {
    reset = 1;
    clock(*this);
    reset = 0;
  }
  void offer(std::size_t child, const Beat& beat) {
    in_valid |= 1U << child;
    for (std::size_t w = 0; w < kWords; ++w) set_word(in_data, child * kWords + w, beat.data[w]);
    in_last = static_cast<std::uint8_t>((in_last & ~(1U << child)) | static_cast<unsigned>(beat.last) << child);
    in_adds = static_cast<std::uint8_t>((in_adds & ~(1U << child)) | static_cast<unsigned>(beat.adds) << child);
    set_word(in_id, child, beat.id);
  }
  [[nodiscard]] Beat output() const {
    Beat beat;
    for (std::size_t w = 0; w < kWords; ++w) beat.data[w] = word_of(out_data, w);
    beat.last = out_last != 0;
    beat.adds = out_adds != 0;
    beat.id = out_id;
    return beat;
  }
};

std::array<Beat, kChildren> random_beats(ElementPairs& pairs, Random& random, std::uint32_t id) {
  std::array<Beat, kChildren> beats;
  const bool last = random.next() % 4 == 0;
  for (Beat& beat : beats) {
    const ElementPairs::Pair first = pairs.next();
    const ElementPairs::Pair second = pairs.next();
    beat = {{first.a | second.a << 16, first.b | second.b << 16}, last, random.next() % 8 != 0, id};
  }
  return beats;
}

/// Chances of 256 that a child offers its beat, and that the output's is taken, in a cycle.
struct Pace {
  std::uint32_t in;
  std::uint32_t out;
};

void run(ElementType type, std::uint32_t children, Pace pace, std::uint64_t seed) {
  SCOPED_TRACE(std::string(name_of(type)) + ", children " + std::to_string(children) + ", seed " +
               std::to_string(seed));
  Random random(seed, "lane");
  ElementPairs pairs(type, seed);
  Model model(type, children);
  Lane lane(type, children);
  constexpr std::uint32_t kBeats = 300;

  std::deque<Beat> expected;
  std::uint32_t sent = 0;
  std::uint32_t got = 0;
  std::array<Beat, kChildren> beats = random_beats(pairs, random, 1000);
  std::uint32_t offered = 0;
  for (std::uint32_t cycle = 0; got < kBeats; ++cycle) {
    ASSERT_LT(cycle, 100'000U) << "stands still after " << got;
    // Children that do not take part offer beats too, of which none may be taken.
    for (std::size_t child = 0; child < kChildren; ++child) {
      if (sent < kBeats && random.next() % 256 < pace.in) offered |= 1U << child;
      lane.offer(child, beats[child]);
    }
    lane.in_valid = static_cast<std::uint8_t>(offered);
    lane.out_ready = random.next() % 256 < pace.out;
    lane.eval();
    const bool takes = lane.in_ready != 0;
    if (takes) {
      ASSERT_EQ(lane.in_ready, children);
      ASSERT_EQ(offered & children, children);
      expected.push_back(model.sum(beats));
    }
    // A beat that waits is the one that will be taken.
    if (lane.out_valid != 0) {
      ASSERT_FALSE(expected.empty());
      ASSERT_EQ(lane.output(), expected.front()) << "beat " << got;
      if (lane.out_ready != 0) {
        expected.pop_front();
        ++got;
      }
    }
    clock(lane);
    if (takes) {
      offered &= ~children;
      ++sent;
      const std::array<Beat, kChildren> next = random_beats(pairs, random, 1000 + sent);
      for (std::size_t child = 0; child < kChildren; ++child) {
        if ((children >> child & 1) != 0) beats[child] = next[child];
      }
    }
  }
  EXPECT_EQ(sent, kBeats);
  EXPECT_TRUE(expected.empty());
  EXPECT_EQ(lane.error, 0);
  lane.in_valid = 0;
  for (std::uint64_t cycle = 0; cycle < 2 * kLatency; ++cycle) {
    clock(lane);
    EXPECT_EQ(lane.out_valid, 0);
  }
}

TEST(LaneStream, NothingIsLostWhateverStalls) {
  constexpr Pace kPaces[] = {{256, 256}, {40, 256}, {256, 40}, {128, 128}, {200, 230}};
  std::uint64_t seed = 0;
  for (const ElementType type : {ElementType::kFp32, ElementType::kBf16, ElementType::kInt32, ElementType::kFp16}) {
    for (std::uint32_t children = 1; children < 16; ++children) {
      for (const Pace pace : kPaces) run(type, children, pace, ++seed);
    }
  }
}

TEST(LaneStream, TakesABeatEachCycleAndGivesItsSumNineLater) {
  for (std::uint32_t children = 1; children < 16; ++children) {
    Lane lane(ElementType::kInt32, children);
    lane.out_ready = 1;
    for (std::uint32_t cycle = 0; cycle < 100 + kLatency; ++cycle) {
      const bool sends = cycle < 100;
      lane.in_valid = 0;
      for (std::size_t child = 0; sends && child < kChildren; ++child) {
        lane.offer(child, {{cycle, cycle}, false, true, cycle});
      }
      lane.eval();
      EXPECT_EQ(lane.in_ready, sends ? children : 0);
      ASSERT_EQ(lane.out_valid, cycle >= kLatency) << cycle;
      if (cycle >= kLatency) {
        EXPECT_EQ(lane.out_id, cycle - kLatency);
      }
      clock(lane);
    }
  }
}

TEST(LaneStream, ReportsBeatsThatDoNotBelongTogether) {
  Lane lane(ElementType::kFp32, 0b0110);
  lane.out_ready = 1;
  const Beat beat{{}, false, true, 7};
  const Beat other_id{{}, false, true, 8};
  const Beat other_last{{}, true, true, 7};
  // Whose child does not take part, and beats that are not joined, say nothing.
  lane.offer(0, other_id);
  lane.offer(1, beat);
  lane.offer(2, beat);
  lane.offer(3, other_last);
  clock(lane);
  lane.in_valid = 0;
  lane.offer(1, other_id);
  clock(lane);
  EXPECT_EQ(lane.error, 0);
  for (const Beat& wrong : {other_id, other_last}) {
    lane.offer(1, beat);
    lane.offer(2, wrong);
    clock(lane);
    EXPECT_EQ(lane.error, 1);
    lane.offer(2, beat);
    clock(lane);
    EXPECT_EQ(lane.error, 1) << "it stays";
    lane.restart();
    EXPECT_EQ(lane.error, 0);
  }
}

}  // namespace
}  // namespace weft::test
