// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/node.h"

#include <array>
#include <limits>
#include <utility>

#include "traces/files/text_file.h"

namespace weft::chakra {
namespace {

constexpr std::uint64_t kNanosPerMicro = 1000;

constexpr std::array<std::string_view, kNodeTypes> kNodeTypeNames = {
    "INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
    "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"};

constexpr std::array<std::string_view, kCollectiveTypes> kCollectiveNames = {
    "ALL_REDUCE", "REDUCE",         "ALL_GATHER",           "GATHER", "SCATTER", "BROADCAST",
    "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"};

constexpr int kFirstKind = 3;
constexpr std::array<std::string_view, 30> kKindNames = {
    "double_val",  "double_list",  "float_val",    "float_list",    "int32_val",    "int32_list",
    "int64_val",   "int64_list",   "uint32_val",   "uint32_list",   "uint64_val",   "uint64_list",
    "sint32_val",  "sint32_list",  "sint64_val",   "sint64_list",   "fixed32_val",  "fixed32_list",
    "fixed64_val", "fixed64_list", "sfixed32_val", "sfixed32_list", "sfixed64_val", "sfixed64_list",
    "bool_val",    "bool_list",    "string_val",   "string_list",   "bytes_val",    "bytes_list"};

template <std::size_t N>
std::string name_or_number(const std::array<std::string_view, N>& names, int value) {
  if (value < 0 || static_cast<std::size_t>(value) >= N) return std::to_string(value);
  return std::string(names[static_cast<std::size_t>(value)]);
}

[[noreturn]] void fail(const Node& node, const Attribute& attribute, std::string_view expected) {
  std::string text = node.label() + ": attribute " + attribute.name + ": expected " + std::string(expected) + ", got ";
  if (const auto* natural = std::get_if<std::uint64_t>(&attribute.value)) {
    text += std::to_string(*natural);
  } else if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) {
    text += std::to_string(*integer);
  } else {
    text += attribute.kind == ValueKind::kNone ? "no value" : name_of(attribute.kind);
  }
  throw AttributeError(text);
}

Attribute attribute(std::string name, ValueKind kind, Value value) {
  Attribute made;
  made.name = std::move(name);
  made.kind = kind;
  made.value = std::move(value);
  return made;
}

}  // namespace

bool is_known(NodeType type) {
  return static_cast<int>(type) >= 0 && static_cast<int>(type) < kNodeTypes;
}

std::string name_of(NodeType type) {
  return name_or_number(kNodeTypeNames, static_cast<int>(type));
}

std::optional<NodeType> node_type(std::string_view name) {
  for (std::size_t i = 0; i < kNodeTypeNames.size(); ++i) {
    if (kNodeTypeNames[i] == name) return static_cast<NodeType>(i);
  }
  return std::nullopt;
}

std::string name_of(CollectiveType type) {
  return name_or_number(kCollectiveNames, static_cast<int>(type));
}

std::string_view name_of(ValueKind kind) {
  return kind == ValueKind::kNone ? "" : kKindNames[static_cast<std::size_t>(kind) - kFirstKind];
}

std::optional<ValueKind> value_kind(std::string_view name) {
  for (std::size_t i = 0; i < kKindNames.size(); ++i) {
    if (kKindNames[i] == name) return static_cast<ValueKind>(i + kFirstKind);
  }
  return std::nullopt;
}

Attribute Attribute::integer(std::string name, std::int64_t value) {
  return attribute(std::move(name), ValueKind::kInt64, value);
}

Attribute Attribute::natural(std::string name, std::uint64_t value) {
  return attribute(std::move(name), ValueKind::kUint64, value);
}

Attribute Attribute::boolean(std::string name, bool value) {
  return attribute(std::move(name), ValueKind::kBool, value);
}

Attribute Attribute::text(std::string name, std::string value) {
  return attribute(std::move(name), ValueKind::kString, std::move(value));
}

Attribute Attribute::booleans(std::string name, std::vector<bool> values) {
  return attribute(std::move(name), ValueKind::kBoolList, std::move(values));
}

const Attribute* Node::find(std::string_view attribute) const {
  for (const Attribute& one : attributes) {
    if (one.name == attribute) return &one;
  }
  return nullptr;
}

std::string Node::label() const {
  return "node " + std::to_string(id) + (name.empty() ? "" : " '" + traces::one_line(name) + "'");
}

std::optional<std::int64_t> Node::integer(std::string_view attribute) const {
  const Attribute* found = find(attribute);
  if (found == nullptr) return std::nullopt;
  if (const auto* integer = std::get_if<std::int64_t>(&found->value)) return *integer;
  const auto* natural = std::get_if<std::uint64_t>(&found->value);
  if (natural == nullptr) fail(*this, *found, "an integer");
  if (*natural > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    fail(*this, *found, "at most 9223372036854775807");
  }
  return static_cast<std::int64_t>(*natural);
}

bool Node::is_cpu_op() const {
  const Attribute* found = find("is_cpu_op");
  if (found == nullptr) return false;
  if (const auto* boolean = std::get_if<bool>(&found->value)) return *boolean;
  if (found->value.index() == Value(std::int64_t()).index() || found->value.index() == Value(std::uint64_t()).index()) {
    return integer("is_cpu_op") != 0;
  }
  fail(*this, *found, "a boolean");
}

std::optional<std::int64_t> Node::num_ops() const {
  return integer("num_ops");
}

std::optional<std::int64_t> Node::tensor_size() const {
  return integer("tensor_size");
}

std::optional<CollectiveType> Node::comm_type() const {
  const std::optional<std::int64_t> number = integer("comm_type");
  if (!number) return std::nullopt;
  if (*number < 0 || *number >= kCollectiveTypes) fail(*this, *find("comm_type"), "a collective, 0 to 9");
  return static_cast<CollectiveType>(*number);
}

std::optional<std::int64_t> Node::comm_size() const {
  return integer("comm_size");
}

std::optional<std::int64_t> Node::comm_src() const {
  return integer("comm_src");
}

std::optional<std::int64_t> Node::comm_dst() const {
  return integer("comm_dst");
}

std::optional<std::int64_t> Node::comm_root() const {
  for (const char* attribute : {"comm_root", "root", "root_rank"}) {
    if (const auto root = integer(attribute)) return root;
  }
  const std::optional<CollectiveType> what = comm_type();
  if (!what || !has_root(*what)) return std::nullopt;
  return *what == CollectiveType::kBroadcast || *what == CollectiveType::kScatter ? comm_src() : comm_dst();
}

std::int64_t Node::comm_tag() const {
  return integer("comm_tag").value_or(0);
}

std::int64_t Node::stream() const {
  return integer("stream").value_or(0);
}

std::optional<std::int64_t> Node::cores() const {
  return integer("cores");
}

std::int64_t Node::comm_priority() const {
  return integer("comm_priority").value_or(0);
}

std::optional<std::vector<bool>> Node::involved_dim() const {
  const Attribute* found = find("involved_dim");
  if (found == nullptr) return std::nullopt;
  const auto* list = std::get_if<std::vector<bool>>(&found->value);
  if (list == nullptr) fail(*this, *found, "a list of booleans");
  return *list;
}

std::string Node::pg_name() const {
  const Attribute* found = find("pg_name");
  if (found == nullptr) return "";
  std::string group;
  if (const auto* text = std::get_if<std::string>(&found->value)) {
    group = *text;
  } else if (std::holds_alternative<std::int64_t>(found->value) ||
             std::holds_alternative<std::uint64_t>(found->value)) {
    group = std::to_string(*integer("pg_name"));
  } else {
    fail(*this, *found, "a string");
  }
  return group == "0" ? "" : group;
}

std::uint64_t Node::duration_nanos() const {
  if (const std::optional<std::int64_t> nanos = integer("duration_nanos")) {
    if (*nanos < 0) fail(*this, *find("duration_nanos"), "at least 0");
    return static_cast<std::uint64_t>(*nanos);
  }
  if (duration_micros > std::numeric_limits<std::uint64_t>::max() / kNanosPerMicro) {
    throw AttributeError(label() + ": duration_micros: expected at most 18446744073709551, got " +
                         std::to_string(duration_micros));
  }
  return duration_micros * kNanosPerMicro;
}

void Node::set_duration_nanos(std::uint64_t nanos) {
  const std::uint64_t rest = nanos % kNanosPerMicro;
  duration_micros = nanos / kNanosPerMicro + (rest >= kNanosPerMicro / 2 ? 1 : 0);
  if (rest != 0) attributes.push_back(Attribute::natural("duration_nanos", nanos));
}

}  // namespace weft::chakra
