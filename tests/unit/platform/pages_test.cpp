// SPDX-License-Identifier: Apache-2.0
// The pages of README.md and docs/: their links lead somewhere, each is reached by links, and none is too long.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/pages.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

struct Link {
  std::string page;
  int line = 0;
  std::string target;  ///< "../start.md#the-timeline"
};

/// Of Markdown, pictures too, but for what is code.
std::vector<Link> links_of(const std::string& page) {
  static const std::regex code("`[^`]*`");
  static const std::regex link(R"(\]\(([^)\s]+)\))");
  std::vector<Link> links;
  // The words of a link may be on two lines; what is in the parentheses has no blank.
  for (const test::PageLine& line : test::lines_of_page(page)) {
    if (line.is_code) continue;
    const std::string text = std::regex_replace(line.text, code, "");
    for (auto at = std::sregex_iterator(text.begin(), text.end(), link); at != std::sregex_iterator(); ++at) {
      links.push_back({page, line.number, (*at)[1]});
    }
  }
  return links;
}

/// Where headings can be linked to, as GitHub names them.
std::set<std::string> anchors_of(const std::string& page) {
  std::map<std::string, int> seen;
  std::set<std::string> anchors;
  for (const test::PageLine& line : test::lines_of_page(page)) {
    const std::size_t from = line.text.find_first_not_of('#');
    if (line.is_code || from == 0 || from == std::string::npos || line.text[from] != ' ') continue;
    std::string anchor;
    for (const char c : line.text.substr(from + 1)) {
      if (c == ' ') anchor += '-';
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_') {
        anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      }
    }
    const int before = seen[anchor]++;
    anchors.insert(before == 0 ? anchor : anchor + "-" + std::to_string(before));
  }
  return anchors;
}

/// From the root of the project; empty for what is on the network.
std::string file_of(const Link& link) {
  if (link.target.find("://") != std::string::npos) return "";
  const std::string path = link.target.substr(0, link.target.find('#'));
  if (path.empty()) return link.page;
  return (fs::path(link.page).parent_path() / path).lexically_normal().string();
}

TEST(Pages, HaveLinksThatLeadSomewhere) {
  int followed = 0;
  for (const std::string& page : test::page_names()) {
    for (const Link& link : links_of(page)) {
      SCOPED_TRACE(page + ":" + std::to_string(link.line) + ": " + link.target);
      const std::string file = file_of(link);
      if (file.empty()) continue;
      ++followed;
      EXPECT_TRUE(fs::exists(fs::path(WEFT_SOURCE_DIR) / file)) << file << " is not there";
      const std::size_t hash = link.target.find('#');
      if (hash == std::string::npos || !file.ends_with(".md")) continue;
      EXPECT_TRUE(anchors_of(file).contains(link.target.substr(hash + 1))) << "no such heading in " << file;
    }
  }
  EXPECT_GT(followed, 100);
}

TEST(Pages, AreReachedFromTheFirst) {
  std::set<std::string> reached;
  std::vector<std::string> next = {"README.md"};
  while (!next.empty()) {
    const std::string page = next.back();
    next.pop_back();
    if (!reached.insert(page).second) continue;
    for (const Link& link : links_of(page)) {
      const std::string file = file_of(link);
      if (file.ends_with(".md")) next.push_back(file);
    }
  }
  for (const std::string& page : test::page_names()) EXPECT_TRUE(reached.contains(page)) << page;
}

TEST(Pages, AreShort) {
  constexpr std::size_t kLongest = 300;
  const std::set<std::string> generated = {"docs/reference/configuration.md", "docs/reference/commands.md"};
  for (const std::string& page : test::page_names()) {
    if (generated.contains(page)) continue;
    EXPECT_LE(test::lines_of_page(page).size(), kLongest) << page;
  }
}

}  // namespace
}  // namespace weft
