// SPDX-License-Identifier: Apache-2.0
// Groups files: where a run finds them, which of several counts, and what is none. Runs the binary.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/import_cli.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::ImportCli;
using test::Ran;
using test::trace;

/// Sums of group "1" alone, in traces/w beside the platforms: of two neighbours or of all ranks.
class GroupsCli : public ImportCli {
 protected:
  GroupsCli() {
    json sum = trace();
    sum["nodes"][1]["attr"].push_back({{"name", "pg_name"}, {"string_val", "1"}});
    fs::create_directories(folder_ / "traces");
    for (int rank = 0; rank < 8; ++rank) {
      json each = sum;
      if (rank > 1) each["nodes"].erase(1);
      write("t.json", each.dump());
      EXPECT_EQ(weft("trace convert ../t.json ../traces/w." + std::to_string(rank) + ".et").code, 0);
    }
    for (const bool is_analytical : {false, true}) {
      json platform = {{"name", "p"}, {"workload", {{"kind", "chakra"}, {"traces", "traces/w"}}}};
      if (is_analytical) {
        platform["network"] = "analytical";
        platform["analytical"] = {
            {"dimensions", {{{"block", "Ring"}, {"size", 8}, {"bandwidth_GiBps", 50}, {"latency_ns", 500}}}}};
      }
      write(is_analytical ? "arithmetic.json" : "machine.json", platform.dump());
    }
    write("traces/pair.json", R"({"1": [0, 1]})");
    write("traces/none.json", R"({"2": [0, 1]})");
  }
  void put_beside(const std::string& groups) { write("traces/w.groups.json", groups); }
  Ran run(const std::string& arguments) { return weft("run ../" + arguments + " --timeline-ranks 0"); }
};

constexpr const char* kUnknown = "is of group \"1\", which neither the metadata of the trace nor a groups file names";

TEST_F(GroupsCli, APlatformTakesTheFileBesideItsTraces) {
  for (const std::string platform : {"machine.json", "arithmetic.json"}) {
    fs::remove(folder_ / "traces/w.groups.json");
    const Ran without = run(platform);
    EXPECT_EQ(without.code, 2);
    EXPECT_NE(without.err.find(kUnknown), std::string::npos) << without.err;
    EXPECT_NE(without.err.find("PREFIX.groups.json, or --groups"), std::string::npos) << without.err;
    put_beside(R"({"1": [0, 1]})");
    const Ran with = run(platform);
    EXPECT_EQ(with.code, 0) << with.err;
    // What the platform has itself wins, a file or lists, and it alone.
    for (const char* const other : {R"('workload.groups={"2":[0,1]}')", "workload.groups=../traces/none.json"}) {
      const Ran ran = run(platform + " --set " + other);
      EXPECT_EQ(ran.code, 2) << other;
      EXPECT_NE(ran.err.find(kUnknown), std::string::npos) << ran.err;
    }
    put_beside(R"({"1": [0, 8]})");
    EXPECT_EQ(run(platform).err,
              "weft: ../traces/w.groups.json: 1.1: expected \"all\", or a list of different ranks below 8, got 8\n");
    EXPECT_EQ(run(platform + " --set workload.groups=../traces/pair.json").code, 0);
  }
}

/// Relative to the platform, as traces are; on the command line to where the command runs.
TEST_F(GroupsCli, APlatformNamesAFile) {
  for (const std::string platform : {"machine.json", "arithmetic.json"}) {
    json named = json::parse(test::read_file(folder_ / platform));
    named["workload"]["groups"] = "traces/pair.json";
    write(platform, named.dump());
    ASSERT_EQ(run(platform).code, 0);
    EXPECT_EQ(weft("run out/p/config.json --out again --timeline-ranks 0").code, 0) << "what a run wrote runs again";
    EXPECT_EQ(run(platform + " --set workload.groups=traces/pair.json").code, 0);
    // One group in place of the file's.
    EXPECT_EQ(run(platform + " --set workload.groups.1=[0,9]").err,
              "weft: --set: workload.groups.1.1: expected \"all\", or a list of different ranks below 8, got 9\n");
    EXPECT_EQ(run(platform + " --set workload.groups.2=[0,1]").code, 0);
    named["workload"]["groups"] = "traces/nothere.json";
    write("bad.json", named.dump());
    EXPECT_EQ(run("bad.json").err,
              "weft: ../bad.json: workload.groups: expected lists of ranks by group, such as {\"1\": [0, 1]}, or the "
              "name of a file with them, got \"traces/nothere.json\", which is no file\n");
    EXPECT_EQ(run("bad.json --set 'workload.groups={\"7\":3}'").err,
              "weft: --set: workload.groups.7: expected \"all\", or a list of different ranks below 8, got 3\n");
    named["workload"]["groups"] = {0, 1};
    write("bad.json", named.dump());
    EXPECT_NE(run("bad.json").err.find("bad.json: workload.groups: expected lists of ranks by group, "),
              std::string::npos);
  }
}

TEST_F(GroupsCli, AnOptionNamesAFile) {
  for (const std::string platform : {"machine.json", "arithmetic.json"}) {
    put_beside(R"({"2": [0, 1]})");
    EXPECT_EQ(run(platform).code, 2);
    EXPECT_EQ(run(platform + " --groups ../traces/pair.json").code, 0);
    EXPECT_EQ(weft("run out/p/config.json --out again --timeline-ranks 0").code, 0);
    EXPECT_EQ(run(platform + " --groups ../traces/pair.json --set workload.groups.1=[3]").code, 2)
        << "--set comes last";
    EXPECT_EQ(run(platform + " --traces ../traces/w --groups ../traces/pair.json").code, 0);
    put_beside(R"({"1": [0, 8]})");
    EXPECT_EQ(run(platform + " --groups ../traces/w.groups.json").err,
              "weft: ../traces/w.groups.json: 1.1: expected \"all\", or a list of different ranks below 8, got 8\n");
  }
  const std::string refused =
      "weft: --groups: expected --traces beside it, or a platform whose workload has traces, of kind chakra\n";
  EXPECT_EQ(run("small.json --groups ../traces/pair.json").err, refused);
  EXPECT_EQ(weft("run ideal-ring-8 --groups ../traces/pair.json").err, refused);
  EXPECT_NE(run("machine.json --traces ../traces/pair.json")
                .err.find("expected a Chakra trace, got a file of communicator groups; name it with --groups beside "
                          "the traces, or as workload.groups of a platform"),
            std::string::npos);
}

/// Groups that no node names stop nothing, but a file without any is another file.
TEST_F(GroupsCli, WhatIsNoGroupsFileIsRefused) {
  put_beside(R"({"1": [0, 1]})");
  write("other.json", R"({"batch": 32, "rows": []})");
  write("other.yml", "batch: 32\n");
  for (const auto& [file, message] :
       {std::pair("system.json", "a system file of ASTRA-sim; weft import astra-sim --network "),
        {"small.json", "a platform; weft run "},
        {"traces/w.0.et", "a Chakra trace; weft trace info "},
        {"other.json", "JSON with the members batch, rows"},
        {"other.yml", ""},
        {"network.yml", "a network file of ASTRA-sim; "}}) {
    for (const std::string command :
         {"run ../machine.json --groups ", "run ../arithmetic.json --traces ../traces/w --groups ",
          "import astra-sim --network ../network.yml --system ../system.json --workload ../traces/w --out i.json "
          "--groups ",
          "trace check ../traces/w --groups "}) {
      const Ran ran = weft(command + "../" + file);
      EXPECT_EQ(ran.code, 2) << command << file;
      EXPECT_TRUE(ran.err.starts_with(std::string("weft: ../") + file + ": ")) << ran.err;
      EXPECT_NE(ran.err.find(message), std::string::npos) << ran.err;
      EXPECT_FALSE(fs::exists(folder_ / "work/out") || fs::exists(folder_ / "work/i.json")) << command << file;
    }
  }
}

}  // namespace
}  // namespace weft
