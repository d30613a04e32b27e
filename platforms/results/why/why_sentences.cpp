// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/why/why_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "hw/core/quantity.h"
#include "platforms/results/format.h"
#include "platforms/results/why/named.h"
#include "platforms/results/why/resources.h"
#include "platforms/results/why/set_by.h"
#include "platforms/results/why/small_chunks.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

/// So much longer than the median is far from it.
constexpr double kFar = 1.1;
/// Less than that more is nothing to tell of.
constexpr double kMore = 1.0005;
/// Below this share of its rate a link has a fault.
constexpr double kWhole = 0.999;

/// Of the bytes of a link, a flow with more has it alone.
constexpr double kAlone = 0.99;

/// Sentences about something that has such a share of the path.
struct Topic {
  std::int64_t ps = 0;
  std::string text;
};

/// "68.8 % computing, 26.5 % waiting for HBM". Of one thing that is all of it, its name.
std::string shares(const Branch& branch, const PathParts& parts, std::int64_t all) {
  std::string text;
  for (const auto& [name, part] : branch.worst_first()) {
    if (parts.share(part->ps) < PathParts::kLeastShare) break;
    if (parts.percent(part->ps) == parts.percent(all)) return name;
    text += (text.empty() ? "" : ", ") + parts.percent(part->ps) + " " + name;
  }
  return text;
}

/// What a place on the path has spent, and the median of all alike.
struct Compared {
  std::int64_t ps = 0;
  std::int64_t median_ps = 0;
  std::int64_t of = 0;
  std::string job;  ///< of several

  [[nodiscard]] double factor() const {
    if (median_ps == 0) return ps == 0 ? 1 : INFINITY;
    return static_cast<double>(ps) / static_cast<double>(median_ps);
  }
  /// "2.3 times as long as the median of the 8 (404.5 us)"
  [[nodiscard]] std::string text() const {
    std::string median = of == 0 ? "the median of all" : fmt::format("the median of the {}", of);
    if (!job.empty()) median += " of " + job;
    if (median_ps == 0) return fmt::format("{} has none", median);
    if (factor() < 1.5) return fmt::format("{:.1f} % longer than {}", 100 * (factor() - 1), median);
    return fmt::format("{:.{}f} times as long as {} ({})", factor(), factor() < 10 ? 1 : 0, median,
                       short_time(Time(median_ps)));
  }
};

std::optional<Compared> compared(const ordered_json& all, const std::string& place) {
  const ordered_json& on_path = member_of(all, "on_path");
  if (!on_path.contains(place)) return std::nullopt;
  const auto ps = on_path[place].get<std::int64_t>();
  const std::string job = member_of(all, "job_of").value(place, std::string());
  const ordered_json& its = job.empty() ? all : all["jobs"][job];
  return Compared{ps, its["median_ps"].get<std::int64_t>(), its.value("of", std::int64_t{0}), job};
}

/// Kernels, and the accelerator that most of them are on.
Topic kernels_topic(const ordered_json& why, const PathParts& parts) {
  const std::int64_t ps = parts.kernels.ps;
  if (parts.share(ps) < PathParts::kLeastShare) return {};
  const std::string what = shares(parts.of_kernels, parts, ps);
  const auto [slowest, its] = parts.accelerators.worst_first().front();
  const bool alone = parts.accelerators.parts.size() == 1;
  const std::string on_it = fmt::format("{:.0f} %", 100 * static_cast<double>(its->ps) / static_cast<double>(ps));
  const std::optional<Compared> times = compared(member_of(why, "computed"), slowest);
  if (times && times->median_ps > 0 && times->factor() >= kFar) {
    return {ps, fmt::format("{} computes {}. {} of the path is in kernels{}: {}.", slowest, times->text(),
                            parts.percent(ps), alone ? " there" : ", " + on_it + " of that there", what)};
  }
  std::string text = fmt::format("{} of it is in kernels: {}. {} is on {}", parts.percent(ps), what,
                                 alone ? "All of the kernels' time" : "Of the kernels' time, " + on_it, slowest);
  if (times && times->median_ps > 0 && times->factor() >= kMore) text += ", which computes " + times->text();
  return {ps, text + "."};
}

/// A host whose firmware is far longer at something than that of others.
Topic host_topic(const ordered_json& why, const PathParts& parts) {
  constexpr double kLeast = 0.01;
  for (const auto& [place, its] : parts.hosts.worst_first()) {
    if (parts.share(its->ps) < kLeast) break;
    for (const auto& [kind, part] : its->worst_first()) {
      const std::optional<Compared> times = compared(member_of(member_of(why, "hosts"), kind), place);
      if (parts.share(part->ps) < kLeast || !times || times->factor() < kFar) continue;
      const char* const does = kind == "software" ? "let time pass" : "run";
      return {part->ps, fmt::format("The threads of {} {} for {}, {}. {} of the path is that, mostly for {}.", place,
                                    does, short_time(Time(times->ps)), times->text(), parts.percent(part->ps),
                                    part->worst_first().front().first)};
    }
  }
  return {};
}

/// "The fault end5-plane3": of a link that had less than its rate.
std::string faults_text(const ordered_json& link) {
  const auto names = link.value("faults", std::vector<std::string>());
  if (names.empty()) return "A fault";
  return (names.size() == 1 ? "The fault " : "The faults ") + few(names);
}

/// How busy a link is, beside those that join what it joins: whether it is one link, or all of them.
std::string compared_text(const ordered_json& link, bool is_slow) {
  const ordered_json& alike = link["alike"];
  const auto percent = [](const ordered_json& share) { return fmt::format("{:.0f} %", 100 * share.get<double>()); };
  const std::string its = percent(link["utilisation"]);
  const int others = alike["links"].get<int>() - 1;
  if (others == 0) return fmt::format(" It is busy {}.", its);
  const std::string median = percent(alike["median"]);
  const ordered_json as_busy = alike.value("as_busy", ordered_json::array());
  const auto busy = alike.value("busy", static_cast<std::int64_t>(as_busy.size()));
  const bool are_most = alike.contains("busy") ? 2 * busy > others
                                               : link["utilisation"].get<double>() < 2 * alike["median"].get<double>();
  if (are_most) {
    std::string text =
        fmt::format(" It is busy {}; the median of the {} that join the same is {}", its, others + 1, median);
    if (is_slow) return text + ": others may wait for this one.";
    return text + ", so that it is not this one alone.";
  }
  constexpr std::size_t kMostNames = 4;
  std::string names;
  for (std::size_t i = 0; i < std::min(as_busy.size(), kMostNames); ++i) {
    names += (i == 0 ? "" : ", ") + as_busy[i].get<std::string>();
  }
  if (as_busy.size() > kMostNames) names += ", ...";
  return fmt::format(" It is busy {}, {} of the {} others that join the same {} so{}; the median of all is {}.", its,
                     busy == 0 ? "none" : std::to_string(busy), others, busy < 2 ? "is" : "are",
                     names.empty() ? "" : " (" + names + ")", median);
}

/// Of several jobs, whose bytes have passed a link; else of which flows most of them are.
std::string carried_text(const ordered_json& link) {
  constexpr std::size_t kMostNames = 3;
  const ordered_json& carried = member_of(link, "carried");
  const auto percent = [](const ordered_json& each) {
    return fmt::format("{:.0f} %", 100 * each["share"].get<double>());
  };
  std::vector<std::string> words;
  for (const ordered_json& job : member_of(carried, "jobs")) {
    if (words.size() == kMostNames || job["share"].get<double>() < PathParts::kLeastShare) break;
    words.push_back(percent(job) + " for " + job["job"].get<std::string>());
  }
  std::string text = words.empty() ? "" : " It carried " + and_list(words) + ".";
  words.clear();
  const std::vector<NamedFlow> flows = flows_of(link);
  if (flows.empty() || flows[0].share > kAlone) return text;
  auto others = carried["flow_count"].get<std::int64_t>();
  for (const NamedFlow& flow : flows) {
    if (words.size() == kMostNames || flow.share < 1 - kAlone) break;
    words.push_back(fmt::format("{} ({:.0f} %)", flow.name, 100 * flow.share));
    others -= flow.flows;
  }
  if (others > 0) words.push_back(others == 1 ? "1 other flow" : fmt::format("{} other flows", others));
  return text + " Its bytes are of " + and_list(words) + ".";
}

/// To whose end the path leads, where there are several jobs, and what of it is whose.
std::string jobs_text(const ordered_json& why, const PathParts& parts) {
  const ordered_json& jobs = member_of(why, "jobs");
  if (jobs.empty()) return "";
  std::vector<std::string> words;
  for (const ordered_json& each : jobs["shares"]) {
    const auto ps = each["ps"].get<std::int64_t>();
    if (parts.share(ps) < PathParts::kLeastShare) continue;
    words.push_back(parts.percent(ps) + " of it is for " + each["job"].get<std::string>());
  }
  if (words.size() == 1) words[0] = "all of it is for " + jobs["shares"][0]["job"].get<std::string>();
  const std::string last = jobs["ends_with"];
  return fmt::format(" It leads to the end of {}; {}.", last.empty() ? "the run" : "job " + last, and_list(words));
}

/// The link that holds the path up most.
Topic link_topic(const ordered_json& why, const PathParts& parts) {
  if (parts.links.parts.empty()) return {};
  const auto [busiest, its] = parts.links.worst_first().front();
  if (parts.share(its->ps) < PathParts::kLeastShare) return {};
  std::string text = fmt::format("The link that holds it up most is {}, for {}.", busiest, parts.percent(its->ps));
  const ordered_json& all = member_of(why, "links");
  if (!all.contains(busiest)) return {its->ps, text};
  const ordered_json& link = all[busiest];
  const std::string rate = link["rate"];
  const std::string alike = link["alike"].value("rate", rate);
  const bool has_fault = link.value("had", 1.0) <= kWhole;
  const bool is_slow = parse_rate(rate) < parse_rate(alike);
  const bool is_starved = link.value("fills", 1.0) < 0.9;
  if (has_fault) text += fmt::format(" {} left it {}.", faults_text(link), rate_text(link));
  if (is_slow) text += fmt::format(" Its rate is {}, the median of those that join the same {}.", rate, alike);
  if (is_starved) {
    text += fmt::format(" The buffer behind it, {}, lets through {:.3g} % of the rate at most, with a flight of {}.",
                        link["buffer"].get<std::string>(), 100 * link["fills"].get<double>(),
                        link["propagation"].get<std::string>());
  }
  constexpr double kLeast = 0.03;
  if (parts.share(its->ps) < kLeast) return {its->ps, text};
  return {its->ps, text + compared_text(link, has_fault || is_slow) + carried_text(link)};
}

/// Which links lost the packets that timers wait for.
Topic lossy_topic(const ordered_json& why, const PathParts& parts) {
  std::int64_t timers = 0;
  for (const char* const name : {"timeout", "scale-up-timeout"}) {
    const auto its = parts.of_others.parts.find(std::string(resource_called(name).words));
    if (its != parts.of_others.parts.end()) timers += its->second.ps;
  }
  const ordered_json& lossy = member_of(why, "lossy");
  if (parts.share(timers) < PathParts::kLeastShare || lossy.empty()) return {};
  constexpr std::size_t kMostNames = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(lossy.size(), kMostNames); ++i) {
    const ordered_json& link = lossy[i];
    text += fmt::format("{}{} of {} on {} ({:.2g} %)", i == 0 ? "" : ", ", link["lost"].get<std::int64_t>(),
                        link["packets"].get<std::int64_t>(), link["link"].get<std::string>(),
                        100 * link["lost"].get<double>() / link["packets"].get<double>());
  }
  return {timers, fmt::format("Packets were lost: {}; {}.", text,
                              lossy.size() > kMostNames ? "other links lost fewer" : "no other link lost any")};
}

/// An accelerator whose part is slower, by the field that says so, than the machine's.
Topic unlike_topic(const ordered_json& why, const FieldValues& values, const PathParts& parts) {
  constexpr double kLeast = 0.03;
  struct Slow {
    std::string words;
    SetBy its;
    Branch places;
  };
  std::map<std::pair<std::string, std::string>, Slow> all;  // by field and resource
  if (!values.contains("others.0.first")) return {};
  const Settings settings(why, values);
  for (const Settings::Alike& pieces : settings.pieces()) {
    const SetBy its = settings.first_of(pieces);
    if (its.field == its.usually || !its.field.starts_with("others.")) continue;
    const auto speed = speed_at(its.usually, values.text(its.usually), values.text(its.field), its.is_rate);
    if (!speed || *speed >= 1) continue;
    Slow& slow = all.try_emplace({its.field, std::string(pieces.resource->name)},
                                 Slow{std::string(pieces.resource->words), its, {}})
                     .first->second;
    slow.places.ps += its.ps;
    slow.places.add(std::string(pieces.place), its.ps);
  }
  const auto most = std::max_element(
      all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second.places.ps < b.second.places.ps; });
  if (most == all.end() || parts.share(most->second.places.ps) < kLeast) return {};
  const Slow& slow = most->second;
  const std::size_t alike = slow.places.parts.size() - 1;
  return {slow.places.ps,
          fmt::format("{} of it is {} on {}{}, whose {} is {}; that of the others is {}.",
                      parts.percent(slow.places.ps), slow.words, slow.places.worst_first().front().first,
                      alike == 0 ? "" : fmt::format(" and {} like it", alike), slow.its.usually,
                      values.text(slow.its.field), values.text(slow.its.usually))};
}

/// What is between kernels, and which part of it is for what. `told` of it has sentences of its own.
Topic between_topic(const ordered_json& why, const PathParts& parts, std::int64_t told) {
  const std::int64_t ps = parts.between.ps;
  if (parts.share(ps) < PathParts::kLeastShare) return {};
  const auto [topic, worst] = parts.between.worst_first().front();
  const bool is_all = parts.percent(worst->ps) == parts.percent(ps);
  const std::string collective = topic.starts_with("collectives of groups") ? most_of_groups(why) : "";
  return {
      std::max<std::int64_t>(ps - told, 0),
      fmt::format("{} is between kernels: {}; {} is for {}{}.", parts.percent(ps), shares(parts.of_others, parts, ps),
                  is_all ? "all of that" : "the largest part of that, " + parts.percent(worst->ps) + ",", topic,
                  collective.empty() ? "" : ", mostly " + collective)};
}

}  // namespace

std::string rate_text(const ordered_json& link) {
  const std::string rate = link["rate"];
  const double had = link.value("had", 1.0);
  return had > kWhole ? rate : fmt::format("{:.3g} % of {}", 100 * had, rate);
}

std::string why_sentences(const ordered_json& why, const FieldValues& values, const PathParts& parts) {
  std::string text = fmt::format("The critical path is {} long.", short_time(Time(parts.whole)));
  if (const double left_out = why.value("left_out_us", 0.0); left_out > 0) {
    const auto ps = static_cast<std::int64_t>(left_out * 1e6);
    text += fmt::format(" It is of what was simulated: --steady left out another {}, {:.0f} % of the run.",
                        short_time(Time(ps)), 100 * static_cast<double>(ps) / static_cast<double>(ps + parts.whole));
  }
  text += jobs_text(why, parts);
  std::vector<Topic> topics = {kernels_topic(why, parts), host_topic(why, parts), link_topic(why, parts),
                               lossy_topic(why, parts)};
  topics.push_back(between_topic(why, parts, topics[1].ps + topics[2].ps + topics[3].ps));
  topics.push_back(unlike_topic(why, values, parts));
  std::stable_sort(topics.begin(), topics.end(), [](const Topic& a, const Topic& b) { return a.ps > b.ps; });
  for (const Topic& topic : topics) {
    if (!topic.text.empty()) text += " " + topic.text;
  }
  if (const std::string chunks = small_chunks_text(why, values); !chunks.empty()) text += " " + chunks;
  return text;
}

}  // namespace weft::platforms
