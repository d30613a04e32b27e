// SPDX-License-Identifier: Apache-2.0
// What can be mended within a file.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "traces/chakra/host_times.h"
#include "traces/chakra/kernels.h"
#include "traces/chakra/process_groups.h"
#include "traces/chakra/reader.h"
#include "traces/chakra/repair/parts.h"

namespace weft::chakra {
namespace {

using Places = std::unordered_map<std::uint64_t, std::size_t>;

/// Those whose id was there before get another one, above all others.
Places make_ids_unique(std::vector<Node>& nodes, const Log& log) {
  std::uint64_t free = 0;
  for (const Node& node : nodes) free = std::max(free, node.id);
  Places places;
  std::vector<Node> kept;
  kept.reserve(nodes.size());
  for (Node& node : nodes) {
    const auto before = places.find(node.id);
    if (before != places.end()) {
      log(Problem::kDuplicateId, node.id);
      if (kept[before->second] == node) continue;
      do {
        ++free;  // beyond the largest number come the smallest ones
      } while (places.contains(free));
      node.id = free;
    }
    places.emplace(node.id, kept.size());
    kept.push_back(std::move(node));
  }
  nodes = std::move(kept);
  return places;
}

void drop_dependencies(std::vector<Node>& nodes, const Places& places, const Log& log) {
  for (Node& node : nodes) {
    for (auto* dependencies : {&node.control_dependencies, &node.data_dependencies}) {
      std::erase_if(*dependencies, [&](std::uint64_t id) {
        if (id == node.id) log(Problem::kSelfDependency, node.id);
        if (id != node.id && !places.contains(id)) log(Problem::kDanglingDependency, node.id);
        return id == node.id || !places.contains(id);
      });
    }
  }
}

/// A node's dependencies as one list.
struct Dependencies {
  Node& node;

  [[nodiscard]] std::size_t size() const { return node.control_dependencies.size() + node.data_dependencies.size(); }
  [[nodiscard]] std::uint64_t at(std::size_t index) const {
    const std::size_t controls = node.control_dependencies.size();
    return index < controls ? node.control_dependencies[index] : node.data_dependencies[index - controls];
  }
  void erase(std::size_t index) const {
    const std::size_t controls = node.control_dependencies.size();
    auto& list = index < controls ? node.control_dependencies : node.data_dependencies;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(index < controls ? index : index - controls));
  }
};

/// Leaves out a dependency of each cycle: one that goes against the order of the file, in which nodes nearly always
/// come behind what they depend on, so that what was recorded stays; the one that closes the cycle where none does.
class CycleCutter {
 public:
  CycleCutter(std::vector<Node>& nodes, const Places& places, const Log& log)
      : nodes_(nodes), places_(places), log_(log), states_(nodes.size(), State::kNew) {
    std::size_t dependencies = 0;
    std::size_t backwards = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Dependencies all{nodes[i]};
      dependencies += all.size();
      for (std::size_t d = 0; d < all.size(); ++d) backwards += places.at(all.at(d)) < i ? 1 : 0;
    }
    forwards_is_odd_ = 2 * backwards >= dependencies;
    // Walking again costs time: after so much of it what closes a cycle goes.
    patience_ = 16 * (nodes.size() + dependencies);
  }

  void cut() {
    for (std::size_t root = 0; root < nodes_.size(); ++root) {
      if (states_[root] == State::kNew) walk(root);
    }
  }

 private:
  enum class State : std::uint8_t { kNew, kOnTheWay, kDone };
  struct Step {
    std::size_t node;
    std::size_t next = 0;  ///< of its dependencies
  };

  void walk(std::size_t root) {
    way_ = {{root}};
    states_[root] = State::kOnTheWay;
    while (!way_.empty()) {
      Step& step = way_.back();
      const Dependencies dependencies{nodes_[step.node]};
      if (step.next == dependencies.size()) {
        states_[step.node] = State::kDone;
        way_.pop_back();
        continue;
      }
      const std::size_t to = places_.at(dependencies.at(step.next));
      if (states_[to] == State::kOnTheWay) {
        cut_at(to);
        continue;
      }
      ++step.next;
      if (states_[to] == State::kDone) continue;
      states_[to] = State::kOnTheWay;
      way_.push_back({to});
    }
  }

  [[nodiscard]] bool is_odd(std::size_t from, std::size_t to) const { return (to > from) == forwards_is_odd_; }

  /// The last step's next dependency is on a node of the way, from which the cycle leads here.
  void cut_at(std::size_t to) {
    std::size_t at = way_.size() - 1;
    if (!is_odd(way_[at].node, to)) {
      std::size_t i = at;
      while (way_[i].node != to && !is_odd(way_[i - 1].node, way_[i].node)) --i;
      const std::size_t again = at - i + 1;
      if (way_[i].node != to && again <= patience_) {
        patience_ -= again;
        for (std::size_t j = i; j <= at; ++j) states_[way_[j].node] = State::kNew;
        way_.resize(i);
        at = i - 1;
        --way_[at].next;
      }
    }
    log_(Problem::kCycle, nodes_[way_[at].node].id);
    Dependencies{nodes_[way_[at].node]}.erase(way_[at].next);
  }

  std::vector<Node>& nodes_;
  const Places& places_;
  const Log& log_;
  std::vector<State> states_;
  std::vector<Step> way_;
  bool forwards_is_odd_ = true;
  std::size_t patience_ = 0;
};

void erase(Node& node, std::string_view attribute) {
  std::erase_if(node.attributes, [&](const Attribute& each) { return each.name == attribute; });
}

/// Whether it is a BROADCAST, which can do without a duration, and has one that cannot be taken.
bool lasts_too_long(const Node& node) {
  try {
    if (node.type != NodeType::kCollective || node.comm_type() != CollectiveType::kBroadcast) return false;
  } catch (const AttributeError&) {
    return false;
  }
  try {
    return node.duration_nanos() > kMostNanos;
  } catch (const AttributeError&) {
    return true;
  }
}

bool is_marked_cpu(const Node& node) {
  try {
    return node.is_cpu_op();
  } catch (const AttributeError&) {
    return false;
  }
}

}  // namespace

std::vector<Node> read_mended(const RankFile& file, const Log& log) {
  std::vector<Node> nodes;
  TraceReader reader(file.file);
  for (Node node; reader.next(node);) nodes.push_back(node);
  const Places places = make_ids_unique(nodes, log);
  drop_dependencies(nodes, places, log);
  CycleCutter(nodes, places, log).cut();
  return nodes;
}

void set_integer(Node& node, std::string_view attribute, std::int64_t value) {
  erase(node, attribute);
  node.attributes.push_back(Attribute::integer(std::string(attribute), value));
}

void mend(Node& node, std::optional<std::uint32_t> rank, const Log& log) {
  const bool is_message = node.type == NodeType::kSend || node.type == NodeType::kReceive;
  if ((is_message || node.type == NodeType::kCollective) && is_marked_cpu(node)) {
    log(Problem::kCpuCommunication, node.id);
    erase(node, "is_cpu_op");
    node.attributes.push_back(Attribute::boolean("is_cpu_op", false));
  }
  if (lasts_too_long(node)) {
    log(Problem::kAttribute, node.id);
    erase(node, "duration_nanos");
    node.duration_micros = 0;
  }
  if (takes_no_time(node)) {
    log(Problem::kNoTime, node.id);
    erase(node, "duration_nanos");
    node.set_duration_nanos(1);
  }
  if (!is_message || !rank) return;
  const std::string_view own = node.type == NodeType::kSend ? "comm_src" : "comm_dst";
  const Attribute* here = node.find(own);
  try {
    if (here == nullptr || node.integer(own) == static_cast<std::int64_t>(*rank)) return;
  } catch (const AttributeError&) {
  }
  log(Problem::kPeer, node.id);
  set_integer(node, own, *rank);
}

bool takes_no_time(const Node& node) {
  try {
    return node.type == NodeType::kCompute && !node.is_cpu_op() && node.duration_nanos() == 0 && !node.num_ops() &&
           kernels_of(node).empty();
  } catch (const AttributeError&) {
    return false;  // what is wrong with it comes later
  }
}

void leave_out(Node& node) {
  // Groups are listed all the same; nothing else that it has may be taken for such a list.
  if (!lists_process_groups(node)) node.inputs.reset();
  node.type = NodeType::kMetadata;
  node.duration_micros = 0;
  node.attributes.clear();
}

void strip(Node& node) {
  // Of attributes that are there twice with different values nobody knows which one is meant.
  const auto is_sound = [&](const Attribute& attribute) {
    const auto is_other = [&](const Attribute& each) {
      return each.name == attribute.name && each.value != attribute.value;
    };
    if (std::any_of(node.attributes.begin(), node.attributes.end(), is_other)) return false;
    try {
      if (attribute.name == "is_cpu_op") return static_cast<void>(node.is_cpu_op()), true;
      if (attribute.name == kKernels) {
        // What caps add to them is no part of them, and tells nothing without them.
        Node alone = node;
        erase(alone, kKernelsCapped);
        return static_cast<void>(kernels_of(alone)), true;
      }
      if (attribute.name == kKernelsCapped) return static_cast<void>(kernels_of(node)), true;
      if (attribute.name == "host") return static_cast<void>(host_times_of(node)), true;
      if (attribute.name == "stream" || attribute.name == "comm_priority")
        return node.integer(attribute.name).has_value();
      const std::int64_t least = attribute.name == "cores" ? 1 : 0;
      const std::int64_t most = attribute.name == "duration_nanos" ? std::int64_t{kMostNanos} : INT64_MAX;
      return node.integer(attribute.name) >= least && node.integer(attribute.name) <= most;
    } catch (const AttributeError&) {
      return false;
    }
  };
  std::vector<std::string_view> optional = {"is_cpu_op", "comm_priority", "host"};
  if (node.type == NodeType::kCompute) {
    optional = {"is_cpu_op", "stream",         "cores",   kKernels,     kKernelsCapped,
                "host",      "duration_nanos", "num_ops", "tensor_size"};
  }
  std::vector<std::string> unsound;
  for (const Attribute& each : node.attributes) {
    const bool is_optional = std::find(optional.begin(), optional.end(), each.name) != optional.end();
    if (is_optional && !is_sound(each)) unsound.push_back(each.name);
  }
  for (const std::string& name : unsound) erase(node, name);
}

void apply(const Edit& edit, Node& node) {
  if (edit.is_left_out) return leave_out(node);
  if (edit.is_stripped) strip(node);
  if (edit.size) set_integer(node, "comm_size", *edit.size);
  if (edit.peer) set_integer(node, node.type == NodeType::kSend ? "comm_dst" : "comm_src", *edit.peer);
  if (!edit.root && !edit.is_rootless) return;
  for (const char* name : {"comm_root", "root", "root_rank", "comm_src", "comm_dst"}) erase(node, name);
  if (edit.root) set_integer(node, "comm_root", *edit.root);
}

void keep_groups_of(Node& node, std::uint32_t rank) {
  nlohmann::ordered_json kept = nlohmann::ordered_json::array();
  for (const ProcessGroup& group : process_groups_of(node).groups) {
    if (group.ranks && std::find(group.ranks->begin(), group.ranks->end(), rank) == group.ranks->end()) continue;
    kept.push_back({{"pg_name", group.name},
                    {"pg_desc", group.description},
                    {"ranks", group.ranks.value_or(std::vector<std::uint64_t>())}});
  }
  node.inputs->values = nlohmann::ordered_json::array({kept.dump()}).dump();
}

}  // namespace weft::chakra
