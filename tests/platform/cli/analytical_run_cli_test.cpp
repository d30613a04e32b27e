// SPDX-License-Identifier: Apache-2.0
// What weft run of an analytical network reports of its ends, and its timeline. Runs the binary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/support/cli.h"
#include "tests/support/perfetto.h"

namespace weft {
namespace {

using nlohmann::json;
using test::BadInput;
using test::CliTest;
using test::PerfettoTrace;
using test::Ran;

/// Two ends, 1 GB/s and no latencies. End 0 computes 4 us, then sends 2,000 bytes, beside which it computes 3 us; a
/// load of remote memory of 5 us is its last. End 1 waits for the message from the start and computes 1 us after it.
class AnalyticalRunCli : public CliTest {
 protected:
  AnalyticalRunCli() {
    const json dimension = {{"block", "Ring"}, {"size", 2}, {"bandwidth_GiBps", 1e9 / (1 << 30)}, {"latency_ns", 0}};
    write(
        "p.json",
        json{{"network", "analytical"},
             {"analytical",
              {{"dimensions", {dimension}},
               {"collectives", {{"endpoint_delay", "0ns"}}},
               {"end", {{"peak_tflops", 1}, {"memory_GBps", 100}, {"remote_memory", "per-end"}, {"remote_GBps", 1}}}}},
             {"workload", {{"kind", "chakra"}, {"traces", "work/w"}}}}
            .dump());
    trace(0, R"([
      {"id": 0, "name": "first", "type": "COMP_NODE", "duration_micros": 4, "attr": [
        {"name": "num_ops", "uint64_val": 4000000}, {"name": "tensor_size", "uint64_val": 4000}]},
      {"id": 1, "name": "to 1", "type": "COMM_SEND_NODE", "data_deps": [0], "attr": [
        {"name": "comm_dst", "int32_val": 1}, {"name": "comm_tag", "int32_val": 7}, {"name": "comm_size", "int64_val": 2000}]},
      {"id": 2, "name": "second", "type": "COMP_NODE", "data_deps": [0], "duration_micros": 3, "attr": [
        {"name": "num_ops", "uint64_val": 1500000}, {"name": "tensor_size", "uint64_val": 300000}]},
      {"id": 3, "name": "load", "type": "MEM_LOAD_NODE", "data_deps": [1, 2], "attr": [
        {"name": "tensor_size", "uint64_val": 5000}]}])");
    trace(1, R"([
      {"id": 0, "name": "from 0", "type": "COMM_RECV_NODE", "attr": [
        {"name": "comm_src", "int32_val": 0}, {"name": "comm_tag", "int32_val": 7}, {"name": "comm_size", "int64_val": 2000}]},
      {"id": 1, "name": "use", "type": "COMP_NODE", "data_deps": [0], "duration_micros": 1, "attr": [
        {"name": "num_ops", "uint64_val": 1000000}, {"name": "tensor_size", "uint64_val": 1000}]}])");
  }
  void trace(int rank, const std::string& nodes) {
    write("t.json", "{\"metadata\": {\"version\": \"0.0.4\"}, \"nodes\": " + nodes + "}");
    ASSERT_EQ(weft("trace convert ../t.json w." + std::to_string(rank) + ".et").code, 0);
  }
  json summary(const std::string& more = "") {
    const Ran ran = weft("run ../p.json --json " + more);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(ran.out);
  }
};

TEST_F(AnalyticalRunCli, SaysWhatEachEndSpentItsTimeOn) {
  const json ran = summary();
  const json ends = ran["statistics"]["per_end"];
  EXPECT_EQ(ends["finish_ns"], json({12'000, 7'000}));
  EXPECT_EQ(ends["finish_ns"], ran["finish_ns"]);
  EXPECT_EQ(ends["computing_ns"], json({7'000, 1'000}));
  EXPECT_EQ(ends["exposed_communication_ns"], json({5'000, 6'000}));
  EXPECT_EQ(ends["communicating_ns"], json({2'000, 6'000}));  // a receive waits from its issue on
  EXPECT_EQ(ends["overlapped_ns"], json({2'000, 0}));
  EXPECT_EQ(ends["remote_memory_ns"], json({5'000, 0}));
  EXPECT_EQ(ends["cpu_ns"], json({0, 0}));
  EXPECT_EQ(ends["idle_ns"], json({0, 0}));
  EXPECT_EQ(ends["communicated_bytes"], json({2'000, 0}));
  EXPECT_EQ(ends["compute_utilisation"], json({nullptr, nullptr}));
  const json worst = ran["statistics"]["worst"];
  EXPECT_EQ(worst["end"], 0);
  EXPECT_EQ(worst["computing_ns"], 7'000);
  EXPECT_EQ(ran["statistics"]["mean"]["computing_ns"], 4'000);
  ASSERT_EQ(ran["dimensions"].size(), 1U);
  EXPECT_EQ(ran["dimensions"][0]["block"], "Ring");
  EXPECT_EQ(ran["dimensions"][0]["carried_bytes"], 2'000);
  EXPECT_NEAR(ran["dimensions"][0]["utilisation"].get<double>(), 2'000.0 / (2 * 12'000), 1e-9);
  // The same names and values as a table.
  EXPECT_EQ(
      test::read_file(folder_ / "work/out/p/ends.csv"),
      "end,finish_ns,exposed_communication_ns,computing_ns,communicating_ns,overlapped_ns,remote_memory_ns,cpu_ns,"
      "idle_ns,communicated_bytes,compute_bound,compute_utilisation,memory_utilisation,operation_intensity\n"
      "0,12000,5000,7000,2000,2000,5000,0,0,2000,,,,\n1,7000,6000,1000,6000,0,0,0,0,0,,,,\n");
}

TEST_F(AnalyticalRunCli, RooflineHasUtilisations) {
  // At 10^12 operations and 10^11 bytes a second: 4 us at the peak; 3 us by memory, at half the peak; 1 us at the peak.
  const json ends = summary("--set analytical.end.roofline=true")["statistics"]["per_end"];
  EXPECT_EQ(ends["computing_ns"], json({7'000, 1'000}));
  EXPECT_DOUBLE_EQ(ends["compute_bound"][0].get<double>(), 4000.0 / 7001);
  EXPECT_DOUBLE_EQ(ends["compute_utilisation"][0].get<double>(), (4000 + 0.5 * 3000) / 7001);
  EXPECT_DOUBLE_EQ(ends["memory_utilisation"][0].get<double>(), (0.01 * 4000 + 3000) / 7001);
  EXPECT_DOUBLE_EQ(ends["operation_intensity"][0].get<double>(), (1000.0 * 4000 + 5 * 3000) / 7001);
  EXPECT_DOUBLE_EQ(ends["compute_bound"][1].get<double>(), 1000.0 / 1001);
  const Ran table = weft("run ../p.json --set analytical.end.roofline=true");
  EXPECT_NE(table.out.find("compute utilisation"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("78.560 %"), std::string::npos) << table.out;
}

/// What a run would meet in the middle is refused before it, with what helps.
TEST_F(AnalyticalRunCli, ARooflineRefusesNodesWithoutOperations) {
  trace(1, R"([
    {"id": 0, "name": "from 0", "type": "COMM_RECV_NODE", "attr": [
      {"name": "comm_src", "int32_val": 0}, {"name": "comm_tag", "int32_val": 7}, {"name": "comm_size", "int64_val": 2000}]},
    {"id": 1, "name": "use", "type": "COMP_NODE", "data_deps": [0], "duration_micros": 1}])");
  EXPECT_EQ(weft("run ../p.json --out a").code, 0);
  const Ran ran = weft("run ../p.json --out b --set analytical.end.roofline=true");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("w.1.et: node 1 'use': COMP_NODE has no num_ops; expected the attributes num_ops and "
                         "tensor_size; 1 compute node has no num_ops, by which a roofline counts its time; without a "
                         "roofline durations count (analytical.end.roofline=false;"),
            std::string::npos)
      << ran.err;
}

TEST_F(AnalyticalRunCli, TellsPeopleTheMeanAndTheWorstEnd) {
  const Ran ran = weft("run ../p.json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("worst: end 0"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("4000 ns   42.11 %       7000 ns   58.33 %"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("remote memory"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("CPU"), std::string::npos) << "nothing was done there\n" << ran.out;
  EXPECT_EQ(ran.out.find("utilisation"), std::string::npos) << "without a roofline there is none\n" << ran.out;
}

TEST_F(AnalyticalRunCli, DrawsATimelineOfTheFirstEnds) {
  const json ran = summary();
  EXPECT_EQ(ran["timeline"], "timeline.pftrace.gz");
  const PerfettoTrace trace(test::read_packed(folder_ / "work/out/p/timeline.pftrace.gz"));
  EXPECT_EQ(trace.processes(), (std::vector<std::string>{"end 0", "end 1"}));
  std::map<std::string, test::PerfettoSlice> slices;
  for (const test::PerfettoSlice& slice : trace.slices()) slices[slice.name] = slice;
  const auto expect_slice = [&](const std::string& name, const std::string& row, std::int64_t from_us,
                                std::int64_t length_us) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(slices.contains(name));
    EXPECT_EQ(slices[name].row, row);
    EXPECT_EQ(slices[name].from, 1000 * from_us);
    EXPECT_EQ(slices[name].length(), 1000 * length_us);
  };
  EXPECT_EQ(slices.size(), 6U);
  expect_slice("first", "compute nodes", 0, 4);
  expect_slice("second", "compute nodes", 4, 3);
  expect_slice("to 1", "messages", 4, 2);
  expect_slice("from 0", "messages", 0, 6);
  expect_slice("load", "memory nodes", 7, 5);
  expect_slice("use", "compute nodes", 6, 1);
  const std::string picture = test::read_file(folder_ / "work/out/p/timeline.svg");
  EXPECT_NE(picture.find("end 0; red: it is not computing"), std::string::npos) << picture;
}

TEST_F(AnalyticalRunCli, TimelineOptionsAreThoseOfAMachine) {
  const json none = summary("--timeline-ranks 0 --out none");
  EXPECT_EQ(none["timeline"], nullptr);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "work/none/timeline.pftrace.gz"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "work/none/timeline.svg"));
  const json one = summary("--timeline-ranks 1 --timeline mine.pftrace --out one");
  EXPECT_EQ(one["timeline"], "mine.pftrace");
  const PerfettoTrace drawn(test::read_file(folder_ / "work/mine.pftrace"));
  EXPECT_EQ(drawn.processes(), std::vector<std::string>{"end 0"});
  // Drawing changes nothing.
  EXPECT_EQ(one["simulator"]["digest"], none["simulator"]["digest"]);
}

/// One communication at a time, and two ends that take two groups' collectives in different orders.
TEST_F(AnalyticalRunCli, OrdersOfGroupsThatDifferAreNamed) {
  for (const int rank : {0, 1}) {
    const auto sum = [](int id, const char* group) {
      return std::string("{\"id\": ") + std::to_string(id) + R"(, "name": "sum", "type": "COMM_COLL_NODE", "attr": [
        {"name": "comm_type", "int64_val": 0}, {"name": "comm_size", "int64_val": 4096},
        {"name": "pg_name", "string_val": ")" +
             group + "\"}]}";
    };
    trace(rank, "[" + sum(1, rank == 0 ? "1" : "2") + "," + sum(2, rank == 0 ? "2" : "1") + "]");
  }
  const std::string groups = "--set 'workload.groups={\"1\": [0, 1], \"2\": [0, 1]}' ";
  for (const char* congestion : {"unaware", "cut-through"}) {
    const Ran ran = weft("run ../p.json " + groups + "--set analytical.congestion=" + congestion);
    EXPECT_EQ(ran.code, 1);
    EXPECT_NE(ran.err.find("2 of 2 ends have not done their traces, and nothing goes on. 2 collectives and sends could "
                           "begin and wait for those under way, as an end has one at a time"),
              std::string::npos)
        << ran.err;
  }
}

/// Ends begin what they have together in different orders, since computing comes before the one or the other.
TEST_F(AnalyticalRunCli, OrdersThatTimesMakeDifferAreNamed) {
  const auto together = [](int id, int type, const char* after) {
    return "{\"id\": " + std::to_string(id) + R"(, "name": "c", "type": "COMM_COLL_NODE", "data_deps": [)" + after +
           R"(], "attr": [{"name": "comm_type", "int64_val": )" + std::to_string(type) +
           R"(}, {"name": "comm_size", "int64_val": 4096}]})";
  };
  const std::string compute = R"({"id": 1, "name": "w", "type": "COMP_NODE", "duration_micros": 5})";
  trace(0, "[" + compute + "," + together(3, 0, "1") + "," + together(4, 2, "") + "]");
  trace(1, "[" + compute + "," + together(3, 0, "") + "," + together(4, 2, "1") + "]");
  const Ran ran = weft("run ../p.json");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("Ends of a group began different collectives: as number 1 of all ends end 0 began node 4, "
                         "all_gather of 4096 bytes, and end 1 began node 3, all_reduce of 4096 bytes. An end takes its "
                         "collectives in the order in which they can begin"),
            std::string::npos)
      << ran.err;
  EXPECT_NE(ran.err.find("dependencies that give all ends one order avoid it"), std::string::npos) << ran.err;
}

TEST_F(AnalyticalRunCli, RefusesWhatOnlyAMachineHas) {
  for (const char* rank : {"w.0.et", "w.1.et"}) {
    std::filesystem::rename(folder_ / "work" / rank, folder_ / rank);
  }
  const std::string run = "run ../p.json --set workload.traces=w ";
  for (const BadInput& bad : std::vector<BadInput>{
           {"waves", "--vcd x.vcd", {"--vcd: expected nothing, since an analytical network has no modules"}},
           {"scopes", "--vcd-scope 'a.*'", {"--vcd-scope: expected nothing"}},
           {"clocks", "--vcd-clocks", {"--vcd-clocks: expected nothing"}},
           {"data", "--data", {"--data: expected nothing, since an analytical network moves no bytes"}},
           {"a seed", "--seed 1", {"--seed: expected nothing"}},
           {"a timeline in a file",
            "--timeline ../small.json/t.pftrace",
            {"--timeline: expected a file that can be written"}},
           {"too many ends", "--timeline-ranks 2000000", {"--timeline-ranks"}}}) {
    const std::string arguments = run + bad.arguments;
    expect_refused({bad.what, arguments.c_str(), bad.message});
  }
}

}  // namespace
}  // namespace weft
