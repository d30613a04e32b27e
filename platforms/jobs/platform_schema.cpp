// SPDX-License-Identifier: Apache-2.0
#include "platforms/jobs/platform_schema.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hw/core/config/any_config.h"
#include "platforms/config/part_sources.h"
#include "platforms/config/schema.h"
#include "platforms/jobs/graph/trace_members.h"
#include "platforms/jobs/job_kind.h"
#include "platforms/machine/machine.h"
#include "sw/analytical/config.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

template <typename C>
SchemaBuilder::Fields fields_of() {
  return [](FieldVisitor& visitor) { C().fields(visitor); };
}

ordered_json text(std::string_view description) {
  return with_description(description, {{"type", "string"}});
}

/// Puts members ahead of those of an object.
void prepend(ordered_json& object, ordered_json members) {
  members.update(object["properties"]);
  object["properties"] = std::move(members);
}

/// A condition on a member that has to be there.
ordered_json where(const std::string& key, std::string_view value) {
  return {{"required", {key}}, {"properties", {{key, {{"const", value}}}}}};
}

/// What a workload has beside the fields of its kind.
void add_members(ordered_json& workload, const std::vector<WorkloadMember>& members) {
  ordered_json required = ordered_json::array({"kind"});
  for (const WorkloadMember& member : members) {
    workload["properties"][member.name] = with_description(member.doc, member.schema);
    if (member.is_required) required.push_back(member.name);
  }
  workload["required"] = std::move(required);
}

ordered_json kind_member(const ordered_json& names) {
  return with_description("What runs", {{"enum", names}});
}

/// Of a workload, whose members follow from its kind.
ordered_json workload_schema(SchemaBuilder& builder) {
  ordered_json names = ordered_json::array();
  ordered_json kinds = ordered_json::array();
  for (const JobKind& kind : job_kinds()) {
    const std::string path = "workload." + kind.name;
    AnyConfig config = kind.config;
    ordered_json members =
        with_description(kind.doc, builder.object(path, [&config](FieldVisitor& visitor) { config.fields(visitor); }));
    add_members(members, kind.more);
    prepend(members, {{"kind", {{"const", kind.name}}}});
    names.push_back(kind.name);
    kinds.push_back({{"if", where("kind", kind.name)}, {"then", builder.define(path, std::move(members))}});
  }
  return with_description("The work of weft run", {{"type", "object"},
                                                   {"required", {"kind"}},
                                                   {"properties", {{"kind", kind_member(names)}}},
                                                   {"allOf", std::move(kinds)}});
}

/// With what every platform has.
ordered_json whole(ordered_json platform, ordered_json workload) {
  prepend(platform, {{"$schema", text("For editors; Weft takes no notice of it")},
                     {"name", with_description("Name of the folder of its results; the file's name if left out",
                                               {{"type", "string"}, {"pattern", "^[^/\\n\\t]+$"}})},
                     {"description", text("For people")}});
  platform["properties"]["workload"] = std::move(workload);
  return platform;
}

ordered_json machine_schema(SchemaBuilder& builder) {
  return whole(builder.object("", fields_of<MachineConfig>()), workload_schema(builder));
}

ordered_json analytical_schema(SchemaBuilder& builder) {
  ordered_json platform = builder.object("", [](FieldVisitor&) {});
  ordered_json traces = builder.object("workload", [](FieldVisitor&) {});
  add_members(traces, trace_members());
  prepend(traces, {{"kind", kind_member({"chakra"})}});
  ordered_json arithmetic =
      with_description("The network, what collectives do in it, and the ends",
                       builder.part("analytical", "analytical", fields_of<analytical::AnalyticalConfig>()));
  prepend(platform,
          {{"network", with_description("ASTRA-sim's arithmetic in place of a machine", {{"const", "analytical"}})},
           {"analytical", std::move(arithmetic)}});
  return whole(std::move(platform), with_description("The work of weft run", traces));
}

/// Of a part, for some of its fields each.
ordered_json sources_schema() {
  const ordered_json source = {
      {"type", "object"},
      {"required", {"grade", "source", "fields"}},
      {"properties",
       {{"grade", with_description("What the source is", {{"enum", kSourceGrades}})},
        {"source", text("Where the values come from")},
        {"fields", with_description("Paths in the fields; that of an object stands for all in it",
                                    {{"type", "array"}, {"items", {{"type", "string"}}}, {"minItems", 1}})}}},
      {"additionalProperties", false}};
  return with_description("Where the values of the fields come from", {{"type", "array"}, {"items", source}});
}

}  // namespace

ordered_json platform_schema() {
  Catalogue catalogue;
  SchemaBuilder builder(catalogue);
  // Definitions have their names from the first who needs them.
  const ordered_json machine = builder.define("machine", machine_schema(builder));
  const ordered_json root = {{"type", "object"},
                             {"if", where("network", "analytical")},
                             {"then", builder.define("analytical_platform", analytical_schema(builder))},
                             {"else", machine}};
  return builder.finish("A platform of Weft", "Written by weft describe --schema. The file may have comments.", root);
}

ordered_json part_schema() {
  Catalogue catalogue;
  SchemaBuilder builder(catalogue);
  static_cast<void>(machine_schema(builder));
  ordered_json kinds = ordered_json::array();
  ordered_json names = ordered_json::array();
  for (const auto& [kind, form] : builder.kinds()) {
    ordered_json fields = {{"type", "object"}};
    fields.update(form);
    names.push_back(kind);
    kinds.push_back({{"if", where("kind", kind)}, {"then", {{"properties", {{"fields", fields}}}}}});
  }
  const ordered_json root = {
      {"type", "object"},
      {"required", {"kind", "source", "fields"}},
      {"properties",
       {{"$schema", text("For editors; Weft takes no notice of it")},
        {"kind", with_description("What the part can stand for", {{"enum", names}})},
        {"source", text("Where the part as a whole comes from")},
        {"fields",
         with_description("Fields of the kind; a field that is left out keeps its default", {{"type", "object"}})},
        {"sources", sources_schema()}}},
      {"additionalProperties", false},
      {"allOf", std::move(kinds)}};
  return builder.finish("A part of Weft", "Written by weft describe --schema part. The file may have comments.", root);
}

}  // namespace weft::platforms
