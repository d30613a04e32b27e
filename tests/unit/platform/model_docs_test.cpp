// SPDX-License-Identifier: Apache-2.0
// docs/reference/models: each page is in the list and has the one form that the list promises, and sources have one of
// its grades.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace weft {
namespace {

namespace fs = std::filesystem;

const fs::path kModels = WEFT_SOURCE_DIR "/docs/reference/models";

std::vector<std::string> lines_of(const fs::path& page) {
  std::ifstream file(page);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::map<std::string, std::vector<std::string>> pages() {
  std::map<std::string, std::vector<std::string>> all;
  for (const auto& entry : fs::directory_iterator(kModels)) all[entry.path().filename()] = lines_of(entry.path());
  return all;
}

TEST(ModelDocs, HaveOneForm) {
  constexpr std::size_t kLongest = 250;
  const std::vector<std::string> form = {"## Modelled", "## Left out", "## Parameters", "## Checked against",
                                         "## Known differences"};
  EXPECT_GT(pages().size(), 25U);
  for (const auto& [name, lines] : pages()) {
    EXPECT_LE(lines.size(), kLongest) << name;
    if (name == "README.md") continue;
    std::vector<std::string> headings;
    for (const std::string& line : lines) {
      if (line.starts_with("## ")) headings.push_back(line);
    }
    EXPECT_EQ(headings, form) << name;
    EXPECT_TRUE(!lines.empty() && lines.front().starts_with("# ")) << name;
  }
}

TEST(ModelDocs, AreInTheList) {
  std::map<std::string, int> listed;
  for (const std::string& line : lines_of(kModels / "README.md")) {
    if (!line.starts_with("| [")) continue;
    const std::size_t from = line.find("](") + 2;
    ++listed[line.substr(from, line.find(')') - from)];
  }
  std::map<std::string, int> there;
  for (const auto& [name, lines] : pages()) {
    if (name != "README.md") there[name] = 1;
  }
  EXPECT_EQ(listed, there);
}

/// A grade has one name.
TEST(ModelDocs, GradeTheirSources) {
  for (const auto& [name, lines] : pages()) {
    if (name == "README.md") continue;
    for (const std::string& line : lines) {
      EXPECT_EQ(line.find("from memory (not checked)"), std::string::npos) << name << ": " << line;
      EXPECT_EQ(line.find("from memory, not checked"), std::string::npos) << name << ": " << line;
    }
  }
}

}  // namespace
}  // namespace weft
