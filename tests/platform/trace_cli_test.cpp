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
  EXPECT_EQ(weft("trace check ../j.json").out, "1 rank, 1 nodes, no findings\n");
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
            "weft: warning: 1 of the file's 3 collectives are left out (1 ALL_REDUCE): a tensor-parallel group "
            "(model_parallel_NPU_group) is of one rank\n");
  EXPECT_EQ(json::parse(test::read_file(folder_ / "work/s.groups.json")),
            json::parse(R"({"1": [0, 1], "2": [2, 3], "3": [0, 2], "4": [1, 3]})"));
  EXPECT_EQ(weft("trace check s").out, "4 ranks, 20 nodes, no findings\n");
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
  fs::copy_file(work / "w.0.et", work / "p.json.part");
  for (const auto& [arguments, place] :
       std::vector<std::pair<std::string, std::string>>{{"w.0.et w.0.et", "w.0.et"},
                                                        {"w.0.et ../work/w.0.et", "../work/w.0.et"},
                                                        {"w.0.et link.json", "link.json"},
                                                        {"link.json w.0.et --format jsonizer", "w.0.et"},
                                                        {"w w --format et", "w.0.et"},
                                                        {"p.json.part p.json", "p.json"}}) {
    const Ran ran = weft("trace convert " + arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_TRUE(ran.err.starts_with("weft: " + place + ": expected another file than ")) << ran.err;
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
      {"no JSON", "trace convert ../bad.json x.et", {"bad.json: parse error at line 1, column 29"}},
      {"no ranks", "trace convert ../w.txt w", {"--ranks N"}},
      {"zero ranks", "trace convert ../w.txt w --ranks 0", {"--ranks"}},
      {"ranks of a trace", "trace convert ../bad.et w --ranks 2", {"--ranks: ", "text workload"}},
      {"unit", "trace convert ../w.txt w --ranks 1 --time-unit ms", {"--time-unit", "ns"}},
      {"JSON of a text workload", "trace convert ../w.txt w --ranks 1 --format json", {"--format: ", "text workload"}},
      {"a platform", "trace info ../platform.json", {"got a platform; weft run ", "platform.json runs it"}},
      {"a folder",
       "trace convert ../w.txt ../folder --ranks 1",
       {"folder.0.et: expected a file or none, got a folder"}},
      {"place", "trace convert ../w.txt no/w --ranks 1", {"expected a place that can be written", "no/w.0.et"}},
  };
  for (const BadInput& bad : cases) expect_refused(bad);
}

}  // namespace
}  // namespace weft
