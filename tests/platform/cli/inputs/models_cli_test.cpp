// SPDX-License-Identifier: Apache-2.0
// weft models, and models of a user's own by their names. Runs the binary.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/cli.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::BadInput;
using test::Ran;

constexpr const char* kColumns =
    "name,layers,d_model,ffn,heads,kv_heads,head_dim,vocab,gated,tied,positions,bias,norm,sequence\n";
constexpr const char* kNano = R"({ // as nano
  "$schema": "x", "layers": 4, "d_model": 128, "ffn": 352, "heads": 4, "kv_heads": 2, "vocab": 512, "sequence": 256 })";

class ModelsCli : public test::CliTest {
 protected:
  std::string digest(const std::string& arguments) { return run_json(arguments)["simulator"]["digest"]; }

  /// A machine with a workload of the kind and model.
  void write_platform(const std::string& kind, const std::string& model) {
    json platform = json::parse(test::kSmall);
    platform["workload"] = {{"kind", kind}, {kind == "kfac" ? "network" : "model", model}};
    if (kind == "transformer") platform["workload"]["parallel"] = "tp=2,dp=2";
    if (kind == "fsdp") platform["workload"]["sequence"] = 256;
    write("p.json", platform.dump());
  }
};

TEST_F(ModelsCli, AreListed) {
  const json all = json::parse(weft("models --json").out);
  std::map<std::string, json> by_name;
  for (const json& model : all) by_name[model["name"]] = model;
  EXPECT_EQ(by_name["llama3-8b"]["parameters"], 8'030'261'248);
  EXPECT_EQ(by_name["llama3-8b"]["layers"], 32);
  EXPECT_EQ(by_name["llama3-8b"]["d_model"], 4096);
  EXPECT_EQ(by_name["llama3-8b"]["kinds"], json({"fsdp", "kfac", "transformer", "pipeline"}));
  EXPECT_EQ(by_name["t5-3b"]["kinds"], json({"fsdp"}));
  EXPECT_EQ(by_name["resnet50"]["kinds"], json({"kfac", "pipeline"}));
  EXPECT_EQ(by_name["resnet50"]["batch"], 32);
  const std::string list = weft("models").out;
  EXPECT_EQ(std::count(list.begin(), list.end(), '\n'), static_cast<std::ptrdiff_t>(all.size()) + 1);
  EXPECT_NE(list.find("\nllama3-8b            8.03 B           -      32    4096  fsdp, kfac, transformer, pipeline\n"),
            std::string::npos)
      << list;
  const Ran one = weft("models llama3-8b");
  EXPECT_EQ(one.code, 0);
  EXPECT_NE(one.out.find("8030261248 (8.03 B)\n"), std::string::npos) << one.out;
  const Ran near = weft("models lama3-8b");
  EXPECT_EQ(near.code, 2);
  EXPECT_NE(near.err.find("weft: NAME: expected a model (weft models), or a file with one, got \"lama3-8b\"; did you "
                          "mean \"llama3-8b\""),
            std::string::npos)
      << near.err;
}

/// Kinds say the truth.
TEST_F(ModelsCli, KindsTakeThem) {
  for (const char* model : {"nano", "nano-t5", "nano-conv"}) {
    const json kinds = json::parse(weft(std::string("models --json ") + model).out)["kinds"];
    for (const std::string kind : {"fsdp", "transformer", "kfac"}) {
      write_platform(kind, model);
      const bool takes = std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
      EXPECT_EQ(weft("run ../p.json --timeline-ranks 0").code, takes ? 0 : 2) << model << " by " << kind;
    }
  }
  // Experts are for graphs alone.
  for (const char* kind : {"fsdp", "kfac"}) {
    write_platform(kind, "gpt-oss-20b");
    const Ran ran = weft("run ../p.json");
    EXPECT_EQ(ran.code, 2) << kind;
    EXPECT_NE(ran.err.find("expected"), std::string::npos) << ran.err;
  }
}

TEST_F(ModelsCli, AFileOfOnesOwnIsWhatItSays) {
  write("mine.json", kNano);
  write("table.csv", std::string(kColumns) + "other,1,64,64,2,2,,100,yes,no,0,no,rms,64\n" +
                         "mine,4,128,352,4,2,,512,yes,no,0,no,rms,256\n");
  for (const char* kind : {"fsdp", "transformer", "kfac"}) {
    write_platform(kind, "nano");
    const std::string expected = digest("../p.json");
    for (const char* model : {"mine", "mine.json", "table.csv:mine"}) {
      write_platform(kind, model);
      const json result = run_json("../p.json");
      EXPECT_EQ(result["simulator"]["digest"], expected) << kind << " of " << model;
      EXPECT_EQ(result["workload"][kind == std::string("kfac") ? "network" : "model"], "mine") << kind;
    }
  }
}

/// Beside the platform comes first, then WEFT_PATH, then the catalogue; on the command line a file counts from where
/// the command runs; and what a run wrote finds the same.
TEST_F(ModelsCli, AreFoundAsPartsAre) {
  const auto layers = [](int count) {
    std::string text = kNano;
    return text.replace(text.find("\"layers\": 4"), 11, "\"layers\": " + std::to_string(count));
  };
  fs::create_directories(folder_ / "shelf");
  write("shelf/mine.json", layers(3));
  write("shelf/theirs.json", layers(3));
  write("mine.json", layers(2));
  write("work/here.json", layers(1));
  write_platform("fsdp", "mine");
  setenv("WEFT_PATH", (folder_ / "shelf").c_str(), 1);
  const std::string two = digest("../p.json");
  const std::string three = digest("../p.json --set workload.model=theirs");
  const std::string one = digest("../p.json --set workload.model=here.json --out here");
  EXPECT_NE(two, three);
  EXPECT_NE(one, two);
  EXPECT_EQ(digest("../p.json --set workload.model=theirs.json"), three);
  fs::create_directories(folder_ / "elsewhere");
  EXPECT_EQ(digest("--out w here/config.json"), one);
  EXPECT_NE(weft("models").out.find("\ntheirs "), std::string::npos);
  // Names that there are include them.
  const Ran unknown = weft("run ../p.json --set workload.model=their");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("workload.model: expected one of llama2-7b, "), std::string::npos) << unknown.err;
  EXPECT_NE(unknown.err.find(", mine, "), std::string::npos) << unknown.err;
  EXPECT_NE(unknown.err.find("got \"their\"; did you mean \"theirs\"?\n"), std::string::npos) << unknown.err;
  EXPECT_EQ(json::parse(weft("models theirs --json").out)["layers"], 3);
  unsetenv("WEFT_PATH");
  // One that bears a name of the catalogue is told of; a platform of that name is none.
  write("nano.json", layers(2));
  write_platform("fsdp", "nano");
  const Ran hides = weft("run ../p.json --json --timeline-ranks 0");
  EXPECT_NE(hides.err.find("warning: nano is ../nano.json, not the model of that name in the catalogue"),
            std::string::npos)
      << hides.err;
  EXPECT_EQ(json::parse(hides.out)["simulator"]["digest"], two);
  fs::rename(folder_ / "p.json", folder_ / "nano.json");
  EXPECT_EQ(weft("run ../nano.json --timeline-ranks 0").err.find("not the model"), std::string::npos);
}

TEST_F(ModelsCli, WrongFilesAreRefused) {
  write("mine.json",
        R"({"layers": 4, "d_model": 128, "ffn": 352, "heads": 4, "kv_heads": 3, "vocab": 1, "sequence": 1})");
  write("typo.json", R"({"layers": 4, "d_model": 128, "head": 4})");
  write("broken.json", "{\n\"d_model\": }");
  write("t5.json", R"({"layers": 2, "d_model": 64, "ffn": 64, "heads": 2, "vocab": 9, "sequence": 8, "encoder": 2})");
  write("table.csv",
        std::string(kColumns) + "a,1,64,64,2,2,,100,yes,no,0,no,rms,64\n" + "b,1,64,64,2,2,,100,yes,no,0,no,rms,64\n");
  write_platform("fsdp", "nano");
  const std::string run = "run ../p.json --set workload.model=";
  const std::string step = run + "../t5.json --set workload.kind=transformer";
  const std::string divisor = run + "../mine.json";
  const std::string typo = run + "../typo.json";
  const std::string broken = run + "../broken.json";
  const std::string absent = run + "../absent.json";
  const std::string unnamed = run + "../table.csv";
  const std::string other = run + "../table.csv:c";
  const std::vector<BadInput> cases = {
      {"divisor", divisor.c_str(), {"workload.model: ../mine.json: kv_heads: expected a divisor of 4 heads, got 3"}},
      {"key", typo.c_str(), {"../typo.json: head: expected one of name, layers, d_model, ffn, heads, "}},
      {"syntax", broken.c_str(), {"../broken.json: line 2, column 12: expected JSON"}},
      {"absent",
       absent.c_str(),
       {"../absent.json: expected a transformer in JSON, or a table of them in CSV, got no such file"}},
      {"no row", unnamed.c_str(), {"../table.csv: expected table.csv:NAME with one of a, b, got no name"}},
      {"other row", other.c_str(), {"../table.csv: expected table.csv:NAME with one of a, b, got 'c'"}},
      {"encoder",
       step.c_str(),
       {"workload.model: t5 has an encoder, relative positions or dropout, expected a decoder without these"}}};
  for (const BadInput& bad : cases) expect_refused(bad);
}

}  // namespace
}  // namespace weft
