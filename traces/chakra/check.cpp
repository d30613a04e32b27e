// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/check.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "traces/chakra/check_parts.h"
#include "traces/chakra/reader.h"

namespace weft::chakra {
namespace {

/// Of a cycle, in a message.
constexpr std::size_t kMostNamed = 20;

/// The ids and dependencies of one file.
class Graph {
 public:
  Graph(const RankFile& file, FindingList& findings) : file_(file), findings_(findings) {}

  void add(const Node& node) {
    sorted_ = sorted_ && (ids_.empty() || ids_.back() < node.id);
    ids_.push_back(node.id);
    for (const auto* dependencies : {&node.control_dependencies, &node.data_dependencies}) {
      dependencies_.insert(dependencies_.end(), dependencies->begin(), dependencies->end());
    }
    ends_.push_back(dependencies_.size());
  }

  void check() {
    by_id_.resize(ids_.size());
    std::iota(by_id_.begin(), by_id_.end(), 0U);
    if (!sorted_) {
      std::stable_sort(by_id_.begin(), by_id_.end(), [this](auto a, auto b) { return ids_[a] < ids_[b]; });
    }
    for (std::size_t i = 1; i < by_id_.size(); ++i) {
      if (ids_[by_id_[i - 1]] == ids_[by_id_[i]]) {
        findings_.add(file_, ids_[by_id_[i]], "the id is there more than once", "unique ids");
      }
    }
    check_dependencies();
    check_cycles();
  }

 private:
  static constexpr std::uint64_t kNowhere = std::numeric_limits<std::uint64_t>::max();

  [[nodiscard]] std::size_t begin_of(std::size_t node) const { return node == 0 ? 0 : ends_[node - 1]; }

  [[nodiscard]] std::uint64_t index_of(std::uint64_t id) const {
    const auto found = std::lower_bound(by_id_.begin(), by_id_.end(), id,
                                        [this](std::uint64_t at, std::uint64_t wanted) { return ids_[at] < wanted; });
    return found != by_id_.end() && ids_[*found] == id ? *found : kNowhere;
  }

  /// Dependencies are indices from then on.
  void check_dependencies() {
    for (std::size_t node = 0; node < ids_.size(); ++node) {
      for (std::size_t i = begin_of(node); i < ends_[node]; ++i) {
        const std::uint64_t id = dependencies_[i];
        dependencies_[i] = index_of(id);
        if (dependencies_[i] == kNowhere) {
          findings_.add(file_, ids_[node], "depends on node " + std::to_string(id) + ", which is not in the file",
                        "dependencies on nodes of the file");
        }
      }
    }
  }

  /// Walks depth first along dependencies, with the way there on a stack of its own: a chain may be as long as the
  /// file.
  void check_cycles() {
    enum class State : std::uint8_t { kNew, kOnTheWay, kDone };
    std::vector<State> states(ids_.size(), State::kNew);
    std::vector<std::uint64_t> way;
    std::vector<std::size_t> next;  // of the node at the same place of the way: the dependency to look at
    for (std::size_t root = 0; root < ids_.size(); ++root) {
      if (states[root] != State::kNew) continue;
      way.push_back(root);
      next.push_back(begin_of(root));
      states[root] = State::kOnTheWay;
      while (!way.empty()) {
        const std::uint64_t at = way.back();
        if (next.back() == ends_[at]) {
          states[at] = State::kDone;
          way.pop_back();
          next.pop_back();
          continue;
        }
        const std::uint64_t to = dependencies_[next.back()++];
        if (to == kNowhere || states[to] == State::kDone) continue;
        if (states[to] == State::kOnTheWay) {
          std::vector<std::uint64_t> cycle(std::find(way.begin(), way.end(), to), way.end());
          for (std::uint64_t& node : cycle) node = ids_[node];
          findings_.add_cycle(file_, std::move(cycle));
          return;
        }
        states[to] = State::kOnTheWay;
        way.push_back(to);
        next.push_back(begin_of(to));
      }
    }
  }

  const RankFile& file_;
  FindingList& findings_;
  bool sorted_ = true;
  std::vector<std::uint64_t> ids_;
  std::vector<std::uint64_t> by_id_;
  std::vector<std::uint64_t> dependencies_;
  std::vector<std::size_t> ends_;  ///< of each node's dependencies
};

/// The nodes of one file, one by one.
class NodeCheck {
 public:
  NodeCheck(const TraceFiles& files, std::size_t file, FindingList& findings, RankMatcher& matcher)
      : index_(file), file_(files.files[file]), findings_(findings), matcher_(matcher) {}

  void add(const Node& node) {
    try {
      check(node);
    } catch (const AttributeError& error) {
      // Its text begins with the label, which the finding has as well.
      const std::string text = error.what();
      const std::string label = node.label() + ": ";
      const std::string said = text.starts_with(label) ? text.substr(label.size()) : text;
      const std::size_t expected = said.find(": expected ");
      const std::size_t got = said.find(", got ");
      if (expected == std::string::npos || got == std::string::npos) {
        findings_.add(file_, node.id, said, "");
      } else {
        findings_.add(file_, node.id, said.substr(0, expected) + " is " + said.substr(got + 6),
                      said.substr(expected + 11, got - expected - 11));
      }
    }
  }

 private:
  void check(const Node& node) {
    static_cast<void>(node.duration_nanos());
    static_cast<void>(node.is_cpu_op());
    if (!is_known(node.type)) {
      findings_.add(file_, node.id, "its type is " + name_of(node.type), "a node type of the schema, 1 to 7");
      return;
    }
    switch (node.type) {
      case NodeType::kInvalid:
        findings_.add(file_, node.id, "its type is INVALID_NODE", "a type that can be executed");
        break;
      case NodeType::kMemoryLoad:
      case NodeType::kMemoryStore:
        size(node, "tensor_size", node.tensor_size(), true);
        break;
      case NodeType::kCompute:
        not_negative(node, "num_ops", node.num_ops());
        if (node.cores() == 0) findings_.add(file_, node.id, "attribute cores is 0", "1 or more, or none for all");
        not_negative(node, "cores", node.cores());
        size(node, "tensor_size", node.tensor_size(), node.num_ops().has_value());
        break;
      case NodeType::kSend:
      case NodeType::kReceive:
        message(node);
        break;
      case NodeType::kCollective:
        collective(node);
        break;
      case NodeType::kMetadata:
        break;
    }
  }

  void missing(const Node& node, const std::string& attribute, const std::string& expected) {
    findings_.add(file_, node.id, name_of(node.type) + " has no attribute " + attribute, expected);
  }

  bool not_negative(const Node& node, const std::string& attribute, std::optional<std::int64_t> value) {
    if (!value || *value >= 0) return true;
    findings_.add(file_, node.id, "attribute " + attribute + " is " + std::to_string(*value), "at least 0");
    return false;
  }

  bool size(const Node& node, const std::string& attribute, std::optional<std::int64_t> value, bool is_needed) {
    if (!value && is_needed) missing(node, attribute, "a number of bytes");
    return not_negative(node, attribute, value) && value;
  }

  void message(const Node& node) {
    const bool is_send = node.type == NodeType::kSend;
    const std::string own = is_send ? "comm_src" : "comm_dst";
    const std::string other = is_send ? "comm_dst" : "comm_src";
    static_cast<void>(node.comm_tag());
    const std::optional<std::int64_t> here = node.integer(own);
    if (here && file_.rank && *here != *file_.rank) {
      findings_.add(file_, node.id, "attribute " + own + " is " + std::to_string(*here),
                    "the file's own rank, " + std::to_string(*file_.rank));
    }
    const std::optional<std::int64_t> peer = node.integer(other);
    if (!peer) missing(node, other, "the rank to exchange with");
    const bool sized = size(node, "comm_size", node.comm_size(), true);
    if (!not_negative(node, other, peer) || !peer || !sized) return;
    if (is_send) {
      matcher_.add_send(index_, node, *peer);
    } else {
      matcher_.add_receive(index_, node, *peer);
    }
  }

  void collective(const Node& node) {
    const std::optional<CollectiveType> type = node.comm_type();
    if (!type) missing(node, "comm_type", "a collective, 0 to 9");
    // A barrier moves nothing.
    const std::optional<std::int64_t> bytes = node.comm_size();
    const bool is_barrier = type == CollectiveType::kBarrier;
    const bool sized = size(node, "comm_size", bytes, !is_barrier) || (is_barrier && !bytes);
    if (type && sized) matcher_.add_collective(index_, node, *type, bytes.value_or(0));
  }

  std::size_t index_;
  const RankFile& file_;
  FindingList& findings_;
  RankMatcher& matcher_;
};

}  // namespace

std::string Finding::text() const {
  std::string text = file + ": ";
  if (node) text += "node " + std::to_string(*node) + (name.empty() ? "" : " '" + name + "'") + ": ";
  return text + problem + (expected.empty() ? "" : "; expected " + expected);
}

void FindingList::add(const RankFile& file, std::optional<std::uint64_t> node, std::string problem,
                      std::string expected) {
  ++found_;
  if (open_.size() >= most_) return;
  open_.push_back({{file.file.string(), node, "", std::move(problem), std::move(expected)}, {}});
}

void FindingList::add_cycle(const RankFile& file, std::vector<std::uint64_t> cycle) {
  add(file, cycle.front(), "", "a graph without cycles");
  if (open_.size() == found_) open_.back().cycle = std::move(cycle);
}

void FindingList::finish(CheckReport& report) {
  std::unordered_map<std::string, Names> wanted;
  for (const Open& open : open_) {
    if (open.finding.node) wanted[open.finding.file].emplace(*open.finding.node, "");
    for (const std::uint64_t id : open.cycle) wanted[open.finding.file].emplace(id, "");
  }
  for (auto& [file, names] : wanted) {
    TraceReader reader(file);
    for (Node node; reader.next(node);) {
      const auto found = names.find(node.id);
      if (found != names.end()) found->second = node.name;
    }
  }
  for (Open& open : open_) {
    if (open.finding.node) complete(open, wanted.at(open.finding.file));
    report.findings.push_back(std::move(open.finding));
  }
  report.found = found_;
}

void FindingList::complete(Open& open, const Names& names) {
  const auto label = [&](std::uint64_t id) {
    Node node;
    node.id = id;
    node.name = names.at(id);
    return node.label();
  };
  open.finding.name = names.at(*open.finding.node);
  if (open.cycle.empty()) return;
  if (open.cycle.size() == 1) {
    open.finding.problem = "depends on itself";
    return;
  }
  std::string& text = open.finding.problem;
  text = "waits for ";
  for (std::size_t i = 1; i < open.cycle.size() && i < kMostNamed; ++i)
    text += label(open.cycle[i]) + ", which waits for ";
  if (open.cycle.size() > kMostNamed) text += "... (" + std::to_string(open.cycle.size()) + " nodes), which waits for ";
  text += label(open.cycle.front());
}

CheckReport check(const TraceFiles& files, const CheckOptions& options) {
  CheckReport report;
  FindingList findings(options.most);
  RankMatcher matcher(files, findings);
  for (std::size_t i = 0; i < files.files.size(); ++i) {
    const RankFile& file = files.files[i];
    TraceReader reader(file.file);
    Graph graph(file, findings);
    NodeCheck nodes(files, i, findings, matcher);
    for (Node node; reader.next(node); ++report.nodes) {
      graph.add(node);
      nodes.add(node);
    }
    graph.check();
    matcher.end_file(i);
    ++report.ranks;
  }
  matcher.finish();
  findings.finish(report);
  return report;
}

}  // namespace weft::chakra
