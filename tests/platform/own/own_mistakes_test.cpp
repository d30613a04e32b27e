// SPDX-License-Identifier: Apache-2.0
// A user's mistakes in code: each is a plain line that names what is wrong. Runs a binary that has those of
// mistakes.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/cli.h"
#include "tests/support/files.h"

namespace weft {
namespace {

using nlohmann::json;
using test::Ran;

class OwnMistakes : public test::CliTest {
 protected:
  OwnMistakes() {
    write("kfac.json", R"({"name": "kfac", "accelerators": 4, "per_node": 1, "accelerator": "rtx-2080-ti",
      "nic": "connectx-7", "fabric": {"topology": "switch", "segment": "64KiB"},
      "workload": {"kind": "kfac", "algorithm": "faulty", "network": "nano-conv", "steps": 1}})");
  }

  /// One line on stderr, and neither a signal nor SystemC's own words.
  void expect_line(const Ran& ran, int code, const std::string& line) {
    EXPECT_EQ(ran.code, code) << ran.err;
    EXPECT_EQ(ran.err, "weft: " + line + "\n");
    EXPECT_EQ(ran.out, "");
  }
};

TEST_F(OwnMistakes, ARefusedRegistrationIsALineThatNamesItsRegistry) {
  for (const auto& [mistake, line] : {
           std::pair{"algorithm", "collective algorithm \"unmade\": expected a make, got none"},
           std::pair{"nic", "model of network interface \"unmade\": expected a make, got none"},
           std::pair{"congestion", "congestion control \"unmade\": expected a make, got none"},
           std::pair{"switch", "model of switch \"unmade\": expected a make, got none"},
           std::pair{"memory", "model of memory \"unmade\": expected a make, got none"},
           std::pair{"remote", "kind of remote memory \"unmade\": expected a make, got none"},
           std::pair{"schedule", "schedule \"unmade\": expected a make, got none"},
           std::pair{"compressor", "compressor \"unmade\": expected a plan, got none"},
           std::pair{"job", "kind of workload \"unmade\": expected a make, got none"},
           std::pair{"twice", "collective algorithm: expected a name that no other has, got \"ring\""},
           std::pair{"characters",
                     "collective algorithm: expected a name of letters, digits, - and _, got \"my ring\""},
           std::pair{"field", "collective algorithm: expected a name that no field of collectives has, got \"chunk\""},
           std::pair{"named", "collectives.my_ring.turn: expected one field of this name, got two"},
           std::pair{"part",
                     "collectives.my_ring: expected a field of another name than a platform has for parts, got "
                     "\"part\""},
           std::pair{"spaced",
                     "collectives.my_ring: expected names of fields of letters, digits, - and _, got \"my field\""},
           std::pair{"outside", "collectives.my_ring.pause: expected a default from 0ps to 1us, got 2us"},
           std::pair{"kind",
                     "workload of kind my-kind.kind: expected a field of another name than the workload's kind"},
       }) {
    SCOPED_TRACE(mistake);
    expect_line(run(std::string("MISTAKE=") + mistake + " " WEFT_BINARY " platforms"), 1, line);
  }
}

TEST_F(OwnMistakes, AMakerThatReturnsNullIsNamed) {
  const std::string null = "make returns what it makes: that of ";
  for (const auto& [setting, place] : {
           std::pair{"fabric.switch.implementation=nothing", "fabric.switch.implementation"},
           std::pair{"nic.implementation=nothing", "nic.implementation"},
           std::pair{"nic.congestion=nothing", "nic.congestion"},
           std::pair{"accelerator.hbm.detail=nothing", "accelerator.hbm.detail"},
           std::pair{"remote_memory.kind=nothing", "remote_memory.kind"},
           std::pair{"workload.kind=nothing", "workload.kind"},
       }) {
    SCOPED_TRACE(setting);
    const std::string workload = std::string(place) == "workload.kind" ? "--set 'workload={}' " : "";
    const Ran ran = weft("run ../small.json " + workload + "--set " + setting);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_TRUE(ran.err.starts_with(std::string("weft: --set: ") + place + ": expected one whose " + null)) << ran.err;
    EXPECT_TRUE(ran.err.ends_with("returned null\n")) << ran.err;
  }
  const Ran schedule = weft("run ../kfac.json --set workload.algorithm=nothing");
  EXPECT_EQ(schedule.code, 2);
  EXPECT_EQ(schedule.err, "weft: --set: workload.algorithm: expected one whose " + null + "nothing returned null\n");
}

TEST_F(OwnMistakes, WhatAScheduleAsksForIsChecked) {
  for (const auto& [fault, line] : {
           std::pair{"twice", "subgroups() 0: expected each of 4 ranks in one group at most, got rank 0 twice"},
           std::pair{"beyond", "subgroups() 0: expected each of 4 ranks in one group at most, got rank 4"},
           std::pair{"owner", "place(): expected an owner below 4 for tensor 5, got 4"},
           std::pair{"owners", "place(): expected an owner for each of 6 tensors, got 5"},
           std::pair{"buffer", "buffers(), moments: expected an owner below 4 for tensor 1, got 99"},
           std::pair{"layer", "forward(999): expected one of the network's 3 layers, from 0"},
           std::pair{"throws", "I quit"},
           std::pair{"within", "send_gradients(2): expected kAllRanks, since subgroups() gives none"},
           std::pair{"slot", "start_average(3): expected averagings() of at least 1, got 0"},
           std::pair{"root", "send(77): expected a Broadcast from one of 4 ranks, from 0"},
       }) {
    SCOPED_TRACE(fault);
    expect_line(weft(std::string("run ../kfac.json --set workload.faulty.fault=") + fault), 1,
                std::string("schedule faulty: ") + line);
    EXPECT_TRUE(nothing_written());
  }
}

TEST_F(OwnMistakes, WhatACompressorAnswersIsChecked) {
  const std::string rounds = "plan(): expected one round of what is gathered, got 0";
  for (const auto& [fault, line] : {
           std::pair{"rounds", rounds.c_str()},
           std::pair{"summed", "plan(): expected at least one round of what is summed, got 0"},
           std::pair{"after", "plan(): expected kernels that make the sum (after), got none"},
           std::pair{"hops",
                     "plan(): expected first, hop, last and block_bytes of what travels by hops, got not all of "
                     "them"},
           std::pair{"plan", "plan exploded"},
           std::pair{"throws", "codec exploded"},
           std::pair{"add", "sum exploded"},
           std::pair{"short", "compress(): expected 4096 bytes for 1024 elements, got 2048"},
           std::pair{"pairs", "a compressor has chosen position 1 behind 1: expected ascending ones"},
       }) {
    SCOPED_TRACE(fault);
    const std::string own = std::string("collectives.compression.faulty.fault=") + fault;
    expect_line(weft("collective ../small.json --op all_reduce --bytes 4KiB --data --compression faulty --set " + own),
                1, std::string("compressor faulty: ") + line);
  }
  const std::string kfac = "run ../kfac.json --set workload.algorithm=sgd --set workload.compression.method=faulty ";
  expect_line(weft(kfac + "--set workload.compression.faulty.fault=rounds"), 1, "compressor faulty: " + rounds);
  expect_line(weft(kfac + "--set workload.compression.faulty.fault=plan"), 1, "compressor faulty: plan exploded");
}

TEST_F(OwnMistakes, WhatAnOptimizerAnswersIsChecked) {
  const std::string piece = "update(), task 0, piece \"pack\": expected ";
  for (const auto& [fault, line] : {
           std::pair{"throws", std::string("optimizer exploded")},
           std::pair{"bytes", piece + "an exchange of at least 0 bytes, got -4"},
           std::pair{"holding", piece + "a holding below 1, got 99"},
           std::pair{"last", piece + "no exchange in a task's last piece, got all_to_all"},
           std::pair{"period", std::string("period(): expected at least 1 step, got 0")},
           std::pair{"state", std::string("kept(), moments: expected at least 0 bytes, got -8")},
       }) {
    SCOPED_TRACE(fault);
    expect_line(weft("run ../small.json --set 'workload={\"kind\": \"fsdp\", \"model\": \"nano\", \"optimizer\": "
                     "\"faulty\"}' --set workload.faulty.fault=" +
                     std::string(fault)),
                1, "optimizer faulty: " + line);
  }
}

TEST_F(OwnMistakes, AnExceptionNamesWhoseCodeThrewItAndWhen) {
  const Ran ran = weft("collective ../small.json --op all_gather --algorithm quitting --bytes 64KiB --no-warmup");
  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(ran.err.starts_with("weft: collective quitting, thread all_gather ")) << ran.err;
  EXPECT_TRUE(ran.err.ends_with(" us: I quit\n")) << ran.err;
}

TEST_F(OwnMistakes, AnAnswerOfACongestionControlThatMeansNothingNamesIt) {
  for (const auto& [name, answer] : {
           std::pair{"halted", "a rate() of at least 1bps, or none, got 0bps"},
           std::pair{"negative", "a window() of at least 0, got -1"},
       }) {
    const Ran ran = weft(std::string("run ../small.json --set nic.congestion=") + name);
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.err, std::string("weft: --set: nic.congestion: expected of ") + name + " " + answer + "\n");
  }
}

TEST_F(OwnMistakes, MessagesThatNobodyReceivesAreReported) {
  const json ran =
      weft_json("collective ../small.json --op all_gather --algorithm forgetful --bytes 64KiB --no-warmup");
  EXPECT_EQ(ran["warnings"],
            json::array({"collectives forgetful: 4 of 4 members never received 4 messages that others wrote to "
                         "them (Mesh::Member::received)"}));
}

TEST_F(OwnMistakes, ARemarkSaysWhatRunsInPlace) {
  EXPECT_EQ(weft_json("collective ../small.json --op all_gather --algorithm picky --bytes 64KiB")["remark"],
            "picky takes other ranks, so that ring runs in place of picky");
}

TEST_F(OwnMistakes, WhatAnAlgorithmHasNotNamesIt) {
  const Ran ran = weft("collective ../small.json --op all_to_all --algorithm forgetful");
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(ran.err.ends_with(" for an AllToAll, got forgetful\n")) << ran.err;
}

TEST_F(OwnMistakes, WrongElementsOfAKindAreALineAndAKey) {
  const std::string checking = "run ../small.json --set 'workload={\"kind\": \"checking\"}' ";
  const Ran ran = weft(checking + "--data");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.out.find("\nwrong elements                    7\n"), std::string::npos) << ran.out;
  EXPECT_EQ(json::parse(test::read_file(folder_ / "work" / "out" / "small" / "summary.json"))["wrong"], 7);
  const Ran without = weft(checking);
  EXPECT_EQ(without.code, 0) << without.err;
  EXPECT_EQ(without.out.find("wrong"), std::string::npos) << without.out;
}

TEST_F(OwnMistakes, AWorkloadWithoutAKindIsToldWhichThereAre) {
  const Ran ran = weft("run ../small.json --set 'workload={\"steps\": 1}'");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err,
            "weft: ../small.json: workload.kind: expected \"fsdp\", \"kfac\", \"transformer\", \"chakra\", \"flows\", "
            "\"graph-sampling\", \"edge-learning\", \"pipeline\", \"recommender\", "
            "\"jobs\", \"nothing\" or "
            "\"checking\", got nothing\n");
}

}  // namespace
}  // namespace weft
