// SPDX-License-Identifier: Apache-2.0
#include "traces/timeline.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>

namespace weft::traces {
namespace {

namespace fs = std::filesystem;

class TimelineTest : public testing::Test {
 protected:
  TimelineTest() : folder_(fs::path(testing::TempDir()) / ("weft_timeline_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~TimelineTest() override { fs::remove_all(folder_); }

  [[nodiscard]] fs::path file(const std::string& name = "timeline.json.gz") const { return folder_ / name; }
  [[nodiscard]] bool is_empty() const { return fs::is_empty(folder_); }

  static std::string unpacked(const fs::path& file) {
    std::string text;
    std::array<char, 4096> buffer{};
    gzFile stream = gzopen(file.c_str(), "rb");
    EXPECT_NE(stream, nullptr);
    for (int size = 0; (size = gzread(stream, buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<std::size_t>(size));
    }
    EXPECT_EQ(gzclose(stream), Z_OK);
    return text;
  }

  static std::string bytes(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  fs::path folder_;
};

TEST_F(TimelineTest, WritesEventsExactly) {
  Timeline timeline(file());
  const auto compute = timeline.track("gpu0", "compute");
  const auto copy = timeline.track("gpu0", "copy");
  const auto gemm = timeline.name("gemm");
  const auto kind = timeline.name("kernel");
  const auto size = timeline.name("bytes");
  timeline.slice(compute, gemm, 1'234'567, 2'000'000, kind);
  timeline.slice(copy, gemm, 81'920, 81'920, {}, {size, -4096});
  timeline.instant(copy, timeline.name("done"), 9'000'000'000'000'000'001);
  timeline.instant(copy, kind, -1'500'000);
  timeline.counter(compute, timeline.name("queue"), 0, 3);
  const auto flow = timeline.flow_begin(compute, gemm, 1'500'000);
  timeline.flow_end(flow, copy, gemm, 100'000);
  timeline.close();
  EXPECT_FALSE(timeline.recording());
  EXPECT_EQ(unpacked(file()), R"({"displayTimeUnit":"ns","traceEvents":[
{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"gpu0"}},
{"ph":"M","pid":1,"tid":0,"name":"process_sort_index","args":{"sort_index":1}},
{"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"compute"}},
{"ph":"M","pid":1,"tid":1,"name":"thread_sort_index","args":{"sort_index":1}},
{"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"copy"}},
{"ph":"M","pid":1,"tid":2,"name":"thread_sort_index","args":{"sort_index":2}},
{"ph":"X","pid":1,"tid":1,"name":"gemm","cat":"kernel","ts":1.234567,"dur":0.765433},
{"ph":"X","pid":1,"tid":2,"name":"gemm","ts":0.08192,"dur":0,"args":{"bytes":-4096}},
{"ph":"i","pid":1,"tid":2,"name":"done","s":"t","ts":9000000000000.000001},
{"ph":"i","pid":1,"tid":2,"name":"kernel","s":"t","ts":-1.5},
{"ph":"C","pid":1,"tid":1,"name":"compute queue","ts":0,"args":{"value":3}},
{"ph":"s","pid":1,"tid":1,"name":"gemm","cat":"flow","ts":1.5,"id":1},
{"ph":"f","pid":1,"tid":2,"name":"gemm","cat":"flow","bp":"e","ts":0.1,"id":1}
]}
)");
}

TEST_F(TimelineTest, RegistersTracksAndNamesOnce) {
  Timeline timeline(file());
  EXPECT_EQ(timeline.track("a", "x").id, timeline.track("a", "x").id);
  EXPECT_NE(timeline.track("a", "x").id, timeline.track("b", "x").id);
  EXPECT_NE(timeline.track("a", "x").id, timeline.track("a", "y").id);
  EXPECT_EQ(timeline.name("n").id, timeline.name("n").id);
  EXPECT_EQ(timeline.name("").id, 0u);
  timeline.close();
  const auto json = nlohmann::json::parse(unpacked(file()));
  EXPECT_EQ(json["traceEvents"].size(), 2u * (2 + 3));
}

TEST_F(TimelineTest, EscapesText) {
  Timeline timeline(file());
  const std::string odd = "a\"b\\c\n\x01 \xC3\xA9";
  timeline.instant(timeline.track(odd, odd), timeline.name(odd), 1, timeline.name(odd), {timeline.name(odd), 1});
  timeline.close();
  const auto json = nlohmann::json::parse(unpacked(file()));
  EXPECT_EQ(json["traceEvents"][0]["args"]["name"], odd);
  EXPECT_EQ(json["traceEvents"][4]["name"], odd);
  EXPECT_EQ(json["traceEvents"][4]["args"][odd], 1);
}

TEST_F(TimelineTest, IsDeterministicBeyondItsBuffers) {
  for (const char* name : {"a.gz", "b.gz"}) {
    Timeline timeline(file(name));
    const auto track = timeline.track("gpu", "compute");
    const auto gemm = timeline.name("gemm");
    std::uint64_t random = 1;
    for (int i = 0; i < 50'000; ++i) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      const auto time = static_cast<std::int64_t>(random >> 20);
      timeline.slice(track, gemm, time, time + i);
    }
    timeline.close();
  }
  EXPECT_EQ(bytes(file("a.gz")), bytes(file("b.gz")));
  EXPECT_EQ(nlohmann::json::parse(unpacked(file("a.gz")))["traceEvents"].size(), 50'004u);
  // No time stamp, no name, unknown system.
  EXPECT_EQ(bytes(file("a.gz")).substr(0, 10), std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", 10));
}

TEST_F(TimelineTest, LeavesNothingUnlessClosed) {
  {
    Timeline timeline(file());
    timeline.instant(timeline.track("a", "b"), timeline.name("n"), 1);
    EXPECT_FALSE(fs::exists(file()));
    EXPECT_FALSE(is_empty());
  }
  EXPECT_TRUE(is_empty());
}

TEST_F(TimelineTest, KeepsThePreviousFileOfAFailedRun) {
  std::ofstream(file()) << "old";
  { const Timeline timeline(file()); }
  EXPECT_EQ(bytes(file()), "old");
}

TEST_F(TimelineTest, RecordsNothingByDefault) {
  Timeline timeline;
  EXPECT_FALSE(timeline.recording());
  const auto track = timeline.track("a", "b");
  const auto name = timeline.name("n");
  timeline.slice(track, name, 0, 1);
  timeline.instant(track, name, 0);
  timeline.counter(track, name, 0, 1);
  timeline.flow_end(timeline.flow_begin(track, name, 0), track, name, 1);
  timeline.close();
  EXPECT_TRUE(is_empty());
}

TEST_F(TimelineTest, MovesWithItsRecording) {
  Timeline timeline;
  timeline = Timeline(file());
  EXPECT_TRUE(timeline.recording());
  Timeline other = std::move(timeline);
  other.close();
  EXPECT_EQ(unpacked(file()), "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n]}\n");
}

TEST_F(TimelineTest, SaysThatItCannotWrite) {
  try {
    const Timeline timeline(file("missing") / "t.gz");
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.what(), "cannot write " + (file("missing") / "t.gz").string() + ": No such file or directory");
  }
  // A directory of that name, from the beginning or when the file is to get its name.
  fs::create_directories(file("folder") / "inside");
  EXPECT_THROW(Timeline(file("folder")), std::system_error);
  Timeline timeline(file("late"));
  fs::create_directories(file("late") / "inside");
  EXPECT_THROW(timeline.close(), std::system_error);
  EXPECT_FALSE(timeline.recording());
  EXPECT_TRUE(fs::is_directory(file("late")));
}

TEST_F(TimelineTest, SaysThatTheDiskIsFull) {
  fs::create_symlink("/dev/full", file("t.gz"));
  Timeline timeline(file("t.gz"));
  EXPECT_THROW(timeline.close(), std::system_error);
  EXPECT_TRUE(fs::is_symlink(file("t.gz")));
}

}  // namespace
}  // namespace weft::traces
