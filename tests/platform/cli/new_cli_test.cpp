// SPDX-License-Identifier: Apache-2.0
// weft new: a platform with comments that is the one of the catalogue. Runs the binary.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/support/cli.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Ran;

class NewCli : public test::CliTest {
 protected:
  static json parsed(const std::string& text) { return json::parse(text, nullptr, true, /*ignore_comments=*/true); }
  std::string digest(const std::string& platform) {
    const Ran ran =
        weft("run " + platform + " --set accelerators=16 --set workload.layers=1 --json --timeline-ranks 0 --out out");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.code == 0 ? json::parse(ran.out)["simulator"]["digest"].get<std::string>() : "";
  }
};

TEST_F(NewCli, RunsAsTheOriginal) {
  const Ran made = weft("new my.json --from llama3-8b-fsdp-64xh100");
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(made.out, "wrote my.json\n");
  EXPECT_EQ(digest("my.json"), digest("llama3-8b-fsdp-64xh100"));
  const std::string text = test::read_file(folder_ / "work/my.json");
  EXPECT_NE(text.find("\n  // Accelerators in the machine; 1 to 1048576\n  \"accelerators\": 64,\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\n    // How elementwise work is cut into kernels: "), std::string::npos) << text;
  EXPECT_NE(text.find("\n    // one of eager, fused-norms, compiled-blocks, fused\n    \"fusion\": \"eager\",\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  // a part, or an object: "), std::string::npos) << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.size() <= 120 || line.find("\"description\": ") != std::string::npos) << line;
  }
  // Its results do not go where those of the original are.
  EXPECT_EQ(parsed(text)["name"], "my");
}

TEST_F(NewCli, EveryPlatformOfTheCatalogueCanBeBegunWith) {
  for (const auto& entry : fs::directory_iterator(WEFT_SOURCE_DIR "/platforms")) {
    if (entry.path().extension() != ".json") continue;
    const std::string name = entry.path().stem().string();
    SCOPED_TRACE(name);
    const Ran made = weft("new - --from " + name);
    ASSERT_EQ(made.code, 0) << made.err;
    json copy = parsed(made.out);
    EXPECT_TRUE(copy["$schema"].get<std::string>().ends_with("platform.schema.json"));
    copy.erase("$schema");
    json original = json::parse(test::read_file(entry.path()));
    if (original.contains("workload") && original["workload"].contains("traces")) {
      // What lies beside the original is found from anywhere.
      const fs::path traces = copy["workload"]["traces"].get<std::string>();
      EXPECT_EQ(traces, fs::path(WEFT_SOURCE_DIR) / "platforms" / original["workload"]["traces"].get<std::string>());
      original["workload"]["traces"] = copy["workload"]["traces"];
    }
    EXPECT_EQ(copy, original);
    // Each member of the top says what it is.
    std::istringstream lines(made.out);
    std::string above;
    for (std::string line; std::getline(lines, line); above = line) {
      EXPECT_TRUE(!line.starts_with("  \"") || above.starts_with("  // ")) << line;
    }
  }
}

TEST_F(NewCli, OverwritesNothing) {
  write("work/mine.json", "mine");
  for (const char* file : {"mine.json", "../small.json", "/dev/null", "."}) {
    const Ran ran = weft(std::string("new ") + file + " --from dgx-h100");
    EXPECT_EQ(ran.code, 2) << file;
    EXPECT_EQ(ran.err, std::string("weft: ") + file +
                           ": expected the name of a new file, got one that is there, which is left as it is\n");
  }
  EXPECT_EQ(test::read_file(folder_ / "work/mine.json"), "mine");
  const Ran nowhere = weft("new nowhere/mine.json --from dgx-h100");
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_EQ(nowhere.err,
            "weft: nowhere/mine.json: expected the name of a new file, got one in a folder that is not there\n");
}

TEST_F(NewCli, UnknownNamesGetNearOnes) {
  const Ran ran = weft("new my.json --from dgx-h10");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err,
            "weft: --from: expected a platform of the catalogue (weft platforms), got \"dgx-h10\"; did you mean "
            "\"dgx-h100\"?\n");
  EXPECT_TRUE(nothing_written());
}

}  // namespace
}  // namespace weft
