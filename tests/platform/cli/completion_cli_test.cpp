// SPDX-License-Identifier: Apache-2.0
// weft completion and weft man. Runs the binary, and shells where they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/cli.h"

namespace weft {
namespace {

using test::Ran;

class CompletionCli : public test::CliTest {
 protected:
  /// What bash offers for the last of the words.
  std::set<std::string> offered(const std::vector<std::string>& words) {
    std::ofstream script(folder_ / "script");
    script << "source <(" WEFT_BINARY " completion bash)\nCOMP_WORDS=(" WEFT_BINARY;
    for (const std::string& word : words) script << " '" << word << "'";
    script << ")\nCOMP_CWORD=" << words.size() << "\n_weft\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
    script.close();
    const Ran ran = run("bash ../script");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    std::set<std::string> found;
    std::istringstream lines(ran.out);
    for (std::string line; std::getline(lines, line);) found.insert(line);
    found.erase("");
    return found;
  }
  bool has(const char* program) { return run(std::string("command -v ") + program).code == 0; }
};

using Set = std::set<std::string>;

TEST_F(CompletionCli, BashKnowsCommandsAndOptions) {
  EXPECT_EQ(offered({"colle"}), Set{"collective"});
  EXPECT_EQ(offered({"trace", "che"}), Set{"check"});
  EXPECT_EQ(offered({"run", "llama3-8b-fsdp-8xh100", "--timel"}),
            (Set{"--timeline", "--timeline-queues", "--timeline-ranks"}));
  EXPECT_TRUE(offered({"run", "x", "--parallel"}).empty()) << "of another command";
  EXPECT_EQ(offered({"workload", "nano", "--schedule", "g"}), Set{"gpipe"});
  EXPECT_EQ(offered({"workload", "nano", "--schedule", "=", "g"}), Set{"gpipe"});
  EXPECT_EQ(offered({"workload", "nano", "--schedule", "="}).count("1f1b"), 1U);
}

TEST_F(CompletionCli, BashAsksForNames) {
  write("work/dgx-mine.json", "{}");
  EXPECT_EQ(offered({"run", "dgx-"}), (Set{"dgx-h100", "dgx-mine.json"}));
  EXPECT_EQ(offered({"new", "my.json", "--from", "ideal-"}), Set{"ideal-ring-8"});
  EXPECT_EQ(offered({"models", "resnet1"}), (Set{"resnet101", "resnet152"}));
  EXPECT_EQ(offered({"workload", "nano", "--accelerator", "h200-s"}), Set{"h200-sxm"});
  EXPECT_EQ(offered({"run", "dgx-h100", "--set", "fabric.link.rat"}), Set{"fabric.link.rate="});
  EXPECT_TRUE(offered({"run", "dgx-h100", "--seed", ""}).empty());
  EXPECT_EQ(offered({"parts", "show", "h200-s"}), Set{"h200-sxm"});
  EXPECT_EQ(offered({"kernel", "gemm", "h200-s"}), Set{"h200-sxm"});
  EXPECT_EQ(offered({"kernel", "gemm", "dgx-"}), (Set{"dgx-h100", "dgx-mine.json"}));
}

/// Files are offered for options that take one, and for no others.
TEST_F(CompletionCli, BashOffersFilesWhereTheyBelong) {
  write("work/dgx-mine.json", "{}");
  EXPECT_EQ(offered({"run", "x", "--groups", "dgx-"}), Set{"dgx-mine.json"});
  EXPECT_EQ(offered({"trace", "info", "dgx-"}), Set{"dgx-mine.json"});
  EXPECT_EQ(offered({"run", "x", "--traces", "dgx-"}), Set{"dgx-mine.json"});
  EXPECT_TRUE(offered({"collective", "x", "--bytes", "dgx-"}).empty());
  EXPECT_TRUE(offered({"memory", "x", "--rate", "dgx-"}).empty());
  EXPECT_TRUE(offered({"parts", "--kind", "dgx-"}).empty());
  // What has no better name is no file.
  EXPECT_EQ(weft("describe --commands").out.find("| `TEXT` |  | A VCD file"), std::string::npos);
}

/// Every command and option of help is in each script.
TEST_F(CompletionCli, ScriptsHaveAllThatHelpHas) {
  const std::string bash = weft("completion bash").out;
  const std::string zsh = weft("completion zsh").out;
  const std::string fish = weft("completion fish").out;
  for (const char* command : {"run", "trace check", "vcd calibrate", "import astra-sim", "completion"}) {
    std::istringstream help(weft(std::string(command) + " --help").out);
    std::size_t options = 0;
    for (std::string line; std::getline(help, line);) {
      const std::size_t at = line.find("--");
      if (!line.starts_with("  -") || at == std::string::npos) continue;
      const std::string name = line.substr(at, line.find_first_of(" ,", at) - at);
      ++options;
      EXPECT_NE(bash.find(name), std::string::npos) << name;
      EXPECT_NE(zsh.find("*" + name), std::string::npos) << name;
      EXPECT_NE(fish.find(" -l " + name.substr(2) + " "), std::string::npos) << name;
    }
    EXPECT_GT(options, 0U) << command;
  }
  const Ran other = weft("completion csh");
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("expected one of bash, zsh, fish, got \"csh\""), std::string::npos) << other.err;
}

class CompletionScript : public CompletionCli, public testing::WithParamInterface<const char*> {};

TEST_P(CompletionScript, IsReadByItsShell) {
  const std::string shell = GetParam();
  const std::string file = "completion." + shell;
  ASSERT_EQ(weft("completion " + shell + " > " + file).code, 0);
  ASSERT_TRUE(has(GetParam())) << shell << " is one of the packages that ./weft installs";
  const Ran ran = run(shell + " -n " + file);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
}
INSTANTIATE_TEST_SUITE_P(Shells, CompletionScript, testing::Values("bash", "zsh", "fish"),
                         [](const auto& each) { return std::string(each.param); });

TEST_F(CompletionCli, ManualPageHasEveryCommand) {
  const std::string page = weft("man").out;
  EXPECT_TRUE(page.starts_with(".TH WEFT 1 ")) << page.substr(0, 80);
  for (const char* command : {"run", "trace check", "vcd calibrate", "import astra\\-sim", "man"}) {
    EXPECT_NE(page.find(std::string("\n.SS weft ") + command + "\n"), std::string::npos) << command;
  }
  EXPECT_NE(page.find("\\fB\\-\\-set\\fR \\fIPATH=VALUE\\fR\n"), std::string::npos);
}

TEST_F(CompletionCli, ManualPageIsFormattedWithoutWarnings) {
  ASSERT_TRUE(has("groff")) << "groff-base is one of the packages that ./weft installs";
  const Ran formatted = run(WEFT_BINARY " man | groff -man -Tutf8 -ww -b");
  EXPECT_EQ(formatted.code, 0);
  EXPECT_EQ(formatted.err, "");
  EXPECT_NE(formatted.out.find("The run or the comparison failed"), std::string::npos);
}

}  // namespace
}  // namespace weft
