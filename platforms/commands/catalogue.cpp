// SPDX-License-Identifier: Apache-2.0
// weft platforms, weft parts and weft describe: what there is to write into a platform.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "hw/memory/dram/memory_system.h"
#include "platforms/cli/output.h"
#include "platforms/commands/command.h"
#include "platforms/config/catalogue.h"
#include "platforms/config/field_visitor.h"
#include "platforms/config/text.h"
#include "platforms/jobs/job_kind.h"
#include "platforms/machine/machine.h"
#include "platforms/machine/platform.h"
#include "sw/analytical/config.h"
#include "traces/files/text_file.h"

namespace weft::platforms {
namespace {

constexpr std::size_t kWidth = 120;  ///< of a terminal

/// In lines of at most kWidth characters, those that follow indented by `indent`.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::istringstream words(text);
  std::string lines;
  std::size_t column = indent;
  for (std::string word; words >> word;) {
    if (column > indent && column + 1 + word.size() > kWidth) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    }
    lines += (column > indent ? " " : "") + word;
    column += (column > indent ? 1 : 0) + word.size();
  }
  return lines;
}

/// The words of its first line, with "..." where that is not all.
std::string first_line(const std::string& text, std::size_t indent) {
  constexpr std::size_t kDots = 3;
  const std::string lines = wrapped(text, indent + kDots);
  const std::size_t end = lines.find('\n');
  return end == std::string::npos ? lines : lines.substr(0, end) + "...";
}

void check_kind(Catalogue& catalogue, const std::string& kind) {
  if (kind.empty()) return;
  std::set<std::string> kinds;
  for (const std::string& name : catalogue.names("")) kinds.insert(catalogue.find(name)->kind);
  const std::string error = not_one_of({kinds.begin(), kinds.end()}, kind);
  if (!error.empty()) throw UsageError("--kind: " + error);
}

/// Of a kind with all of their sources, of all kinds on a line each.
int parts(const std::string& kind, bool as_json) {
  Catalogue catalogue;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::string text;
  std::size_t width = 0;
  check_kind(catalogue, kind);
  const std::vector<std::string> names = catalogue.names(kind);
  for (const std::string& name : names) width = std::max(width, name.size());
  for (const std::string& name : names) {
    const Part& part = *catalogue.find(name);
    json.push_back({{"name", part.name}, {"kind", part.kind}, {"source", part.source}, {"file", part.file}});
    const std::string start = fmt::format("{:<{}}  {:<12} ", part.name, width, part.kind);
    text += start + (kind.empty() ? first_line(part.source, start.size()) : wrapped(part.source, start.size())) + "\n";
  }
  if (kind.empty()) text += "\n--kind KIND and --json show the whole sources\n";
  if (as_json) {
    print_json(json);
  } else {
    print(text);
  }
  return kDone;
}

int platforms(bool as_json) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::string text;
  const std::map<std::string, std::filesystem::path> found = catalogue_platforms();
  std::size_t width = 0;
  for (const auto& [name, file] : found) width = std::max(width, name.size());
  for (const auto& [name, file] : found) {
    const nlohmann::json platform = nlohmann::json::parse(traces::read_text(file, "a platform in JSON"));
    const std::string description = platform.value("description", "");
    json.push_back({{"name", name}, {"description", description}, {"file", file.string()}});
    const std::string start = fmt::format("{:<{}}  ", name, width);
    text += start + wrapped(description, start.size()) + "\n";
  }
  if (as_json) {
    print_json(json);
  } else {
    print(text);
  }
  return kDone;
}

std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string code(const std::string& text) {
  return text.empty() ? "" : "`" + cell(text) + "`";
}

/// A table of the fields in Markdown; a field that is itself a Config says which part can stand for it.
std::string table(const std::vector<FieldDoc>& fields) {
  std::string text = "| Field | Type | Default | Limits | Meaning |\n| --- | --- | --- | --- | --- |\n";
  for (const FieldDoc& field : fields) {
    const std::string type =
        field.part_kind.empty() ? field.type : field.type + " or a part of kind `" + field.part_kind + "`";
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", field.path, cell(type), code(field.default_text),
                        cell(field.limits), cell(field.doc));
  }
  return text;
}

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

int describe_all(bool as_json) {
  std::vector<FieldDoc> fields = describe(MachineConfig());
  for (FieldDoc& field : describe(analytical::AnalyticalConfig(), "analytical")) fields.push_back(std::move(field));
  if (as_json) {
    for (const JobKind& kind : job_kinds()) {
      for (FieldDoc& field : describe(kind.config, "workload")) fields.push_back(std::move(field));
    }
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const FieldDoc& field : fields) {
      json.push_back({{"path", field.path},
                      {"type", field.type},
                      {"part_kind", field.part_kind},
                      {"default", field.default_text},
                      {"limits", field.limits},
                      {"doc", field.doc}});
    }
    print_json(json);
    return kDone;
  }
  print(
      "# Configuration reference\n\n"
      "Written by `weft describe` from the same lists that read a platform. A platform also has a `name`, a\n"
      "`description`, and a `workload` with its `kind`. One with `\"network\": \"analytical\"` has the section "
      "`analytical`\n"
      "in place of a machine, and a workload of kind `chakra`: `traces`, a prefix of Chakra files beside it, or one "
      "file,\n"
      "`.et` or `.json`, that all ranks execute, and maybe "
      "`groups`, lists of ranks by name or the name of a file with them (without it `PREFIX.groups.json` beside the "
      "traces, where\nthere is one), and `custom`, prefixes of Chakra files for operations (`all_reduce`, ...), or "
      "`custom_nodes`,\nthe same for single nodes by id.\n");
  for (const Section& section : sections(fields))
    print(fmt::format("\n## {}\n\n{}", section.title, table(section.fields)));
  for (const JobKind& kind : job_kinds()) {
    print(fmt::format("\n## workload of kind `{}`\n\n{}\n", kind.name, kind.doc));
    if (const std::vector<FieldDoc> own = describe(kind.config, "workload"); !own.empty()) print("\n" + table(own));
  }
  print("\n## Of `weft memory`\n\nNot of a platform: what its `--set` changes.\n\n" +
        table(describe(dram::MemoryConfig())));
  return kDone;
}

}  // namespace

Command platforms_command(const Arguments& parent) {
  auto json = std::make_shared<bool>(false);
  const Arguments app = parent.add_subcommand("platforms", "Lists the platforms of the catalogue");
  app.add_flag("--json", *json, "Print JSON");
  return {app, [json] { return platforms(*json); }};
}

Command parts_command(const Arguments& parent) {
  struct CatalogueOptions {
    std::string kind;
    bool json = false;
  };
  auto options = std::make_shared<CatalogueOptions>();
  const Arguments app = parent.add_subcommand("parts", "Lists the parts of the catalogue");
  app.add_option("--kind", options->kind, "Those of one kind");
  app.add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return parts(options->kind, options->json); }};
}

Command describe_command(const Arguments& parent) {
  auto json = std::make_shared<bool>(false);
  const Arguments app = parent.add_subcommand("describe", "Prints the configuration reference in Markdown");
  app.add_flag("--json", *json, "Print JSON");
  return {app, [json] { return describe_all(*json); }};
}

}  // namespace weft::platforms
