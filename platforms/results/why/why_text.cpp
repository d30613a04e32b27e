// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/why/why_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "platforms/config/text.h"
#include "platforms/results/format.h"
#include "platforms/results/why/named.h"
#include "platforms/results/why/path_parts.h"
#include "platforms/results/why/resources.h"
#include "platforms/results/why/set_by.h"
#include "platforms/results/why/why_sentences.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

/// A screen has so many lines, with advice_text() behind a blank one, and columns.
constexpr std::size_t kLines = 60;
constexpr std::size_t kAdvice = 7;
constexpr std::size_t kWidth = 120;
constexpr std::size_t kNames = 46;  ///< columns of what a line is about
constexpr std::size_t kMostPlaces = 3;

/// How many rows tables have.
struct Rows {
  std::size_t parts;   ///< of a branch of the tree
  std::size_t levels;  ///< of the tree
  std::size_t links;
  std::size_t collectives;
  bool together = true;  ///< resources with next to nothing have one line
};
constexpr Rows kAllRows = {8, 3, 8, SIZE_MAX, false};
/// Of a screen: the first that fit.
constexpr std::array<Rows, 8> kFewer = {{{8, 2, 8, 4, false},
                                         {8, 2, 8, 4},
                                         {6, 2, 6, 4},
                                         {4, 2, 5, 4},
                                         {3, 2, 4, 3},
                                         {5, 1, 4, 3},
                                         {3, 1, 3, 2},
                                         {2, 1, 2, 1}}};

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// The name with at most so many letters: its beginning and its end.
std::string cut(const std::string& name, std::size_t most) {
  if (name.size() <= most) return name;
  const std::size_t end = (most - 2) / 2;
  return name.substr(0, most - 2 - end) + ".." + name.substr(name.size() - end);
}

/// A list with as many of its items as fit, or the beginning of the first one and its share: "copies and su.. 73 %".
std::string cut_list(const std::string& list, std::size_t most) {
  if (list.size() <= most) return list;
  std::size_t at = most + 1;
  while (at > 0 && list[at - 1] != ',' && list[at - 1] != ';') --at;
  if (at > 1) return list.substr(0, at - 1);
  const std::string first = list.substr(0, list.find_first_of(",;"));
  const std::size_t share = first.ends_with(" %") ? first.rfind(' ', first.size() - 3) : first.size();
  const std::string tail = ".." + first.substr(share);
  return first.substr(0, most - std::min(most, tail.size())) + tail;
}

/// As in_columns(), within the width of a screen unless `all` is to be seen.
std::string fitted(std::vector<std::vector<std::string>> lines, std::size_t texts, bool all) {
  if (all) return in_columns(lines, texts);
  const std::size_t last = lines.front().size() - 1;
  std::size_t before = 0;
  for (std::size_t column = 0; column < last; ++column) {
    std::size_t widest = 0;
    for (std::vector<std::string>& line : lines) {
      if (column == 0) line[0] = cut(line[0], kNames);
      if (column < line.size()) widest = std::max(widest, line[column].size());
    }
    before += widest + 2;
  }
  for (std::vector<std::string>& line : lines) {
    if (line.size() > last) line[last] = cut_list(line[last], kWidth - std::min(before, kWidth - 10));
  }
  return in_columns(lines, texts);
}

class Tree {
 public:
  Tree(const PathParts& path, std::size_t most, bool all) : path_(path), most_(most), all_(all) {}

  void line(std::size_t depth, const std::string& name, std::int64_t ps) {
    const std::size_t width = kNames - 2 * depth;
    text_ += fmt::format("{:{}}{:<{}} {:>10} {:>8}\n", "", 2 * depth, all_ ? name : cut(name, width), width,
                         short_time(Time(ps)), path_.percent(ps));
  }
  /// The parts of a branch, and theirs, down to `levels`.
  void parts(const Branch& branch, std::size_t depth, std::size_t levels) {
    if (levels == 0) return;
    std::size_t shown = 0;
    std::int64_t rest = 0;
    std::size_t others = 0;
    for (const auto& [name, part] : branch.worst_first()) {
      if (path_.share(part->ps) < PathParts::kLeastShare || shown == (depth > 2 ? kMostPlaces : most_)) {
        rest += part->ps;
        ++others;
        continue;
      }
      ++shown;
      line(depth, name, part->ps);
      parts(*part, depth + 1, levels - 1);
    }
    if (shown > 0 && path_.share(rest) >= PathParts::kLeastShare)
      line(depth, others == 1 ? "1 other" : fmt::format("{} others", others), rest);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  const PathParts& path_;
  std::size_t most_;
  bool all_;
  std::string text_;
};

/// What kind of machine it is, as far as `values` say.
std::string machine_text(const FieldValues& values) {
  std::vector<std::string> words;
  const auto add = [&](const char* field, const char* what) {
    const std::string text = values.text(field);
    if (!text.empty() && text != "0") words.push_back(text + what);
  };
  const std::string accelerators = values.text("accelerators");
  if (!accelerators.empty()) words.push_back(accelerators + (accelerators == "1" ? " accelerator" : " accelerators"));
  add("per_node", " a node");
  add("fabric.topology", "");
  if (values.text("fabric.topology") == "fat-tree") {  // others have no leaves
    add("fabric.hosts_per_leaf", " ends a leaf");
    add("fabric.uplinks", " uplinks");
  }
  add("fabric.routing", " routing");
  add("collectives.algorithm", "");
  return words.empty() ? "" : join(words, ", ") + "\n\n";
}

/// Every resource that the path has, in the order of all tables of this kind, or those with next to nothing together.
std::string resources_text(const ordered_json& why, const FieldValues& values, const Settings& settings,
                           const PathParts& path, bool together, bool all) {
  constexpr double kNothing = 0.0005;
  struct Sum {
    std::int64_t ps = 0;
    std::int64_t times = 0;

    void add(std::int64_t more_ps, std::int64_t more_times) {
      ps += more_ps;
      times += more_times;
    }
  };
  std::map<const Resource*, Sum> sums;
  for (const ordered_json& piece : why["pieces"]) {
    sums[&resource_of(piece)].add(piece["ps"].get<std::int64_t>(), piece.value("times", std::int64_t{0}));
  }
  std::vector<std::vector<std::string>> lines = {{"what the path goes to", "time", "share", "pieces", "what sets it"}};
  const auto add = [&](const std::string& words, const Sum& sum, const std::string& fields) {
    lines.push_back({"  " + words, short_time(Time(sum.ps)), path.percent(sum.ps), std::to_string(sum.times), fields});
  };
  const auto is_nothing = [&](const Sum& sum) { return path.share(sum.ps) < kNothing; };
  const auto others =
      std::count_if(sums.begin(), sums.end(), [&](const auto& each) { return is_nothing(each.second); });
  Sum rest;
  for (const Resource& resource : resources()) {
    const auto found = sums.find(&resource);
    if (found == sums.end() || found->second.ps == 0) continue;
    if (together && others > 1 && is_nothing(found->second)) {
      rest.add(found->second.ps, found->second.times);
    } else {
      const std::string fields = settings.text(resource);
      add(std::string(resource.words), found->second,
          resource.name == "software" && fields.empty() ? fields_of_programs(why, values) : fields);
    }
  }
  if (rest.ps > 0) add(fmt::format("{} others", others), rest, "");
  return fitted(lines, 4, all);
}

/// "a 80 %, b 20 %": whose bytes a link has carried, of jobs, or of flows.
std::string carried_by(const ordered_json& link) {
  std::string text;
  const auto add = [&text](const std::string& name, double share) {
    if (share < 0.005) return;
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", name, 100 * share);
  };
  for (const ordered_json& job : member_of(member_of(link, "carried"), "jobs")) add(job["job"], job["share"]);
  if (!text.empty()) return text;
  for (const NamedFlow& flow : flows_of(link)) add(flow.name, flow.share);
  return text;
}

std::string links_text(const ordered_json& why, const PathParts& path, std::size_t most, bool all) {
  std::vector<std::vector<std::string>> lines = {
      {"links that the path crosses", "time", "share", "mostly", "busy", "alike", "rate"}};
  if (all) lines.front().insert(lines.front().end(), {"flight", "buffer"});
  lines.front().emplace_back("whose bytes");
  for (const auto& [name, link] : path.links.worst_first()) {
    if (lines.size() > most || path.share(link->ps) < PathParts::kLeastShare) break;
    std::vector<std::string> line = {"  " + name, short_time(Time(link->ps)), path.percent(link->ps),
                                     link->worst_first().front().first};
    if (const ordered_json& known = member_of(why, "links"); known.contains(name)) {
      const ordered_json& its = known[name];
      line.push_back(fmt::format("{:.0f} %", 100 * its["utilisation"].get<double>()));
      line.push_back(
          fmt::format("{:.0f} % of {}", 100 * its["alike"]["median"].get<double>(), its["alike"]["links"].get<int>()));
      line.push_back(rate_text(its));
      if (all) line.insert(line.end(), {its["propagation"], its["buffer"]});
      line.push_back(carried_by(its));
    }
    lines.push_back(std::move(line));
  }
  return lines.size() == 1 ? "" : fitted(lines, lines.front().size() - 1, all);
}

/// "bytes on links 54 %, at nic1 out; computing 12 %": what the largest of these pieces are, by resource, each with the
/// place or the kernel that most of it is.
std::string mostly(const ordered_json& pieces, std::int64_t whole, std::size_t most = 2) {
  Branch sums;
  for (const ordered_json& piece : pieces) {
    const std::string of = piece["of"];
    const std::string where = of == "kernel"
                                  ? piece["about"].get<std::string>() + " on " + piece["place"].get<std::string>()
                                  : piece["place"].get<std::string>();
    sums.add(std::string(resource_of(piece).words), piece["ps"]).add(where, piece["ps"]);
  }
  std::string text;
  for (const auto& [name, part] : sums.worst_first()) {
    if (most-- == 0 || part->ps == 0) break;
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : "; ", name,
                        100.0 * static_cast<double>(part->ps) / static_cast<double>(whole));
    const auto [where, its] = part->worst_first().front();
    if (2 * its->ps > part->ps && where != "others") text += ", mostly " + where;
  }
  return text;
}

std::string collectives_text(const ordered_json& why, std::size_t most, bool all) {
  std::vector<std::vector<std::string>> lines = {
      {"collectives, by member", "calls", "each", "rate", "waits for late ranks", "the rest is mostly"}};
  if (all) lines.front().insert(lines.front().end() - 1, "late ranks are mostly at");
  std::vector<const ordered_json*> sorted;
  for (const char* const key : {"collectives", "overlapping"}) {
    for (const ordered_json& it : member_of(why, key)) sorted.push_back(&it);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const ordered_json* a, const ordered_json* b) {
    return (*a)["ps"].get<std::int64_t>() > (*b)["ps"].get<std::int64_t>();
  });
  for (const ordered_json* each : sorted) {
    const ordered_json& it = *each;
    if (lines.size() > most) break;
    const auto calls = it["calls"].get<std::int64_t>();
    const auto ps = it["ps"].get<std::int64_t>();
    if (calls == 0 || ps == 0) continue;
    const auto late = it["late_ps"].get<std::int64_t>();
    std::string waits = fmt::format("{:.0f} %", 100.0 * static_cast<double>(late) / static_cast<double>(ps));
    if (late * 10 > ps && !it["last"].empty()) {
      waits += fmt::format(", {} of {} for rank {}", it["last"][0]["times"].get<std::int64_t>(),
                           calls / it["members"].get<std::int64_t>(), it["last"][0]["rank"].get<int>());
    }
    std::string what = fmt::format("  {} {}", it["group"].get<std::string>(), it["operation"].get<std::string>());
    std::string rate;
    if (const auto bytes = it["bytes"].get<double>(); bytes > 0) {
      what += " of " + short_bytes(bytes);
      // Of messages nobody waits for those that are there already.
      if (ps > late && it["members"] != 1)
        rate = rate_in_bytes(bytes * static_cast<double>(calls) / static_cast<double>(ps - late) * 1e12);
    }
    lines.push_back({what, std::to_string(calls / it["members"].get<std::int64_t>()), short_time(Time(ps / calls)),
                     rate, waits, mostly(it["transfer"], std::max<std::int64_t>(ps - late, 1))});
    if (!all) continue;
    std::int64_t lateness = 0;
    for (const ordered_json& piece : member_of(it, "lateness")) lateness += piece["ps"].get<std::int64_t>();
    lines.back().insert(lines.back().end() - 1,
                        mostly(member_of(it, "lateness"), std::max<std::int64_t>(lateness, 1), 1));
  }
  return lines.size() == 1 ? "" : fitted(lines, 4, all);
}

std::string waits_text(const ordered_json& why, bool all) {
  std::vector<const ordered_json*> waits;
  for (const ordered_json& wait : member_of(why, "waits")) waits.push_back(&wait);
  const bool any = std::any_of(waits.begin(), waits.end(), [](const ordered_json* wait) { return (*wait)["ps"] > 0; });
  if (!any) return "";
  std::stable_sort(waits.begin(), waits.end(), [](const ordered_json* a, const ordered_json* b) {
    return (*a)["ps"].get<std::int64_t>() < (*b)["ps"].get<std::int64_t>();
  });
  std::vector<std::vector<std::string>> lines = {{"accelerators' waits before kernels", "time", "mostly"}};
  const auto add = [&](const char* which, const ordered_json& wait) {
    const auto ps = wait["ps"].get<std::int64_t>();
    lines.push_back({fmt::format("  {}{}", which, wait["place"].get<std::string>()), short_time(Time(ps)),
                     mostly(wait["for"], std::max<std::int64_t>(ps, 1))});
  };
  if (all) {
    for (auto wait = waits.rbegin(); wait != waits.rend(); ++wait) add("", **wait);
  } else {
    add("most: ", *waits.back());
    if (waits.size() > 2) add("median: ", *waits[waits.size() / 2]);
    if (waits.size() > 1) add("least: ", *waits.front());
  }
  return fitted(lines, 2, all);
}

/// The tree and the tables behind it.
std::string tables_text(const ordered_json& why, const PathParts& path, const Rows& rows, bool all) {
  Tree tree(path, rows.parts, all);
  std::array<std::pair<const char*, const Branch*>, 2> roots = {
      {{"kernels", &path.kernels}, {"between kernels", &path.between}}};
  if (roots[0].second->ps < roots[1].second->ps) std::swap(roots[0], roots[1]);
  for (const auto& [name, branch] : roots) {
    if (path.share(branch->ps) < PathParts::kLeastShare) continue;
    tree.line(0, name, branch->ps);
    tree.parts(*branch, 1, rows.levels);
  }
  std::string text = "\n" + tree.text();
  for (const std::string& table :
       {links_text(why, path, rows.links, all), collectives_text(why, rows.collectives, all), waits_text(why, all)}) {
    if (!table.empty()) text += "\n" + table;
  }
  return text;
}

}  // namespace

std::string why_text(const ordered_json& why, const ordered_json& all_values, WhyText how_much) {
  const FieldValues values = FieldValues::followed(why, all_values);
  const Settings settings(why, values);
  const PathParts path(why);
  const std::string sentences = wrapped(why_sentences(why, values, path), 0) + "\n\n";
  if (how_much == WhyText::kBrief) return sentences + resources_text(why, values, settings, path, false, false);
  const std::string head = machine_text(values) + sentences;
  const auto text = [&](const Rows& rows, bool all) {
    return head + resources_text(why, values, settings, path, rows.together, all) + tables_text(why, path, rows, all);
  };
  if (how_much == WhyText::kAll) return text(kAllRows, true);
  std::string screen;
  for (const Rows& rows : kFewer) {
    screen = text(rows, false);
    if (lines_of(screen) + kAdvice <= kLines) break;
  }
  return screen;
}

}  // namespace weft::platforms
