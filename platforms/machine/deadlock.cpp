// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/deadlock.h"

#include <algorithm>
#include <unordered_map>

#include "traces/nearest_names.h"

namespace weft::platforms {
namespace {

constexpr std::size_t kShown = 10;

/// What a line says of any module: "nic3: queue pair 7 to end 1 has 2 unfinished work requests, first ..." is
/// "queue pair * to end * has * unfinished work requests".
std::string kind_of(const std::string& line) {
  const std::size_t colon = line.find(": ");
  const std::string said = line.substr(colon == std::string::npos ? 0 : colon + 2);
  std::string kind = traces::without_numbers(said.substr(0, said.find_first_of(",;(")));
  kind.erase(kind.find_last_not_of(' ') + 1);
  return kind;
}

struct Kind {
  std::string name;
  std::size_t count = 0;
  std::vector<std::size_t> first;  ///< of its lines, as many as could be shown
};

std::vector<Kind> kinds_of(const std::vector<std::string>& lines) {
  std::vector<Kind> kinds;
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string name = kind_of(lines[i]);
    const auto [at, is_new] = known.try_emplace(name, kinds.size());
    if (is_new) kinds.push_back({std::move(name), 0, {}});
    Kind& kind = kinds[at->second];
    ++kind.count;
    if (kind.first.size() < kShown) kind.first.push_back(i);
  }
  return kinds;
}

/// Of each kind in turn the next, so that what is rare is not hidden behind what is frequent; in their order.
std::vector<std::size_t> chosen(const std::vector<Kind>& kinds) {
  std::vector<std::size_t> all;
  for (std::size_t turn = 0; turn < kShown; ++turn) {
    for (const Kind& kind : kinds) {
      if (turn < kind.first.size() && all.size() < kShown) all.push_back(kind.first[turn]);
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::string causes_text(const std::vector<std::string>& causes) {
  std::string text;
  for (std::size_t i = 0; i < std::min(causes.size(), kShown); ++i) text += causes[i] + "\n";
  if (causes.size() > kShown) text += "and " + std::to_string(causes.size() - kShown) + " more of these\n";
  return text;
}

std::string unfinished_text(const std::vector<std::string>& lines) {
  std::string text = "deadlock: nothing can happen any more";
  if (lines.empty()) return text;
  text += ", and this is unfinished:";
  std::vector<Kind> kinds = kinds_of(lines);
  for (const std::size_t i : chosen(kinds)) text += "\n  " + lines[i];
  if (lines.size() <= kShown) return text;
  text += "\nand " + std::to_string(lines.size() - kShown) + " more; of all " + std::to_string(lines.size()) + ":";
  std::stable_sort(kinds.begin(), kinds.end(), [](const Kind& a, const Kind& b) { return a.count > b.count; });
  for (std::size_t i = 0; i < std::min(kinds.size(), kShown); ++i) {
    text += "\n  " + std::to_string(kinds[i].count) + " x " + kinds[i].name;
  }
  if (kinds.size() > kShown) text += "\n  and " + std::to_string(kinds.size() - kShown) + " more kinds";
  return text;
}

}  // namespace

DeadlockError::DeadlockError(const std::vector<std::string>& causes, const std::vector<std::string>& lines)
    : std::runtime_error(causes_text(causes) + unfinished_text(lines)),
      causes_(causes_text(causes)),
      unfinished_(unfinished_text(lines)) {}

std::string DeadlockError::text(const std::vector<std::string>& job) const {
  std::string text = causes_;
  for (const std::string& line : job) text += line + "\n";
  return text + unfinished_;
}

}  // namespace weft::platforms
