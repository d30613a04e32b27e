// SPDX-License-Identifier: Apache-2.0
// weft why: what the time of a run went to, and what a change would bring.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/cli/output.h"
#include "platforms/cli/process.h"
#include "platforms/commands/command.h"
#include "platforms/config/text.h"
#include "platforms/results/format.h"
#include "platforms/results/run_results.h"
#include "platforms/results/what_if/advice.h"
#include "platforms/results/what_if/own_fields.h"
#include "platforms/results/what_if/simulated_change.h"
#include "platforms/results/what_if/what_if.h"
#include "platforms/results/why/why_text.h"
#include "traces/files/temporary.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct WhyOptions {
  std::string results;
  std::vector<std::string> what_if;
  bool all = false;
  bool advise = false;
  bool verify = false;
  bool json = false;
};

std::vector<ResourceChange> changes_in(const std::string& text, const FieldValues& values) {
  try {
    return read_changes(text, values);
  } catch (const std::invalid_argument& wrong) {
    throw UsageError("--what-if: " + std::string(wrong.what()));
  }
}

/// Settings that make the changes, each.
std::vector<ChangedSetting> settings_of(const std::vector<ResourceChange>& changes, const FieldValues& values) {
  std::vector<ChangedSetting> all;
  for (const ResourceChange& change : changes) {
    for (ChangedSetting& setting : settings_of(change, values)) all.push_back(std::move(setting));
  }
  return all;
}

/// Whether a field cannot have what changes ask for, so that it matters: the nearest that it can have may be far worse.
/// No field can have an infinite rate; that is as much as one can have.
bool is_out_of_reach(const std::vector<ResourceChange>& changes, const Foretold& told, const FieldValues& values) {
  const std::vector<ChangedSetting> settings = settings_of(changes, values);
  const bool is_made = std::all_of(settings.begin(), settings.end(),
                                   [](const ChangedSetting& it) { return it.asked.empty() || it.asked == "inf"; });
  constexpr double kNear = 0.05;
  const auto before = static_cast<double>(told.before_ps);
  const bool is_far = std::abs(static_cast<double>(told.ps()) - before) > kNear * before;
  const bool costs =
      std::any_of(changes.begin(), changes.end(), [](const ResourceChange& it) { return it.factor < 1; });
  return !is_made && (costs || is_far);
}

/// Why a change cannot be simulated: no setting makes one of its parts, for their values as they are. Empty if all can.
std::string not_simulated(const std::vector<ResourceChange>& changes, const FieldValues& values) {
  for (const ResourceChange& change : changes) {
    if (!settings_of(change, values).empty()) continue;
    std::string fields;
    for (const Resource::Setting& setting : change.resource->settings) {
      std::string field(setting.field);
      if (!change.field.empty() && change.field != field) continue;
      if (!change.own.empty()) field = name_of(OwnField{field, change.own});
      const std::string now = values.text(field);
      fields += (fields.empty() ? "" : ", ") + field + (now.empty() ? " is not in this machine" : " is " + now);
    }
    return "no setting makes " + to_text(change) + ": " + fields;
  }
  return "";
}

bool is_less_than_asked(const std::vector<ChangedSetting>& settings) {
  return std::any_of(settings.begin(), settings.end(), [](const ChangedSetting& it) { return !it.asked.empty(); });
}

/// "nic=x2.6,link=x2"
std::string to_text(const std::vector<ResourceChange>& changes) {
  std::vector<std::string> texts;
  for (const ResourceChange& change : changes) texts.push_back(to_text(change));
  return join(texts, ",");
}

constexpr const char* kFailedRun = "the run with this change failed: ";

/// Why a change was not simulated. What the simulator says on several lines stays on those.
std::string not_simulated_text(const std::string& why) {
  if (!why.starts_with(kFailedRun) || why.find('\n') == std::string::npos)
    return wrapped("Not simulated: " + why + ".", 0) + "\n";
  std::string said = "\n" + why.substr(std::string_view(kFailedRun).size());
  for (std::size_t at = said.find('\n'); at != std::string::npos; at = said.find('\n', at + 1))
    said.insert(at + 1, "  ");
  return "Not simulated: the run with this change failed:" + said + "\n";
}

/// Simulates again what `why` is of, with settings; why.json of that.
ordered_json simulate(const std::string& config, const ordered_json& of, const std::vector<ChangedSetting>& settings) {
  const traces::Temporary folder = traces::Temporary::make_folder(fs::temp_directory_path());
  auto arguments = of.value("command", std::vector<std::string>{"run"});
  arguments.insert(arguments.begin() + 1, config);
  for (const char* more : {"--why", "--timeline-ranks", "0", "--out"}) arguments.emplace_back(more);
  arguments.push_back((folder.path() / "run").string());
  for (const ChangedSetting& setting : settings) {
    arguments.emplace_back("--set");
    arguments.push_back(setting.field + "=" + setting.value);
  }
  const ChildResult child = run_self(arguments);
  if (child.exit_code != 0) {
    std::string text = child.err.substr(child.err.starts_with("weft: ") ? 6 : 0);
    while (text.ends_with('\n') || text.ends_with('.')) text.pop_back();
    throw std::runtime_error(kFailedRun + text);
  }
  return read_run(folder.path() / "run").why;
}

/// Makes a change of what no kernel of the run follows one that changes nothing, and says which those are:
/// "compute=x2". Empty if there are none.
std::string drop_ignored(std::vector<ResourceChange>& changes, const FieldValues& values, const FieldValues& followed) {
  std::string dropped;
  for (ResourceChange& change : changes) {
    if (settings_of(change, values).empty() || !settings_of(change, followed).empty()) continue;
    dropped += (dropped.empty() ? "" : ", ") + to_text(change);
    change.factor = 1;
  }
  return dropped;
}

double percent(std::int64_t ps, std::int64_t of) {
  return of == 0 ? 0 : 100.0 * static_cast<double>(ps - of) / static_cast<double>(of);
}

ordered_json what_if(const WhyOptions& options, const RunResults& run) {
  const FieldValues values(run.values());
  const FieldValues followed_values = FieldValues::followed(run.why, run.values());
  const WhatIf path(run.why);
  ordered_json list = ordered_json::array();
  for (const std::string& text : options.what_if) {
    const std::vector<ResourceChange> changes = changes_in(text, values);
    std::vector<ResourceChange> with_effect = changes;
    const std::string ignored = drop_ignored(with_effect, values, followed_values);
    const Foretold told = path.foretell(with_effect);
    const bool is_loose = told.is_loose || is_out_of_reach(with_effect, told, values);
    ordered_json row = {{"what_if", text},           {"before_ps", told.before_ps}, {"estimate_ps", told.ps()},
                        {"least_ps", told.least_ps}, {"most_ps", nullptr},          {"path_ps", told.path_ps},
                        {"other_ps", told.other_ps}, {"other", told.other},         {"loose", is_loose}};
    if (const std::int64_t left_out = path.left_out_ps(); left_out > 0) row["left_out_ps"] = left_out;
    if (told.most_ps) row["most_ps"] = *told.most_ps;
    if (!ignored.empty()) row["kernels_ignore"] = ignored;
    const std::string none_makes = options.verify ? not_simulated(changes, values) : "";
    if (!none_makes.empty()) row["not_simulated"] = none_makes;
    if (options.verify && none_makes.empty()) {
      const std::vector<ChangedSetting> settings = settings_of(changes, values);
      try {
        const ordered_json after = simulate((fs::path(options.results) / "config.json").string(), run.why, settings);
        row["simulated_ps"] = WhatIf(after).before_ps();
        if (is_less_than_asked(settings)) {
          const auto made = simulated_changes(with_effect, values, run.why, after);
          row["simulated_change"] = to_text(made);
          row["estimate_of_simulated_ps"] = path.foretell(made).ps();
        }
        ordered_json& with = row["simulated_with"] = ordered_json::array();
        for (const ChangedSetting& setting : settings) {
          with.push_back({{"field", setting.field}, {"value", setting.value}});
          if (!setting.asked.empty()) with.back()["asked"] = setting.asked;
        }
      } catch (const std::runtime_error& error) {
        row["not_simulated"] = error.what();
      }
    }
    list.push_back(std::move(row));
  }
  return list;
}

/// What was simulated, if it was less than the change asks for; else empty.
std::string less_than_asked(const ordered_json& row) {
  std::string fields;
  for (const ordered_json& setting : row.value("simulated_with", ordered_json::array())) {
    if (!setting.contains("asked")) continue;
    fields += fmt::format("{}{}={} (not {})", fields.empty() ? "" : ", ", setting["field"].get<std::string>(),
                          setting["value"].get<std::string>(), setting["asked"].get<std::string>());
  }
  if (fields.empty()) return "";
  return wrapped(fmt::format("{} was simulated with {}, which is {}: the estimate of that is {}.",
                             row["what_if"].get<std::string>(), fields, row["simulated_change"].get<std::string>(),
                             short_time(Time(row["estimate_of_simulated_ps"].get<std::int64_t>()))),
                 0) +
         "\n";
}

/// "334.9 ms to 386.2 ms", "334.9 ms or more".
std::string bounds(const ordered_json& row) {
  const std::string least = short_time(Time(row["least_ps"].get<std::int64_t>()));
  if (row["most_ps"].is_null()) return least + " or more";
  const std::string most = short_time(Time(row["most_ps"].get<std::int64_t>()));
  return least == most ? least : least + " to " + most;
}

/// How what was not simulated is part of the estimates; empty: there is none.
std::string left_out_text(const ordered_json& row) {
  const auto left_out = row.value("left_out_ps", std::int64_t{0});
  if (left_out == 0) return "";
  const auto before = row["before_ps"].get<std::int64_t>();
  return wrapped(
             fmt::format("All times are of the whole run of {}. --steady left out {} of it, {:.0f} %, which is taken "
                         "to change by the same share as what was simulated.",
                         short_time(Time(before)), short_time(Time(left_out)),
                         100 * static_cast<double>(left_out) / static_cast<double>(before)),
             0) +
         "\n";
}

std::string to_text(const ordered_json& rows) {
  const bool verified =
      std::any_of(rows.begin(), rows.end(), [](const ordered_json& row) { return row.contains("simulated_ps"); });
  std::vector<std::vector<std::string>> lines = {{"what if", "estimate", "change", "bounds"}};
  if (verified) lines.front().insert(lines.front().end(), {"simulated", "change", "estimate is off by"});
  bool loose = false;
  for (const ordered_json& row : rows) {
    const auto before = row["before_ps"].get<std::int64_t>();
    const auto ps = row["estimate_ps"].get<std::int64_t>();
    const bool is_loose = row["loose"];
    loose = loose || is_loose;
    lines.push_back({"  " + row["what_if"].get<std::string>(), (is_loose ? "about " : "") + short_time(Time(ps)),
                     fmt::format("{:+.1f} %", percent(ps, before)), bounds(row)});
    if (!row.contains("simulated_ps")) continue;
    const auto simulated = row["simulated_ps"].get<std::int64_t>();
    lines.back().insert(lines.back().end(),
                        {short_time(Time(simulated)), fmt::format("{:+.1f} %", percent(simulated, before)),
                         fmt::format("{:+.1f} %", percent(row.value("estimate_of_simulated_ps", ps), simulated))});
  }
  std::string text = in_columns(lines);
  if (!rows.empty()) text += left_out_text(rows.front());
  for (const ordered_json& row : rows) {
    text += less_than_asked(row);
    if (row.contains("kernels_ignore")) {
      text += wrapped(row["kernels_ignore"].get<std::string>() +
                          ": no kernel of this run follows that. Their times are given by the workload, or bound by "
                          "something else.",
                      0) +
              "\n";
    }
    if (row.contains("not_simulated")) text += not_simulated_text(row["not_simulated"]);
  }
  if (loose) {
    text += wrapped(
                "\"about\": the estimate is loose. Another chain of work may then be the longest, what hides behind "
                "the path may come out, packets may wait less where others are slower, a cap of power may take the "
                "gain, other packets may be lost, or a field cannot have what the change asks for. "
                "--verify simulates the change.",
                0) +
            "\n";
  }
  return text;
}

int explain(const WhyOptions& options) {
  if (options.verify && options.what_if.empty()) throw UsageError("--verify: expected --what-if with it");
  const RunResults run = read_run(options.results);
  if (run.why.is_null()) {
    throw UsageError("OUT: " + options.results + " has no why.json, which weft run --why writes");
  }
  const ordered_json& values = run.values();
  for (const std::string& remark : {run.ended_early(), run.other_schema(), run.missing_of_why()}) {
    if (remark.empty()) continue;
    if (options.json) {
      print_warnings({remark});
    } else {
      print(wrapped(remark, 0) + "\n\n");
    }
  }
  if (!options.what_if.empty()) {
    const ordered_json rows = what_if(options, run);
    if (options.json) {
      print_json(rows);
    } else {
      print(to_text(rows));
    }
    const auto is_not_simulated = [](const ordered_json& row) { return row.contains("not_simulated"); };
    if (std::all_of(rows.begin(), rows.end(), is_not_simulated)) {
      print_error("No change was simulated.");
      return kFailed;
    }
  } else if (options.json) {
    print_json(options.advise ? advice(run.why, values) : run.why);
  } else if (options.advise) {
    const std::string text = advice_text(advice(run.why, values));
    print(text.empty() ? "Nothing that is known would make the run shorter.\n" : text);
  } else {
    print(why_text(run.why, values, options.all ? WhyText::kAll : WhyText::kScreen));
    print("\n" + advice_text(advice(run.why, values), 4));
  }
  return kDone;
}

}  // namespace

Command why_command(const Arguments& parent) {
  auto options = std::make_shared<WhyOptions>();
  const Arguments app =
      parent.add_subcommand("why", "Tells what the time of a run went to, and what a change would bring");
  app.add_option("OUT", options->results, "Folder of the results of weft run --why").required().type_name("FOLDER");
  app.add_flag("--all", options->all, "All accelerators and collectives, not a screen");
  app.add_option("--what-if", options->what_if,
                 "Estimates the run with a change: hbm=x2 (so many times as fast), nic=inf, fabric.link.rate=800Gbps, "
                 "fabric.link.propagation=x0.5 (so many times the value); several at once with commas")
      .type_name("CHANGE");
  app.add_flag("--verify", options->verify, "Simulate each --what-if as well; exits with 1 if none can be simulated");
  app.add_flag("--advise", options->advise, "Rank what 10 % or twice as much of each resource would save");
  app.add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return explain(*options); }};
}

}  // namespace weft::platforms
