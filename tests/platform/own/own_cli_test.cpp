// SPDX-License-Identifier: Apache-2.0
// A user's own algorithm and kind of workload on the command line: their fields are read, checked, printed and
// documented like Weft's own. Runs a binary that has those of docs/example.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/support/cli.h"
#include "tests/support/files.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Ran;

class OwnCli : public test::CliTest {
 protected:
  json read(const std::string& file) { return json::parse(test::read_file(folder_ / "work" / file)); }
  [[nodiscard]] bool is_there(const std::string& file) const { return fs::exists(folder_ / "work" / file); }
};

constexpr const char* kAllgather =
    "collective ../small.json --op all_gather --bytes 64KiB --no-warmup"
    " ";
constexpr const char* kMine = "--algorithm my-allgather ";

json idle(const char* path, const char* because) {
  return json::array({{{"field", path}, {"because", because}}});
}

TEST_F(OwnCli, AnAlgorithmIsChosenByName) {
  const json by_option = weft_json(std::string(kAllgather) + kMine + "--data");
  EXPECT_EQ(by_option["algorithm"], "my-allgather");
  EXPECT_EQ(by_option["rows"][0]["wrong"], 0);
  EXPECT_EQ(by_option["remark"], "");
  const json by_field = weft_json(std::string(kAllgather) + "--set collectives.algorithm=my-allgather");
  EXPECT_EQ(by_field["digest"], weft_json(std::string(kAllgather) + kMine)["digest"]);
  EXPECT_NE(by_field["digest"], weft_json(kAllgather)["digest"]);
  const json sums = weft_json("collective ../small.json --op all_reduce --bytes 64KiB " + std::string(kMine));
  EXPECT_EQ(sums["remark"], "all_reduce by ring: my-allgather has no such collective");
}

TEST_F(OwnCli, ItsFieldsAreCheckedLikeOthers) {
  for (const test::BadInput& bad : {
           test::BadInput{"an unknown name",
                          "collective ../small.json --op all_gather --set collectives.algorithm=my-algather",
                          {"weft: --set: collectives.algorithm: expected one of ring, tree, nccl, hierarchical, "
                           "in-network, multicast, deepep, dimensions, my-allgather, got \"my-algather\"; did you mean "
                           "\"my-allgather\"?"}},
           test::BadInput{"the same as an option",
                          "collective ../small.json --op all_gather --algorithm my-algather",
                          {"--algorithm: expected one of ring, ", "did you mean \"my-allgather\"?"}},
           test::BadInput{"an unknown key",
                          "collective ../small.json --op all_gather --set collectives.my_allgather.windw=2",
                          {"--set: collectives.my_allgather.windw: ", "\"window\""}},
           test::BadInput{"a value out of range",
                          "collective ../small.json --op all_gather --set collectives.my_allgather.window=0",
                          {"--set: collectives.my_allgather.window: expected an integer from 1 to 1024, got 0"}},
           test::BadInput{"an unknown kind",
                          "run ../small.json --set workload.kind=my-step",
                          {"workload.kind: expected \"fsdp\", \"kfac\", \"transformer\", \"chakra\", \"flows\", "
                           "\"graph-sampling\", "
                           "\"edge-learning\", "
                           "\"pipeline\", \"recommender\", \"jobs\" or \"my-steps\", got "
                           "\"my-step\"; did you mean \"my-steps\"?"}},
           test::BadInput{"a value of a kind's out of range",
                          "run ../small.json --set 'workload={\"kind\": \"my-steps\", \"steps\": 0}'",
                          {"workload.steps: expected an integer from 1 to 1000, got 0"}},
           test::BadInput{"a key of another kind's",
                          "run ../small.json --set 'workload={\"kind\": \"my-steps\", \"model\": \"llama3-8b\"}'",
                          {"workload.model: "}},
       }) {
    expect_refused(bad);
  }
}

TEST_F(OwnCli, FieldsWithoutEffectAreNamed) {
  const std::string window = "--set collectives.my_allgather.window=1 ";
  EXPECT_EQ(weft_json(kAllgather + window + kMine)["without_effect"], json::array());
  EXPECT_EQ(weft_json(kAllgather + window + "--algorithm ring")["without_effect"],
            idle("collectives.my_allgather.window", "collectives.algorithm is ring"));
  EXPECT_EQ(weft_json("collective ../small.json --op all_reduce --bytes 64KiB"
                      " " +
                      window + kMine)["without_effect"],
            idle("collectives.my_allgather.window", "no collective of this run is by my-allgather"));
  EXPECT_EQ(weft_json(std::string(kAllgather) + kMine + "--set collectives.multicast.chains=1")["without_effect"],
            idle("collectives.multicast.chains", "collectives.algorithm is my-allgather"));
  // A kind that names an algorithm for each of its collectives.
  write("kfac.json", R"({"name": "kfac", "accelerators": 4, "per_node": 1, "accelerator": "rtx-2080-ti",
    "nic": "connectx-7", "fabric": {"topology": "switch", "segment": "64KiB"},
    "workload": {"kind": "kfac", "algorithm": "sgd", "network": "nano-conv", "steps": 1}})");
  const std::string kfac = "run ../kfac.json --timeline-ranks 0 --set workload.all_reduces=my-allgather ";
  EXPECT_EQ(weft_json(kfac + window)["without_effect"],
            idle("collectives.my_allgather.window", "no collective of this run is by my-allgather"));
}

TEST_F(OwnCli, ATrainingStepUsesItWhereItCan) {
  const json summary = weft_json(
      "run ../small.json --data --set collectives.algorithm=my-allgather "
      "--set collectives.my_allgather.window=2 --out out --set workload.model=nano");
  EXPECT_EQ(summary["wrong"], 0);
  EXPECT_EQ(summary["remarks"], json::array({"reduce_scatter by ring: my-allgather has no such collective"}));
  const json values = read("out/config.json")["values"];
  EXPECT_EQ(values["collectives.my_allgather.window"], (json{{"value", 2}, {"source", "command line"}}));
  EXPECT_EQ(values["collectives.algorithm"]["value"], "my-allgather");
  // What a run wrote runs again.
  const json again = weft_json("run out/config.json --data --out again");
  EXPECT_EQ(again["simulator"]["digest"], summary["simulator"]["digest"]);
}

TEST_F(OwnCli, AKindRunsAndIsWrittenLikeOthers) {
  write("mine.json",
        R"({"name": "mine", "accelerators": 4, "per_node": 2, "accelerator": "h100-sxm", "nic": "connectx-7",
    "fabric": {"topology": "switch", "segment": "64KiB"}, "workload": {"kind": "my-steps", "steps": 4}})");
  const Ran ran = weft("run ../mine.json --out out --set workload.compute=50us --set nic.dcqcn.g=0.5");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("mine: 4 steps of my own"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("last step ends"), std::string::npos) << ran.out;
  for (const char* file :
       {"summary.json", "config.json", "links.csv", "network.svg", "timeline.pftrace.gz", "timeline.svg"}) {
    EXPECT_TRUE(is_there(std::string("out/") + file)) << file;
  }
  const json summary = read("out/summary.json");
  EXPECT_EQ(summary["workload"], (json{{"kind", "my-steps"}, {"steps", 4}}));
  ASSERT_EQ(summary["step_ends_us"].size(), 4U);
  EXPECT_GT(summary["step_ends_us"][3].get<double>(), 4 * 50);
  EXPECT_GT(summary["links"].size(), 0U);
  EXPECT_EQ(summary["without_effect"], idle("nic.dcqcn.g", "nic.congestion is none"));
  const json values = read("out/config.json")["values"];
  EXPECT_EQ(values["workload.steps"], (json{{"value", 4}, {"source", "file"}}));
  EXPECT_EQ(values["workload.compute"], (json{{"value", "50us"}, {"source", "command line"}}));
  EXPECT_EQ(values["workload.gradients"], (json{{"value", "1MiB"}, {"source", "default"}}));
}

/// What own programs and modules take is theirs: no field of Weft's would shorten it.
TEST_F(OwnCli, WhyTellsWhatIsTheirs) {
  const auto most_of_the_path = [this] {
    const json why = read("out/why.json");
    std::map<std::string, double> shares;
    for (const json& piece : why["pieces"]) shares[piece["kind"]] += piece["ps"].get<double>();
    const auto most = std::max_element(shares.begin(), shares.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    EXPECT_GT(most->second, 0.7 * (why["until_ps"].get<double>() - why["from_ps"].get<double>()));
    return most->first;
  };
  write("mine.json", R"({"name": "mine", "accelerators": 4, "per_node": 1, "accelerator": "h100-sxm",
    "nic": "connectx-7", "fabric": {"topology": "switch", "segment": "64KiB",
                                    "switch": {"implementation": "fifo", "fifo": {"lookup": "100us"}}},
    "workload": {"kind": "my-steps", "steps": 4, "compute": "10ms"}})");
  ASSERT_EQ(weft("run ../mine.json --why --out out").code, 0);
  EXPECT_EQ(most_of_the_path(), "software");
  ASSERT_EQ(weft("collective ../mine.json --op all_gather --bytes 64KiB --why --out out").code, 0);
  EXPECT_EQ(most_of_the_path(), "pipeline");
  const json foretold = weft_json("why out --what-if link=x2");
  EXPECT_GT(foretold[0]["estimate_ps"].get<double>(), 0.95 * foretold[0]["before_ps"].get<double>());
}

/// A collective of one's own has a line among those of Weft's, with what late ranks and what its own bytes take, and
/// the path has its name.
TEST_F(OwnCli, WhyWatchesWhatIsTheirs) {
  constexpr std::int64_t kBytes = 1 << 20;
  constexpr int kRanks = 4;
  write("mine.json", R"({"name": "mine", "accelerators": 4, "per_node": 1, "accelerator": "h100-sxm",
    "nic": "connectx-7", "fabric": {"topology": "switch", "segment": "64KiB"},
    "collectives": {"algorithm": "my-allgather"}})");
  ASSERT_EQ(weft("collective ../mine.json --op all_gather --bytes 1MiB --why --out out").code, 0);
  const json why = read("out/why.json");
  ASSERT_EQ(why["collectives"].size(), 1U);
  const json& its = why["collectives"][0];
  EXPECT_EQ(its["operation"], "all_gather");
  EXPECT_EQ(its["bytes"], kBytes);
  EXPECT_EQ(its["calls"], kRanks);
  const auto length = why["until_ps"].get<double>() - why["from_ps"].get<double>();
  const double each = its["ps"].get<double>() / kRanks;
  EXPECT_LE(each, length);
  EXPECT_GT(each, 0.9 * length);
  // Blocks of three peers pass a link of 400 Gb/s.
  EXPECT_GT(each, 0.75 * kBytes * 8 / 400e9 * 1e12);
  double transfer = 0;
  for (const json& piece : its["transfer"]) transfer += piece["ps"].get<double>();
  EXPECT_DOUBLE_EQ(transfer, its["ps"].get<double>() - its["late_ps"].get<double>());
  EXPECT_NE(weft("why out").out.find(" my-allgather: all_gather "), std::string::npos) << weft("why out").out;
}

TEST_F(OwnCli, AScheduleIsChosenByNameAndFollowsItsFields) {
  write("mine.json", R"({"name": "mine", "accelerators": 8, "per_node": 4, "accelerator": "h100-sxm",
    "nic": "connectx-7", "fabric": {"topology": "switch", "segment": "64KiB"},
    "workload": {"kind": "kfac", "network": "nano-conv", "algorithm": "my-local-sgd", "steps": 12,
                 "my_local_sgd": {"group": 4}}})");
  expect_refused({"a value out of range",
                  "run ../mine.json --set workload.my_local_sgd.group=0",
                  {"workload.my_local_sgd.group: expected an integer from 1 to 4096, got 0"}});
  expect_refused({"an unknown name",
                  "run ../mine.json --set workload.algorithm=my-locl-sgd",
                  {"workload.algorithm: expected one of sgd, dear, dasgd, coda, codasca, d, mpd, spd, dp, kaisa, "
                   "my-local-sgd, got "
                   "\"my-locl-sgd\"; did you mean \"my-local-sgd\"?"}});
  const std::string how = "run ../mine.json --timeline-ranks 0 ";
  const json trained = weft_json(how + "--data --set workload.training.on=true --out a");
  EXPECT_EQ(trained["workload"]["algorithm"], "my-local-sgd");
  EXPECT_EQ(trained["delayed_messages"], 1);
  EXPECT_TRUE(trained["wrong"].is_null()) << "ranks have weights of their own";
  EXPECT_LT(trained["losses"].back(), trained["losses"].front());
  EXPECT_EQ(read("a/config.json")["values"]["workload.my_local_sgd.interval"],
            (json{{"value", 4}, {"source", "default"}}));
  EXPECT_EQ(weft_json(how + "--data --out b")["wrong"], 0);
  const json alone = weft_json(how + "--set workload.my_local_sgd.group=1 --out c");
  EXPECT_LT(alone["breakdown_us"]["grad_comm"], trained["breakdown_us"]["grad_comm"]);
  EXPECT_EQ(weft_json(how + "--set workload.algorithm=sgd --out d")["without_effect"],
            idle("workload.my_local_sgd.group", "workload.algorithm is sgd"));
}

TEST_F(OwnCli, CompletesUnderItsOwnName) {
  const std::string name = fs::path(WEFT_BINARY).filename();
  ASSERT_EQ(name, "own_weft");
  const std::string bash = weft("completion bash").out;
  EXPECT_NE(bash.find("\ncomplete -F _own_weft own_weft\n"), std::string::npos);
  EXPECT_EQ(bash.find(" _weft"), std::string::npos) << "functions of weft itself";
  EXPECT_NE(bash.find("my-allgather"), std::string::npos);
  EXPECT_TRUE(weft("completion zsh").out.starts_with("#compdef own_weft\n"));
  EXPECT_NE(weft("completion fish").out.find("\ncomplete -c own_weft -f\n"), std::string::npos);
  write("script", "source <(" WEFT_BINARY " completion bash)\nCOMP_WORDS=(" WEFT_BINARY
                  " collective x --algorithm my-a)\nCOMP_CWORD=4\n_own_weft\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n");
  EXPECT_EQ(run("bash ../script").out, "my-allgather\n");
}

TEST_F(OwnCli, DescribeListsThem) {
  const std::string page = weft("describe").out;
  for (const char* text :
       {"| one of ring, tree, nccl, hierarchical, in-network, multicast, deepep, dimensions, my-allgather | `\"ring\"` "
        "|",
        "dimensions: an algorithm for each dimension; my-allgather: every member writes its block to all others |",
        "| `collectives.my_allgather.window` | integer | `4` | 1 to 1024 | Blocks that a member has on their way at a "
        "time |",
        "| one of platform, ring, tree, nccl, hierarchical, in-network, multicast, deepep, dimensions, my-allgather |",
        "| one of sgd, dear, dasgd, coda, codasca, d, mpd, spd, dp, kaisa, my-local-sgd | `\"spd\"` |",
        "| `workload.my_local_sgd.interval` | integer | `4` | 1 to 1000 |",
        "## workload of kind `my-steps`\n\nSteps of a fixed time of computing and an AllReduce each.\n",
        "| `workload.compute` | time | `\"100us\"` | 0ps to 1s | What a step computes |"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
  const std::string names = weft("describe --names").out;
  for (const char* name : {"collectives.my_allgather.window", "workload.gradients", "workload.my_local_sgd.group"}) {
    EXPECT_NE(names.find(std::string("\n") + name + "\n"), std::string::npos) << name;
  }
  std::set<std::string> fields;
  for (const json& field : weft_json("describe")) {
    if (field.value("workload_kind", "") == "my-steps") fields.insert(field["path"]);
  }
  EXPECT_EQ(fields, (std::set<std::string>{"workload.steps", "workload.compute", "workload.gradients"}));
}

TEST_F(OwnCli, TheSchemaHasThem) {
  const json schema = weft_json("describe --schema");
  const json& definitions = schema["$defs"];
  const json& collectives = definitions["collectives"]["properties"];
  EXPECT_EQ(collectives["algorithm"]["enum"].back(), "my-allgather");
  ASSERT_EQ(collectives["my_allgather"]["$ref"], "#/$defs/my_allgather");
  EXPECT_EQ(definitions["my_allgather"]["properties"]["window"]["maximum"], 1024);
  const json& workload = definitions["machine"]["properties"]["workload"];
  EXPECT_EQ(workload["properties"]["kind"]["enum"],
            (json{"fsdp", "kfac", "transformer", "chakra", "flows", "graph-sampling", "edge-learning", "pipeline",
                  "recommender", "jobs", "my-steps"}));
  ASSERT_EQ(workload["allOf"].back()["then"]["$ref"], "#/$defs/workload.my-steps");
  const json& mine = definitions["workload.my-steps"];
  EXPECT_EQ(mine["description"], "Steps of a fixed time of computing and an AllReduce each.");
  EXPECT_EQ(mine["properties"]["steps"]["default"], 3);
  const json& kfac = definitions["workload.kfac"]["properties"];
  EXPECT_EQ(kfac["algorithm"]["enum"].back(), "my-local-sgd");
  EXPECT_TRUE(kfac.contains("my_local_sgd"));
  const json kinds = weft_json("describe --schema part")["properties"]["kind"]["enum"];
  EXPECT_NE(std::find(kinds.begin(), kinds.end(), "my_allgather"), kinds.end());
}

}  // namespace
}  // namespace weft
