// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/message.h"

#include <stdexcept>

namespace weft::chakra {
namespace {

namespace pb = ChakraProtoMsg;

/// The kinds of values: the schema's name, the name within identifiers, and the type that holds one.
// clang-format off
#define WEFT_CHAKRA_KINDS(X) \
  X(double, Double, double) \
  X(float, Float, float) \
  X(int32, Int32, std::int64_t) \
  X(int64, Int64, std::int64_t) \
  X(uint32, Uint32, std::uint64_t) \
  X(uint64, Uint64, std::uint64_t) \
  X(sint32, Sint32, std::int64_t) \
  X(sint64, Sint64, std::int64_t) \
  X(fixed32, Fixed32, std::uint64_t) \
  X(fixed64, Fixed64, std::uint64_t) \
  X(sfixed32, Sfixed32, std::int64_t) \
  X(sfixed64, Sfixed64, std::int64_t) \
  X(bool, Bool, bool) \
  X(string, String, std::string) \
  X(bytes, Bytes, std::string)
// clang-format on

/// What `value` holds, made a T first if it is something else; a string or a list keeps its capacity.
template <typename T>
T& as(Value& value) {
  if (T* held = std::get_if<T>(&value)) return *held;
  return value.emplace<T>();
}

using google::protobuf::Message;

void get_unknown(const Message& message, std::string& unknown) {
  unknown.clear();
  const google::protobuf::UnknownFieldSet& fields = message.GetReflection()->GetUnknownFields(message);
  if (!fields.empty()) fields.SerializeToString(&unknown);
}

void set_unknown(const std::string& unknown, Message& message) {
  if (unknown.empty()) return;
  if (!message.GetReflection()->MutableUnknownFields(&message)->ParseFromString(unknown)) {
    throw std::invalid_argument("unknown: expected encoded fields");
  }
}

template <typename T, typename List>
void assign_list(const List& list, Attribute& attribute) {
  as<std::vector<T>>(attribute.value).assign(list.values().begin(), list.values().end());
  get_unknown(list, attribute.list_unknown);
}

template <typename T, typename List>
void fill_list(const Attribute& attribute, List& list) {
  const auto& values = std::get<std::vector<T>>(attribute.value);
  for (const auto& value : values) *list.mutable_values()->Add() = value;
  set_unknown(attribute.list_unknown, list);
}

void from_message(const pb::AttributeProto& message, Attribute& attribute) {
  attribute.name = message.name();
  attribute.doc_string = message.doc_string();
  get_unknown(message, attribute.unknown);
  attribute.list_unknown.clear();
  switch (message.value_case()) {
    case pb::AttributeProto::VALUE_NOT_SET:
      attribute.kind = ValueKind::kNone;
      attribute.value = std::monostate();
      return;
#define WEFT_CHAKRA_READ(name, Name, Type)               \
  case pb::AttributeProto::k##Name##Val:                 \
    attribute.kind = ValueKind::k##Name;                 \
    as<Type>(attribute.value) = message.name##_val();    \
    return;                                              \
  case pb::AttributeProto::k##Name##List:                \
    attribute.kind = ValueKind::k##Name##List;           \
    assign_list<Type>(message.name##_list(), attribute); \
    return;
      WEFT_CHAKRA_KINDS(WEFT_CHAKRA_READ)
#undef WEFT_CHAKRA_READ
  }
}

void to_message(const Attribute& attribute, pb::AttributeProto& message) {
  message.set_name(attribute.name);
  message.set_doc_string(attribute.doc_string);
  set_unknown(attribute.unknown, message);
  switch (attribute.kind) {
    case ValueKind::kNone:
      return;
#define WEFT_CHAKRA_WRITE(name, Name, Type)                       \
  case ValueKind::k##Name:                                        \
    message.set_##name##_val(std::get<Type>(attribute.value));    \
    return;                                                       \
  case ValueKind::k##Name##List:                                  \
    fill_list<Type>(attribute, *message.mutable_##name##_list()); \
    return;
      WEFT_CHAKRA_KINDS(WEFT_CHAKRA_WRITE)
#undef WEFT_CHAKRA_WRITE
  }
}

template <typename Messages>
void from_messages(const Messages& messages, std::vector<Attribute>& attributes) {
  attributes.resize(static_cast<std::size_t>(messages.size()));
  for (int i = 0; i < messages.size(); ++i) from_message(messages[i], attributes[static_cast<std::size_t>(i)]);
}

void from_message(const pb::IOInfo& message, std::optional<InputOutput>& info) {
  info.emplace();
  info->values = message.values();
  info->shapes = message.shapes();
  info->types = message.types();
  get_unknown(message, info->unknown);
}

void to_message(const InputOutput& info, pb::IOInfo& message) {
  message.set_values(info.values);
  message.set_shapes(info.shapes);
  message.set_types(info.types);
  set_unknown(info.unknown, message);
}

}  // namespace

void from_message(const pb::GlobalMetadata& message, Metadata& metadata) {
  metadata.version = message.version();
  from_messages(message.attr(), metadata.attributes);
  get_unknown(message, metadata.unknown);
}

void from_message(const pb::Node& message, Node& node) {
  node.id = message.id();
  node.name = message.name();
  node.type = static_cast<NodeType>(message.type());
  node.control_dependencies.assign(message.ctrl_deps().begin(), message.ctrl_deps().end());
  node.data_dependencies.assign(message.data_deps().begin(), message.data_deps().end());
  node.start_time_micros = message.start_time_micros();
  node.duration_micros = message.duration_micros();
  node.inputs.reset();
  node.outputs.reset();
  if (message.has_inputs()) from_message(message.inputs(), node.inputs);
  if (message.has_outputs()) from_message(message.outputs(), node.outputs);
  from_messages(message.attr(), node.attributes);
  get_unknown(message, node.unknown);
}

void to_message(const Metadata& metadata, pb::GlobalMetadata& message) {
  message.Clear();
  message.set_version(metadata.version);
  for (const Attribute& attribute : metadata.attributes) to_message(attribute, *message.add_attr());
  set_unknown(metadata.unknown, message);
}

void to_message(const Node& node, pb::Node& message) {
  message.Clear();
  message.set_id(node.id);
  message.set_name(node.name);
  message.set_type(static_cast<pb::NodeType>(node.type));
  message.mutable_ctrl_deps()->Add(node.control_dependencies.begin(), node.control_dependencies.end());
  message.mutable_data_deps()->Add(node.data_dependencies.begin(), node.data_dependencies.end());
  message.set_start_time_micros(node.start_time_micros);
  message.set_duration_micros(node.duration_micros);
  if (node.inputs) to_message(*node.inputs, *message.mutable_inputs());
  if (node.outputs) to_message(*node.outputs, *message.mutable_outputs());
  for (const Attribute& attribute : node.attributes) to_message(attribute, *message.add_attr());
  set_unknown(node.unknown, message);
}

}  // namespace weft::chakra
