// SPDX-License-Identifier: Apache-2.0
// The house as docs/developer/architecture.md draws it: who includes whom, and how long files are.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace weft {
namespace {

namespace fs = std::filesystem;

struct Source {
  std::string path;  ///< "hw/fabric/link.h"
  int lines = 0;
  std::vector<std::string> includes;  ///< of Weft's own
};

/// Of files and of what they include, with "/": what lies deeper belongs to the folder too.
std::string folder_of(const std::string& path) {
  const std::size_t first = path.find('/');
  const std::size_t second = path.find('/', first + 1);
  return path.substr(0, second == std::string::npos ? first : second);
}

std::vector<Source> sources_of(const std::vector<std::string>& tops) {
  std::vector<Source> all;
  for (const std::string& top : tops) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(WEFT_SOURCE_DIR) / top)) {
      if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") continue;
      Source source{fs::relative(entry.path(), WEFT_SOURCE_DIR).string(), 0, {}};
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line); ++source.lines) {
        constexpr std::string_view kInclude = "#include \"";
        if (!line.starts_with(kInclude)) continue;
        const std::string what = line.substr(kInclude.size(), line.find('"', kInclude.size()) - kInclude.size());
        if (what.find('/') != std::string::npos) source.includes.push_back(what);
      }
      all.push_back(std::move(source));
    }
  }
  return all;
}

/// Higher ones may include lower ones. 0: everybody may, and it includes nobody.
int layer_of(const std::string& path) {
  static const std::map<std::string, int> kLayers = {{"hw/core", 1},
                                                     {"platforms/config", 10},
                                                     {"platforms/import", 11},
                                                     {"platforms/streams", 11},
                                                     {"platforms/machine", 11},
                                                     {"platforms/results", 12},
                                                     {"platforms/jobs", 13},
                                                     {"platforms/cli", 13},
                                                     {"platforms/study", 14},
                                                     {"platforms/regress", 15},
                                                     {"platforms/commands", 16},
                                                     {"platforms", 17}};
  if (path.starts_with("traces/")) return 0;
  const auto found = kLayers.find(folder_of(path));
  if (found != kLayers.end()) return found->second;
  EXPECT_FALSE(path.starts_with("platforms/")) << path << " is in none of the rooms of platforms";
  return path.starts_with("hw/") ? 2 : 3;
}

TEST(Layers, AreIncludedFromAboveAlone) {
  const std::vector<Source> sources = sources_of({"hw", "sw", "traces", "platforms"});
  EXPECT_GT(sources.size(), 500U);
  for (const Source& source : sources) {
    for (const std::string& include : source.includes) {
      const bool is_own = folder_of(include) == folder_of(source.path);
      const int mine = layer_of(source.path);
      const int other = layer_of(include);
      // Folders of hw and of sw stand side by side: the next test sees to them. So do formats of traces.
      const bool is_beside = mine == other && mine <= 3;
      EXPECT_TRUE(is_own || is_beside || other < mine) << source.path << " includes " << include;
    }
  }
}

TEST(Layers, HaveNoCirclesOfFolders) {
  std::map<std::string, std::set<std::string>> below;
  for (const Source& source : sources_of({"hw", "sw", "traces", "platforms"})) {
    const std::string folder = folder_of(source.path);
    for (const std::string& include : source.includes) {
      if (folder_of(include) != folder) below[folder].insert(folder_of(include));
    }
  }
  // A folder is in a circle if it can be reached from what it includes.
  for (const auto& [folder, others] : below) {
    std::set<std::string> reached;
    std::vector<std::string> next(others.begin(), others.end());
    while (!next.empty()) {
      const std::string at = next.back();
      next.pop_back();
      if (at == folder) ADD_FAILURE() << folder << " is in a circle";
      if (at == folder || !reached.insert(at).second) continue;
      for (const std::string& other : below[at]) next.push_back(other);
    }
  }
}

/// Estimates follow from what a run went to, and it from none of them.
TEST(Layers, WhatARunWentToKnowsNoEstimates) {
  std::size_t used = 0;
  for (const Source& source : sources_of({"platforms/results"})) {
    for (const std::string& include : source.includes) {
      const bool is_estimate = include.starts_with("platforms/results/what_if/");
      if (source.path.starts_with("platforms/results/why/")) {
        EXPECT_FALSE(is_estimate) << source.path << " includes " << include;
      }
      used += source.path.starts_with("platforms/results/what_if/") && include.starts_with("platforms/results/why/");
    }
  }
  EXPECT_GT(used, 0U);
}

TEST(Layers, HaveFilesOfOnePurpose) {
  constexpr int kLongest = 500;
  for (const Source& source : sources_of({"hw", "sw", "traces", "platforms", "tests", "docs"})) {
    EXPECT_LE(source.lines, kLongest) << source.path;
  }
}

}  // namespace
}  // namespace weft
