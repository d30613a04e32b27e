// SPDX-License-Identifier: Apache-2.0
// The commands of "What you can bring" in docs/reference/formats.md, as they stand there, on the samples in
// docs/inputs.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/cli.h"

namespace weft {
namespace {

/// By the title that they stand under, in their order.
std::map<std::string, std::vector<std::string>> commands_of_section(const std::string& section) {
  std::istringstream page(test::read_file(WEFT_SOURCE_DIR "/docs/reference/formats.md"));
  std::map<std::string, std::vector<std::string>> commands;
  bool inside = false;
  std::string title;
  const std::string begins = "    ./weft ";
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) inside = line == "## " + section;
    if (line.starts_with("### ")) title = line.substr(4);
    if (inside && line.starts_with(begins)) commands[title].push_back(line.substr(begins.size()));
  }
  return commands;
}

class FormatInputs : public test::CliTest, public testing::WithParamInterface<std::string> {};

TEST_P(FormatInputs, RunAsTheyStand) {
  std::filesystem::create_directory_symlink(WEFT_SOURCE_DIR "/docs", folder_ / "work" / "docs");
  std::filesystem::create_directories(folder_ / "work" / "out" / "inputs");
  const std::vector<std::string> commands = commands_of_section("What you can bring")[GetParam()];
  EXPECT_FALSE(commands.empty());
  for (const std::string& command : commands) {
    const test::Ran ran = weft(command);
    EXPECT_EQ(ran.code, 0) << command << "\n" << ran.out << ran.err;
    EXPECT_NE(ran.out, "") << command;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, FormatInputs,
                         testing::Values("Execution traces", "Text workloads", "ASTRA-sim's inputs",
                                         "Machines and networks", "Networks of layers", "Memory requests", "Waveforms",
                                         "Measurements"),
                         [](const auto& kind) {
                           std::string name;
                           for (const char c : kind.param) {
                             if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
                           }
                           return name;
                         });

/// A kind of input that the page gains is run as well.
TEST(FormatPage, HasNoOtherKinds) {
  EXPECT_EQ(commands_of_section("What you can bring").size(), 8U);
}

}  // namespace
}  // namespace weft
