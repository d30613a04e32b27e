// SPDX-License-Identifier: Apache-2.0
// weft trace. Runs the binary.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/cli.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::BadInput;
using test::CliTest;
using test::Ran;

constexpr const char* kText = "DATA\n1\nfc -1 1500 NONE 0 100 NONE 0 2000 ALLREDUCE 4096 5\n";

class TraceCli : public CliTest {
 protected:
  TraceCli() { write("w.txt", kText); }
};

TEST_F(TraceCli, ConvertsInfoAndCheck) {
  const Ran made = weft("trace convert ../w.txt w --ranks 4 --passes 2");
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(made.out, "wrote 4 files, w.0.et to w.3.et\n");

  const Ran table = weft("trace info w");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_NE(table.out.find("6 a rank"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("collective ALL_REDUCE"), std::string::npos) << table.out;
  const json info = json::parse(weft("trace info w --json").out);
  EXPECT_EQ(info["ranks"], 4);
  EXPECT_EQ(info["nodes"], 24);
  EXPECT_EQ(info["by_type"]["COMP_NODE"], 16);
  EXPECT_EQ(info["collectives"]["ALL_REDUCE"]["bytes"], 8 * 4096);
  EXPECT_EQ(info["compute_us"], 4 * 2 * 3.5);
  EXPECT_EQ(info["longest_path"]["nodes"], 6);
  EXPECT_EQ(json::parse(weft("trace info w.0.et --json").out)["ranks"], 1);

  const Ran clean = weft("trace check w");
  EXPECT_EQ(clean.code, 0);
  EXPECT_EQ(clean.out, "4 ranks, 24 nodes, no findings\n");

  // To JSON and back, a file and all ranks.
  EXPECT_EQ(weft("trace convert w j").out, "wrote 4 files, j.0.json to j.3.json\n");
  EXPECT_EQ(weft("trace convert j back").out, "wrote 4 files, back.0.et to back.3.et\n");
  EXPECT_EQ(test::read_file(folder_ / "work/back.3.et"), test::read_file(folder_ / "work/w.3.et"));
  EXPECT_EQ(weft("trace convert w.1.et one.json").out, "wrote one.json\n");
  EXPECT_EQ(weft("trace convert one.json one.et").out, "wrote one.et\n");
  EXPECT_EQ(test::read_file(folder_ / "work/one.et"), test::read_file(folder_ / "work/w.1.et"));
}

/// Weft's own JSON, Chakra's, and all of it in gzip are traces for every command.
TEST_F(TraceCli, ReadsOtherFormats) {
  write("j.json", "{\"version\": \"0.0.4\"}{\"id\": \"1\", \"type\": \"COMP_NODE\", \"durationMicros\": \"5\"}");
  EXPECT_EQ(weft("trace check ../j.json").out, "1 rank, 1 node, no findings\n");
  EXPECT_EQ(json::parse(weft("trace info ../j.json --json").out)["compute_us"], 5);
  EXPECT_EQ(weft("trace convert ../j.json j.et.gz").out, "wrote j.et.gz\n");
  EXPECT_TRUE(test::read_file(folder_ / "work/j.et.gz").starts_with("\x1f\x8b"));
  EXPECT_EQ(json::parse(weft("trace info j.et.gz --json").out)["compute_us"], 5);
  EXPECT_EQ(weft("trace convert j.et.gz k.json --format jsonizer").out, "wrote k.json\n");
  EXPECT_EQ(test::read_file(folder_ / "work/k.json"),
            "{\"version\":\"0.0.4\"}\n{\"id\":\"1\",\"type\":\"COMP_NODE\",\"durationMicros\":\"5\"}\n");
  EXPECT_EQ(weft("trace convert k.json k.et").out, "wrote k.et\n");
  EXPECT_EQ(weft("trace convert j.et.gz j.et").out, "wrote j.et\n");
  EXPECT_EQ(test::read_file(folder_ / "work/k.et"), test::read_file(folder_ / "work/j.et"));
}

/// The ranks of a text workload of SimAI are its all_gpus, and what it loses is said.
TEST_F(TraceCli, ConvertsWhatSimAiReads) {
  write(
      "s.txt",
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 2 pp: 1 vpp: 1 ga: 1 all_gpus: 4 checkpoints: 0 "
      "checkpoint_initiates: 0 pp_comm: 0\n1\n"
      "experts -1 700 ALLTOALL_EP 8388608 700 ALLREDUCE 8388608 1 ALLREDUCE_DP_EP 67108864 100\n");
  const Ran ran = weft("trace convert ../s.txt s");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "wrote 5 files, s.0.et to s.groups.json\n");
  EXPECT_EQ(ran.err,
            "weft: warning: the time of the weights' update in the last column, 100 ns a rank and step, is left out: "
            "ASTRA-sim 1.0 has each collective of a layer end so much later, the usual converter leaves it out\n"
            "weft: warning: 1 of the file's 3 collectives is left out (1 ALL_REDUCE): a tensor-parallel group "
            "(model_parallel_NPU_group) is of one rank\n");
  EXPECT_EQ(json::parse(test::read_file(folder_ / "work/s.groups.json")),
            json::parse(R"({"1": [0, 1], "2": [2, 3], "3": [0, 2], "4": [1, 3]})"));
  EXPECT_EQ(weft("trace check s").out, "4 ranks, 20 nodes, no findings\n");
}

TEST_F(TraceCli, ATextWorkloadsRanksHaveALimit) {
  write("s.txt",
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 100000000 "
        "checkpoints: 0 checkpoint_initiates: 0\n1\ne -1 200000 ALLREDUCE 16777216 200000 NONE 0 1 NONE 0 100\n");
  expect_refused(
      {"all_gpus",
       "trace convert ../s.txt s",
       {"../s.txt: all_gpus: expected at most 1000000 ranks, a file each, got 100000000: --ranks N writes so "
        "many"}});
  EXPECT_EQ(weft("trace convert ../s.txt s --ranks 4").code, 0);
}

/// Where readers of a prefix look for something else, no trace is put.
TEST_F(TraceCli, ATraceIsNotPutWhereGroupsAre) {
  ASSERT_EQ(weft("trace convert ../w.txt w --ranks 2").code, 0);
  for (const char* const to : {"w.groups.json", "w.groups.json.gz"}) {
    const Ran ran = weft("trace convert w.0.et " + std::string(to));
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.err, "weft: TO: expected a name that no reader takes for the groups of the trace \"w\", got \"" +
                           std::string(to) + "\"\n");
  }
  EXPECT_EQ(weft("trace info w").code, 0);
}

/// A run by operations needs them, and the check for it finds nodes without.
TEST_F(TraceCli, CheckOfARoofline) {
  ASSERT_EQ(weft("trace convert ../w.txt w --ranks 2").code, 0);
  EXPECT_EQ(weft("trace check w").code, 0);
  const Ran ran = weft("trace check w --roofline");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.out.find("4 compute nodes have no num_ops, by which a roofline counts their time; without a roofline "
                         "durations count (analytical.end.roofline=false; roofline-enabled 0 of a system file)"),
            std::string::npos)
      << ran.out;
}

TEST_F(TraceCli, TheDialectTellsWhatAnAllGathersSizeIs) {
  write("g.txt", "MODEL\n1\nfc -1 1500 ALLGATHER 4096 100 NONE 0 2000 NONE 0 5\n");
  ASSERT_EQ(weft("trace convert ../g.txt g --ranks 4").code, 0);
  EXPECT_EQ(json::parse(weft("trace info g.0.et --json").out)["collectives"]["ALL_GATHER"]["bytes"], 4096);
  ASSERT_EQ(weft("trace convert ../g.txt g --ranks 4 --dialect simai").code, 0);
  EXPECT_EQ(json::parse(weft("trace info g.0.et --json").out)["collectives"]["ALL_GATHER"]["bytes"], 1024);
}

/// By whatever name it goes, what is read is not written; and what fails leaves nothing.
TEST_F(TraceCli, ConvertKeepsItsInput) {
  ASSERT_EQ(weft("trace convert ../w.txt w --ranks 3").code, 0);
  const fs::path work = folder_ / "work";
  const std::string before = test::read_file(work / "w.0.et");
  fs::create_symlink("w.0.et", work / "link.json");
  for (const char* const command :
       {"convert w.0.et w.0.et", "convert w.0.et ../work/w.0.et", "convert w.0.et link.json",
        "convert link.json w.0.et --format jsonizer", "convert w w --format et", "repair w.0.et w.0.et", "repair w w",
        "repair w ../work/w", "repair link.json w.0.et"}) {
    const Ran ran = weft("trace " + std::string(command));
    EXPECT_EQ(ran.code, 2) << command;
    EXPECT_TRUE(ran.err.starts_with("weft: TO: expected another file than ")) << ran.err;
    EXPECT_NE(ran.err.find(", which is read, got \""), std::string::npos) << ran.err;
  }
  EXPECT_EQ(test::read_file(work / "w.0.et"), before);
  // The last rank is cut short.
  fs::resize_file(work / "w.2.et", fs::file_size(work / "w.2.et") - 3);
  const Ran cut = weft("trace convert w out");
  EXPECT_EQ(cut.code, 2);
  EXPECT_TRUE(cut.err.starts_with("weft: w.2.et: byte ")) << cut.err;
  for (const fs::directory_entry& entry : fs::directory_iterator(work)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("out")) << entry.path();
  }
}

/// Files of one prefix are one trace for who reads them, so they are of one trace.
TEST_F(TraceCli, APrefixHasOneTrace) {
  ASSERT_EQ(weft("trace convert ../w.txt four --ranks 4").code, 0);
  ASSERT_EQ(weft("trace convert ../w.txt two --ranks 2").code, 0);
  const std::string helps = ", which would be taken for one of this trace: remove it, or take another prefix\n";
  const std::string said = "weft: TO: expected no files of another trace with the prefix \"four\", got \"four.";
  for (const char* const command :
       {"convert two four --format et", "repair two four", "convert ../w.txt four --ranks 2"}) {
    const Ran ran = weft("trace " + std::string(command));
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.err, said + "2.et\"" + helps);
  }
  // Nor in another format, of as many ranks.
  EXPECT_EQ(weft("trace convert four four --format json").err, said + "0.et\"" + helps);
  // As many in one format replace each other.
  EXPECT_EQ(weft("trace repair four mended").code, 0);
  EXPECT_EQ(weft("trace convert four mended --format et").code, 0);
  // Where somebody has put two traces together all the same, none is read.
  fs::copy_file(folder_ / "work/four.1.et", folder_ / "work/four.1.json");
  for (const char* const command : {"info", "check"}) {
    const Ran ran = weft("trace " + std::string(command) + " four");
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.err,
              "weft: four: expected a file for each rank, got two of rank 1, four.1.et and four.1.json: traces of two "
              "formats need prefixes of their own\n");
  }
}

/// A trace goes with its groups, which may be in gzip.
TEST_F(TraceCli, GroupsAreOfTheTrace) {
  write("g.txt", "HYBRID_DATA_MODEL model_parallel_NPU_group: 2\n1\nfc -1 1 ALLREDUCE 64 1 NONE 0 1 ALLREDUCE 64 1\n");
  ASSERT_EQ(weft("trace convert ../g.txt g --ranks 4").code, 0);
  EXPECT_EQ(weft("trace convert g j").out, "wrote 5 files, j.0.json to j.groups.json\n");
  EXPECT_EQ(json::parse(test::read_file(folder_ / "work/j.groups.json")),
            json::parse(test::read_file(folder_ / "work/g.groups.json")));
  EXPECT_EQ(weft("trace check j").code, 0);
  EXPECT_EQ(weft("trace repair j r").code, 0);
  EXPECT_EQ(weft("trace check r").code, 0);

  // Groups of an older trace would be this one's.
  EXPECT_EQ(weft("trace convert ../w.txt g --ranks 4").err,
            "weft: TO: expected no files of another trace with the prefix \"g\", got \"g.groups.json\", which would be "
            "taken for one of this trace: remove it, or take another prefix\n");
  ASSERT_EQ(std::system(("gzip " + (folder_ / "work/g.groups.json").string()).c_str()), 0);
  EXPECT_EQ(weft("trace check g").code, 0);
  EXPECT_EQ(weft("trace convert g k").out, "wrote 5 files, k.0.json to k.groups.json\n");
  EXPECT_EQ(test::read_file(folder_ / "work/k.groups.json"), test::read_file(folder_ / "work/j.groups.json"));
  EXPECT_EQ(weft("trace repair g r").code, 0);
  EXPECT_EQ(weft("trace repair j m --groups m.groups.json").code, 2) << "there is none";
}

/// Nor does what a run writes take their place.
TEST_F(TraceCli, ARunKeepsTheGroups) {
  write("g.txt", "HYBRID_DATA_MODEL model_parallel_NPU_group: 2\n1\nfc -1 1 ALLREDUCE 64 1 NONE 0 1 ALLREDUCE 64 1\n");
  ASSERT_EQ(weft("trace convert ../g.txt g --ranks 8").code, 0);
  for (const char* const place : {"g.groups.json", "g.7.et"}) {
    const Ran ran = weft("run ideal-ring-8 --traces g --vcd-scope 'network.*' --vcd " + std::string(place));
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find("expected another file than "), std::string::npos) << ran.err;
  }
}

/// What keeps a machine of two ranks from running a trace of four.
TEST_F(TraceCli, ChecksForAMachine) {
  ASSERT_EQ(weft("trace convert ../w.txt w --ranks 4").code, 0);
  const Ran ran = weft("trace check w --ranks 2");
  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(ran.out.starts_with("2 files are of ranks that the machine does not have; ")) << ran.out;
  const Ran repaired = weft("trace repair w r --ranks 2");
  EXPECT_EQ(repaired.code, 2);
  EXPECT_EQ(repaired.err,
            "weft: w.3.et: is the trace of rank 3: expected none beyond the 2 ranks that there are to be\n");
}

/// The number of ranks says what is meant, and the file what is there.
TEST_F(TraceCli, SaysWhatIsNoTextWorkload) {
  write("empty.txt", "");
  write("text.txt", "some words\nof a letter\n");
  ASSERT_EQ(weft("trace convert ../w.txt w --ranks 2").code, 0);
  const auto refused = [this](const std::string& from) {
    const Ran ran = weft("trace convert " + from + " v --ranks 4");
    EXPECT_EQ(ran.code, 2);
    return ran.err;
  };
  EXPECT_EQ(refused("../empty.txt"), "weft: ../empty.txt: expected a parallelism, got the end of the file\n");
  EXPECT_TRUE(refused("../text.txt").starts_with("weft: ../text.txt:1: expected a parallelism, one of MICRO, DATA, "));
  EXPECT_EQ(refused("w.0.et"), "weft: --ranks: expected only with a text workload; w.0.et is a Chakra trace\n");
  EXPECT_EQ(refused("w"), "weft: --ranks: expected only with a text workload; w is the prefix of a trace\n");
  EXPECT_TRUE(refused("none").ends_with("there is neither\n"));
}

/// What people copy from other programs' command lines.
TEST_F(TraceCli, SaysWhichPrefixesAFolderHas) {
  ASSERT_EQ(weft("trace convert ../w.txt e/w --ranks 2").code, 0);
  fs::create_directory(folder_ / "work/none");
  const auto refused = [this](const std::string& trace) {
    const Ran ran = weft("trace check " + trace);
    EXPECT_EQ(ran.code, 2);
    return ran.err;
  };
  const std::string expected = ": is a folder: expected a file, or the prefix of a trace's files";
  EXPECT_EQ(refused("e"), "weft: e" + expected + ", such as e/w\n");
  EXPECT_EQ(refused("e/"), "weft: e/" + expected + ", such as e/w\n");
  EXPECT_EQ(refused("none"), "weft: none" + expected + ", of which the folder has none (PREFIX.0.et, ...)\n");
  EXPECT_EQ(refused("e/w."),
            "weft: e/w.: expected a file, or a prefix with files w..0.et, w..1.et, ...; the prefix is "
            "without the dot, e/w\n");
  for (const char* const more : {"a", "b", "c"}) {
    ASSERT_EQ(weft(std::string("trace convert ../w.txt e/") + more + " --ranks 1").code, 0);
  }
  EXPECT_EQ(refused("e"), "weft: e" + expected + ", such as e/a, e/b, e/c, and 1 more\n");
}

/// A user sees what the file has beyond what is read.
TEST_F(TraceCli, LinesBehindTheLastLayerAreARemark) {
  write("more.txt", "DATA\n1\nfc -1 1500 NONE 0 0 NONE 0 2000 ALLREDUCE 4096 0\nfc -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n");
  const Ran ran = weft("trace convert ../more.txt m --ranks 1");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.err, "weft: warning: 1 line behind the 1 layer that line 2 counts is not read\n");
}

/// Data on standard output is alone there.
TEST_F(TraceCli, ConvertsToStandardOutput) {
  ASSERT_EQ(weft("trace convert ../w.txt w --ranks 1").code, 0);
  ASSERT_EQ(weft("trace convert w.0.et one.json").code, 0);
  for (const char* const to : {"/dev/stdout", "-"}) {
    const Ran ran = weft(std::string("trace convert w.0.et ") + to + " --format json");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out, test::read_file(folder_ / "work/one.json"));
    EXPECT_EQ(ran.err, "wrote /dev/stdout\n");
  }
  EXPECT_FALSE(fs::exists(folder_ / "work/-"));
}

/// A file beside those of other ranks is one of them.
TEST_F(TraceCli, ASingleFileBreaksNoPrefix) {
  ASSERT_EQ(weft("trace convert ../w.txt w --ranks 2").code, 0);
  for (const char* const command : {"convert w.0.et w.1.json", "repair w.0.et w.0.et.gz"}) {
    const Ran ran = weft("trace " + std::string(command));
    EXPECT_EQ(ran.code, 2);
    EXPECT_TRUE(ran.err.starts_with("weft: TO: expected a name that no reader takes for rank ")) << ran.err;
  }
  EXPECT_EQ(weft("trace check w").code, 0);
  EXPECT_EQ(weft("trace convert w.0.et new/w.0.json").code, 0) << "in a folder of its own";
  EXPECT_EQ(weft("trace convert w.0.et w.1.et").code, 0) << "in its place";

  const Ran alone = weft("trace check w.0.et --ranks 4");
  EXPECT_EQ(alone.code, 0);
  EXPECT_EQ(alone.err,
            "weft: warning: w.0.et is taken for the trace of all ranks, and w.1.et beside it is not read: with the "
            "prefix w in its place each rank has its own\n");
  const json ran = json::parse(weft("run ideal-ring-8 --traces w.0.et --json --timeline-ranks 0").out);
  EXPECT_NE(ran["warnings"].dump().find("and w.1.et beside it is not read"), std::string::npos);
}

/// Of 8 ranks, whose first two have an AllReduce of group 1.
class TraceCliOfAGroup : public TraceCli {
 protected:
  TraceCliOfAGroup() {
    write("sum.json", R"({"metadata": {"version": "0.0.4"}, "nodes": [{"id": 1, "name": "sum", "type": "COMM_COLL_NODE",
        "attr": [{"name": "comm_type", "int64_val": 0}, {"name": "comm_size", "int64_val": 64},
                 {"name": "pg_name", "string_val": "1"}]}]})");
    write("work.json", R"({"metadata": {"version": "0.0.4"}, "nodes": [
        {"id": 1, "name": "work", "type": "COMP_NODE", "duration_micros": 5}]})");
    for (int r = 0; r < 8; ++r) {
      const std::string from = r < 2 ? "../sum.json" : "../work.json";
      EXPECT_EQ(weft("trace convert " + from + " w." + std::to_string(r) + ".et").code, 0);
    }
  }
};

/// The file of the highest rank is lost, and the groups say so.
TEST_F(TraceCliOfAGroup, ARankThatGroupsListHasNoFile) {
  write("work/w.groups.json", R"({"1": [0, 8]})");
  const std::string refused =
      "weft: w.groups.json: 1.1: expected \"all\", or a list of different ranks below 8, got 8; rank 8 has no file, "
      "and "
      "--ranks 9 says how many ranks there are to be\n";
  EXPECT_EQ(weft("trace check w").err, refused);
  EXPECT_EQ(weft("trace repair w m").err, refused);
  EXPECT_NE(weft("trace check w --ranks 9").out.find("rank 8 has no file"), std::string::npos);
  write("work/w.groups.json", R"({"0": [0, 8]})");
  EXPECT_EQ(weft("trace check w").err.find("--ranks"), std::string::npos);
}

/// What is wrong with a file that lies beside the traces is told of that file.
TEST_F(TraceCliOfAGroup, FaultsOfGroupsAreTheFiles) {
  write("work/w.groups.json", R"({"1": [0, 9]})");
  EXPECT_EQ(weft("run ideal-ring-8 --traces w").err,
            "weft: w.groups.json: 1.1: expected \"all\", or a list of different ranks below 8, got 9\n");
  write("good.json", R"({"1": [0, 1]})");
  EXPECT_EQ(weft("run ideal-ring-8 --traces w --groups ../good.json --timeline-ranks 0").code, 0);
  EXPECT_TRUE(weft("run ideal-ring-8 --traces w --set workload.groups.1=[11]")
                  .err.starts_with("weft: --set: workload.groups.1.0: "));
  fs::copy_file(folder_ / "work/w.0.et", folder_ / "work/w.8.et");
  EXPECT_EQ(weft("run ideal-ring-8 --traces w --groups ../good.json").err,
            "weft: w: expected traces of 8 ranks, as many as there are accelerators, but there is w.8.et\n");
}

/// A name is a group of its rank.
TEST_F(TraceCli, InfoCountsGroupsByWhoIsInThem) {
  for (int rank = 0; rank < 4; ++rank) {
    const std::string list = rank < 2 ? "[0, 1]" : "[2, 3]";
    write("work/g." + std::to_string(rank) + ".json",
          R"({"metadata": {}, "nodes": [{"id": 1, "name": "## process_group:init ##", "type": "METADATA_NODE",
          "inputs": {"values": "[{\"pg_name\": \"1\", \"ranks\": )" +
              list + R"(}]"}}, {"id": 2, "name": "sum", "type": "COMM_COLL_NODE", "attr":
          [{"name": "comm_type", "int64_val": 0}, {"name": "comm_size", "int64_val": 8},
           {"name": "pg_name", "string_val": "1"}]}]})");
  }
  EXPECT_EQ(json::parse(weft("trace info g --json").out)["groups"], (json{{"1", 2}, {"1 of rank 2", 2}}));
}

/// The advice of each step leads to the next.
TEST_F(TraceCli, AdviceAboutAMissingRankHelps) {
  ASSERT_EQ(weft("trace convert ../w.txt w --ranks 3").code, 0);
  EXPECT_NE(weft("trace check w --ranks 4").out.find("as weft trace repair --ranks 4 writes"), std::string::npos);
  EXPECT_TRUE(
      weft("trace repair w same")
          .out.starts_with("nothing to mend in the 3 ranks that there are; --ranks N, if there are to be more\n"));
  EXPECT_EQ(weft("trace repair w whole --ranks 4").code, 0);
  EXPECT_EQ(weft("trace check whole --ranks 4").code, 0);
}

/// What Chakra's feeder has behind the graph has no place.
TEST_F(TraceCli, RemarksWhatAFeedersFileHasBehindItsNodes) {
  write("feeder.json", R"({"kept": 1, "workload_graph": [{"Id": 1, "NodeType": 4, "runtime": 5}], "lost": {"a": 2}})");
  const Ran ran = weft("trace convert ../feeder.json f.et");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.err, "weft: warning: ../feeder.json: lost is behind the nodes, and left out\n");
  EXPECT_NE(weft("trace check ../feeder.json").out.find("remark: 1 member of the file's JSON is behind its nodes"),
            std::string::npos);
}

TEST_F(TraceCli, NamesAMisspeltParallelism) {
  write("slip.txt", "HYBRID_TRANFORMER model_parallel_NPU_group: 2\n1\nfc -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 64 1\n");
  const Ran ran = weft("trace convert ../slip.txt s --ranks 4");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("slip.txt:1: expected a parallelism, one of "), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("got HYBRID_TRANFORMER; did you mean \"HYBRID_TRANSFORMER\""), std::string::npos) << ran.err;
}

TEST_F(TraceCli, RemarksPartsThatAreRounded) {
  write("g.txt",
        "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus: 4\n1\nfc -1 1 ALLGATHER 1023 1 NONE 0 1 NONE 0 1\n");
  EXPECT_NE(
      weft("trace convert ../g.txt g")
          .err.find("the size of 1 ALLGATHER is no multiple of the ranks of its group: each rank's part is rounded up"),
      std::string::npos);
}

TEST_F(TraceCli, TheUsualConvertersUnit) {
  ASSERT_EQ(weft("trace convert ../w.txt w --ranks 1 --time-unit us").code, 0);
  EXPECT_EQ(json::parse(weft("trace info w --json").out)["compute_us"], 3500);
}

TEST_F(TraceCli, FindingsAreExitOne) {
  write("w.json", R"({"metadata": {}, "nodes": [{"id": 3, "name": "x", "type": "COMP_NODE", "data_deps": [4]},
                                                 {"id": 5, "name": "y", "type": "COMM_SEND_NODE"}]})");
  ASSERT_EQ(weft("trace convert ../w.json w.et").code, 0);
  const Ran ran = weft("trace check w.et");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.out.find("w.et: node 3 'x': depends on node 4, which is not in the file"), std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("1 rank, 2 nodes, 3 findings"), std::string::npos) << ran.out;
  const Ran as_json = weft("trace check w.et --json");
  EXPECT_EQ(as_json.code, 1);
  const json result = json::parse(as_json.out);
  EXPECT_EQ(result["found"], 3);
  ASSERT_EQ(result["findings"].size(), 3U);
  EXPECT_EQ(result["findings"][0]["node"], 5);
  EXPECT_EQ(result["findings"][0]["name"], "y");
}

TEST_F(TraceCli, RefusesBadInput) {
  write("bad.et", "garbage");
  write("bad.json", R"({"metadata": {}, "nodes": [ )");
  write("platform.json", R"({"accelerators": 2})");
  fs::create_directories(folder_ / "folder.0.et");
  const std::vector<BadInput> cases = {
      {"no command", "trace", {"subcommand"}},
      {"no file", "trace info none", {"none: ", "a prefix with files none.0.et"}},
      {"no trace", "trace info ../bad.et", {"bad.et: expected a Chakra trace, got text that begins with \"garbage\""}},
      {"no trace to check", "trace check ../bad.et", {"bad.et: expected a Chakra trace, got text"}},
      {"no JSON", "trace convert ../bad.json x.et", {"bad.json: line 1, column 29"}},
      {"no ranks", "trace convert ../w.txt w", {"--ranks N"}},
      {"zero ranks", "trace convert ../w.txt w --ranks 0", {"--ranks"}},
      {"ranks of no workload",
       "trace convert ../bad.et w --ranks 2",
       {"../bad.et:1: expected a parallelism", "garbage"}},
      {"unit", "trace convert ../w.txt w --ranks 1 --time-unit ms", {"--time-unit", "ns"}},
      {"JSON of a text workload", "trace convert ../w.txt w --ranks 1 --format json", {"--format: ", "text workload"}},
      {"a platform", "trace info ../platform.json", {"got a platform; weft run ", "platform.json runs it"}},
      {"a folder",
       "trace convert ../w.txt ../folder --ranks 1",
       {"TO: expected a folder that can be written", "folder.0.et"}},
      {"a folder in place of a file", "trace convert ../bad.et ..", {"TO: expected a file that can be written"}},
      {"a file as a folder", "trace convert ../w.txt ../bad.et/w --ranks 1", {"TO: expected a folder that can be"}},
  };
  for (const BadInput& bad : cases) expect_refused(bad);
}

}  // namespace
}  // namespace weft
