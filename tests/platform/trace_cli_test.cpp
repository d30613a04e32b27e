// SPDX-License-Identifier: Apache-2.0
// weft trace. Runs the binary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/cli.h"

namespace weft {
namespace {

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
  write("bad.json", "{");
  const std::vector<BadInput> cases = {
      {"no command", "trace", {"subcommand"}},
      {"no file", "trace info none", {"none: ", "a prefix with files none.0.et"}},
      {"no trace", "trace info ../bad.et", {"bad.et: byte 0: ", "103 bytes", "truncated"}},
      {"no trace to check", "trace check ../bad.et", {"bad.et: byte 0: "}},
      {"no JSON", "trace convert ../bad.json x.et", {"bad.json: parse error at line 1"}},
      {"no ranks", "trace convert ../w.txt w", {"--ranks N"}},
      {"zero ranks", "trace convert ../w.txt w --ranks 0", {"--ranks"}},
      {"ranks of a trace", "trace convert ../bad.et w --ranks 2", {"--ranks: ", "text workload"}},
      {"unit", "trace convert ../w.txt w --ranks 1 --time-unit ms", {"--time-unit", "ns"}},
      {"place", "trace convert ../w.txt no/w --ranks 1", {"expected a place that can be written", "no/w.0.et"}},
  };
  for (const BadInput& bad : cases) expect_refused(bad);
}

}  // namespace
}  // namespace weft
