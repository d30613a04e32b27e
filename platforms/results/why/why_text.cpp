// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/why/why_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "platforms/results/format.h"
#include "platforms/results/why/resources.h"

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

/// "68.8 % computing, 26.5 % waiting for HBM".
std::string shares(const Branch& branch, const Tree& tree) {
  std::string text;
  for (const auto& [name, part] : branch.worst_first()) {
    if (tree.share(part->ps) < kLeastShare) break;
    text += (text.empty() ? "" : ", ") + tree.percent(part->ps) + " " + name;
  }
  return text;
}

/// What kind of machine it is, as far as `values` say.
std::string machine_text(const ordered_json& values) {
  static constexpr std::array<std::pair<const char*, const char*>, 7> kFields = {
      {{"accelerators", " accelerators"},
       {"per_node", " a node"},
       {"fabric.topology", ""},
       {"fabric.hosts_per_leaf", " ends a leaf"},
       {"fabric.uplinks", " uplinks"},
       {"fabric.routing", " routing"},
       {"collectives.algorithm", ""}}};
  std::string line;
  for (const auto& [field, words] : kFields) {
    const std::string text = configured(values, field);
    if (text.empty() || text == "0") continue;
    line += (line.empty() ? "" : ", ") + text + words;
  }
  return line.empty() ? "" : line + "\n\n";
}

/// Every resource that the path has, in the order of all tables of this kind.
std::string resources_text(const ordered_json& why, const ordered_json& values, std::int64_t whole) {
  struct Sum {
    std::int64_t ps = 0;
    std::int64_t times = 0;
  };
  std::map<const Resource*, Sum> sums;
  for (const ordered_json& piece : why["pieces"]) {
    Sum& sum = sums[&resource_of(piece)];
    sum.ps += piece["ps"].get<std::int64_t>();
    sum.times += piece.value("times", std::int64_t{0});
  }
  std::vector<std::vector<std::string>> lines = {{"what the path goes to", "time", "share", "pieces", "what sets it"}};
  for (const Resource& resource : resources()) {
    const auto found = sums.find(&resource);
    if (found == sums.end() || found->second.ps == 0) continue;
    lines.push_back(
        {"  " + std::string(resource.words), short_time(Time(found->second.ps)),
         fmt::format("{:.1f} %", 100.0 * static_cast<double>(found->second.ps) / static_cast<double>(whole)),
         std::to_string(found->second.times), settings_text(values, resource)});
  }
  return in_columns(lines, 4);
}

/// "10 % of 400Gbps": a link with a fault.
std::string rate_text(const ordered_json& link) {
  const std::string rate = link["rate"];
  const double had = link.value("had", 1.0);
  return had > 0.999 ? rate : fmt::format("{:.3g} % of {}", 100 * had, rate);
}

/// "The fault end5-plane3": of a link that had less than its rate.
std::string faults_text(const ordered_json& link) {
  const auto names = link.value("faults", std::vector<std::string>());
  if (names.empty()) return "A fault";
  return (names.size() == 1 ? "The fault " : "The faults ") + few(names);
}

/// How busy the link is that is first, beside those that join what it joins: whether it is one link, or all of them.
std::string compared_text(const ordered_json& link) {
  const ordered_json& alike = link["alike"];
  const auto percent = [](const ordered_json& share) { return fmt::format("{:.0f} %", 100 * share.get<double>()); };
  const std::string its = percent(link["utilisation"]);
  const int others = alike["links"].get<int>() - 1;
  if (others == 0) return fmt::format(" It is busy {}.", its);
  if (link["utilisation"].get<double>() < 2 * alike["median"].get<double>()) {
    return fmt::format(
        " It is busy {}; the median of the {} that join the same is {}, so that it is not this one alone.", its,
        others + 1, percent(alike["median"]));
  }
  constexpr std::size_t kMostNames = 4;
  const ordered_json as_busy = alike.value("as_busy", ordered_json::array());
  std::string names;
  for (std::size_t i = 0; i < std::min(as_busy.size(), kMostNames); ++i) {
    names += (i == 0 ? "" : ", ") + as_busy[i].get<std::string>();
  }
  if (as_busy.size() > kMostNames) names += ", ...";
  return fmt::format(" It is busy {}, {} of the {} others that join the same {} so{}; their median is {}.", its,
                     as_busy.empty() ? "none" : std::to_string(as_busy.size()), others,
                     as_busy.size() < 2 ? "is" : "are", names.empty() ? "" : " (" + names + ")",
                     percent(alike["median"]));
}

/// Which links lost the packets that timers wait for.
std::string lossy_text(const ordered_json& why, const Branch& of_others, const Tree& tree) {
  const auto timers = of_others.parts.find(std::string(resource_called("timeout").words));
  const ordered_json& lossy = member_of(why, "lossy");
  if (timers == of_others.parts.end() || tree.share(timers->second.ps) < kLeastShare || lossy.empty()) return "";
  constexpr std::size_t kMostNames = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(lossy.size(), kMostNames); ++i) {
    const ordered_json& link = lossy[i];
    text += fmt::format("{}{} of {} on {} ({:.2g} %)", i == 0 ? "" : ", ", link["lost"].get<std::int64_t>(),
                        link["packets"].get<std::int64_t>(), link["link"].get<std::string>(),
                        100 * link["lost"].get<double>() / link["packets"].get<double>());
  }
  return fmt::format(" Packets were lost: {}; {}.", text,
                     lossy.size() > kMostNames ? "other links lost fewer" : "no other link lost any");
}

std::string links_text(const ordered_json& why, const Branch& links, const Tree& tree) {
  std::vector<std::vector<std::string>> lines = {
      {"links that the path crosses", "time", "share", "mostly", "busy", "alike", "rate", "flight", "buffer"}};
  for (const auto& [name, link] : links.worst_first()) {
    if (lines.size() > kMostParts || tree.share(link->ps) < kLeastShare) break;
    std::vector<std::string> line = {"  " + name, short_time(Time(link->ps)), tree.percent(link->ps),
                                     link->worst_first().front().first};
    if (const ordered_json& all = member_of(why, "links"); all.contains(name)) {
      const ordered_json& its = all[name];
      line.push_back(fmt::format("{:.0f} %", 100 * its["utilisation"].get<double>()));
      line.push_back(
          fmt::format("{:.0f} % of {}", 100 * its["alike"]["median"].get<double>(), its["alike"]["links"].get<int>()));
      line.push_back(rate_text(its));
      for (const char* key : {"propagation", "buffer"}) line.push_back(its[key]);
    }
    lines.push_back(std::move(line));
  }
  return lines.size() == 1 ? "" : in_columns(lines);
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

std::string collectives_text(const ordered_json& why, bool all) {
  std::vector<std::vector<std::string>> lines = {
      {"collectives, by member", "calls", "each", "GB/s", "waits for late ranks", "the rest is mostly"}};
  for (const ordered_json& it : member_of(why, "collectives")) {
    if (!all && lines.size() > kMostPlaces + 1) break;
    const auto calls = it["calls"].get<std::int64_t>();
    const auto ps = it["ps"].get<std::int64_t>();
    if (calls == 0 || ps == 0) continue;
    const auto late = it["late_ps"].get<std::int64_t>();
    std::string waits = fmt::format("{:.0f} %", 100.0 * static_cast<double>(late) / static_cast<double>(ps));
    if (late * 10 > ps && !it["last"].empty()) {
      waits += fmt::format(", {} of {} for rank {}", it["last"][0]["times"].get<std::int64_t>(),
                           calls / it["members"].get<std::int64_t>(), it["last"][0]["rank"].get<int>());
    }
    lines.push_back({fmt::format("  {} {} of {}", it["group"].get<std::string>(), it["operation"].get<std::string>(),
                                 short_bytes(it["bytes"].get<double>())),
                     std::to_string(calls / it["members"].get<std::int64_t>()), short_time(Time(ps / calls)),
                     fmt::format("{:.1f}", it["bytes"].get<double>() * static_cast<double>(calls) /
                                               static_cast<double>(std::max<std::int64_t>(ps - late, 1)) * 1e3),
                     waits, mostly(it["transfer"], std::max<std::int64_t>(ps - late, 1))});
  }
  return lines.size() == 1 ? "" : in_columns(lines, 4);
}

std::string waits_text(const ordered_json& why, bool all) {
  std::vector<const ordered_json*> waits;
  for (const ordered_json& wait : member_of(why, "waits")) waits.push_back(&wait);
  if (waits.empty()) return "";
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
  return in_columns(lines, 2);
}

}  // namespace

std::string why_text(const ordered_json& why, const ordered_json& all_values, WhyText how_much) {
  const ordered_json values = followed(why, all_values);
  const std::int64_t whole = why["until_ps"].get<std::int64_t>() - why["from_ps"].get<std::int64_t>();
  Branch root;
  Branch of_kernels;
  Branch of_others;
  Branch accelerators;
  Branch links;
  for (const ordered_json& piece : why["pieces"]) {
    const auto ps = piece["ps"].get<std::int64_t>();
    const std::string words(resource_of(piece).words);
    const bool is_kernel = piece["of"] == "kernel";
    Branch& what = root.add(is_kernel ? "kernels" : "between kernels", ps).add(piece["about"], ps);
    Branch& part = what.add(words, ps);
    if (!is_kernel) part.add(piece["place"], ps);  // a kernel is on whichever rank the path is
    (is_kernel ? of_kernels : of_others).add(words, ps);
    if (is_kernel) accelerators.add(piece["place"], ps);
    if (piece["on_link"] == true) links.add(piece["place"], ps).add(piece["kind"], ps);
  }
  Tree tree(whole);
  std::string words = fmt::format("The critical path is {} long.", short_time(Time(whole)));
  const std::int64_t in_kernels = root.parts["kernels"].ps;
  const std::int64_t between = root.parts["between kernels"].ps;
  if (in_kernels > 0) {
    words += fmt::format(" {} of it is in kernels: {}.", tree.percent(in_kernels), shares(of_kernels, tree));
  }
  if (tree.share(between) >= kLeastShare) {
    const auto [topic, worst] = root.parts["between kernels"].worst_first().front();
    words += fmt::format(" {} is between kernels: {}; the largest part of that, {}, is for {}.", tree.percent(between),
                         shares(of_others, tree), tree.percent(worst->ps), topic);
  }
  if (accelerators.parts.size() > 1) {
    const auto [slowest, its] = accelerators.worst_first().front();
    words += fmt::format(" Of the kernels' time, {:.0f} % is on {}",
                         100.0 * static_cast<double>(its->ps) / static_cast<double>(in_kernels), slowest);
    if (const ordered_json& computed = member_of(why, "computed");
        computed.contains("on_path") && computed["on_path"].contains(slowest) && computed["median_ps"] > 0) {
      const double more = computed["on_path"][slowest].get<double>() / computed["median_ps"].get<double>() - 1;
      words += fmt::format(", which computes {:.1f} % {} than the median of all", 100 * std::abs(more),
                           more < 0 ? "less" : "longer");
    }
    words += ".";
  }
  if (!links.parts.empty()) {
    const auto [busiest, its] = links.worst_first().front();
    if (tree.share(its->ps) >= kLeastShare) {
      words += fmt::format(" The link that holds it up most is {}, for {}.", busiest, tree.percent(its->ps));
      if (const ordered_json& all = member_of(why, "links"); all.contains(busiest)) {
        const ordered_json& link = all[busiest];
        words += compared_text(link);
        if (rate_text(link) != link["rate"])
          words += fmt::format(" {} left it {}.", faults_text(link), rate_text(link));
        if (link.value("fills", 1.0) < 0.9) {
          words +=
              fmt::format(" The buffer behind it, {}, lets through {:.0f} % of the rate at most, with a flight of {}.",
                          link["buffer"].get<std::string>(), 100 * link["fills"].get<double>(),
                          link["propagation"].get<std::string>());
        }
      }
    }
  }
  words += lossy_text(why, of_others, tree);
  std::string text = wrapped(words, 0) + "\n\n" + resources_text(why, values, whole);
  if (how_much == WhyText::kBrief) return text;
  text.insert(0, machine_text(values));
  const bool all = how_much == WhyText::kAll;
  for (const auto& [name, part] : root.worst_first()) {
    if (part->ps == 0) continue;
    tree.line(0, name, part->ps);
    tree.parts(*part, 1, all ? 3 : 2);
  }
  text += "\n" + tree.text();
  for (const std::string& table : {links_text(why, links, tree), collectives_text(why, all), waits_text(why, all)}) {
    if (!table.empty()) text += "\n" + table;
  }
  return text;
}

}  // namespace weft::platforms
