// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "platforms/results/format.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

/// A sum over pieces that have something in common, and over parts of it.
struct Branch {
  std::int64_t ps = 0;
  std::map<std::string, Branch> parts;

  Branch& add(const std::string& name, std::int64_t more) {
    Branch& part = parts[name];
    part.ps += more;
    return part;
  }
  [[nodiscard]] std::vector<std::pair<std::string, const Branch*>> worst_first() const {
    std::vector<std::pair<std::string, const Branch*>> all;
    for (const auto& [name, part] : parts) all.emplace_back(name, &part);
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second->ps > b.second->ps; });
    return all;
  }
};

/// Below this nothing has a line of its own.
constexpr double kLeastShare = 0.002;
constexpr std::size_t kMostParts = 8;
constexpr std::size_t kMostPlaces = 3;
constexpr std::size_t kNameWidth = 46;

class Tree {
 public:
  explicit Tree(std::int64_t whole) : whole_(whole) {}

  [[nodiscard]] double share(std::int64_t ps) const {
    return whole_ == 0 ? 0 : static_cast<double>(ps) / static_cast<double>(whole_);
  }
  void line(std::size_t depth, const std::string& name, std::int64_t ps) {
    text_ += fmt::format("{:{}}{:<{}} {:>10} {:>6.1f} %\n", "", 2 * depth, name, kNameWidth - 2 * depth,
                         short_time(Time(ps)), 100 * share(ps));
  }
  /// The parts of a branch, and theirs, down to `levels`.
  void parts(const Branch& branch, std::size_t depth, std::size_t levels) {
    if (levels == 0) return;
    std::size_t shown = 0;
    std::int64_t rest = 0;
    std::size_t others = 0;
    for (const auto& [name, part] : branch.worst_first()) {
      if (share(part->ps) < kLeastShare || shown == (depth > 2 ? kMostPlaces : kMostParts)) {
        rest += part->ps;
        ++others;
        continue;
      }
      ++shown;
      line(depth, name, part->ps);
      parts(*part, depth + 1, levels - 1);
    }
    if (shown > 0 && share(rest) >= kLeastShare) line(depth, fmt::format("{} others", others), rest);
  }
  [[nodiscard]] std::string percent(std::int64_t ps) const { return fmt::format("{:.1f} %", 100 * share(ps)); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::int64_t whole_;
  std::string text_;
};

/// What people call a kind.
std::string in_words(const std::string& kind) {
  static const std::map<std::string, std::string> kWords = {{"kernel", "computing"},
                                                            {"memory", "waiting for HBM"},
                                                            {"launch", "being launched"},
                                                            {"copy", "copies and sums of an accelerator"},
                                                            {"host link", "host link and DMA of an interface"},
                                                            {"serialisation", "bytes that pass a link"},
                                                            {"queue", "packets that wait for a link"},
                                                            {"credit", "packets that wait for room in a buffer"},
                                                            {"injection", "waiting for a turn to send"},
                                                            {"recovery", "timers until something is sent again"},
                                                            {"pipeline", "switches"},
                                                            {"reduction", "sums in switches"}};
  const auto found = kWords.find(kind);
  return found == kWords.end() ? kind : found->second;
}

/// "68.8 % computing, 26.5 % waiting for HBM".
std::string shares(const Branch& branch, const Tree& tree) {
  std::string text;
  for (const auto& [name, part] : branch.worst_first()) {
    if (tree.share(part->ps) < kLeastShare) break;
    text += (text.empty() ? "" : ", ") + tree.percent(part->ps) + " " + name;
  }
  return text;
}

}  // namespace

ordered_json why_summary(const Machine& machine, Time from, Time until) {
  const Causes& causes = *machine.causes();
  std::vector<Causes::Step> path = causes.path();
  if (!path.empty() && until.count() > path.back().until) {
    path.push_back({until.count(), CauseKind::kFirmware, path.back().place, path.back().context});
  }
  std::map<std::tuple<std::uint32_t, CauseKind, Causes::Place>, std::int64_t> sums;
  std::int64_t at = 0;
  for (const Causes::Step& step : path) {
    const std::int64_t begins = std::max(at, from.count());
    at = step.until;
    if (at > begins) sums[{step.context, step.kind, step.place}] += at - begins;
  }
  std::vector<std::pair<std::tuple<std::uint32_t, CauseKind, Causes::Place>, std::int64_t>> sorted(sums.begin(),
                                                                                                   sums.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  ordered_json pieces = ordered_json::array();
  for (const auto& [key, ps] : sorted) {
    const auto& [context, kind, place] = key;
    const Causes::Context& about = causes.context_of(context);
    pieces.push_back({{"of", about.is_kernel ? "kernel" : "thread"},
                      {"about", about.name.empty() ? "the start" : about.name},
                      {"kind", name_of(kind)},
                      {"place", causes.place_name(place)},
                      {"on_link", causes.is_other_place(place)},
                      {"ps", ps}});
  }
  return {
      {"from_ps", from.count()}, {"until_ps", std::max(at, from.count())}, {"steps", path.size()}, {"pieces", pieces}};
}

std::string why_text(const ordered_json& why) {
  const std::int64_t whole = why["until_ps"].get<std::int64_t>() - why["from_ps"].get<std::int64_t>();
  Branch root;
  Branch kinds_of_kernels;
  Branch kinds_of_others;
  Branch accelerators;
  Branch links;
  for (const ordered_json& piece : why["pieces"]) {
    const auto ps = piece["ps"].get<std::int64_t>();
    const std::string kind = in_words(piece["kind"]);
    const bool is_kernel = piece["of"] == "kernel";
    Branch& what = root.add(is_kernel ? "kernels" : "between kernels", ps).add(piece["about"], ps);
    Branch& part = what.add(kind, ps);
    if (!is_kernel) part.add(piece["place"], ps);  // a kernel is on whichever rank the path is
    (is_kernel ? kinds_of_kernels : kinds_of_others).add(kind, ps);
    if (is_kernel) accelerators.add(piece["place"], ps);
    if (piece["on_link"] == true) links.add(piece["place"], ps).add(kind, ps);
  }
  Tree tree(whole);
  std::string words = fmt::format("The critical path is {} long.", short_time(Time(whole)));
  const std::int64_t in_kernels = root.parts["kernels"].ps;
  const std::int64_t between = root.parts["between kernels"].ps;
  if (in_kernels > 0) {
    words += fmt::format(" {} of it is in kernels: {}.", tree.percent(in_kernels), shares(kinds_of_kernels, tree));
  }
  if (tree.share(between) >= kLeastShare) {
    const auto [topic, worst] = root.parts["between kernels"].worst_first().front();
    words += fmt::format(" {} is between kernels: {}; the largest part of that, {}, is for {}.", tree.percent(between),
                         shares(kinds_of_others, tree), tree.percent(worst->ps), topic);
  }
  if (accelerators.parts.size() > 1) {
    const auto [slowest, its] = accelerators.worst_first().front();
    words += fmt::format(" Of the kernels' time, {:.0f} % is on {}.",
                         100.0 * static_cast<double>(its->ps) / static_cast<double>(in_kernels), slowest);
  }
  if (!links.parts.empty()) {
    const auto [busiest, its] = links.worst_first().front();
    if (tree.share(its->ps) >= kLeastShare) {
      words += fmt::format(" The link that holds it up most is {}, for {}.", busiest, tree.percent(its->ps));
    }
  }
  for (const auto& [name, part] : root.worst_first()) {
    if (part->ps == 0) continue;
    tree.line(0, name, part->ps);
    tree.parts(*part, 1, 3);
  }
  std::string text = wrapped(words, 0) + "\n\n" + tree.text();
  Tree of_links(whole);
  of_links.parts(links, 1, 2);
  if (!of_links.text().empty()) text += "links on the path\n" + of_links.text();
  return text;
}

}  // namespace weft::platforms
