// SPDX-License-Identifier: Apache-2.0
// weft collective --measured: what nccl-tests prints, beside what is simulated.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/support/cli.h"
#include "traces/files/format_error.h"
#include "traces/nccl_tests/nccl_tests.h"

namespace weft {
namespace {

using nlohmann::json;
using test::Ran;
using traces::NcclRow;

const std::string kFiles = std::string(WEFT_TEST_DATA) + "/nccl_tests/";

TEST(NcclTests, ReadsWhatTheyPrint) {
  const std::vector<NcclRow> rows = traces::read_nccl_tests(kFiles + "all_reduce.txt");
  ASSERT_EQ(rows.size(), 3U) << "a row of no bytes is left out";
  EXPECT_EQ(rows[0].test, "all_reduce");
  EXPECT_EQ(rows[0].ranks, 4);
  EXPECT_EQ(rows[0].bytes, 4096U);
  EXPECT_EQ(rows[0].type, "float");
  EXPECT_EQ(rows[0].line, 18);
  EXPECT_EQ(rows[0].time_us, 105);
  EXPECT_EQ(rows[0].busbw, 0.06);
  EXPECT_EQ(rows[0].in_place_us, 102.9);
  EXPECT_EQ(rows[2].bytes, 1U << 20);
}

/// The sample that the pages show is whole: nothing is to be said of it.
TEST(NcclTests, ReadsTheSampleWithoutAWarning) {
  std::vector<std::string> warnings;
  EXPECT_EQ(traces::read_nccl_tests(WEFT_SOURCE_DIR "/docs/inputs/all_reduce_perf.txt", &warnings).size(), 4U);
  EXPECT_EQ(warnings, std::vector<std::string>());
}

/// Labels of a launcher, timestamps, and a test that only the command tells. Ranks of another group do not count.
TEST(NcclTests, ReadsLabelledLines) {
  const std::vector<NcclRow> rows = traces::read_nccl_tests(kFiles + "labelled.txt");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].test, "all_gather");
  EXPECT_EQ(rows[0].ranks, 2);
  EXPECT_EQ(rows[0].type, "half");
  EXPECT_EQ(rows[2].time_us, 200);
  EXPECT_EQ(rows[2].in_place_us, 196);
}

TEST(NcclTests, ReadsRowsWithoutNames) {
  const std::vector<NcclRow> rows = traces::read_nccl_tests(kFiles + "pasted.txt");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].test, "");
  EXPECT_EQ(rows[0].ranks, 0);
  EXPECT_EQ(rows[1].time_us, 250);
  EXPECT_EQ(rows[1].busbw, 8.39);
}

TEST(NcclTests, ReadsJson) {
  const std::vector<NcclRow> rows = traces::read_nccl_tests(kFiles + "all_reduce.json");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].test, "all_reduce");
  EXPECT_EQ(rows[0].ranks, 4) << "two processes of two, of which each lists one";
  EXPECT_EQ(rows[0].time_us, 160.5);
  EXPECT_EQ(rows[0].in_place_us, 158.25);
}

class MeasuredCli : public test::CliTest {
 protected:
  void expect_wrong(const std::string& text, const char* message, const char* options = "") {
    write("m.txt", text);
    const std::string arguments = "collective ../small.json --measured ../m.txt " + std::string(options);
    expect_refused({message, arguments.c_str(), {message}});
  }
  static std::string row(const std::string& bytes, const std::string& time, const std::string& type = "float") {
    const double algbw = std::atof(bytes.c_str()) / std::max(std::atof(time.c_str()), 1e-3) * 1e-3;
    const std::string rates = std::to_string(algbw) + " " + std::to_string(1.5 * algbw);
    const std::string count = std::to_string(std::atoi(bytes.c_str()) / (type == "half"     ? 2
                                                                         : type == "double" ? 8
                                                                                            : 4));
    return bytes + " " + count + " " + type + " sum -1 " + time + " " + rates + " 0 " + time + " " + rates + " 0\n";
  }
};

TEST_F(MeasuredCli, PutsBothSideBySide) {
  const json told = weft_json("collective ../small.json --measured " + kFiles + "all_reduce.txt --why");
  EXPECT_EQ(told["op"], "all_reduce");
  ASSERT_EQ(told["measured"]["rows"].size(), 3U);
  EXPECT_EQ(told["measured"]["ranks"], 4);
  for (std::size_t i = 0; i < 3; ++i) {
    const json& row = told["measured"]["rows"][i];
    EXPECT_EQ(row["simulated_us"], told["rows"][i]["time_us"]);
    EXPECT_EQ(row["simulated_busbw"], told["rows"][i]["busbw"]);
    const double error = row["simulated_us"].get<double>() / row["measured_us"].get<double>() - 1;
    EXPECT_NEAR(row["error"].get<double>(), error, 1e-12);
    EXPECT_GT(row["limit"]["share"], 0);
    EXPECT_FALSE(row["limit"]["words"].get<std::string>().empty());
  }
  EXPECT_EQ(told["measured"]["rows"][0]["verdict"], "as measured");
  EXPECT_EQ(told["measured"]["rows"][2]["verdict"], "faster than measured");

  write("m.txt", row("4096", "50"));
  const Ran ran = weft("collective ../small.json --op all_reduce --measured ../m.txt");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(ran.out.starts_with("# small, all_reduce on 4 accelerators\n# size (B)")) << ran.out;
  EXPECT_NE(ran.out.find("  slower than measured\n# mean error +"), std::string::npos) << ran.out;
}

/// nccl-tests counts elements that are wrong, out of place and in place, in rows with names and without.
TEST_F(MeasuredCli, WrongDataAreNoGoodMeasurement) {
  write("m.txt",
        "4096 1024 float sum -1 50 0.08 0.12 3 50 0.08 0.12 N/A\n8192 2048 float sum -1 50 0.16 0.24 0 50 0.16 0.24 "
        "2e-07\n");
  json rows = weft_json("collective ../small.json --op all_reduce --measured ../m.txt")["measured"]["rows"];
  EXPECT_EQ(rows[0]["wrong"], 3);
  EXPECT_EQ(rows[0]["verdict"], "measured with wrong data");
  EXPECT_EQ(rows[1]["wrong"], 0);
  EXPECT_EQ(rows[1]["verdict"], "slower than measured");
  const std::string names = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
  write("m.txt", names + "4096 1024 float sum -1 50 0.08 0.12 0 50 0.08 0.12 7\n");
  rows = weft_json("collective ../small.json --op all_reduce --measured ../m.txt")["measured"]["rows"];
  EXPECT_EQ(rows[0]["wrong"], 7);
  write("m.json", R"({"results": [{"size": 4096, "type": "float",
      "out_of_place": {"time": 50, "bus_bw": 1.5, "nwrong": "4"}, "in_place": {"time": 50, "nwrong": 1}}]})");
  rows = weft_json("collective ../small.json --op all_reduce --measured ../m.json")["measured"]["rows"];
  EXPECT_EQ(rows[0]["wrong"], 5);
}

/// The mean of rows of one size; those of one type, and of the sizes that are wanted.
TEST_F(MeasuredCli, TakesWhatIsChosen) {
  write("m.txt", row("4096", "100") + row("4096", "120") + row("8192", "1") + row("4096", "7", "half"));
  const json told = weft_json("collective ../small.json --op all_reduce --type fp32 --bytes 4KiB --measured ../m.txt");
  ASSERT_EQ(told["measured"]["rows"].size(), 1U);
  EXPECT_EQ(told["measured"]["rows"][0]["measured_us"], 110.0);
  EXPECT_NEAR(told["measured"]["rows"][0]["measured_busbw"].get<double>(), 1.5 * 4096 / 110.0 * 1e-3, 1e-6);
  EXPECT_EQ(told["measured"]["rows"][0]["times"], 2);
  EXPECT_EQ(told["type"], "fp32");
}

/// Of count, time, algbw and busbw each follows from the others.
TEST_F(MeasuredCli, RowsThatContradictThemselvesAreReported) {
  const std::string head = "# Collective test starting: all_reduce_perf\n";
  std::string ranks;
  for (int i = 0; i < 4; ++i) ranks += "#  Rank  " + std::to_string(i) + " Group  0 Pid 1 on node device 0 [0] H100\n";
  const auto told = [&](const std::string& line) {
    write("m.txt", head + ranks + line + row("8192", "50"));
    return weft("collective ../small.json --measured ../m.txt");
  };
  const struct {
    const char* line;
    const char* message;
  } kBad[] = {
      {"4096 1000 float sum -1 50 0.08 0.12 0 50 0.08 0.12 0\n",
       "expected a count of 1024 elements of float in 4096 B, got 1000"},
      {"4096 1024 float sum -1 50 0.80 0.12 0 50 0.08 0.12 0\n",
       "expected an algbw of 0.08192 GB/s, which is 4096 B in 50 us, got 0.8"},
      {"4096 1024 float sum -1 50 0.08 0.20 0 50 0.08 0.12 0\n",
       "expected a busbw of 0.12 GB/s, which is 1.5 of the algbw with 4 ranks, got 0.2"},
      {"4096 1024 float sum -1 50 0.08 0.12 0 25 0.08 0.12 0\n",
       "expected an algbw in place of 0.1638 GB/s, which is 4096 B in 25 us, got 0.08"},
  };
  for (const auto& bad : kBad) {
    const Ran ran = told(bad.line);
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.err, std::string("weft: warning: ../m.txt:6: the row contradicts itself: ") + bad.message + "\n");
    EXPECT_NE(ran.out.find("  the measurement contradicts itself\n"), std::string::npos) << ran.out;
  }
  EXPECT_EQ(told("4096 1024 float sum -1 50 0.08 0.12 0 50 0.08 0.12 0\n").err, "") << "as far as it is printed";
  // Some tests count the elements of a rank.
  write("m.txt", "# Collective test starting: all_gather_perf\n" + ranks +
                     "4096 256 float none -1 50 0.08 0.06 0 50 0.08 0.06 0\n");
  EXPECT_EQ(weft("collective ../small.json --measured ../m.txt").err, "");
}

/// They are in no mean: of a good row of 8 KiB alone that of the row is left.
TEST_F(MeasuredCli, WrongMeasurementsAreInNoMean) {
  const std::string head = "# Collective test starting: all_reduce_perf\n";
  for (const char* const wrong : {"4096 1024 float sum -1 50 0.80 0.12 0 50 0.08 0.12 0\n",
                                  "4096 1024 float sum -1 50 0.08 0.12 7 50 0.08 0.12 0\n"}) {
    write("m.txt", head + wrong + row("8192", "50"));
    json told = weft_json("collective ../small.json --measured ../m.txt")["measured"];
    EXPECT_EQ(told["left_out_of_mean"], 1);
    EXPECT_EQ(told["mean_error"], told["rows"][1]["error"]);
    EXPECT_NE(weft("collective ../small.json --measured ../m.txt")
                  .out.find(" %, without 1 size whose measurement is wrong\n"),
              std::string::npos);
    write("m.txt", head + wrong);
    told = weft_json("collective ../small.json --measured ../m.txt")["measured"];
    EXPECT_EQ(told["mean_error"], nullptr);
  }
}

TEST_F(MeasuredCli, ATestThatFailedIsReported) {
  const std::string head = "# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 4 minBytes 4096\n";
  const auto told = [this](const std::string& text) {
    write("m.txt", text);
    return weft("collective ../small.json --measured ../m.txt").err;
  };
  const std::string end = "# Avg bus bandwidth    : 6.1\n";
  EXPECT_EQ(told(head + row("4096", "50") + end), "");
  EXPECT_EQ(told(head + row("4096", "50") +
                 "node-0: Test NCCL failure common.cu:958 'unhandled cuda error / '\n"
                 " .. node-0 pid 2321: Test failure common.cu:842\n"),
            "weft: warning: ../m.txt:4: the test failed, and sizes may be missing: node-0: Test NCCL failure "
            "common.cu:958 'unhandled cuda error / '\n");
  EXPECT_EQ(
      told(head + row("4096", "50") + head + row("8192", "50") + end),
      "weft: warning: ../m.txt:2: the test that begins here did not come to its end, and sizes may be missing: it "
      "has no line \"# Avg bus bandwidth\"\n");
}

/// Whatever a launcher or a logger puts before each line.
TEST_F(MeasuredCli, LabelsOfLinesAreLeftOut) {
  const std::string names = "#       size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
  for (const std::string label :
       {" 0: ", "node0: ", "[0] ", "2026-01-01T00:00:00 ", "12:07:31.250 gpu-17[3]| ", "[1,0]<stdout>: ", "0: "}) {
    SCOPED_TRACE(label);
    std::string later = label;
    std::replace(later.begin(), later.end(), '0', '7');
    write("m.txt", label + "# Collective test starting: all_reduce_perf\n" + label + names + later +
                       "  4096 1024 float sum -1 50 0.08 0.12 0 50 0.08 0.12 0\n");
    const Ran ran = weft("collective ../small.json --measured ../m.txt");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_NE(ran.out.find("50.00"), std::string::npos) << ran.out;
  }
}

/// Advice that can be followed.
TEST_F(MeasuredCli, RanksOfAnotherNumberAreAdvised) {
  std::string ranks = "# Collective test starting: all_reduce_perf\n";
  const auto add = [&](int rank) {
    ranks += "#  Rank  " + std::to_string(rank) + " Group  0 Pid 1 on node device 0 [0] H100\n";
  };
  add(0);
  const auto refused = [&](const char* advice) {
    write("m.txt", ranks + "4096 1024 float sum -1 50 0.08 0.12 0 50 0.08 0.12 0\n");
    expect_refused({advice, "collective ../small.json --measured ../m.txt", {advice}});
  };
  refused(": --set accelerators=1 --set per_node=1");
  add(1);
  refused(": --set accelerators=2");
  add(2);
  refused(": a platform of nodes of which 3 ranks fill each, since small has 2 accelerators a node");
}

TEST_F(MeasuredCli, WrongInputIsNamed) {
  const std::string test = "# Collective test starting: all_reduce_perf\n";
  expect_wrong("", "../m.txt: expected what nccl-tests prints, rows of size, count, type");
  expect_wrong(test, "../m.txt: expected what nccl-tests prints");
  expect_wrong("{\"a\": 1}", "../m.txt: expected what nccl-tests writes by -J, an object with a list of results");
  expect_wrong("{\"results\": [{\"size\": \"1\"}]}", "../m.txt: expected what nccl-tests writes by -J");
  expect_wrong(test + row("4096", "12") + "8192 1 float sum -1 3.0\n",
               "../m.txt:3: expected a row of nccl-tests with 11 columns, got 6");
  expect_wrong(
      test + "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n4 1 float sum 1 1\n",
      "../m.txt:3: expected a row of nccl-tests with 13 columns, got 6");
  expect_wrong(test + row("4096", "fast"), "../m.txt:2: expected a number in column time, got \"fast\"");
  expect_wrong(test + row("4096", "0"), "../m.txt:2: expected a time of more than 0");
  expect_wrong("# size count type redop root cputime algbw busbw #wrong\n",
               "../m.txt:1: expected the time of collectives");
  expect_wrong(row("4096", "12"), "--op: expected one of all_gather,");
  expect_wrong(row("4096", "12"), "since ../m.txt does not say which test it is of");
  expect_wrong(test + row("4096", "12") + "$ ./all_gather_perf\n" + row("4096", "12"),
               "has several tests, all_reduce, all_gather");
  expect_wrong(test + row("4096", "12"), "--op: expected a test that ../m.txt has, all_reduce, got \"all_gather\"",
               "--op all_gather");
  expect_wrong("$ ./sendrecv_perf\n" + row("4096", "12"),
               "expected a test of a collective that Weft has, got sendrecv_perf");
  expect_wrong(test + row("4096", "12") + row("4096", "12", "half"), "has several types, float, half");
  expect_wrong(test + row("4096", "12", "double"), "since Weft has no \"double\", which ../m.txt measured");
  expect_wrong(test + row("4097", "12"), "../m.txt:2: expected a size of whole elements of fp32, got 4097 B");
  expect_wrong(test + row("4096", "12"), "--bytes: expected sizes that ../m.txt has, from 4096B to 4096B, got 8192B",
               "--bytes 8KiB");
  expect_wrong(test + "#  Rank  0 Group  0 Pid 1 on a\n" + row("4096", "12"),
               "--measured: expected measurements of 4 ranks, as many as small has accelerators, got 1 in ../m.txt");
  expect_refused({"no op", "collective ../small.json", {"--op is required"}});
  write("m.txt", test + row("4096", "12"));
  expect_refused(
      {"analytical", "collective themis-2d-sw-sw --measured ../m.txt", {"--measured: expected a machine of modules"}});
}

}  // namespace
}  // namespace weft
