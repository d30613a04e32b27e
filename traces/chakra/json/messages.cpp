// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/json/messages.h"

#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "traces/chakra/message.h"

namespace weft::chakra {
namespace {

using nlohmann::json;

template <typename Message>
void parse_message(std::string_view text, Message& message) {
  const google::protobuf::LogSilencer silencer;
  message.Clear();
  const auto status = google::protobuf::util::JsonStringToMessage({text.data(), text.size()}, &message);
  if (!status.ok())
    throw std::invalid_argument("expected a message of Chakra in JSON: " + std::string(status.message()));
}

template <typename Message>
std::string print_message(const Message& message, const std::string& what) {
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(message, &text).ok()) {
    throw std::invalid_argument(what + ": expected texts in UTF-8");
  }
  return text;
}

bool has_unknown(const std::vector<Attribute>& attributes) {
  return std::any_of(attributes.begin(), attributes.end(), [](const Attribute& attribute) {
    return !attribute.unknown.empty() || !attribute.list_unknown.empty();
  });
}

bool has_more(const Node& node) {
  return !node.unknown.empty() || (node.inputs && !node.inputs->unknown.empty()) ||
         (node.outputs && !node.outputs->unknown.empty()) || has_unknown(node.attributes);
}

bool has_more(const Metadata& metadata) {
  return !metadata.unknown.empty() || has_unknown(metadata.attributes);
}

[[noreturn]] void fail_unknown(const std::string& what) {
  throw std::invalid_argument(what + ": has fields that the schema does not have, for which this JSON has no place");
}

std::uint64_t feeder_natural(const json& value, const std::string& path) {
  if (!value.is_number_unsigned())
    throw std::invalid_argument(path + ": expected an integer of at least 0, got " + value.dump());
  return value.get<std::uint64_t>();
}

std::vector<std::uint64_t> feeder_ids(const json& value, const std::string& path) {
  if (!value.is_array()) throw std::invalid_argument(path + ": expected a list, got " + value.dump());
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < value.size(); ++i)
    ids.push_back(feeder_natural(value[i], path + "[" + std::to_string(i) + "]"));
  return ids;
}

NodeType feeder_type(const json& value) {
  if (value.is_string()) {
    if (const auto type = node_type(value.get<std::string>())) return *type;
  } else if (value.is_number_integer() && value >= 0 && value <= std::numeric_limits<std::int32_t>::max()) {
    return static_cast<NodeType>(value.get<std::int32_t>());
  }
  throw std::invalid_argument("NodeType: expected a node type such as 4 or COMP_NODE, got " + value.dump());
}

/// How a protobuf trace holds the attributes that its readers know.
constexpr std::pair<std::string_view, ValueKind> kKinds[] = {
    {"num_ops", ValueKind::kInt64},       {"tensor_size", ValueKind::kUint64}, {"comm_type", ValueKind::kInt64},
    {"comm_priority", ValueKind::kInt32}, {"comm_size", ValueKind::kInt64},    {"comm_src", ValueKind::kInt32},
    {"comm_dst", ValueKind::kInt32},      {"comm_tag", ValueKind::kInt32}};

}  // namespace

void node_from_message_json(std::string_view text, Node& node) {
  ChakraProtoMsg::Node message;
  parse_message(text, message);
  from_message(message, node);
}

void metadata_from_message_json(std::string_view text, Metadata& metadata) {
  ChakraProtoMsg::GlobalMetadata message;
  parse_message(text, message);
  from_message(message, metadata);
}

bool is_message_of_node(const json& object) {
  if (!object.is_object()) return false;
  return std::any_of(object.items().begin(), object.items().end(),
                     [](const auto& member) { return member.key() != "version" && member.key() != "attr"; });
}

std::string to_message_json(const Node& node) {
  if (has_more(node)) fail_unknown(node.label());
  ChakraProtoMsg::Node message;
  to_message(node, message);
  return print_message(message, node.label());
}

/// With the version, by which readers know a trace, even where it is empty.
std::string to_message_json(const Metadata& metadata) {
  if (has_more(metadata)) fail_unknown("metadata");
  ChakraProtoMsg::GlobalMetadata message;
  to_message(metadata, message);
  const std::string text = print_message(message, "metadata");
  if (!message.version().empty()) return text;
  return R"({"version":"")" + std::string(text == "{}" ? "" : ",") + text.substr(1);
}

void check_unknown(const Node& node) {
  if (!has_more(node)) return;
  ChakraProtoMsg::Node message;
  to_message(node, message);
}

void check_unknown(const Metadata& metadata) {
  if (!has_more(metadata)) return;
  ChakraProtoMsg::GlobalMetadata message;
  to_message(metadata, message);
}

Attribute attribute_from_feeder_json(const std::string& name, const json& value) {
  const auto* known =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& kind) { return kind.first == name; });
  Attribute attribute = Attribute::text(name, "");
  if (known != std::end(kKinds)) {
    const bool is_natural = known->second == ValueKind::kUint64;
    const bool is_short = known->second == ValueKind::kInt32;
    const bool fits = is_natural ? value.is_number_unsigned()
                                 : value.is_number_integer() &&
                                       (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
    const bool is_in_range =
        fits && (!is_short || (value.get<std::int64_t>() >= INT32_MIN && value.get<std::int64_t>() <= INT32_MAX));
    if (!is_in_range)
      throw std::invalid_argument(name + ": expected " +
                                  (is_natural ? "an integer of at least 0"
                                   : is_short ? "an integer of 32 bits"
                                              : "an integer of 64 bits") +
                                  ", got " + value.dump());
    attribute.kind = known->second;
    if (is_natural) {
      attribute.value = value.get<std::uint64_t>();
    } else {
      attribute.value = value.get<std::int64_t>();
    }
  } else if (value.is_boolean()) {
    attribute = Attribute::boolean(name, value.get<bool>());
  } else if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) {
    attribute = Attribute::natural(name, value.get<std::uint64_t>());
  } else if (value.is_number_integer()) {
    attribute = Attribute::integer(name, value.get<std::int64_t>());
  } else if (value.is_number()) {
    attribute.kind = ValueKind::kDouble;
    attribute.value = value.get<double>();
  } else {
    // A list or an object stays as it stands.
    attribute = Attribute::text(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return attribute;
}

Node node_from_feeder_json(const json& object) {
  if (!object.is_object()) throw std::invalid_argument(": expected an object, got " + object.dump());
  Node node;
  for (const auto& [key, value] : object.items()) {
    if (key == "Id") {
      node.id = feeder_natural(value, key);
    } else if (key == "Name") {
      if (!value.is_string()) throw std::invalid_argument("Name: expected a string, got " + value.dump());
      node.name = value.get<std::string>();
    } else if (key == "NodeType") {
      node.type = feeder_type(value);
    } else if (key == "runtime") {
      node.duration_micros = feeder_natural(value, key);
    } else if (key == "data_deps") {
      node.data_dependencies = feeder_ids(value, key);
    } else if (key == "ctrlDeps" || key == "ctrl_deps") {
      node.control_dependencies = feeder_ids(value, key);
    } else if (!value.is_null()) {  // nothing is no attribute
      node.attributes.push_back(attribute_from_feeder_json(key, value));
    }
  }
  if (!object.contains("Id")) throw std::invalid_argument("Id: expected the node's id, got nothing");
  if (!object.contains("NodeType")) throw std::invalid_argument("NodeType: expected the node's type, got nothing");
  return node;
}

}  // namespace weft::chakra
