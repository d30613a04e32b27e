// SPDX-License-Identifier: Apache-2.0
// weft parts: the parts of the catalogue, and a user's own.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platforms/cli/listing.h"
#include "platforms/cli/output.h"
#include "platforms/commands/command.h"
#include "platforms/config/catalogue.h"
#include "platforms/config/document.h"
#include "platforms/config/part_sources.h"
#include "platforms/config/text.h"
#include "platforms/jobs/job_kind.h"
#include "platforms/machine/machine.h"
#include "platforms/results/format.h"
#include "sw/analytical/config.h"
#include "traces/nearest_names.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

struct PartOptions {
  std::string kind;
  ListingOptions listing;
};

struct ShowOptions {
  std::string name;
  bool json = false;
};

void check_kind(Catalogue& catalogue, const std::string& kind) {
  if (kind.empty()) return;
  std::set<std::string> kinds;
  for (const std::string& name : catalogue.names("")) kinds.insert(catalogue.find(name)->kind);
  const std::string error = not_one_of({kinds.begin(), kinds.end()}, kind);
  if (!error.empty()) throw UsageError("--kind: " + error);
}

ordered_json to_json(const Part& part) {
  return {{"name", part.name}, {"kind", part.kind}, {"source", part.source}, {"file", part.file}};
}

ordered_json to_json(Catalogue& catalogue, const std::vector<std::string>& names) {
  ordered_json json = ordered_json::array();
  for (const std::string& name : names) json.push_back(to_json(*catalogue.find(name)));
  return json;
}

/// Of a kind with the whole texts, of all kinds on a line each.
int list_parts(const PartOptions& options) {
  Catalogue catalogue;
  check_kind(catalogue, options.kind);
  const std::vector<std::string> names = catalogue.names(options.kind);
  if (options.listing.names) {
    print_names(names);
    return kDone;
  }
  if (options.listing.json) {
    print_json(to_json(catalogue, names));
    return kDone;
  }
  if (options.kind.empty()) {
    std::vector<std::vector<std::string>> lines;
    for (const std::string& name : names)
      lines.push_back({name, catalogue.find(name)->kind, catalogue.find(name)->source});
    print(listed(lines) + "\nweft parts show NAME prints the fields of a part and their sources\n");
    return kDone;
  }
  std::size_t width = 0;
  for (const std::string& name : names) width = std::max(width, name.size());
  std::string lines;
  for (const std::string& name : names) {
    const std::string start = fmt::format("{:<{}}  {:<12} ", name, width, options.kind);
    lines += start + wrapped(catalogue.find(name)->source, start.size()) + "\n";
  }
  print(lines);
  return kDone;
}

ordered_json to_json(const PartField& field) {
  const UnitValue value = split_unit(field.value);
  ordered_json row = {{"path", field.path}, {"value", value.value}, {"unit", value.unit}};
  row["grade"] = field.source == nullptr ? ordered_json() : ordered_json(field.source->grade);
  row["source"] = field.source == nullptr ? ordered_json() : ordered_json(field.source->text);
  row["part"] = field.part;
  return row;
}

std::string cell(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// A table of the fields, whose sources have numbers, and the sources.
std::string fields_text(const Part& part, const std::vector<PartField>& fields) {
  std::vector<std::vector<std::string>> rows = {{"field", "value", "unit", "grade", "source"}};
  std::vector<std::string> sources;
  for (const PartField& field : fields) {
    const UnitValue value = split_unit(field.value);
    std::vector<std::string>& row = rows.emplace_back(std::vector<std::string>{
        field.path, cell(value.value), value.unit, "-", field.part == part.name ? "-" : field.part});
    if (field.source == nullptr) continue;
    const std::string text = (field.part == part.name ? "" : field.part + ": ") + field.source->text;
    const auto found = std::find(sources.begin(), sources.end(), text);
    row[3] = field.source->grade;
    row[4] = fmt::format("[{}]", found - sources.begin() + 1);
    if (found == sources.end()) sources.push_back(text);
  }
  std::string lines = listed(rows) + (sources.empty() ? "" : "\n");
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string start = fmt::format("{:<5}", fmt::format("[{}]", i + 1));
    lines += start + wrapped(sources[i], start.size()) + "\n";
  }
  return lines;
}

/// Looks for the places of a platform that take parts of a kind, and reads one there as a platform would.
class PartReader final : public FieldVisitor {
 public:
  explicit PartReader(const Part& part) : part_(part) {}

  /// Throws what is wrong with the part in the first place that takes its kind, unless another place takes it.
  void finish() const {
    if (is_read_) return;
    if (error_) throw *error_;
    throw InputError(part_.file, "kind", "one of " + join(std::vector<std::string>(kinds_.begin(), kinds_.end()), ", "),
                     in_quotes(part_.kind));
  }

 protected:
  void scalar(std::string_view, std::string_view, const Scalar&, Range) override {}
  void nested(std::string_view, std::string_view, std::string_view kind, const Fields& fields) override {
    kinds_.emplace(kind);
    if (kind == part_.kind && !is_read_) read(fields);
    fields(*this);
  }
  void list(std::string_view, std::string_view, const ListRef& member) override {
    if (member.fields == nullptr) return;
    member.resize(1);  // it is a copy that is visited
    member.fields(0, *this);
  }

 private:
  struct Place {
    const Fields& each;
    template <typename Visitor>
    void fields(Visitor&& visit) {
      each(visit);
    }
  };

  void read(const Fields& fields) {
    Catalogue catalogue;
    catalogue.search_first(".");
    const ordered_json platform = {{"place", part_.name}};
    Document document = Document::from_text(platform.dump(), part_.name, {}, std::move(catalogue));
    try {
      Place place{fields};
      document.root().read_part("place", place, part_.kind);
      document.check_unused();
      is_read_ = true;
    } catch (const InputError& error) {
      if (!error_) error_ = error;
    }
  }

  const Part& part_;
  std::set<std::string> kinds_;
  std::optional<InputError> error_;
  bool is_read_ = false;
};

/// Throws InputError for a part that no platform could have.
void check_part(const Part& part) {
  PartReader reader(part);
  FieldVisitor& visitor = reader;
  MachineConfig machine;
  machine.fields(visitor);
  for (const JobKind& kind : job_kinds()) {
    AnyConfig config = kind.config;
    config.fields(visitor);
  }
  analytical::AnalyticalConfig network;
  visitor("analytical", network);
  reader.finish();
}

int show_part(const ShowOptions& options) {
  Catalogue catalogue;
  catalogue.search_first(".");
  const Part* part = catalogue.find(options.name);
  if (part == nullptr) {
    const std::string why = catalogue.why_not(options.name);
    traces::NearestNames near(options.name);
    for (const std::string& name : catalogue.names("")) near.look_at(name);
    throw UsageError("NAME: expected a part of the catalogue (weft parts), got " + in_quotes(options.name) +
                     (why.empty() ? near.question() : ": " + why));
  }
  const std::vector<PartField> fields = fields_of(catalogue, *part);
  check_part(*part);
  if (!options.json) {
    print(fmt::format("{}, {}\n\n{}\n\n{}\n\n{}", part->name, part->kind, wrapped(part->source, 0), part->file,
                      fields_text(*part, fields)));
    return kDone;
  }
  ordered_json json = to_json(*part);
  json["fields"] = ordered_json::array();
  for (const PartField& field : fields) json["fields"].push_back(to_json(field));
  print_json(json);
  return kDone;
}

}  // namespace

Command parts_command(const Arguments& parent) {
  auto options = std::make_shared<PartOptions>();
  const Arguments app = parent.add_subcommand("parts", "Lists the parts of the catalogue");
  app.add_option("--kind", options->kind, "Only parts of this kind").type_name("KIND");
  options->listing.add_to(app);
  app.require_subcommand(0, 1);
  auto show_options = std::make_shared<ShowOptions>();
  const Arguments show =
      app.add_subcommand("show", "Prints the fields of a part with values, sources and their grades");
  show.add_option("NAME", show_options->name, "The part").type_name("PART").required();
  show.add_flag("--json", show_options->json, "Print JSON");
  return {app,
          [options, show, show_options] { return show.given() ? show_part(*show_options) : list_parts(*options); }};
}

}  // namespace weft::platforms
