// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "traces/chakra/json.h"

namespace weft::chakra {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

std::string to_hex(const std::string& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return text;
}

[[noreturn]] void fail(const std::string& path, const std::string& expected, const json& got) {
  std::string text = got.dump(-1, ' ', false, json::error_handler_t::replace);
  constexpr std::size_t kLongest = 60;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  throw std::invalid_argument(path + ": expected " + expected + ", got " + text);
}

std::string text_of(const json& value, const std::string& path) {
  if (!value.is_string()) fail(path, "a string", value);
  return value.get<std::string>();
}

std::string from_hex(const json& value, const std::string& path) {
  const std::string text = text_of(value, path);
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : (c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1); };
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]);
    const int low = i + 1 < text.size() ? digit(text[i + 1]) : -1;
    if (high < 0 || low < 0) fail(path, "pairs of hexadecimal digits 0-9 and a-f", value);
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::uint64_t natural_of(const json& value, const std::string& path, std::uint64_t most = UINT64_MAX) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most) {
    fail(path, "an integer from 0 to " + std::to_string(most), value);
  }
  return value.get<std::uint64_t>();
}

std::int64_t integer_of(const json& value, const std::string& path, std::int64_t least, std::int64_t most) {
  const bool fits = value.is_number_unsigned() ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
                                               : value.is_number_integer() && value.get<std::int64_t>() >= least;
  if (!fits) fail(path, "an integer from " + std::to_string(least) + " to " + std::to_string(most), value);
  return value.get<std::int64_t>();
}

ordered_json real(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

double real_of(const json& value, const std::string& path) {
  if (value.is_number()) return value.get<double>();
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  fail(path, "a number, \"NaN\", \"Infinity\" or \"-Infinity\"", value);
}

bool boolean_of(const json& value, const std::string& path) {
  if (!value.is_boolean()) fail(path, "true or false", value);
  return value.get<bool>();
}

bool is_list(ValueKind kind) {
  return kind != ValueKind::kNone && static_cast<int>(kind) % 2 == 0;
}

/// The kind of a list's elements.
ValueKind scalar_of(ValueKind kind) {
  return is_list(kind) ? static_cast<ValueKind>(static_cast<int>(kind) - 1) : kind;
}

ordered_json value_to_json(const Attribute& attribute) {
  const bool is_bytes = scalar_of(attribute.kind) == ValueKind::kBytes;
  const auto one = [is_bytes](const auto& value) -> ordered_json {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_floating_point_v<T>) {
      return real(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      return is_bytes ? to_hex(value) : value;
    } else {
      return value;
    }
  };
  return std::visit(
      [&](const auto& value) -> ordered_json {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
          ordered_json list = ordered_json::array();
          for (const bool element : value) list.push_back(element);
          return list;
        } else if constexpr (std::is_same_v<T, std::vector<double>> || std::is_same_v<T, std::vector<float>> ||
                             std::is_same_v<T, std::vector<std::int64_t>> ||
                             std::is_same_v<T, std::vector<std::uint64_t>> ||
                             std::is_same_v<T, std::vector<std::string>>) {
          ordered_json list = ordered_json::array();
          for (const auto& element : value) list.push_back(one(element));
          return list;
        } else {
          return one(value);
        }
      },
      attribute.value);
}

/// Calls `use` with what reads one value of the kind from JSON.
template <typename Use>
void with_reader(ValueKind kind, const Use& use) {
  using Limits32 = std::numeric_limits<std::int32_t>;
  using Limits64 = std::numeric_limits<std::int64_t>;
  switch (scalar_of(kind)) {
    case ValueKind::kDouble:
      return use([](const json& value, const std::string& path) { return real_of(value, path); });
    case ValueKind::kFloat:
      return use([](const json& value, const std::string& path) {
        const double read = real_of(value, path);
        if (std::isfinite(read) && std::abs(read) > std::numeric_limits<float>::max()) {
          fail(path, "a number of 32 bits", value);
        }
        return static_cast<float>(read);
      });
    case ValueKind::kInt32:
    case ValueKind::kSint32:
    case ValueKind::kSfixed32:
      return use([](const json& value, const std::string& path) {
        return integer_of(value, path, Limits32::min(), Limits32::max());
      });
    case ValueKind::kInt64:
    case ValueKind::kSint64:
    case ValueKind::kSfixed64:
      return use([](const json& value, const std::string& path) {
        return integer_of(value, path, Limits64::min(), Limits64::max());
      });
    case ValueKind::kUint32:
    case ValueKind::kFixed32:
      return use([](const json& value, const std::string& path) { return natural_of(value, path, UINT32_MAX); });
    case ValueKind::kUint64:
    case ValueKind::kFixed64:
      return use([](const json& value, const std::string& path) { return natural_of(value, path); });
    case ValueKind::kBool:
      return use([](const json& value, const std::string& path) { return boolean_of(value, path); });
    case ValueKind::kString:
      return use([](const json& value, const std::string& path) { return text_of(value, path); });
    default:
      return use([](const json& value, const std::string& path) { return from_hex(value, path); });
  }
}

void value_from_json(const json& value, const std::string& path, Attribute& attribute) {
  with_reader(attribute.kind, [&](const auto& read) {
    if (!is_list(attribute.kind)) {
      attribute.value = read(value, path);
      return;
    }
    if (!value.is_array()) fail(path, "a list", value);
    std::vector<decltype(read(value, path))> list;
    for (std::size_t i = 0; i < value.size(); ++i) list.push_back(read(value[i], path + "[" + std::to_string(i) + "]"));
    attribute.value = std::move(list);
  });
}

void put_text(ordered_json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

void put_hex(ordered_json& object, const char* key, const std::string& bytes) {
  if (!bytes.empty()) object[key] = to_hex(bytes);
}

ordered_json attributes_to_json(const std::vector<Attribute>& attributes) {
  ordered_json list = ordered_json::array();
  for (const Attribute& attribute : attributes) {
    ordered_json object = {{"name", attribute.name}};
    put_text(object, "doc_string", attribute.doc_string);
    if (attribute.kind != ValueKind::kNone) object[std::string(name_of(attribute.kind))] = value_to_json(attribute);
    put_hex(object, "unknown", attribute.unknown);
    put_hex(object, "list_unknown", attribute.list_unknown);
    list.push_back(std::move(object));
  }
  return list;
}

ordered_json to_json(const InputOutput& info) {
  ordered_json object = ordered_json::object();
  put_text(object, "values", info.values);
  put_text(object, "shapes", info.shapes);
  put_text(object, "types", info.types);
  put_hex(object, "unknown", info.unknown);
  return object;
}

/// Calls `use` with each member's name, value and path; it returns false for a name that it does not know.
template <typename Use>
void each_member(const json& object, const std::string& path, const std::string& names, const Use& use) {
  if (!object.is_object()) fail(path, "an object", object);
  for (const auto& [key, value] : object.items()) {
    std::string at = path;
    if (!at.empty()) at += '.';
    at += key;
    if (!use(key, value, at)) throw std::invalid_argument(at.append(": expected one of ").append(names));
  }
}

std::vector<Attribute> attributes_from_json(const json& list, const std::string& path) {
  if (!list.is_array()) fail(path, "a list", list);
  std::vector<Attribute> attributes;
  for (std::size_t i = 0; i < list.size(); ++i) {
    Attribute attribute;
    each_member(list[i], path + "[" + std::to_string(i) + "]",
                "name, doc_string, a kind of value such as int64_val or bool_list, unknown, list_unknown",
                [&](const std::string& key, const json& value, const std::string& at) {
                  if (key == "name") {
                    attribute.name = text_of(value, at);
                  } else if (key == "doc_string") {
                    attribute.doc_string = text_of(value, at);
                  } else if (key == "unknown") {
                    attribute.unknown = from_hex(value, at);
                  } else if (key == "list_unknown") {
                    attribute.list_unknown = from_hex(value, at);
                  } else if (const auto kind = value_kind(key)) {
                    if (attribute.kind != ValueKind::kNone) {
                      throw std::invalid_argument(at + ": expected one value, got " +
                                                  std::string(name_of(attribute.kind)) + " as well");
                    }
                    attribute.kind = *kind;
                    value_from_json(value, at, attribute);
                  } else {
                    return false;
                  }
                  return true;
                });
    attributes.push_back(std::move(attribute));
  }
  return attributes;
}

InputOutput info_from_json(const json& object, const std::string& path) {
  InputOutput info;
  each_member(object, path, "values, shapes, types, unknown",
              [&](const std::string& key, const json& value, const std::string& at) {
                if (key == "values") {
                  info.values = text_of(value, at);
                } else if (key == "shapes") {
                  info.shapes = text_of(value, at);
                } else if (key == "types") {
                  info.types = text_of(value, at);
                } else if (key == "unknown") {
                  info.unknown = from_hex(value, at);
                } else {
                  return false;
                }
                return true;
              });
  return info;
}

std::vector<std::uint64_t> ids_from_json(const json& list, const std::string& path) {
  if (!list.is_array()) fail(path, "a list", list);
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < list.size(); ++i)
    ids.push_back(natural_of(list[i], path + "[" + std::to_string(i) + "]"));
  return ids;
}

NodeType type_from_json(const json& value, const std::string& path) {
  if (value.is_string()) {
    if (const auto type = node_type(value.get<std::string>())) return *type;
    fail(path, "a node type such as COMP_NODE, or a number", value);
  }
  using Limits = std::numeric_limits<std::int32_t>;
  return static_cast<NodeType>(integer_of(value, path, Limits::min(), Limits::max()));
}

}  // namespace

ordered_json to_json(const Node& node) {
  ordered_json object = {{"id", node.id}};
  put_text(object, "name", node.name);
  if (is_known(node.type)) {
    object["type"] = name_of(node.type);
  } else {
    object["type"] = static_cast<int>(node.type);
  }
  if (!node.control_dependencies.empty()) object["ctrl_deps"] = node.control_dependencies;
  if (!node.data_dependencies.empty()) object["data_deps"] = node.data_dependencies;
  if (node.start_time_micros != 0) object["start_time_micros"] = node.start_time_micros;
  if (node.duration_micros != 0) object["duration_micros"] = node.duration_micros;
  if (node.inputs) object["inputs"] = to_json(*node.inputs);
  if (node.outputs) object["outputs"] = to_json(*node.outputs);
  if (!node.attributes.empty()) object["attr"] = attributes_to_json(node.attributes);
  put_hex(object, "unknown", node.unknown);
  return object;
}

ordered_json to_json(const Metadata& metadata) {
  ordered_json object = ordered_json::object();
  put_text(object, "version", metadata.version);
  if (!metadata.attributes.empty()) object["attr"] = attributes_to_json(metadata.attributes);
  put_hex(object, "unknown", metadata.unknown);
  return object;
}

Node node_from_json(const json& object) {
  Node node;
  each_member(
      object, "",
      "id, name, type, ctrl_deps, data_deps, start_time_micros, duration_micros, inputs, outputs, attr, unknown",
      [&](const std::string& key, const json& value, const std::string& at) {
        if (key == "id") {
          node.id = natural_of(value, at);
        } else if (key == "name") {
          node.name = text_of(value, at);
        } else if (key == "type") {
          node.type = type_from_json(value, at);
        } else if (key == "ctrl_deps") {
          node.control_dependencies = ids_from_json(value, at);
        } else if (key == "data_deps") {
          node.data_dependencies = ids_from_json(value, at);
        } else if (key == "start_time_micros") {
          node.start_time_micros = natural_of(value, at);
        } else if (key == "duration_micros") {
          node.duration_micros = natural_of(value, at);
        } else if (key == "inputs") {
          node.inputs = info_from_json(value, at);
        } else if (key == "outputs") {
          node.outputs = info_from_json(value, at);
        } else if (key == "attr") {
          node.attributes = attributes_from_json(value, at);
        } else if (key == "unknown") {
          node.unknown = from_hex(value, at);
        } else {
          return false;
        }
        return true;
      });
  if (!object.contains("id")) throw std::invalid_argument("id: expected the node's id, got nothing");
  return node;
}

Metadata metadata_from_json(const json& object) {
  Metadata metadata;
  each_member(object, "metadata", "version, attr, unknown",
              [&](const std::string& key, const json& value, const std::string& at) {
                if (key == "version") {
                  metadata.version = text_of(value, at);
                } else if (key == "attr") {
                  metadata.attributes = attributes_from_json(value, at);
                } else if (key == "unknown") {
                  metadata.unknown = from_hex(value, at);
                } else {
                  return false;
                }
                return true;
              });
  return metadata;
}

}  // namespace weft::chakra
