// SPDX-License-Identifier: Apache-2.0
// Traces of memory requests: what is read, and what is said of a line that is none.
#include "traces/memory_trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "traces/files/format_error.h"

namespace weft::traces {
namespace {

class MemoryTraceTest : public testing::Test {
 protected:
  ~MemoryTraceTest() override { std::filesystem::remove(file_); }

  std::vector<MemoryTrace::Entry> read(const std::string& text, std::uint64_t capacity = 1 << 30) {
    std::ofstream(file_) << text;
    MemoryTrace trace(file_, capacity);
    std::vector<MemoryTrace::Entry> all;
    for (MemoryTrace::Entry entry; trace.next(entry);) all.push_back(entry);
    return all;
  }
  void fails(const std::string& text, int line, const std::string& part) {
    try {
      read(text, 1 << 20);
      ADD_FAILURE() << text;
    } catch (const FormatError& error) {
      EXPECT_EQ(error.line(), line) << error.what();
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }

  std::string file_ = std::filesystem::temp_directory_path() / ("weft-memory-trace-" + std::to_string(getpid()));
};

TEST_F(MemoryTraceTest, ReadsAddressesAndTimes) {
  const auto all = read("# head\nR 0x1F40\n\n  W\t64 12.5\r\nR 0X20 13\nW 0 13.0019");
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].address, 0x1f40U);
  EXPECT_FALSE(all[0].write);
  EXPECT_FALSE(all[0].timed);
  EXPECT_EQ(all[1].address, 64U);
  EXPECT_TRUE(all[1].write);
  EXPECT_TRUE(all[1].timed);
  EXPECT_EQ(all[1].time_ps, 12'500);
  EXPECT_EQ(all[2].time_ps, 13'000);
  EXPECT_EQ(all[3].time_ps, 13'001);
  EXPECT_TRUE(read("").empty());
  const auto plain =
      read("R 0x1f\nW 0xAb\nW 0xab\nR 0x3fffffe0\nR 0x0000000000000000020\nR 0x20 1\n# the end of them\n");
  ASSERT_EQ(plain.size(), 6U);
  const std::array<std::uint64_t, 6> addresses = {0x1f, 0xab, 0xab, 0x3fffffe0, 0x20, 0x20};
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(plain[i].address, addresses[i]);
  EXPECT_TRUE(plain[2].write);
  EXPECT_FALSE(plain[3].write);
}

TEST_F(MemoryTraceTest, ReadsFilesBeyondItsBuffer) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "R " + std::to_string(i * 32) + "\n";
  const auto all = read(text);
  ASSERT_EQ(all.size(), 100'000U);
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i].address, i * 32);
}

TEST_F(MemoryTraceTest, SaysWhatIsWrong) {
  fails("R 0\nX 1\n", 2, "expected R, W or M");
  fails("r 0", 1, "expected R, W or M");
  fails("R\n", 1, "expected an address");
  fails("R 0x\n", 1, "expected an address");
  fails("R 12z\n", 1, "expected an address");
  fails("R 0x10000000000000000\n", 1, "expected an address");
  fails("R -1\n", 1, "expected an address");
  fails("R 0\n\nW 1048576\n", 3, "an address below 1048576");
  fails("R 0 x\n", 1, "a time in nanoseconds");
  fails("R 0 -1\n", 1, "a time in nanoseconds");
  fails("R 0 1.x\n", 1, "a time in nanoseconds");
  fails("R 0 1000000000001\n", 1, "at most 1000 s");
  fails("R 0 1 2\n", 1, "nothing after the time");
  fails("R 0 5\nR 0 4.9\n", 2, "a time that is not before");
  fails("R 0\n" + std::string(1000, 'a'), 2, "expected");
  EXPECT_THROW(MemoryTrace("/nonexistent/trace", 1), FormatError);
  EXPECT_THROW(MemoryTrace("/", 1), FormatError);
}

}  // namespace
}  // namespace weft::traces
