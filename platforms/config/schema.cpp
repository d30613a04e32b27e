// SPDX-License-Identifier: Apache-2.0
#include "platforms/config/schema.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>

#include "platforms/config/text.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

constexpr const char* kReference = "#/$defs/";

/// Of numbers, as far as something is excluded.
void add_limits(ordered_json& schema, Range range) {
  if (range.min > INT64_MIN) schema[range.above_min ? "exclusiveMinimum" : "minimum"] = range.min;
  if (range.max < INT64_MAX) schema[range.below_max ? "exclusiveMaximum" : "maximum"] = range.max;
}

std::vector<std::string> keys_of(const ordered_json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object["properties"].items()) keys.push_back(key);
  return keys;
}

/// A sentence with the limits that a pattern cannot express.
std::string described(std::string_view doc, const Scalar& member, Range range) {
  const bool is_number = std::holds_alternative<IntegerRef>(member) || std::holds_alternative<double*>(member);
  const std::string limits = is_number ? "" : limits_text(member, range);
  return limits.empty() ? std::string(doc) : std::string(doc) + " (" + limits + ")";
}

}  // namespace

ordered_json with_description(std::string_view text, const ordered_json& schema) {
  if (text.empty()) return schema;
  ordered_json described = {{"description", text}};
  described.update(schema);
  return described;
}

class SchemaBuilder::Visitor : public FieldVisitor {
 public:
  Visitor(SchemaBuilder& builder, std::string path, Json& properties)
      : builder_(builder), path_(std::move(path)), properties_(properties) {}

 protected:
  void scalar(std::string_view name, std::string_view doc, const Scalar& member, Range range) override {
    Json schema = builder_.scalar(member, range);
    if (const nlohmann::json usual = value_of(member); usual != "") schema["default"] = usual;
    put(name, described(doc, member, range), schema);
  }
  void nested(std::string_view name, std::string_view doc, std::string_view kind,
              const FieldVisitor::Fields& fields) override {
    put(name, doc, builder_.part(join_path(path_, name), std::string(kind), fields));
  }
  void list(std::string_view name, std::string_view doc, const ListRef& member) override {
    const std::string path = join_path(path_, name);
    Json values = Json::array();
    for (std::size_t i = 0; member.scalar && i < member.size(); ++i) values.emplace_back(value_of(member.scalar(i)));
    member.resize(1);  // an element to describe; it is a copy of the Config that is visited
    if (member.scalar) {
      const Scalar element = member.scalar(0);
      Json schema = builder_.list(builder_.scalar(element, member.range));
      schema["default"] = std::move(values);
      return put(name, described(doc, element, member.range), schema);
    }
    Json element = builder_.object(join_path(path, "N"), [&](FieldVisitor& inner) { member.fields(0, inner); });
    if (!member.shorthand.empty()) {
      element["type"] = {"object", "string"};
      element = with_description("An object, or a string for its " + std::string(member.shorthand), element);
    }
    put(name, doc, builder_.list(builder_.define(path, std::move(element))));
  }

 private:
  void put(std::string_view name, std::string_view doc, const Json& schema) {
    properties_[std::string(name)] = with_description(doc, schema);
  }

  SchemaBuilder& builder_;
  std::string path_;
  Json& properties_;
};

ordered_json SchemaBuilder::object(const std::string& path, const Fields& fields) {
  Json properties = Json::object();
  Visitor visitor(*this, path, properties);
  fields(visitor);
  return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

ordered_json SchemaBuilder::part(const std::string& path, const std::string& kind, const Fields& fields) {
  const Json names = catalogue_->names(kind);
  Json schema = {{"type", {"string", "object"}}};
  Json name = with_description("A part of kind " + kind + ", whose fields the others override", {{"type", "string"}});
  if (!names.empty()) schema["examples"] = name["examples"] = names;
  Json whole = object(path, fields);
  Json properties = {{"part", std::move(name)}};
  properties.update(whole["properties"]);
  whole["properties"] = std::move(properties);
  whole.erase("type");
  schema.update(whole);
  // Under its kind stands the first.
  const bool is_other = definitions_.contains(kind) && definitions_[kind] != schema;
  const Json reference = define(is_other ? path : kind, schema);
  add_kind(kind, reference, keys_of(schema));
  return reference;
}

void SchemaBuilder::add_kind(const std::string& kind, const Json& reference, std::vector<std::string> keys) {
  std::vector<Form>& forms = kinds_[kind];
  const bool is_known =
      std::any_of(forms.begin(), forms.end(), [&keys](const Form& form) { return form.keys == keys; });
  if (!is_known) forms.push_back({reference, std::move(keys)});
}

ordered_json SchemaBuilder::list(const Json& item) {
  Json file = with_description("A JSON or CSV file that has the list", {{"type", "string"}});
  return {{"type", {"array", "string", "object"}},
          {"items", item},
          {"properties", {{"part", std::move(file)}}},
          {"patternProperties", {{"^[0-9]+$", item}}},
          {"additionalProperties", false}};
}

ordered_json SchemaBuilder::scalar(const Scalar& member, Range range) {
  if (const std::string pattern = pattern_of(member); !pattern.empty()) {
    std::string name = "quantity." + type_text(member);
    std::replace(name.begin(), name.end(), ' ', '_');
    return define(name, {{"description", "With its unit, such as " + example_of(member)},
                         {"type", "string"},
                         {"pattern", pattern},
                         {"examples", Json::array({example_of(member)})}});
  }
  if (const auto* names = std::get_if<EnumRef>(&member)) return {{"enum", names->names}};
  if (std::holds_alternative<bool*>(member)) return {{"type", "boolean"}};
  if (std::holds_alternative<std::string*>(member)) return {{"type", "string"}};
  Json schema = {{"type", "number"}};
  if (const auto* integer = std::get_if<IntegerRef>(&member)) {
    schema["type"] = "integer";
    range = {std::max(range.min, integer->type.min), std::min(range.max, integer->type.max)};
  }
  add_limits(schema, range);
  if (std::holds_alternative<double*>(member)) {
    schema["type"] = {"number", "string"};
    schema["pattern"] = "^[-+]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]+)?%$";
  }
  return schema;
}

ordered_json SchemaBuilder::define(std::string name, Json schema) {
  while (definitions_.contains(name) && definitions_[name] != schema) name += '_';
  definitions_[name] = std::move(schema);
  return {{"$ref", kReference + name}};
}

std::map<std::string, ordered_json> SchemaBuilder::kinds() const {
  std::map<std::string, Json> all;
  for (const auto& [kind, forms] : kinds_) {
    Json references = Json::array();
    for (const Form& form : forms) references.push_back(form.reference);
    all[kind] = forms.size() == 1 ? references[0] : Json{{"anyOf", references}};
  }
  return all;
}

ordered_json SchemaBuilder::finish(const std::string& title, const std::string& description, const Json& root) const {
  Json schema = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}, {"description", description}};
  schema.update(root);
  schema["$defs"] = definitions_;
  return schema;
}

}  // namespace weft::platforms
