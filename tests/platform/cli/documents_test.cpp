// SPDX-License-Identifier: Apache-2.0
// Every command of README.md and docs/, as it stands there, a section after the other: what the pages tell a user to
// type is taken, and what they say is refused is refused. A command that takes long is ended after 0.4 seconds
// of processor time, which is long after its options and files were looked at. The samples of "What you can bring" run
// whole in formats_test.cpp. Runs the binary.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/cli.h"
#include "tests/support/pages.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

struct Section {
  std::string page;
  std::string title;
  std::string script;            ///< of a shell: what the section's blocks tell to type
  std::map<int, bool> commands;  ///< by line: whether the page shows that it is refused
};

void PrintTo(const Section& section, std::ostream* out) {
  *out << section.page << ": " << section.title;
}

std::string trimmed(const std::string& line) {
  const std::size_t from = line.find_first_not_of(' ');
  return from == std::string::npos ? "" : line.substr(from);
}

/// What of a block is typed: commands of weft, and the loops and variables around them. In a block with prompts it is
/// what stands behind these; the rest is what is printed.
void add_block(Section& section, const std::vector<std::pair<int, std::string>>& block) {
  static const std::regex typed(R"((([A-Za-z_]+=\S* )*\./weft .*)|(for .*; do)|(done)|([a-z_]+=\S+))");
  bool prompts = false;
  for (const auto& [number, line] : block) prompts = prompts || line.starts_with("$ ");
  bool goes_on = false;
  int last = 0;
  for (const auto& [number, text] : block) {
    std::string line = text;
    if (!goes_on) {
      // `./weft test` builds Weft; PLATFORM and ... stand for something.
      const bool is_output = prompts && !line.starts_with("$ ");
      const bool is_refusal = line.starts_with("weft: ") && !line.starts_with("weft: warning: ");
      if (is_output && is_refusal && last != 0) section.commands[last] = true;
      if (is_output) continue;
      if (prompts) line = line.substr(2);
      if (!std::regex_match(line, typed) || line.starts_with("./weft test") || line.find(" ...") != std::string::npos ||
          line.find("PLATFORM") != std::string::npos) {
        continue;
      }
      if (line.find("./weft ") != std::string::npos) {
        section.commands[last = number] = false;
        section.script += "LINE=" + std::to_string(number) + " ";
      }
    }
    goes_on = line.ends_with('\\');
    section.script += line + "\n";
  }
}

/// Commands in the cells of a table.
void add_row(Section& section, const test::PageLine& line) {
  static const std::regex command(R"(`(\./weft [^`]+)`)");
  for (auto at = std::sregex_iterator(line.text.begin(), line.text.end(), command); at != std::sregex_iterator();
       ++at) {
    section.commands[line.number] = false;
    section.script += "LINE=" + std::to_string(line.number) + " " + std::string((*at)[1]) + "\n";
  }
}

std::vector<Section> sections() {
  std::vector<Section> all;
  for (const std::string& page : test::page_names()) {
    Section section{page, "Top", "", {}};
    std::vector<std::pair<int, std::string>> block;
    const auto end_block = [&] {
      if (!block.empty()) add_block(section, block);
      block.clear();
    };
    const auto end_section = [&](const std::string& title) {
      end_block();
      if (!section.commands.empty()) all.push_back(section);
      section = {page, title, "", {}};
    };
    for (const test::PageLine& line : test::lines_of_page(page)) {
      if (!line.is_code && line.text.starts_with("## ")) end_section(line.text.substr(3));
      if (line.is_code) {
        block.emplace_back(line.number, trimmed(line.text));
      } else {
        end_block();
        if (line.text.starts_with("|")) add_row(section, line);
      }
    }
    end_section("");
  }
  std::erase_if(all, [](const Section& section) { return section.title == "What you can bring"; });
  return all;
}

class Documents : public test::CliTest, public testing::WithParamInterface<Section> {};

TEST_P(Documents, CommandsAreTakenAsTheyStand) {
  const fs::path work = folder_ / "work";
  // An installation has docs, and no files of platforms beside it: these have names.
  fs::create_directory_symlink(fs::path(WEFT_SOURCE_DIR) / "docs", work / "docs");
  std::ofstream(work / "weft") << "#!/bin/bash\n"
                                  "(ulimit -S -t 1; exec " WEFT_LIMITED " 400 " WEFT_BINARY
                                  " \"$@\" 2>../err)\n"
                                  "printf '%s %s %s\\n' $LINE $? \"$(head -1 ../err)\" >> ../log\n";
  fs::permissions(work / "weft", fs::perms::owner_all);
  std::ofstream(folder_ / "script") << GetParam().script;
  ASSERT_EQ(std::system(("cd " + work.string() + " && bash ../script >/dev/null 2>&1; true").c_str()), 0);
  std::istringstream log(test::read_file(folder_ / "log"));
  std::map<int, int> ran;
  // A user's own, such as a trace or a waveform of another simulator, or results of a run that was ended. What lies in
  // docs/ and platforms/ is there.
  static const std::regex absent(
      R"(weft: ([^:]+): .*([Nn]o such file|there is neither|got neither|got one without summary).*)");
  for (std::string entry; std::getline(log, entry);) {
    std::istringstream words(entry);
    int line = 0;
    int code = 0;
    words >> line >> code >> std::ws;
    std::string said;
    std::getline(words, said);
    SCOPED_TRACE(GetParam().page + ":" + std::to_string(line) + ": " + said);
    ++ran[line];
    std::smatch found;
    const bool is_absent = std::regex_match(said, found, absent) && !std::string(found[1]).starts_with("docs/") &&
                           !std::string(found[1]).starts_with("platforms/");
    const bool refused = GetParam().commands.at(line);
    EXPECT_EQ(code == 2, refused || (code == 2 && is_absent));
    constexpr int kOutOfTime = 128 + 27;       // SIGPROF
    constexpr int kPartsOutOfTime = 128 + 24;  // SIGXCPU, for those of processes that it starts
    EXPECT_TRUE(code <= 2 || code == kOutOfTime || code == kPartsOutOfTime) << code;
  }
  for (const auto& [line, refused] : GetParam().commands) EXPECT_GT(ran[line], 0) << "line " << line << " was not run";
}

INSTANTIATE_TEST_SUITE_P(Pages, Documents, testing::ValuesIn(sections()), [](const auto& section) {
  std::string name;
  for (const char c : section.param.page + "_" + section.param.title) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  }
  return name;
});

}  // namespace
}  // namespace weft
