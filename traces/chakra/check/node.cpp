// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "traces/chakra/check/parts.h"
#include "traces/chakra/host_times.h"
#include "traces/chakra/kernels.h"

namespace weft::chakra {
namespace {

constexpr std::int64_t kMostTag = UINT32_MAX;

constexpr std::array<std::string_view, 1> kOfHost = {"host"};

// What a run reads of nodes that exchange.
constexpr std::array<std::string_view, 4> kOfMessages = {"comm_size", "comm_src", "comm_dst", "comm_tag"};
constexpr std::array<std::string_view, 10> kOfCollectives = {"comm_type",     "comm_size", "comm_src",  "comm_dst",
                                                             "comm_root",     "root",      "root_rank", "involved_dim",
                                                             "comm_priority", "pg_name"};

}  // namespace

bool NodeCheck::add(const Node& node) {
  return add(node, [&] { check(node); });
}

bool NodeCheck::add_replayed(const Node& node) {
  return add(node, [&] {
    if (!duration(node)) return;
    static_cast<void>(node.is_cpu_op());
    if (!is_known(node.type)) return unknown_type(node);
    if (node.duration_nanos() > 0 || node.type == NodeType::kMetadata) return;
    find(node, name_of(node.type) + " has no duration", "duration_micros", Problem::kNoDuration);
  });
}

template <typename Check>
bool NodeCheck::add(const Node& node, const Check& check) {
  const std::uint64_t before = findings_.found();
  try {
    check();
  } catch (const AttributeError& error) {
    // Its text begins with the label, which the finding has as well.
    const std::string text = error.what();
    const std::string label = node.label() + ": ";
    const std::string said = text.starts_with(label) ? text.substr(label.size()) : text;
    const std::size_t expected = said.find(": expected ");
    const std::size_t got = said.find(", got ");
    if (expected == std::string::npos || got == std::string::npos) {
      find(node, said, "");
    } else {
      find(node, said.substr(0, expected) + " is " + said.substr(got + 6),
           said.substr(expected + 11, got - expected - 11));
    }
  }
  return findings_.found() == before;
}

void NodeCheck::find(const Node& node, std::string problem, std::string expected, Problem kind) {
  findings_.add(kind, file_, node, std::move(problem), std::move(expected));
}

void NodeCheck::unknown_type(const Node& node) {
  find(node, "its type is " + name_of(node.type), "a node type of the schema, 1 to 7", Problem::kType);
}

void NodeCheck::check(const Node& node) {
  if (lists_process_groups(node)) matcher_.add_groups(index_, node);
  if (!is_known(node.type)) return unknown_type(node);
  switch (node.type) {
    case NodeType::kInvalid:
      find(node, "its type is INVALID_NODE", "a type that can be executed", Problem::kType);
      break;
    case NodeType::kMemoryLoad:
    case NodeType::kMemoryStore:
      memory(node);
      break;
    case NodeType::kCompute:
      compute(node);
      break;
    case NodeType::kSend:
    case NodeType::kReceive:
      mark_cpu(node);
      message(node);
      break;
    case NodeType::kCollective:
      mark_cpu(node);
      collective(node);
      break;
    case NodeType::kMetadata:
      break;
  }
  if (machine_ && has_one_meaning(node, kOfHost)) static_cast<void>(host_times_of(node));
}

/// Readers differ in which of two attributes they take. What nobody reads may be there as often as it likes.
bool NodeCheck::has_one_meaning(const Node& node, std::span<const std::string_view> read) {
  bool has = true;
  for (auto first = node.attributes.begin(); first != node.attributes.end(); ++first) {
    if (std::find(read.begin(), read.end(), first->name) == read.end()) continue;
    const auto second = std::find_if(std::next(first), node.attributes.end(),
                                     [&](const Attribute& each) { return each.name == first->name; });
    if (second == node.attributes.end() || second->value == first->value) continue;
    find(node, "attribute " + first->name + " is there twice, with different values", "it once");
    has = false;
  }
  return has;
}

/// A run does not ask for it.
void NodeCheck::mark_cpu(const Node& node) {
  try {
    if (!node.is_cpu_op()) return;
  } catch (const AttributeError&) {
    return;
  }
  find(node, name_of(node.type) + " is marked as an operation of the CPU", "is_cpu_op false",
       Problem::kCpuCommunication);
}

void NodeCheck::missing(const Node& node, const std::string& attribute, const std::string& expected) {
  find(node, name_of(node.type) + " has no attribute " + attribute, expected);
}

bool NodeCheck::not_negative(const Node& node, const std::string& attribute, std::optional<std::int64_t> value) {
  if (!value || *value >= 0) return true;
  find(node, "attribute " + attribute + " is " + std::to_string(*value), "at least 0");
  return false;
}

bool NodeCheck::size(const Node& node, const std::string& attribute, std::optional<std::int64_t> value,
                     bool is_needed) {
  if (!value && is_needed) missing(node, attribute, "a number of bytes");
  return not_negative(node, attribute, value) && value;
}

bool NodeCheck::duration(const Node& node) {
  constexpr std::array<std::string_view, 1> kDuration = {"duration_nanos"};
  if (!has_one_meaning(node, kDuration)) return false;
  if (node.duration_nanos() <= kMostNanos) return true;
  if (node.find(kDuration.front()) != nullptr) {
    find(node, "attribute duration_nanos is " + std::to_string(node.duration_nanos()),
         "at most " + std::to_string(kMostNanos));
  } else {
    find(node, "duration_micros is " + std::to_string(node.duration_micros),
         "at most " + std::to_string(kMostNanos / 1000));
  }
  return false;
}

void NodeCheck::memory(const Node& node) {
  constexpr std::array<std::string_view, 4> kOfMemory = {"is_cpu_op", "tensor_size", "in_switch", "pg_name"};
  if (!has_one_meaning(node, kOfMemory)) return;
  static_cast<void>(node.is_cpu_op());
  size(node, "tensor_size", node.tensor_size(), true);
  const Attribute* in_switch = node.find("in_switch");
  if (in_switch == nullptr) return;
  const bool* value = std::get_if<bool>(&in_switch->value);
  if (value == nullptr) return find(node, "attribute in_switch is no boolean", "a boolean");
  if (*value) matcher_.use_group(index_, node);
}

/// By its duration, which goes first, or by its operations: what a run does not go by may be anything.
void NodeCheck::compute(const Node& node) {
  constexpr std::array<std::string_view, 1> kWhere = {"is_cpu_op"};
  if (!has_one_meaning(node, kWhere)) return;
  const bool is_cpu_op = node.is_cpu_op();
  bool has_kernels = false;
  if (machine_ && !is_cpu_op) {
    constexpr std::array<std::string_view, 4> kOfMachine = {"stream", "cores", kKernels, kKernelsCapped};
    if (!has_one_meaning(node, kOfMachine)) return;
    if (node.cores() == 0) find(node, "attribute cores is 0", "1 or more, or none for all");
    not_negative(node, "cores", node.cores());
    static_cast<void>(node.stream());
    has_kernels = !kernels_of(node).empty();
  }
  if (roofline_ && !is_cpu_op) return roofline(node);
  if (!duration(node) || is_cpu_op || has_kernels || node.duration_nanos() > 0) return;
  if (node.find("num_ops") == nullptr) {
    return find(node, "COMP_NODE takes no time", "duration_micros, or the attribute num_ops", Problem::kNoTime);
  }
  ++report_.operations_without_time;
  if (machine_) operations(node);
}

bool NodeCheck::operations(const Node& node) {
  constexpr std::array<std::string_view, 2> kOfOperations = {"num_ops", "tensor_size"};
  if (!has_one_meaning(node, kOfOperations)) return false;
  const bool counts = not_negative(node, "num_ops", node.num_ops());
  if (machine_ && !roofline_ && node.tensor_size() > kMostMoved) {
    find(node, "attribute tensor_size is " + std::to_string(*node.tensor_size()),
         "at most " + std::to_string(kMostMoved));
    return false;
  }
  return not_negative(node, "tensor_size", node.tensor_size()) && counts;
}

void NodeCheck::roofline(const Node& node) {
  if (!operations(node)) return;
  if (!node.num_ops()) {
    return find(node, "COMP_NODE has no num_ops", "the attributes num_ops and tensor_size", Problem::kOperations);
  }
  if (!node.tensor_size()) return missing(node, "tensor_size", "a number of bytes");
  if (node.tensor_size() == 0) {
    find(node, "attribute tensor_size is 0", "1 or more", Problem::kNoBytes);
  } else if (node.num_ops() == 0) {
    find(node, "attribute num_ops is 0", "1 or more", Problem::kNoOperations);
  }
}

void NodeCheck::message(const Node& node) {
  if (!has_one_meaning(node, kOfMessages)) return;
  const bool is_send = node.type == NodeType::kSend;
  const std::string own = is_send ? "comm_src" : "comm_dst";
  const std::string other = is_send ? "comm_dst" : "comm_src";
  const std::int64_t tag = node.comm_tag();
  if (tag < 0 || tag > kMostTag) {
    return find(node, "attribute comm_tag is " + std::to_string(tag), "0 to " + std::to_string(kMostTag));
  }
  const std::optional<std::int64_t> here = node.integer(own);
  if (here && file_.rank && *here != *file_.rank) {
    find(node, "attribute " + own + " is " + std::to_string(*here),
         "the file's own rank, " + std::to_string(*file_.rank), Problem::kPeer);
  }
  const std::optional<std::int64_t> peer = node.integer(other);
  if (!peer) {
    find(node, name_of(node.type) + " has no attribute " + other, "the rank to exchange with", Problem::kPeer);
  }
  const bool sized = size(node, "comm_size", node.comm_size(), true);
  if (sized && *node.comm_size() > kMostBytes) {
    return find(node, "attribute comm_size is " + std::to_string(*node.comm_size()),
                "at most " + std::to_string(kMostBytes));
  }
  if (peer && *peer < 0) {
    return find(node, "attribute " + other + " is " + std::to_string(*peer), "at least 0", Problem::kPeer);
  }
  if (peer && sized) matcher_.add_message(index_, node, place(), *peer);
}

void NodeCheck::roots(const Node& node, CollectiveType type) {
  if (!has_root(type)) return;
  std::string named;
  std::set<std::int64_t> different;
  for (const char* attribute : {"comm_root", "root", "root_rank"}) {
    const std::optional<std::int64_t> root = node.integer(attribute);
    if (!root) continue;
    different.insert(*root);
    named += (named.empty() ? "" : " and ") + std::string(attribute) + " " + std::to_string(*root);
  }
  if (different.size() > 1) find(node, "names " + named, "one root", Problem::kTwoRoots);
}

void NodeCheck::collective(const Node& node) {
  if (!has_one_meaning(node, kOfCollectives)) return;
  const std::optional<CollectiveType> type = node.comm_type();
  if (!type) missing(node, "comm_type", "a collective, 0 to 9");
  static_cast<void>(node.comm_priority());
  static_cast<void>(node.involved_dim());
  // A barrier moves nothing.
  const std::optional<std::int64_t> bytes = node.comm_size();
  const bool is_barrier = type == CollectiveType::kBarrier;
  const bool sized = size(node, "comm_size", bytes, !is_barrier) || (is_barrier && !bytes);
  if (!type) return;
  // Of these it is a rank's part.
  const bool is_part = type == CollectiveType::kAllGather || type == CollectiveType::kGather;
  const std::int64_t most = kMostBytes / (is_part ? std::max<std::int64_t>(matcher_.ranks(), 1) : 1);
  if (bytes && *bytes > most) {
    return find(node, "attribute comm_size is " + std::to_string(*bytes), "at most " + std::to_string(most));
  }
  roots(node, *type);
  ++report_.collectives[*type];
  // ASTRA-sim's arithmetic takes it from there.
  if (*type == CollectiveType::kBroadcast && duration(node) && node.duration_nanos() == 0) {
    ++report_.broadcasts_without_time;
  }
  if (has_root(*type) && *type != CollectiveType::kBroadcast) {
    find(node, "is a " + name_of(*type), "a BROADCAST, or a collective without a root", Problem::kMachineOnly);
  }
  if (sized) matcher_.add_collective(index_, node, place(), *type, is_barrier ? 0 : *bytes);
}

}  // namespace weft::chakra
