// SPDX-License-Identifier: Apache-2.0
// Waveforms compared: what is the same, and where each kind of bug shows first.
#include "traces/vcd/compare.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "tests/support/vcd.h"
#include "traces/vcd/writer.h"

namespace weft::vcd {
namespace {

/// One item: taken by the input at `cycle`, given by the output at `cycle + latency`, cycles counted after reset.
struct Beat {
  int cycle = 0;
  int latency = 3;
  std::string data;
  bool last = false;
  int id = 0;
};

/// How a simulator of these tests writes the same thing.
struct Dialect {
  std::string prefix = "tb.dut.";
  Timescale timescale{1, -12};
  std::uint64_t period = 1000;  ///< in units of the timescale
  int reset_cycles = 4;
  std::string idle = "xxxxxxxx";  ///< of data that is not valid
  bool stalls = true;             ///< valid a cycle before ready
};

std::vector<Beat> beats(int count) {
  std::mt19937 random(5);
  std::vector<Beat> all;
  int cycle = 2;
  for (int i = 0; i < count; ++i) {
    Beat beat;
    beat.cycle = cycle;
    for (int bit = 0; bit < 8; ++bit) beat.data += random() % 2 == 0 ? '0' : '1';
    beat.last = i % 4 == 3;
    beat.id = i % 4;
    all.push_back(beat);
    cycle += 2 + static_cast<int>(random() % 3);
  }
  return all;
}

class VcdCompare : public test::VcdTest {
 protected:
  std::string dump(const std::string& name, const std::vector<Beat>& all, const Dialect& dialect = {}) {
    Writer writer(folder_ / name, {.timescale = dialect.timescale, .date = "", .version = ""});
    const auto bit = [&](const char* leaf) { return writer.bits(dialect.prefix + leaf); };
    const auto clk = bit("clk");
    const auto rst = bit("rst");
    const auto in_valid = bit("in.valid");
    const auto in_id = writer.bits(dialect.prefix + "in.id", 4);
    const auto valid = bit("out.valid");
    const auto ready = bit("out.ready");
    const auto data = writer.bits(dialect.prefix + "out.data", 8);
    const auto last = bit("out.last");
    const auto id = writer.bits(dialect.prefix + "out.id", 4);
    std::map<int, const Beat*> inputs;
    std::map<int, const Beat*> outputs;
    int end = 0;
    for (const Beat& beat : all) {
      inputs[beat.cycle] = &beat;
      outputs[beat.cycle + beat.latency] = &beat;
      end = std::max(end, beat.cycle + beat.latency);
    }
    // What edge n samples changes with edge n - 1, after it, as of flip-flops.
    for (int edge = 0; edge <= end + dialect.reset_cycles; ++edge) {
      const int cycle = edge - dialect.reset_cycles;
      const std::uint64_t before = static_cast<std::uint64_t>(edge) * dialect.period;
      const auto input = inputs.find(cycle);
      const auto output = outputs.find(cycle);
      const bool stalled = dialect.stalls && outputs.count(cycle + 1) > 0 && output == outputs.end();
      const Beat* const shown = output != outputs.end() ? output->second : stalled ? outputs[cycle + 1] : nullptr;
      if (edge > 0) writer.change(before, clk, 1);
      writer.change(before, rst, cycle < 0 ? 1 : 0);
      writer.change(before, in_valid, input != inputs.end() ? 1 : 0);
      if (input != inputs.end()) writer.change(before, in_id, static_cast<std::uint64_t>(input->second->id));
      writer.change(before, valid, shown != nullptr ? 1 : 0);
      writer.change(before, ready, output != outputs.end() ? 1 : 0);
      writer.change_bits(before, data, shown != nullptr ? shown->data : dialect.idle);
      writer.change(before, last, shown != nullptr && shown->last ? 1 : 0);
      if (shown != nullptr) writer.change(before, id, static_cast<std::uint64_t>(shown->id));
      writer.change(before + dialect.period / 2, clk, 0);
    }
    writer.change(static_cast<std::uint64_t>(end + dialect.reset_cycles + 1) * dialect.period, clk, 1);
    writer.close();
    return folder_ / name;
  }

  CompareOptions options(const std::string& reference, const std::string& subject) const {
    CompareOptions options;
    options.reference = folder_ / reference;
    options.subject = folder_ / subject;
    options.sampling = {"tb.dut.clk", "tb.dut.rst", false};
    options.interface = {
        "tb.dut.out.valid", "tb.dut.out.ready", {"tb.dut.out.data"}, "tb.dut.out.last", "tb.dut.out.id"};
    options.input = Interface{"tb.dut.in.valid", "", {}, "", "tb.dut.in.id"};
    options.tolerance = 0;
    return options;
  }
};

TEST_F(VcdCompare, FindsTheSameInOtherDialects) {
  const auto all = beats(200);
  dump("a.vcd", all);
  Dialect other;
  other.prefix = "top.weft.";
  other.timescale = {100, -15};
  other.period = 20;
  other.reset_cycles = 9;
  other.idle = "00000000";
  other.stalls = false;
  dump("b.vcd", all, other);
  CompareOptions chosen = options("a.vcd", "b.vcd");
  chosen.rules = {{"tb.dut.*", "top.weft.*"}};
  const Comparison result = compare(chosen);
  EXPECT_TRUE(result.same()) << result.text();
  EXPECT_EQ(result.reference_items, 200U);
  EXPECT_EQ(result.subject_items, 200U);
  EXPECT_EQ(result.shift.least, 0);
  EXPECT_EQ(result.shift.most, 0);
  EXPECT_EQ(result.reference_latency.count, 200U);
  EXPECT_EQ(result.reference_latency.least, 3);
  EXPECT_EQ(result.subject_latency.most, 3);
  EXPECT_EQ(result.reference_timescale, (Timescale{1, -12}));
  EXPECT_EQ(result.subject_timescale, other.timescale);
  EXPECT_EQ(result.first, std::nullopt);
  const auto json = result.json();
  EXPECT_EQ(json["same"], true);
  EXPECT_EQ(json["reference"]["latency"]["mean"], 3);
  EXPECT_EQ(json["first"], nullptr);
  EXPECT_NE(result.text().find("same: 200 transactions"), std::string::npos);
}

TEST_F(VcdCompare, LocatesEachKindOfBug) {
  const auto all = beats(60);
  dump("a.vcd", all);
  struct Bug {
    std::string what;
    std::uint64_t index;
    std::uint64_t different;
    std::function<void(std::vector<Beat>&)> inject;
  };
  const std::vector<Bug> bugs = {
      {"tb.dut.out.data", 17, 1, [](auto& b) { b[17].data.back() = b[17].data.back() == '0' ? '1' : '0'; }},
      {"tb.dut.out.last", 20, 1, [](auto& b) { b[20].last = true; }},
      {"tb.dut.out.id", 30, 2, [](auto& b) { std::swap(b[30].id, b[31].id); }},
      {"missing", 59, 1, [](auto& b) { b.pop_back(); }},
      {"extra", 60, 1,
       [](auto& b) {
         b.push_back({b.back().cycle + 5, 3, "00000000", false, 0});
       }},
      {"cycle", 40, 20,
       [](auto& b) {
         for (std::size_t i = 40; i < b.size(); ++i) ++b[i].cycle;
       }},
  };
  for (const Bug& bug : bugs) {
    SCOPED_TRACE(bug.what);
    auto wrong = all;
    bug.inject(wrong);
    dump("b.vcd", wrong);
    const Comparison result = compare(options("a.vcd", "b.vcd"));
    EXPECT_FALSE(result.same());
    EXPECT_EQ(result.different, bug.different);
    ASSERT_TRUE(result.first);
    EXPECT_EQ(result.first->what, bug.what);
    EXPECT_EQ(result.first->index, bug.index);
    EXPECT_EQ(result.first->context_from, bug.index - 3);
    EXPECT_EQ(result.first->expected.has_value(), bug.what != "extra");
    EXPECT_EQ(result.first->found.has_value(), bug.what != "missing");
    EXPECT_EQ(result.first->expected_context.size(), std::min<std::size_t>(7, 60 - (bug.index - 3)));
    EXPECT_NE(result.text().find("first divergence, " + std::to_string(bug.index) + ": " + bug.what),
              std::string::npos);
    EXPECT_EQ(result.json()["first"]["what"], bug.what);
  }
  // A dropped item in the midst: all after it disagree with their neighbours, the first of them is named.
  auto dropped = all;
  dropped.erase(dropped.begin() + 25);
  dump("b.vcd", dropped);
  const Comparison result = compare(options("a.vcd", "b.vcd"));
  ASSERT_TRUE(result.first);
  EXPECT_EQ(result.first->index, 25U);
  EXPECT_EQ(result.first->expected->cycle, static_cast<std::uint64_t>(all[25].cycle + 3));
  EXPECT_EQ(result.first->found->cycle, static_cast<std::uint64_t>(all[26].cycle + 3));
  EXPECT_EQ(result.first->expected->values[0], all[25].data);
}

TEST_F(VcdCompare, KnowsToleranceOffsetAndLatency) {
  auto all = beats(50);
  dump("a.vcd", all);
  // One item is a cycle slower, all are two cycles later.
  for (Beat& beat : all) beat.cycle += 2;
  all[10].latency += 1;
  dump("b.vcd", all);
  CompareOptions chosen = options("a.vcd", "b.vcd");
  EXPECT_EQ(compare(chosen).first->index, 0U);
  EXPECT_EQ(compare(chosen).shift.most, 3);
  chosen.offset = 2;
  const Comparison off = compare(chosen);
  ASSERT_TRUE(off.first);
  EXPECT_EQ(off.first->index, 10U);
  EXPECT_EQ(off.first->what, "cycle");
  EXPECT_EQ(*off.first->expected->latency, 3U);
  EXPECT_EQ(*off.first->found->latency, 4U);
  EXPECT_EQ(off.different, 1U);
  EXPECT_EQ(off.subject_latency.most, 4);
  EXPECT_DOUBLE_EQ(off.subject_latency.mean(), 3.02);
  chosen.tolerance = 1;
  EXPECT_TRUE(compare(chosen).same());
  chosen.tolerance.reset();
  chosen.offset = 0;
  EXPECT_TRUE(compare(chosen).same());
  // The other way round the second file is earlier.
  std::swap(chosen.reference, chosen.subject);
  chosen.tolerance = 1;
  chosen.offset = -2;
  EXPECT_TRUE(compare(chosen).same()) << compare(chosen).text();
  // A slower item whose input came earlier: only its latency tells.
  auto early = beats(50);
  --early[5].cycle;
  ++early[5].latency;
  dump("c.vcd", early);
  chosen = options("a.vcd", "c.vcd");
  EXPECT_EQ(compare(chosen).first->what, "latency") << compare(chosen).text();
  chosen.input.reset();
  EXPECT_TRUE(compare(chosen).same());
  // Outputs out of order: inputs are found by their id.
  auto crossed = beats(50);
  crossed[8].latency = crossed[9].cycle - crossed[8].cycle + 7;
  dump("d.vcd", crossed);
  chosen = options("d.vcd", "d.vcd");
  const Comparison self = compare(chosen);
  EXPECT_TRUE(self.same());
  EXPECT_EQ(self.reference_latency.most, crossed[8].latency);
  EXPECT_EQ(self.reference_latency.least, 3);
}

/// A model of packets knows when they begin and end.
TEST_F(VcdCompare, TimesPacketsByTheirEnds) {
  auto all = beats(40);
  dump("a.vcd", all);
  // Packets are of four: 3 is a last one, 4 a first one, 5 and 6 lie within.
  all[5].latency += 1;
  dump("b.vcd", all);
  CompareOptions chosen = options("a.vcd", "b.vcd");
  chosen.input.reset();
  EXPECT_EQ(compare(chosen).first->index, 5U);
  chosen.packet_times = true;
  EXPECT_TRUE(compare(chosen).same()) << compare(chosen).text();
  for (const std::size_t end : {0U, 4U, 7U}) {
    auto late = beats(40);
    late[end].latency += 1;
    dump("b.vcd", late);
    EXPECT_EQ(compare(chosen).first->index, end);
    EXPECT_EQ(compare(chosen).different, 1U);
  }
  // Values count everywhere.
  auto wrong = beats(40);
  wrong[6].data.back() = wrong[6].data.back() == '0' ? '1' : '0';
  dump("b.vcd", wrong);
  EXPECT_EQ(compare(chosen).first->index, 6U);
}

TEST_F(VcdCompare, TakesUnknownsAsAsked) {
  auto known = beats(20);
  auto half = known;
  for (int i = 0; i < 8; i += 2) half[7].data[static_cast<std::size_t>(i)] = i == 2 ? 'z' : 'x';
  dump("known.vcd", known);
  dump("half.vcd", half);
  const auto same = [&](const char* reference, const char* subject, Unknowns unknowns) {
    CompareOptions chosen = options(reference, subject);
    chosen.unknowns = unknowns;
    return compare(chosen).same();
  };
  EXPECT_TRUE(same("half.vcd", "known.vcd", Unknowns::kReference));
  EXPECT_FALSE(same("known.vcd", "half.vcd", Unknowns::kReference));
  EXPECT_TRUE(same("half.vcd", "half.vcd", Unknowns::kReference));
  EXPECT_TRUE(same("known.vcd", "half.vcd", Unknowns::kEither));
  EXPECT_FALSE(same("half.vcd", "known.vcd", Unknowns::kExact));
  EXPECT_TRUE(same("half.vcd", "half.vcd", Unknowns::kExact));
  // Known bits still count.
  half[7].data[1] = half[7].data[1] == '0' ? '1' : '0';
  dump("half.vcd", half);
  EXPECT_FALSE(same("half.vcd", "known.vcd", Unknowns::kEither));
}

TEST_F(VcdCompare, ComparesSignalsAtEdges) {
  auto all = beats(30);
  Dialect still;
  still.idle = "00000000";
  dump("a.vcd", all);
  dump("b.vcd", all, still);
  CompareOptions chosen = options("a.vcd", "b.vcd");
  chosen.interface = {};
  chosen.input.reset();
  chosen.tolerance.reset();
  chosen.signals = {"tb.dut.out.*", "*.in.valid"};
  Comparison result = compare(chosen);
  EXPECT_TRUE(result.same()) << result.text();
  EXPECT_TRUE(result.signals);
  EXPECT_EQ(result.names.size(), 6U);
  EXPECT_EQ(result.reference_items, static_cast<std::uint64_t>(all.back().cycle + all.back().latency + 1));
  // The edge at which it happens.
  all[12].last = !all[12].last;
  still.stalls = true;
  dump("b.vcd", all, still);
  result = compare(chosen);
  ASSERT_TRUE(result.first);
  EXPECT_EQ(result.first->what, "tb.dut.out.last");
  EXPECT_EQ(result.first->expected->cycle, static_cast<std::uint64_t>(all[12].cycle + 3 - 1));
  // Later by three cycles.
  for (Beat& beat : all) beat.cycle += 3;
  all[12].last = !all[12].last;
  dump("b.vcd", all, still);
  EXPECT_FALSE(compare(chosen).same());
  chosen.offset = 3;
  EXPECT_TRUE(compare(chosen).same()) << compare(chosen).text();
  EXPECT_EQ(compare(chosen).ended_early, std::nullopt);
  std::swap(chosen.reference, chosen.subject);
  chosen.offset = -3;
  chosen.unknowns = Unknowns::kEither;
  EXPECT_TRUE(compare(chosen).same()) << compare(chosen).text();
}

/// A file that ends early differs: what it left out might have differed, too.
TEST_F(VcdCompare, SaysWhichFileEndsEarly) {
  const auto all = beats(30);
  const std::string whole = dump("whole.vcd", all);
  const std::string cut = dump("cut.vcd", {all.begin(), all.end() - 1});
  const int missing = all.back().cycle - all[all.size() - 2].cycle;
  CompareOptions chosen = options("whole.vcd", "cut.vcd");
  chosen.interface = {};
  chosen.input.reset();
  chosen.tolerance.reset();
  chosen.signals = {"tb.dut.rst"};
  const Comparison early = compare(chosen);
  EXPECT_FALSE(early.same());
  EXPECT_EQ(early.different, static_cast<std::uint64_t>(missing));
  ASSERT_TRUE(early.ended_early);
  EXPECT_TRUE(early.ended_early->subject);
  EXPECT_EQ(early.ended_early->edges, static_cast<std::uint64_t>(missing));
  EXPECT_EQ(early.ended_early->time, early.first->expected->time - 1000);
  EXPECT_EQ(early.first->what, "missing");
  const std::string line = cut + " ends at time " + std::to_string(early.ended_early->time) + " x 1ps, " +
                           std::to_string(missing) + " edges before " + whole;
  EXPECT_NE(early.text().find(line), std::string::npos) << early.text();
  EXPECT_EQ(early.json()["ended_early"]["file"], cut);
  std::swap(chosen.reference, chosen.subject);
  const Comparison late = compare(chosen);
  EXPECT_FALSE(late.same());
  EXPECT_FALSE(late.ended_early->subject);
  EXPECT_EQ(late.first->what, "extra");
  chosen.common_edges = true;
  const Comparison common = compare(chosen);
  EXPECT_TRUE(common.same()) << common.text();
  EXPECT_TRUE(common.ended_early);
}

TEST_F(VcdCompare, MapsNames) {
  const std::vector<NameRule> rules = {
      {"tb.clk", "top.clock"}, {"tb.*_i", "top.in.*"}, {"tb.*", "top.*"}, {"x*", "one"}};
  EXPECT_EQ(map_name(rules, "tb.clk"), "top.clock");
  EXPECT_EQ(map_name(rules, "tb.data_i"), "top.in.data");
  EXPECT_EQ(map_name(rules, "tb.a.b"), "top.a.b");
  EXPECT_EQ(map_name(rules, "xyz"), "one");
  EXPECT_EQ(map_name(rules, "other"), "other");
  EXPECT_TRUE(matches("a*b*c", "a1b2b3c"));
  EXPECT_FALSE(matches("a*b*c", "a1b2b3"));
  EXPECT_TRUE(matches("*", ""));
}

TEST_F(VcdCompare, SaysWhatIsWrong) {
  dump("a.vcd", beats(5));
  const std::string file = folder_ / "a.vcd";
  const auto fails = [&](const std::string& message, const std::function<void(CompareOptions&)>& change) {
    CompareOptions chosen = options("a.vcd", "a.vcd");
    change(chosen);
    try {
      compare(chosen);
      ADD_FAILURE() << message;
    } catch (const std::exception& error) {
      EXPECT_EQ(std::string(error.what()), message);
    }
  };
  fails("compare: expected a clock", [](auto& o) { o.sampling.clock.clear(); });
  fails("compare: expected the valid of an interface, or signals", [](auto& o) { o.interface.valid.clear(); });
  fails("compare: expected the valid of the input interface", [](auto& o) { o.input->valid.clear(); });
  fails("compare: expected the last of an interface, and a tolerance, for the times of packets", [](auto& o) {
    o.packet_times = true;
    o.interface.last.clear();
  });
  fails("compare: expected either signals or an interface, not both", [](auto& o) { o.signals = {"*"}; });
  fails("compare: expected no tolerance with signals at every edge; an offset moves them", [](auto& o) {
    o.signals = {"*"};
    o.interface = {};
  });
  fails(file + ": expected a signal that \"q*\" names and nothing before it", [](auto& o) {
    o.signals = {"q*"};
    o.interface = {};
    o.tolerance.reset();
  });
  fails(file + ": expected a signal \"tb.clock\"", [](auto& o) { o.sampling.clock = "tb.clock"; });
  const std::string has_more = "of one bit, and tb.dut.out.data has 8: one of them can be named, as tb.dut.out.data[0]";
  fails(file + ": expected a clock " + has_more, [](auto& o) { o.sampling.clock = "tb.dut.out.data"; });
  fails(file + ": expected a reset " + has_more, [](auto& o) { o.sampling.reset = "tb.dut.out.data"; });
  fails(file + ": expected a valid " + has_more, [](auto& o) { o.interface.valid = "tb.dut.out.data"; });
  fails(file + ": expected a ready " + has_more, [](auto& o) { o.interface.ready = "tb.dut.out.data"; });
  fails(file + ": expected a last " + has_more, [](auto& o) { o.interface.last = "tb.dut.out.data"; });
  fails(file + ": expected a valid " + has_more, [](auto& o) { o.input->valid = "tb.dut.out.data"; });
  fails(file + ": expected a signal \"top.clk\"; did you mean \"tb.dut.clk\"?", [](auto& o) {
    o.rules = {{"tb.dut.*", "top.*"}};
  });
  // Names of a map that nobody has are no error, since a script may bring all of its maps.
  CompareOptions mapped = options("a.vcd", "a.vcd");
  mapped.rules = {{"tb.dutt.*", "top.*"}, {"tb.dut.*", "tb.dut.*"}, {"tb.dut.out.*", "x.*"}};
  EXPECT_EQ(
      compare(mapped).remarks,
      (std::vector<std::string>{
          "the map tb.dutt.*=top.* has no effect: no name that is compared fits it, or an earlier map comes first",
          "the map tb.dut.out.*=x.* has no effect: no name that is compared fits it, or an earlier map comes "
          "first"}));
  // Reals are numbers, however they are written.
  const std::string head =
      "$scope module tb $end $var wire 1 ! clk $end $var wire 1 v valid $end $var real 64 r data $end $upscope $end "
      "$enddefinitions $end\n#0\n0!\n1v\n";
  write("short.vcd", head + "r5 r\n#5\n1!\n#10\n0!\nr0.1 r\n#15\n1!\n");
  write("long.vcd", head + "r5.000000e+00 r\n#5\n1!\n#10\n0!\nr1.0e-1 r\n#15\n1!\n");
  CompareOptions reals;
  reals.reference = (folder_ / "short.vcd").string();
  reals.subject = (folder_ / "long.vcd").string();
  reals.sampling.clock = "tb.clk";
  reals.interface = {"tb.valid", "", {"tb.data"}, "", ""};
  const Comparison same = compare(reals);
  EXPECT_TRUE(same.same()) << same.text();
  EXPECT_EQ(same.reference_items, 2U);
  // Nothing compared is not the same.
  CompareOptions chosen = options("a.vcd", "a.vcd");
  chosen.sampling.reset_low = true;
  const Comparison nothing = compare(chosen);
  EXPECT_FALSE(nothing.same());
  EXPECT_EQ(nothing.text().substr(0, 40), "nothing to compare: no transactions\n  " + (file + ":").substr(0, 2));
}

}  // namespace
}  // namespace weft::vcd
