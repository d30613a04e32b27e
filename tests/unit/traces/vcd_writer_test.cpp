// SPDX-License-Identifier: Apache-2.0
// Value change dumps written: their text, what a reader finds in them, and wrong use.
#include "traces/vcd/writer.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <stdexcept>
#include <vector>

#include "tests/support/vcd.h"

namespace weft::vcd {
namespace {

class VcdWriter : public test::VcdTest {
 protected:
  std::string text_of(const std::string& name) {
    std::stringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }
};

TEST_F(VcdWriter, WritesTheSameBytesForTheSameCalls) {
  for (const char* name : {"a.vcd", "b.vcd"}) {
    Writer writer(folder_ / name, {.timescale = {10, -9}, .date = "", .version = "Weft"});
    const auto valid = writer.bits("top.up.valid");
    const auto level = writer.real("top.level");
    const auto data = writer.bits("top.up.data", 8, "reg");
    const auto state = writer.string("top.state");
    const auto done = writer.event("top.done");
    writer.alias("top.other.data", data);
    writer.change(0, valid, 0);
    writer.change_bits(5, data, "1x");
    writer.change_bits(5, data, "0000001x");
    writer.change_real(5, level, 0.1);
    writer.change_string(6, state, "in use");
    writer.trigger(6, done);
    writer.trigger(6, done);
    writer.change(7, valid, 1);
    writer.off(8);
    writer.change(9, data, 255);
    writer.on(10);
    writer.change(10, data, 255);
    writer.advance(12);
    EXPECT_FALSE(std::filesystem::exists(folder_ / name));
    writer.close();
  }
  const std::string expected = R"($version Weft $end
$timescale 10ns $end
$scope module top $end
$var real 64 " level $end
$var string 1 $ state $end
$var event 1 % done $end
$scope module up $end
$var wire 1 ! valid $end
$var reg 8 # data [7:0] $end
$upscope $end
$scope module other $end
$var reg 8 # data [7:0] $end
$upscope $end
$upscope $end
$enddefinitions $end
#0
$dumpvars
x!
r0 "
bx #
$end
0!
#5
b1x #
r0.1 "
#6
sin\x20use $
1%
1%
#7
1!
#8
$dumpoff
x!
bx #
$end
#9
#10
$dumpon
1!
r0.1 "
b11111111 #
sin\x20use $
$end
#12
)";
  EXPECT_EQ(text_of("a.vcd"), expected);
  EXPECT_EQ(text_of("b.vcd"), expected);
  const std::string dated = folder_ / "dated.vcd";
  Writer writer(dated, {.timescale = {1, -15}, .date = "today", .version = ""});
  writer.close();
  EXPECT_EQ(text_of("dated.vcd"), "$date today $end\n$timescale 1fs $end\n$enddefinitions $end\n#0\n$dumpvars\n$end\n");
}

/// Random signals and values: a reader finds each of them, at its time.
TEST_F(VcdWriter, IsReadBack) {
  std::mt19937_64 random(20261122);
  const std::string file = folder_ / "random.vcd";
  std::map<std::string, std::map<std::uint64_t, std::string>> written;
  std::vector<int> widths;
  {
    Writer writer(file, {.timescale = {1, -15}, .date = "", .version = ""});
    std::vector<Writer::Id> ids;
    for (int i = 0; i < 300; ++i) {
      widths.push_back(1 + static_cast<int>(random() % (i % 3 == 0 ? 1 : 200)));
      ids.push_back(writer.bits("s" + std::to_string(i % 7) + ".t.n" + std::to_string(i), widths.back()));
    }
    std::uint64_t time = 0;
    for (int i = 0; i < 20'000; ++i) {
      time += random() % 3;
      const std::size_t at = random() % ids.size();
      std::string bits;
      // Few letters, so that extensions of all kinds occur.
      const char* const letters = random() % 2 == 0 ? "01xz" : "0x0z";
      for (int bit = 0; bit < widths[at]; ++bit) bits += letters[random() % (random() % 4 == 0 ? 4 : 1)];
      writer.change_bits(time, ids[at], bits);
      written["s" + std::to_string(at % 7) + ".t.n" + std::to_string(at)][time] = bits;
    }
    writer.close();
  }
  std::map<std::string, std::map<std::uint64_t, std::string>> read;
  Reader reader(file);
  ASSERT_EQ(reader.header().nets(), 300U);
  std::string bits;
  for (Change change; reader.next(change);) {
    const Signal& signal = reader.header().signal_of(change.net);
    extend_bits(change.value, signal.width, bits);
    read[signal.name][change.time] = bits;
  }
  for (const auto& [name, changes] : written) {
    std::string now(changes.begin()->second.size(), 'x');
    for (const auto& [time, value] : changes) {
      const auto found = read[name].find(time);
      if (found != read[name].end()) now = found->second;
      ASSERT_EQ(now, value) << name << " at " << time;
    }
  }
}

/// A number, bits and bytes of the same value are the same value.
TEST_F(VcdWriter, WritesAValueOnce) {
  const auto bytes = [](std::initializer_list<int> values) {
    std::vector<std::byte> made;
    for (const int value : values) made.push_back(static_cast<std::byte>(value));
    return made;
  };
  Writer writer(folder_ / "once.vcd");
  const auto a = writer.bits("a", 20);
  const auto clock = writer.bits("clock");
  writer.change_bits(1, a, "101");
  writer.change(2, a, 5);
  writer.change_bytes(3, a, bytes({5, 0}));
  writer.change(4, a, 0x182);
  writer.change_bits(5, a, "00110000010");
  writer.change_bytes(6, a, bytes({0x82, 1}));
  writer.change_bytes(7, a, bytes({0, 0}));
  writer.change(8, a, 0);
  writer.change_bits(9, a, "x");
  writer.change_bytes(10, a, bytes({0x82, 1}));
  writer.toggle(clock, {.from = 11, .count = 2, .gaps = {1, 0}});
  writer.toggle(clock, {.from = 123'456});
  writer.toggle(clock, {.from = 123'456'789});
  writer.off(123'456'790);
  writer.toggle(clock, {.from = 123'456'791});
  writer.on(123'456'792);
  writer.close();
  const std::string text = text_of("once.vcd");
  EXPECT_EQ(text.substr(text.find("#1\n")), R"(#1
b101 !
#4
b110000010 !
#7
b0 !
#9
bx !
#10
b110000010 !
#11
1"
#12
0"
#123456
1"
#123456789
0"
#123456790
$dumpoff
bx !
x"
$end
#123456791
#123456792
$dumpon
b110000010 !
1"
$end
)");
}

TEST_F(VcdWriter, WritesTimesOfAnyLength) {
  Writer writer(folder_ / "times.vcd");
  const auto clock = writer.bits("clock");
  std::string expected;
  bool value = true;
  for (std::uint64_t power = 10; power <= UINT64_MAX / 10; power *= 10) {
    for (const std::uint64_t time :
         {power - 1, power, power + 1, power + 9'999, 2 * power - 1, 2 * power, 2 * power + 70'000}) {
      if (power < 100'000 && time > power + 1) continue;
      writer.change(time, clock, value ? 1 : 0);
      expected += "#" + std::to_string(time) + (value ? "\n1!\n" : "\n0!\n");
      value = !value;
    }
  }
  writer.change(UINT64_MAX, clock, value ? 1 : 0);
  expected += "#18446744073709551615" + std::string(value ? "\n1!\n" : "\n0!\n");
  writer.close();
  const std::string text = text_of("times.vcd");
  EXPECT_EQ(text.substr(text.find("#9\n")), expected);
}

/// Many edges at once are those that changes make one by one, wherever they begin and however far they are apart.
TEST_F(VcdWriter, TogglesAsItChanges) {
  std::mt19937_64 random(3);
  Writer edges(folder_ / "edges.vcd");
  Writer changes(folder_ / "changes.vcd");
  for (Writer* writer : {&edges, &changes}) {
    for (int i = 0; i < 100; ++i) writer->bits("s" + std::to_string(i));
  }
  std::uint64_t time = 0;
  std::array<std::uint64_t, 100> values{};
  for (int i = 0; i < 400; ++i) {
    const Writer::Id id{static_cast<std::uint32_t>(random() % 100)};
    const std::uint64_t most = i % 2 == 0 ? 600 : 30'000;
    Writer::Edges run{
        time + random() % 3 * (random() % 20'000), 1 + random() % 3000, {1 + random() % most, 1 + random() % most}};
    edges.toggle(id, run);
    for (std::uint64_t edge = 0; edge < run.count; ++edge) {
      time = edge == 0 ? run.from : time + run.gaps[(edge + 1) % 2];
      changes.change(time, id, values[id.index] ^= 1);
    }
    if (i % 100 == 50) time *= 100;
  }
  edges.close();
  changes.close();
  EXPECT_TRUE(text_of("edges.vcd") == text_of("changes.vcd"));
}

TEST_F(VcdWriter, ThrowsWhatTheDiskRefuses) {
  const std::string file = folder_ / "full.vcd";
  std::filesystem::create_symlink("/dev/full", file);
  {
    Writer writer(file);
    const auto clock = writer.bits("clock");
    writer.change(0, clock, 0);
    EXPECT_THROW(writer.toggle(clock, {.from = 1, .count = 1'000'000, .gaps = {500, 500}}), std::system_error);
  }
  EXPECT_TRUE(std::filesystem::is_symlink(file));
  Writer small(file);
  EXPECT_THROW(small.close(), std::system_error);
}

TEST_F(VcdWriter, RefusesWrongUse) {
  Writer writer(folder_ / "wrong.vcd");
  const auto a = writer.bits("t.a", 4);
  const auto r = writer.real("t.r");
  const auto fails = [](const auto& call, const std::string& message) {
    try {
      call();
      ADD_FAILURE() << message;
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()), message);
    }
  };
  const auto declare = [&](const char* name) { return [&writer, name] { writer.bits(name); }; };
  const std::string levels = "\" of a VCD file: expected levels of printable characters without blanks, joined by dots";
  fails(declare(""), "signal \"" + levels);
  fails(declare("t..b"), "signal \"t..b" + levels);
  fails(declare("t.b c"), "signal \"t.b c" + levels);
  fails(declare(".b"), "signal \".b" + levels);
  fails(declare("t.a"), "signal \"t.a\" of a VCD file: expected a name that is not taken");
  fails(declare("t.a.b"), "signal \"t.a.b\" of a VCD file: expected no signal by the name of its scope");
  fails(declare("t"), "signal \"t\" of a VCD file: expected a name that is not taken");
  fails([&] { writer.bits("t.w", 0); }, "signal t.w of a VCD file: expected a width of at least 1, got 0");
  fails([&] { writer.alias("t.z", {7}); }, "alias t.z: expected a signal's id");
  fails([&] { writer.change(0, a, 16); }, "a change in a VCD file: expected a value of 4 bits, got 16");
  fails([&] { writer.change_bits(0, a, "00000"); },
        "a change in a VCD file: expected 1 to 4 bits of 0, 1, x and z, got \"00000\"");
  fails([&] { writer.change_bits(0, a, "0u"); },
        "a change in a VCD file: expected 1 to 4 bits of 0, 1, x and z, got \"0u\"");
  const std::string kind = "a change in a VCD file: expected the id of a signal of the value's kind";
  fails([&] { writer.change(0, r, 1); }, kind);
  fails([&] { writer.change_real(0, a, 1); }, kind);
  fails([&] { writer.trigger(0, a); }, kind);
  fails([&] { writer.change(0, {9}, 1); }, kind);
  writer.change(5, a, 1);
  fails([&] { writer.toggle({77}, {.from = 9}); }, kind);
  fails([&] { writer.change(4, a, 1); }, "a change in a VCD file: expected a time from 5 on, got 4");
  fails(declare("t.late"), "signal \"t.late\" of a VCD file: expected declarations before the first change");
  fails(
      [&] {
        Writer(folder_ / "scale.vcd", {.timescale = {5, -9}, .date = "", .version = ""});
      },
      "a VCD file: expected a timescale of 1, 10 or 100 and s to fs, got 5ns");
  EXPECT_THROW(Writer("/nonexistent/a.vcd"), std::system_error);
}

}  // namespace
}  // namespace weft::vcd
