// SPDX-License-Identifier: Apache-2.0
// Waveforms of models and of RTL, from recording to replay. Runs the binary, and Icarus Verilog.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "tests/support/cli.h"
#include "tests/support/programs.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::BadInput;
using test::CliTest;
using test::Ran;

/// Four hosts under one switch that reduces.
constexpr const char* kReduce = R"({
  "name": "reduce",
  "accelerators": 4,
  "per_node": 1,
  "accelerator": "h100-sxm",
  "nic": "connectx-7",
  "fabric": { "topology": "switch", "switch": "quantum-2", "segment": "4KiB" },
  "collectives": { "algorithm": "in-network" }
})";

class WavesCliTest : public CliTest {
 protected:
  WavesCliTest() { write("reduce.json", kReduce); }

  static std::string all_reduce(const std::string& more) {
    return "collective ../reduce.json --op all_reduce --bytes 64KiB --no-warmup --json " + more;
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_ / name).string(); }
};

TEST_F(WavesCliTest, RecordsWithoutChangingTheRun) {
  const Ran plain = weft(all_reduce("--data"));
  ASSERT_EQ(plain.code, 0) << plain.err;
  const Ran recorded = weft(all_reduce("--data --vcd ../reduce.vcd --vcd-scope 'network.*' --vcd-scope nic0"));
  ASSERT_EQ(recorded.code, 0) << recorded.err;
  EXPECT_TRUE(nothing_written());
  EXPECT_EQ(json::parse(plain.out)["digest"], json::parse(recorded.out)["digest"]);
  EXPECT_EQ(json::parse(plain.out)["rows"], json::parse(recorded.out)["rows"]);
  const json reduction = json::parse(plain.out)["counters"]["reduction"];
  EXPECT_EQ(reduction["operands"], 4 * (16 + 1));  // packets of 4 KiB of each host, and the one that says it is there
  EXPECT_EQ(reduction["operand_bytes"], 4 << 16);
  EXPECT_GE(reduction["most_open"], 1);

  const Ran info = weft("vcd info ../reduce.vcd --json");
  const json signals = json::parse(info.out)["signals"];
  EXPECT_EQ(json::parse(info.out)["timescale"], "1ps");
  const auto changes = [&](const std::string& name) {
    for (const json& signal : signals) {
      if (signal["name"] == name) return signal["changes"].get<int>();
    }
    return -1;
  };
  const std::string engine = "network.switch0.reduction.";
  EXPECT_GT(changes(engine + "out_valid"), 0);
  EXPECT_GT(changes(engine + "out_data"), 0);
  EXPECT_GT(changes(engine + "port3.in_valid"), 0);
  EXPECT_GT(changes("network.switch0.out2.credits0"), 0);
  EXPECT_GT(changes("nic0.out.psn"), 0);
  EXPECT_EQ(changes("nic1.out.psn"), -1);

  // 64 KiB in beats of 64 bytes leave the engine, each as late as the last input's.
  const std::string interface = " --clock " + engine + "clk --valid " + engine + "out_valid --ready " + engine +
                                "out_ready --data " + engine + "out_data --id " + engine + "out_id --last " + engine +
                                "out_last --input-valid " + engine + "port3.in_valid --input-ready " + engine +
                                "port3.in_ready --json";
  const Ran same = weft("vcd compare ../reduce.vcd ../reduce.vcd --tolerance 0" + interface);
  ASSERT_EQ(same.code, 0) << same.out << same.err;
  // And one beat of the barrier before it, in a low-latency tree.
  EXPECT_EQ(json::parse(same.out)["reference"]["items"], 1025);
  // Latencies of the part: 1400 ns and 1600 ns at 1 GHz.
  EXPECT_GE(json::parse(same.out)["reference"]["latency"]["min"], 1400);
  EXPECT_GE(json::parse(same.out)["reference"]["latency"]["max"], 1600);

  // Without data the bus is there and unknown.
  const Ran unknown = weft(all_reduce("--vcd ../unknown.vcd --vcd-scope network.switch0.reduction --vcd-clocks"));
  ASSERT_EQ(unknown.code, 0) << unknown.err;
  const Ran as_sums = weft("vcd compare ../unknown.vcd ../reduce.vcd" + interface);
  EXPECT_EQ(as_sums.code, 0) << as_sums.out << as_sums.err;
}

TEST_F(WavesCliTest, RefusesWhatCannotBeRecorded) {
  const std::vector<BadInput> cases = {
      {"no such scope",
       "collective ../reduce.json --op all_reduce --vcd x.vcd --vcd-scope fabric.leaf0",
       {"--vcd-scope: expected one of", "network.switch*.out* (4)", "network.switch*.reduction (1)", "nic*.out (4)",
        "got \"fabric.leaf0\""}},
      {"nearly a scope",
       "collective ../reduce.json --op all_reduce --vcd x.vcd --vcd-scope network.swich0.reduction",
       {"got \"network.swich0.reduction\"; did you mean \"network.switch*.reduction\""}},
      {"no scope",
       "collective ../reduce.json --op all_reduce --vcd x.vcd",
       {"--vcd-scope: expected one of", "where * is a number"}},
      {"scope alone",
       "collective ../reduce.json --op all_reduce --vcd-scope '*'",
       {"--vcd-scope: expected --vcd FILE too"}},
      {"a file as a folder",
       "collective ../reduce.json --op all_reduce --vcd ../reduce.json/x.vcd --vcd-scope '*'",
       {"--vcd: expected a file that can be written", "reduce.json/x.vcd"}},
      {"no name", "run ../small.json --vcd x.vcd --vcd-scope ''", {"--vcd-scope: expected one of", "got \"\""}},
      {"run", "run ../small.json --vcd x.vcd --vcd-scope nothing", {"--vcd-scope: expected one of", "port*.out (4)"}},
      {"analytical", "run astra-ring-8 --set network=analytical --vcd x.vcd", {"--vcd: expected nothing"}},
      {"analytical collective",
       "collective astra-ring-8 --set network=analytical --op all_reduce --vcd x.vcd",
       {"--vcd: expected nothing, since an analytical network has no modules"}},
  };
  for (const BadInput& bad : cases) expect_refused(bad);
}

/// Runs programs of its own in the place of those that are installed.
class ConverterCliTest : public WavesCliTest {
 protected:
  ConverterCliTest() {
    fs::create_directory(folder_ / "programs");
    const char* const path = std::getenv("PATH");
    path_ = path == nullptr ? "" : path;
    setenv("PATH", file("programs").c_str(), 1);
  }
  ~ConverterCliTest() override { setenv("PATH", path_.c_str(), 1); }
  void install(const std::string& script) {
    write("programs/vcd2fst", "#!/bin/sh\n" + script + "\n");
    fs::permissions(folder_ / "programs/vcd2fst", fs::perms::owner_all);
  }
  /// Of what lies in the folder, but for the messages of the last run.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().filename() != "err") all.push_back(entry.path().filename());
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  std::string path_;
};

TEST_F(ConverterCliTest, ConvertsWhatItRecorded) {
  const std::string record = all_reduce("--vcd-scope '*.reduction' --vcd ../r.");
  expect_refused({"no converter", (record + "fst").c_str(), {"--vcd: expected vcd2fst, of Debian's package gtkwave"}});
  ASSERT_EQ(weft(record + "vcd").code, 0);
  install("test $1 = - && echo converted > $2; while read -r line; do echo \"$line\" >> $2; done");
  const Ran ran = weft(record + "fst");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(test::read_file(folder_ / "r.fst"), "converted\n" + test::read_file(folder_ / "r.vcd"));
  EXPECT_EQ(names(), (std::vector<std::string>{"programs", "r.fst", "r.vcd", "reduce.json", "small.json", "work"}));
  install("echo it will not do >&2; exit 3");
  fs::remove(folder_ / "r.fst");  // which is no waveform
  const Ran failed = weft(record + "fst");
  EXPECT_EQ(failed.code, 1);
  EXPECT_NE(failed.err.find("cannot write ../r.fst: it will not do"), std::string::npos) << failed.err;
  EXPECT_EQ(names().size(), 5U);
  // Weft reads what it writes.
  ASSERT_EQ(weft(record + "vcd.gz").code, 0);
  const json plain = json::parse(weft("vcd info ../r.vcd --json").out);
  const json packed = json::parse(weft("vcd info ../r.vcd.gz --json").out);
  EXPECT_EQ(plain["signals"], packed["signals"]);
  EXPECT_EQ(plain["bytes"], packed["bytes"]);
}

TEST_F(WavesCliTest, TakesPatches) {
  write("patch.json", R"({"fabric": {"switch": {"reduction": {"latency": "9ns", "fp32": 32}}}})");
  write("wrong.json", R"({"fabric": {"switch": {"reduction": {"latency": "9"}}}})");
  write("unknown.json", R"({"fabric": {"switch": {"reduction": {"latenzy": "9ns"}}}})");
  write("list.json", "[1]");
  const Ran slow = weft(all_reduce(""));
  const Ran fast = weft(all_reduce("--patch ../patch.json"));
  ASSERT_EQ(fast.code, 0) << fast.err;
  const Ran set = weft(all_reduce("--set fabric.switch.reduction.latency=9ns --set fabric.switch.reduction.fp32=32"));
  EXPECT_EQ(json::parse(fast.out)["digest"], json::parse(set.out)["digest"]);
  EXPECT_NE(json::parse(fast.out)["digest"], json::parse(slow.out)["digest"]);
  // JSON may be packed.
  ASSERT_EQ(std::system(("gzip -k " + file("patch.json")).c_str()), 0);
  const Ran packed = weft(all_reduce("--patch ../patch.json.gz"));
  ASSERT_EQ(packed.code, 0) << packed.err;
  EXPECT_EQ(json::parse(packed.out)["digest"], json::parse(set.out)["digest"]);
  // --set comes after a patch.
  const Ran again =
      weft(all_reduce("--patch ../patch.json --set fabric.switch.reduction.latency=1600ns "
                      "--set fabric.switch.reduction.fp32=64"));
  EXPECT_EQ(json::parse(again.out)["digest"], json::parse(slow.out)["digest"]);
  const std::vector<BadInput> cases = {
      {"no file", "collective ../reduce.json --op all_reduce --patch no.json", {"no.json", "a patch of a platform"}},
      {"no object",
       "collective ../reduce.json --op all_reduce --patch ../list.json",
       {"list.json", "a patch of a platform"}},
      {"no unit",
       "collective ../reduce.json --op all_reduce --patch ../wrong.json",
       {"../wrong.json: fabric.switch.reduction.latency: expected"}},
      {"unknown key",
       "collective ../reduce.json --op all_reduce --patch ../unknown.json",
       {"../unknown.json: fabric.switch.reduction.latenzy: expected a known key", "latency"}},
  };
  for (const BadInput& bad : cases) expect_refused(bad);
}

/// RTL of the engine: hw/rtl/reduction_lane.sv with 3 children and beats of 8 bytes.
class LaneCliTest : public WavesCliTest {
 protected:
  void SetUp() override {
    if (test::skips_without("iverilog")) return;
    const std::string source = WEFT_SOURCE_DIR;
    ASSERT_EQ(std::system(("iverilog -g2012 -Wno-timescale -y " + source + "/hw/rtl -Y .sv -o " + file("lane") + " " +
                           source + "/tests/rtl/lane_tb.sv")
                              .c_str()),
              0);
  }
  /// Packets of one to six beats of int32, of which not all children need add.
  void make_stimulus(const std::string& name, unsigned seed, bool stalls) {
    std::mt19937 random(seed);
    std::string text;
    for (int id = 0; id < 60; ++id) {
      const int beats = 1 + static_cast<int>(random() % 6);
      const auto adds = 1 + random() % 7;
      const bool gaps = random() % 3 == 0;
      for (int b = 0; b < beats; ++b) {
        char line[200];
        const auto gap = [&] { return static_cast<unsigned>(gaps ? random() % 4 : 0); };
        const unsigned a = gap();
        const unsigned c = gap();
        std::snprintf(line, sizeof line, "2 7 %x 00%02x%02x %x %x %x", static_cast<unsigned>(adds), a, c,
                      static_cast<unsigned>(stalls && random() % 5 == 0 ? random() % 9 : 0), b + 1 == beats ? 1 : 0,
                      id);
        text += line;
        text += ' ';
        for (int word = 0; word < 6; ++word) {
          std::snprintf(line, sizeof line, "%08x", static_cast<unsigned>(random()));
          text += line;
        }
        text += '\n';
      }
    }
    write(name, text);
  }
  void simulate(const std::string& stimulus, const std::string& wave, const std::string& simulator = "") {
    const std::string program = simulator.empty() ? "vvp -N " + file("lane") : simulator;
    const std::string command =
        program + " +stimulus=" + file(stimulus) + " +vcd=" + file(wave) + " >" + file("log") + " 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << test::read_file(folder_ / "log");
  }
  static constexpr const char* kLane =
      " --clock tb.clk --reset tb.reset --input tb.lane.in_ --split 3 --output tb.lane.out_ --kind tb.lane.kind ";
  static constexpr const char* kSums =
      " --clock tb.clk --reset tb.reset --valid tb.lane.out_valid --ready tb.lane.out_ready --data tb.lane.out_data "
      "--last tb.lane.out_last --id tb.lane.out_id --data tb.lane.out_adds --json ";
};

TEST_F(LaneCliTest, IsCalibratedAndReplayed) {
  make_stimulus("a.txt", 1, true);
  make_stimulus("b.txt", 2, true);
  make_stimulus("free.txt", 3, false);
  simulate("a.txt", "a.vcd");
  simulate("b.txt", "b.vcd");
  simulate("free.txt", "free.vcd");
  const std::string lane = kLane;
  const Ran calibrated =
      weft("vcd calibrate ../a.vcd --check ../b.vcd --out ../lane.json --frequency 1GHz --json" + lane);
  ASSERT_EQ(calibrated.code, 0) << calibrated.out << calibrated.err;
  const json found = json::parse(calibrated.out);
  EXPECT_EQ(found["model"]["latency"], 6);
  EXPECT_EQ(found["model"]["stall"], "rigid");
  EXPECT_EQ(found["model"]["queue"], 0);
  EXPECT_EQ(found["model"]["intervals"]["10"], 1);
  // On what it has not seen.
  EXPECT_EQ(found["residual"][1]["file"], "../b.vcd");
  EXPECT_EQ(found["residual"][1]["transactions"], 60);
  EXPECT_LE(found["residual"][1]["p99"], 2);
  const json patch = json::parse(test::read_file(folder_ / "lane.json"));
  EXPECT_EQ(patch, json::parse(R"({"fabric": {"switch": {"reduction": {"clock": "1GHz", "int32": 8, "latency": "6ns",
      "pipeline": {"queue": "0B", "registered": false, "fall_through": true, "pause": 0, "stall": "rigid"}}}}})"));
  const Ran applied = weft(all_reduce("--type int32 --patch ../lane.json"));
  EXPECT_EQ(applied.code, 0) << applied.err;

  // The model and RTL give the same sums at the same times, also where the output is blocked.
  const std::string model =
      "vcd replay ../%.vcd --patch ../lane.json --vcd "
      "../model.vcd --stimulus ../again.txt --json" +
      lane;
  const auto replay = [&](const std::string& name) {
    std::string command = model;
    return weft(command.replace(command.find('%'), 1, name));
  };
  const std::string maps = " --map tb.clk=reduction.clk --map tb.reset= --map 'tb.lane.*=reduction.*'";
  for (const char* name : {"free", "a", "b"}) {
    SCOPED_TRACE(name);
    const Ran replayed = replay(name);
    ASSERT_EQ(replayed.code, 0) << replayed.err;
    EXPECT_EQ(json::parse(replayed.out)["sums"], 60);
    EXPECT_EQ(json::parse(replayed.out)["blocked"] > 0, std::string(name) != "free");
    const Ran same = weft("vcd compare ../" + std::string(name) + ".vcd ../model.vcd --tolerance 0" + kSums + maps);
    EXPECT_EQ(same.code, 0) << same.out << same.err;
    // RTL again.
    simulate("again.txt", "again.vcd");
    const Ran sums = weft("vcd compare ../" + std::string(name) + ".vcd ../again.vcd" + kSums);
    EXPECT_EQ(sums.code, 0) << sums.out << sums.err;
#ifdef WEFT_LANE_TB
    simulate("again.txt", "verilator.vcd", WEFT_LANE_TB);
    const Ran by_verilator =
        weft("vcd compare ../again.vcd ../verilator.vcd --tolerance 0" + std::string(kSums) + " --map 'tb.*=TOP.tb.*'");
    EXPECT_EQ(by_verilator.code, 0) << by_verilator.out << by_verilator.err;
#endif
  }
}

/// RTL with shallow queues and a slow consumer is what the model becomes: on other stimulus its sums come at the same
/// times, and a platform takes it.
TEST_F(LaneCliTest, LearnsQueuesAndStalls) {
  const std::string source = WEFT_SOURCE_DIR "/tests/rtl/queued_lane_tb.sv";
  for (const int seed : {1, 7, 8}) {
    const std::string n = std::to_string(seed);
    const std::string command = "iverilog -g2012 -Ptb.SEED=" + n + " -o " + file("queued") + " " + source +
                                " && vvp -N " + file("queued") + " +vcd=" + file("q" + n + ".vcd");
    ASSERT_EQ(std::system(("(" + command + ") >" + file("log") + " 2>&1").c_str()), 0)
        << test::read_file(folder_ / "log");
  }
  const std::string lane =
      " --clock tb.lane.clk --reset tb.lane.reset --input tb.lane.in_ --split 3 --output tb.lane.out_ --kind "
      "tb.lane.kind ";
  const Ran calibrated =
      weft("vcd calibrate ../q1.vcd --check ../q7.vcd --check ../q8.vcd --out ../q.json --json" + lane);
  ASSERT_EQ(calibrated.code, 0) << calibrated.out << calibrated.err;
  const json residuals = json::parse(calibrated.out)["residual"];
  for (const json& residual : residuals) EXPECT_LE(residual["p99"], 2) << residual;
  const json engine = json::parse(test::read_file(folder_ / "q.json"))["fabric"]["switch"]["reduction"];
  EXPECT_EQ(engine["clock"], "100MHz");
  EXPECT_EQ(engine["latency"], "40ns");  // one of them in the queue
  EXPECT_EQ(engine["int32"], 4);         // 8 bytes every other cycle
  EXPECT_EQ(
      engine["pipeline"],
      json::parse(
          R"({"queue": "16B", "registered": true, "fall_through": false, "pause": 0, "stall": "elastic", "depth": "24B"})"));

  for (const char* name : {"q7", "q8"}) {
    SCOPED_TRACE(name);
    const std::string wave = "../" + std::string(name) + ".vcd";
    const Ran replayed = weft("vcd replay " + wave + " --patch ../q.json --vcd ../model.vcd" + lane);
    ASSERT_EQ(replayed.code, 0) << replayed.err;
    const std::string sums =
        " --clock tb.lane.clk --reset tb.lane.reset --valid tb.lane.out_valid --ready tb.lane.out_ready --data "
        "tb.lane.out_data --last tb.lane.out_last --id tb.lane.out_id --map tb.lane.reset= --map "
        "'tb.lane.*=reduction.*' --tolerance 2 --packet-times ";
    const Ran same = weft("vcd compare " + wave + " ../model.vcd" + sums);
    EXPECT_EQ(same.code, 0) << same.out << same.err;
    // Without what was learnt of queues and stalls the times are others.
    const Ran without = weft("vcd replay " + wave + " --patch ../q.json --set fabric.switch.reduction.pipeline.stall=" +
                             "rigid --set fabric.switch.reduction.pipeline.queue=0B --vcd ../other.vcd" + lane);
    ASSERT_EQ(without.code, 0) << without.err;
    EXPECT_EQ(weft("vcd compare " + wave + " ../other.vcd" + sums).code, 1);
  }
}

/// What a platform's engine got comes to RTL, which adds it up alike.
TEST_F(LaneCliTest, AddsWhatAPlatformAdded) {
  const Ran recorded = weft(
      "collective ../reduce.json --op all_reduce --bytes 4KiB --type int32 --no-warmup --data "
      "--set accelerators=3 --set fabric.switch.reduction.fp32=8 --set fabric.switch.reduction.fp16=8 "
      "--set fabric.switch.reduction.bf16=8 --set fabric.switch.reduction.int32=8 "
      "--set fabric.switch.reduction.low_latency_bytes=8 --vcd ../p.vcd --vcd-scope '*.reduction'");
  ASSERT_EQ(recorded.code, 0) << recorded.err;
  const std::string engine = "network.switch0.reduction.";
  const Ran replayed =
      weft("vcd replay ../p.vcd --stimulus ../p.txt --clock " + engine + "clk --input " + engine +
           "port0.in_ --input " + engine + "port1.in_ --input " + engine + "port2.in_ --output " + engine + "out_");
  ASSERT_EQ(replayed.code, 0) << replayed.err;
  simulate("p.txt", "rtl.vcd");
  const Ran same = weft("vcd compare ../rtl.vcd ../p.vcd --map tb.clk=" + engine +
                        "clk --map tb.reset= --map 'tb.lane.*=" + engine + "*'" + kSums);
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  EXPECT_EQ(json::parse(same.out)["reference"]["items"], 512);
}

TEST_F(LaneCliTest, SaysWhatIsWrong) {
  make_stimulus("a.txt", 1, true);
  simulate("a.txt", "a.vcd");
  const std::string clock = "vcd calibrate ../a.vcd --clock tb.clk --reset tb.reset ";
  const std::string replay = "vcd replay ../a.vcd --clock tb.clk --reset tb.reset ";
  const auto refused = [&](const std::string& arguments, const std::string& message) {
    const Ran ran = weft(arguments);
    EXPECT_EQ(ran.code, 2) << arguments << ran.err;
    EXPECT_NE(ran.err.find(message), std::string::npos) << ran.err;
    EXPECT_TRUE(nothing_written());
  };
  refused(clock + "--input tb.lane.in_ --output tb.lane.o_", "../a.vcd: expected a signal \"tb.lane.o_valid\"");
  refused(clock + "--input valid:tb.lane.in_valid,x=1 --output tb.lane.out_", "--input: expected valid, ready, data");
  refused(clock + "--input tb.lane.in_ --split 2 --output tb.lane.out_",
          "expected tb.lane.in_valid with a whole number of bits for each of 2 interfaces, got 3");
  refused(clock + "--output tb.lane.out_", "--input is required");
  refused(clock + "--input valid=tb.lane.in_valid[0],ready=tb.lane.in_ready[0] --output valid=tb.lane.out_valid",
          "--bytes: expected the bytes of a beat");
  refused(clock + "--input tb.lane.in_ --split 3 --output tb.lane.out_ --frequency 1GB",
          "--frequency: \"1GB\" is not a frequency");
  refused(clock + "--input tb.lane.in_ --split 3 --output tb.lane.out_ --at foo.bar",
          "--at: expected one of fabric.switch.reduction, ");
  refused(clock + "--input tb.lane.in_ --split 3 --output tb.lane.out_ --frequency 1kHz",
          "--frequency: expected the clock that the block will have, 1MHz to 100GHz, such as 1GHz: got 1kHz");
  refused(clock + "--input tb.line.in_ --output tb.lane.out_",
          "expected a signal \"tb.line.in_valid\"; did you mean \"tb.lane.in_valid\"");
  refused(replay + "--input tb.lane.in_ --split 3", "vcd replay: expected --vcd FILE");
  refused(replay + "--input tb.lane.in_ --split 3 --vcd x.vcd --set fabric.switch.reduction.latency=2",
          "fabric.switch.reduction.latency: expected");
}

}  // namespace
}  // namespace weft
