// SPDX-License-Identifier: Apache-2.0
// Orders of what ranks do together, which their dependencies may contradict.
#include <algorithm>
#include <map>
#include <tuple>

#include "traces/chakra/check/joined_graph.h"
#include "traces/chakra/check/parts.h"

namespace weft::chakra {
namespace {

constexpr std::uint32_t kNone = JoinedGraph::kNone;
/// Of a circle, in a message.
constexpr std::size_t kMostLines = 8;
/// Of opening circles to see what is behind them.
constexpr int kMostTimes = 64;

JoinedGraph::Kind kind_of(CollectiveType type) {
  if (!has_root(type)) return JoinedGraph::Kind::kCollective;
  const bool is_from = type == CollectiveType::kBroadcast || type == CollectiveType::kScatter;
  return is_from ? JoinedGraph::Kind::kFromRoot : JoinedGraph::Kind::kToRoot;
}

}  // namespace

/// As it is taken in a run: the first that a rank names, else the group's first rank.
std::vector<std::int64_t> RankMatcher::roots_of(const Group& group, const std::vector<Part>& parts) {
  const std::int64_t first = group.group != nullptr ? group.group->ranks.front() : parts.front().rank;
  std::vector<std::int64_t> roots(parts.front().all->size(), kNotNamed);
  for (const Part& part : parts) {
    for (std::size_t i = 0; i < part.all->size(); ++i) {
      std::int64_t& root = roots[part.number(i)];
      if (root == kNotNamed) root = (*part.all)[i].root;
    }
  }
  for (std::size_t i = 0; i < roots.size(); ++i) {
    if (roots[i] == kNotNamed && has_root((*parts.front().all)[i].type)) roots[i] = first;
  }
  return roots;
}

bool RankMatcher::join(const std::string& what, const Group& group, const std::vector<Part>& parts) {
  const std::vector<Collective>& reference = *parts.front().all;
  // By number the vertices of all parts; a node that waits for itself in its file has none.
  std::vector<std::uint32_t> members(reference.size() * parts.size(), kNone);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    for (std::size_t i = 0; i < reference.size(); ++i) {
      const std::uint32_t place = (*parts[part].all)[i].place;
      if (place == kNone) return false;
      members[parts[part].number(i) * parts.size() + part] = joined_->vertex(parts[part].file, place);
    }
  }
  const bool is_of_everybody = group.group != nullptr && group.group->key.empty();
  joined_groups_.push_back({static_cast<std::uint32_t>(joined_->units()), what, is_of_everybody, &reference});
  const std::vector<std::int64_t> roots = roots_of(group, parts);
  std::map<std::tuple<CollectiveType, std::int64_t, std::int64_t>, std::uint32_t> alike;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const Collective& each = reference[i];
    const auto root = std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.rank == roots[i]; });
    const auto place = root != parts.end() ? static_cast<std::uint32_t>(root - parts.begin()) : 0;
    std::uint32_t& like = alike.try_emplace({each.type, each.size, roots[i]}, kNone).first->second;
    JoinedGraph::Kind kind = kind_of(each.type);
    const Needs* needs = nullptr;
    if (const auto* own = implementations_.of(each.id, each.type); own != nullptr && group.group != nullptr) {
      kind = JoinedGraph::Kind::kCollective;
      const auto of_use = needs_.find({own, group.group});
      if (of_use != needs_.end() && parts.size() == group.group->sorted->size()) needs = of_use->second.get();
    }
    const auto of_unit = std::span(members).subspan(i * parts.size(), parts.size());
    const std::uint32_t unit = joined_->join(kind, of_unit, like, place, needs);
    if (like == kNone) like = unit;
  }
  return true;
}

bool RankMatcher::join(const Message& send, const Message& receive, bool is_alike) {
  if (send.place == kNone || receive.place == kNone) return false;
  const std::array<std::uint32_t, 2> members = {joined_->vertex(file_of_.at(send.source), send.place),
                                                joined_->vertex(file_of_.at(receive.destination), receive.place)};
  const auto last = static_cast<std::uint32_t>(joined_->units()) - 1;
  joined_->join(JoinedGraph::Kind::kMessage, members, is_alike ? joined_->like(last) : kNone);
  return true;
}

/// Tries, one after the other, what leaves more to the ranks: each unit as it stands in the files; of equal ones the
/// first for the first; and collectives with a root that end on a rank as soon as they can, which in ASTRA-sim's
/// arithmetic is at once.
void RankMatcher::compare_orders(CheckReport& report) {
  using Rules = JoinedRun::Rules;
  using Rooted = JoinedRun::Rooted;
  if (joined_->units() == 0) return;
  const auto run_ends = [&](const JoinedRun& run) {
    if (run.ends() && wants_order_ && findings_.found() == 0) report.order = order_of(run);
    return run.ends();
  };
  const auto ends = [&](const Rules& rules) { return run_ends(JoinedRun(*joined_, rules)); };
  const auto circles_of = [&](const Rules& rules) {
    const JoinedRun run(*joined_, rules);
    return run_ends(run) ? std::vector<JoinedRun::Circle>() : run.circles();
  };
  bool is_refused = false;
  std::vector<JoinedRun::Circle> circles = circles_of({});
  if (!circles.empty() && ends({.as_begun = true})) circles.clear();
  // Ranks that execute a collective themselves wait for each other as far as their messages say.
  if (!circles.empty() && joined_->has_needs()) {
    circles = circles_of({.by_messages = true});
    if (!circles.empty() && ends({.as_begun = true, .by_messages = true})) circles.clear();
  }
  if (!circles.empty()) {
    const Rooted rooted = machine_ ? Rooted::kReached : Rooted::kApart;
    std::vector<JoinedRun::Circle> refused;
    if (machine_) refused = circles_of_rooted_groups();
    JoinedRun run(*joined_, Rules{.rooted = rooted, .by_messages = true});
    if (!run_ends(run) && !ends({.rooted = rooted, .as_begun = true, .by_messages = true})) {
      const std::size_t of_rooted_groups = refused.size();
      for (JoinedRun::Circle& circle : run.circles()) {
        const bool is_known = is_of_one_group(circle) &&
                              std::any_of(refused.begin(), refused.begin() + of_rooted_groups, [&](const auto& known) {
                                return group_of(known.front().waits) == group_of(circle.front().waits);
                              });
        if (!is_known) refused.push_back(std::move(circle));
      }
      add_circles_behind(std::move(run), refused);
    }
    is_refused = !refused.empty();
    if (is_refused) circles = std::move(refused);
  }
  for (const JoinedRun::Circle& circle : circles) {
    const Problem refused = is_of_one_group(circle) ? Problem::kCollectiveOrder : Problem::kCircle;
    this->report(is_refused ? refused : Problem::kRootedCircle, circle);
  }
  if (is_refused) return;
  for (const TimesDiffer& each : times_differ_) {
    findings_.add(Problem::kCollectiveTimes, files_.files[each.file], each.node, each.problem, each.expected);
  }
  // Turns would stop by the same.
  if (!times_differ_.empty() || !takes_turns_) return;
  const JoinedRun run(*joined_,
                      Rules{.rooted = Rooted::kApart, .as_begun = true, .one_at_a_time = true, .by_messages = true});
  if (run.ends()) return compare_numbers(run);
  const std::uint32_t held_up = run.held_up();
  findings_.add(Problem::kTurns, files_.files[joined_->file_of(held_up)], joined_->id_of(held_up),
                described(held_up) + " never has its turn if nothing takes time", "one order on all ranks");
}

void RankMatcher::compare_numbers(const JoinedRun& run) {
  std::map<std::size_t, std::uint32_t> count;  // by file
  std::vector<std::uint32_t> number(joined_->units(), kNone);
  for (const std::uint32_t vertex : run.order()) {
    const std::uint32_t unit = run.unit_of(vertex);
    if (unit == kNone || joined_->kind_of(unit) != JoinedGraph::Kind::kCollective) continue;
    const JoinedGroup& group = *group_of(vertex);
    const Collective& each = (*group.collectives)[joined_->unit_of(vertex) - group.first];
    const bool is_alone = joined_->members(unit).size() == 1;
    if (!group.is_of_everybody || is_alone || implementations_.of(each.id, each.type) != nullptr) continue;
    const std::size_t file = joined_->file_of(vertex);
    const std::uint32_t mine = ++count[file];
    if (number[unit] == kNone) number[unit] = mine;
    if (number[unit] == mine) continue;
    findings_.add(Problem::kNumbers, files_.files[file], joined_->id_of(vertex),
                  described(vertex) + " is collective " + std::to_string(mine) + " if nothing takes time",
                  std::to_string(number[unit]) + ", as on another of these ranks");
    return;
  }
}

void RankMatcher::add_circles_behind(JoinedRun run, std::vector<JoinedRun::Circle>& circles) const {
  // Of those that are alike another one may be meant.
  const auto is_certain = [&](const JoinedRun::Circle& circle) {
    return std::all_of(circle.begin(), circle.end(), [&](const JoinedStep& step) {
      const std::uint32_t unit = joined_->unit_of(step.awaited);
      return joined_->like(unit) == unit && joined_->next_alike(unit) == kNone;
    });
  };
  std::vector<JoinedRun::Circle> in_front = run.circles();
  for (int i = 0; i < kMostTimes; ++i) {
    const bool is_mended =
        std::any_of(in_front.begin(), in_front.end(), [this](const auto& circle) { return is_of_one_group(circle); });
    if (!is_mended) return;
    for (const JoinedRun::Circle& circle : in_front) run.open(circle);
    in_front = run.circles();
    for (const JoinedRun::Circle& circle : in_front) {
      if (!is_of_one_group(circle) && is_certain(circle)) circles.push_back(circle);
    }
  }
}

bool RankMatcher::contradicts(const JoinedGroup& group) const {
  JoinedRun::Rules alone{.first = group.first, .end = group.end()};
  if (JoinedRun(*joined_, alone).ends()) return false;
  alone.as_begun = true;
  return !JoinedRun(*joined_, alone).ends();
}

/// A group has one order of its collectives: a root that ends before others begin helps only between groups.
std::vector<std::vector<JoinedStep>> RankMatcher::circles_of_rooted_groups() const {
  std::vector<JoinedRun::Circle> circles;
  for (const TimesDiffer& each : times_differ_) {
    const JoinedGroup& group = joined_groups_[each.group];
    const bool is_rooted = std::any_of(group.collectives->begin(), group.collectives->end(),
                                       [](const Collective& collective) { return has_root(collective.type); });
    if (!is_rooted || !contradicts(group)) continue;
    const JoinedRun alone(*joined_, {.first = group.first, .end = group.end()});
    for (JoinedRun::Circle& circle : alone.circles()) circles.push_back(std::move(circle));
  }
  return circles;
}

void RankMatcher::report(Problem kind, const std::vector<JoinedStep>& circle) {
  std::vector<FindingList::CircleLine> lines;
  for (std::size_t i = 0; i < std::min(circle.size(), kMostLines); ++i) {
    const auto& [waits, awaited] = circle[i];
    const RankFile& file = files_.files[joined_->file_of(waits)];
    lines.push_back({file.file.string(), *file.rank, joined_->id_of(waits), described(waits), joined_->id_of(awaited),
                     described(awaited)});
  }
  findings_.add_circle(kind, std::move(lines), circle.size());
}

const RankMatcher::JoinedGroup* RankMatcher::group_of(std::uint32_t vertex) const {
  const std::uint32_t unit = joined_->unit_of(vertex);
  if (joined_->kind_of(unit) == JoinedGraph::Kind::kMessage) return nullptr;
  const auto behind =
      std::upper_bound(joined_groups_.begin(), joined_groups_.end(), unit,
                       [](std::uint32_t wanted, const JoinedGroup& group) { return wanted < group.first; });
  return &*std::prev(behind);
}

bool RankMatcher::is_of_one_group(const std::vector<JoinedStep>& circle) const {
  const JoinedGroup* group = group_of(circle.front().waits);
  return group != nullptr && std::all_of(circle.begin(), circle.end(), [&](const JoinedStep& step) {
           return group_of(step.waits) == group && group_of(step.awaited) == group;
         });
}

std::string RankMatcher::described(std::uint32_t vertex) const {
  const std::uint32_t unit = joined_->unit_of(vertex);
  if (joined_->kind_of(unit) == JoinedGraph::Kind::kMessage) {
    const bool is_send = joined_->members(unit).front() == vertex;
    const std::uint32_t other = joined_->members(unit)[is_send ? 1 : 0];
    return (is_send ? "a send to rank " : "a receive from rank ") +
           std::to_string(*files_.files[joined_->file_of(other)].rank);
  }
  const JoinedGroup& group = *group_of(vertex);
  return described((*group.collectives)[unit - group.first]) + " " + group.what;
}

std::vector<bool> RankMatcher::contradictions(const std::vector<const Group*>& groups,
                                              const std::vector<std::vector<Part>>& parts) {
  std::vector<bool> contradict(groups.size());
  // Repaired files have no cycles: all can be joined.
  for (std::size_t i = 0; i < groups.size(); ++i) join("", *groups[i], parts[i]);
  if (!JoinedRun(*joined_, {}).ends() && !JoinedRun(*joined_, {.as_begun = true}).ends()) {
    for (std::size_t i = 0; i < groups.size(); ++i) contradict[i] = contradicts(joined_groups_[i]);
  }
  joined_->part();
  joined_groups_.clear();
  return contradict;
}

}  // namespace weft::chakra
