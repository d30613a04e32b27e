// SPDX-License-Identifier: Apache-2.0
// weft describe: every field that a platform can have, as a page, as JSON or as a schema; and every command.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hw/memory/dram/memory_system.h"
#include "platforms/cli/output.h"
#include "platforms/cli/shell/command_page.h"
#include "platforms/commands/command.h"
#include "platforms/config/field_visitor.h"
#include "platforms/config/text.h"
#include "platforms/jobs/job_kind.h"
#include "platforms/jobs/platform_schema.h"
#include "platforms/machine/machine.h"
#include "platforms/regress/case_file.h"
#include "platforms/results/write_file.h"
#include "platforms/study/task.h"
#include "sw/analytical/config.h"

namespace weft::platforms {
namespace {

struct DescribeOptions {
  std::string schema;
  bool names = false;
  bool commands = false;
  bool json = false;
};

std::string code(const std::string& text) {
  return text.empty() ? "" : "`" + markdown_cell(text) + "`";
}

/// Tables of the fields in Markdown; a field that is itself a Config says which part can stand for it. Its members are
/// listed once: another with the same ones, by name, default, limits and meaning, has a row that names the first.
class Tables {
 public:
  /// `of`: what tells these fields from others with the same paths: "of kind `fsdp`".
  std::string add(const std::vector<FieldDoc>& fields, const std::string& of = {}) {
    std::string text = "| Field | Type | Default | Limits | Meaning |\n| --- | --- | --- | --- | --- |\n";
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const FieldDoc& field = fields[i];
      const std::string type =
          field.part_kind.empty() ? field.type : field.type + " or a part of kind `" + field.part_kind + "`";
      std::string doc = markdown_cell(field.doc);
      if (const std::size_t members = members_of(fields, i); members >= kFewest) {
        const auto [first, is_new] =
            listed_.try_emplace(shape(fields, i, members), code(field.path) + (of.empty() ? "" : " " + of));
        if (!is_new) {
          doc += fmt::format("{}Fields: as those of {}", doc.empty() ? "" : ". ", first->second);
          i += members;
        }
      }
      text += fmt::format("| `{}` | {} | {} | {} | {} |\n", field.path, markdown_cell(type), code(field.default_text),
                          markdown_cell(field.limits), doc);
    }
    return text;
  }

 private:
  static constexpr std::size_t kFewest = 3;  ///< fewer rows are no shorter than what names others

  static std::size_t members_of(const std::vector<FieldDoc>& fields, std::size_t at) {
    std::size_t end = at + 1;
    while (end < fields.size() && fields[end].path.starts_with(fields[at].path + ".")) ++end;
    return end - at - 1;
  }
  static std::string shape(const std::vector<FieldDoc>& fields, std::size_t at, std::size_t members) {
    std::string text;
    for (std::size_t i = at + 1; i <= at + members; ++i) {
      const FieldDoc& field = fields[i];
      for (const std::string& part : {field.path.substr(fields[at].path.size()), field.type, field.part_kind,
                                      field.default_text, field.limits, field.doc}) {
        text += part + '\n';
      }
    }
    return text;
  }

  std::map<std::string, std::string> listed_;  ///< by their members, objects that are listed
};

struct Section {
  std::string title;
  std::vector<FieldDoc> fields;
};

/// The fields by the key at the top that they stand under; those that stand there themselves come first.
std::vector<Section> sections(const std::vector<FieldDoc>& fields) {
  std::vector<Section> all = {{"Machine", {}}};
  for (const FieldDoc& field : fields) {
    const std::string top = field.path.substr(0, field.path.find('.'));
    if (top == field.path) {
      all.front().fields.push_back(field);
    } else {
      if (all.back().title != top) all.push_back({top, {}});
      all.back().fields.push_back(field);
    }
  }
  return all;
}

void add_json(nlohmann::ordered_json& list, const std::vector<FieldDoc>& fields, std::string_view workload = {}) {
  for (const FieldDoc& field : fields) {
    nlohmann::ordered_json& row = list.emplace_back(nlohmann::ordered_json{{"path", field.path},
                                                                           {"type", field.type},
                                                                           {"part_kind", field.part_kind},
                                                                           {"default", field.default_text},
                                                                           {"limits", field.limits},
                                                                           {"doc", field.doc}});
    if (!workload.empty()) row["workload_kind"] = workload;
  }
}

std::vector<FieldDoc> fields_of(const JobKind& kind) {
  std::vector<FieldDoc> fields;
  for (const WorkloadMember& member : kind.more) {
    FieldDoc& field = fields.emplace_back();
    field.path = "workload." + member.name;
    field.type = member.type;
    field.doc = member.doc;
  }
  for (FieldDoc& field : describe(kind.config, "workload")) fields.push_back(std::move(field));
  return fields;
}

int describe_as_json() {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  add_json(json, describe(MachineConfig()));
  add_json(json, describe(analytical::AnalyticalConfig(), "analytical"));
  for (const JobKind& kind : job_kinds()) add_json(json, fields_of(kind), kind.name);
  print_json(json);
  return kDone;
}

/// Paths of fields that have a value, each once.
int describe_names() {
  std::set<std::string> names;
  const auto add = [&names](const std::vector<FieldDoc>& fields) {
    for (const FieldDoc& field : fields) {
      if (field.type != "object") names.insert(field.path);
    }
  };
  add(describe(MachineConfig()));
  add(describe(analytical::AnalyticalConfig(), "analytical"));
  for (const JobKind& kind : job_kinds()) add(fields_of(kind));
  std::string lines;
  for (const std::string& name : names) lines += name + "\n";
  print(lines);
  return kDone;
}

FieldDoc doc_of(const study::StudyMember& member) {
  FieldDoc field;
  field.path = member.name;
  field.type = member.type;
  field.doc = member.doc;
  return field;
}

/// Members of a study, those whose keys are a user's among them.
std::vector<FieldDoc> fields_of_study() {
  std::vector<FieldDoc> fields = describe(study::StudyFields());
  for (const study::StudyMember& member : study::study_members()) {
    fields.push_back(doc_of(member));
    const auto add = [&fields](const std::vector<FieldDoc>& more) {
      fields.insert(fields.end(), more.begin(), more.end());
    };
    if (member.name == std::string_view("collective")) add(describe(study::CollectiveFields(), "collective"));
    if (member.name == std::string_view("search")) add(describe(study::SearchFields(), "search"));
  }
  return fields;
}

std::vector<FieldDoc> fields_of_case() {
  std::vector<FieldDoc> fields = describe(regress::CaseFields());
  for (const study::StudyMember& member : regress::case_members()) {
    fields.push_back(doc_of(member));
    if (member.name != std::string_view("validate")) continue;
    for (FieldDoc& field : describe(regress::ValidateFields(), "validate")) fields.push_back(std::move(field));
  }
  return fields;
}

int describe_all() {
  print(
      "# Configuration reference\n\n"
      "Written by `weft describe` from the same lists that read a platform; `weft describe --schema` writes them as a\n"
      "JSON Schema. A platform also has a `name`, a `description`, and a `workload` with its `kind`. The file may "
      "have\n"
      "comments, `//` and `/* */`, and a `$schema` for editors.\n\n"
      "A platform with `\"network\": \"analytical\"` has the section `analytical` instead of a machine, and a workload "
      "of\n"
      "kind `chakra` with `traces`, `groups`, `custom` and `custom_nodes`.\n\n"
      "An object with the same fields as one before it has one row, which names that one; `weft describe --names` "
      "lists\n"
      "all paths.\n");
  Tables tables;
  for (const Section& section : sections(describe(MachineConfig()))) {
    print(fmt::format("\n## {}\n\n{}", section.title, tables.add(section.fields)));
  }
  print("\n## analytical\n\n" + tables.add(describe(analytical::AnalyticalConfig(), "analytical")));
  for (const JobKind& kind : job_kinds()) {
    print(fmt::format("\n## workload of kind `{}`\n\n{}\n", kind.name, kind.doc));
    const std::vector<FieldDoc> fields = fields_of(kind);
    if (!fields.empty()) print("\n" + tables.add(fields, fmt::format("of kind `{}`", kind.name)));
  }
  print(
      "\n## A study\n\nThese are no fields of a platform. `weft sweep` reads them from a file of their own "
      "([sweeps](../architect/sweeps.md)).\n\n" +
      tables.add(fields_of_study(), "of a study"));
  print(
      "\n## A regression case\n\nThese are no fields of a platform. `weft regress` reads them from files of their own "
      "([regression](../architect/regression.md)).\n\n" +
      tables.add(fields_of_case(), "of a regression case"));
  print("\n## `weft memory`\n\nThese are no fields of a platform. `weft memory --set` changes them.\n\n" +
        tables.add(describe(dram::MemoryConfig()), "of `weft memory`"));
  return kDone;
}

int run(const DescribeOptions& options) {
  if (!options.schema.empty()) {
    print(to_text(options.schema == "part" ? part_schema() : platform_schema()));
    return kDone;
  }
  if (options.names) return describe_names();
  return options.json ? describe_as_json() : describe_all();
}

}  // namespace

Command describe_command(const Arguments& parent) {
  auto options = std::make_shared<DescribeOptions>();
  const Arguments app = parent.add_subcommand("describe", "Prints the configuration reference in Markdown");
  app.add_option("--schema", options->schema, "Print a JSON Schema: of a platform, or of a part")
      .may_stand_alone("platform")
      .check(OneOf({"platform", "part"}));
  app.add_flag("--names", options->names, "Print only the paths of all fields");
  app.add_flag("--commands", options->commands, "Print the reference of the command line instead");
  app.add_flag("--json", options->json, "Print the reference as JSON");
  return {app, [options, parent] {
            if (!options->commands) return run(*options);
            print(command_page(parent.table()));
            return static_cast<int>(kDone);
          }};
}

}  // namespace weft::platforms
