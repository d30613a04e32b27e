// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/fields.h"
#include "hw/core/quantity.h"
#include "platforms/config/document.h"
#include "platforms/study/expression/expression.h"

/// A study as a user writes it: which platforms are asked about, and what is wanted of each.
namespace weft::study {

/// What each point may take of the computer; 0: as much as it does.
struct Limits {
  Time time;
  Bytes memory;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("time", time, "Of a point, on the wall; 0: no limit");
    visit("memory", memory, "Of a point, beside what the program takes itself; 0: no limit");
  }
};

/// How each point is run.
struct RunOptions {
  bool steady = false;
  bool why = false;
  bool data = false;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("steady", steady, "Leave out steps, microbatches and blocks that repeat, as --steady does");
    visit("why", why, "Keep the critical path; its parts are at `why` in the result");
    visit("data", data, "Move and check real bytes");
  }
};

/// kAuto is sga for one metric and nsga2 for several: a study that was read has the one or the other.
enum class SearchMethod { kAuto, kNsga2, kMoead, kGenetic, kDifferential, kAnnealing, kGrid };
inline EnumNames<SearchMethod> enum_names(SearchMethod /*tag*/) {
  return {{"auto", SearchMethod::kAuto},   {"nsga2", SearchMethod::kNsga2},     {"moead", SearchMethod::kMoead},
          {"sga", SearchMethod::kGenetic}, {"de", SearchMethod::kDifferential}, {"annealing", SearchMethod::kAnnealing},
          {"grid", SearchMethod::kGrid}};
}

struct SearchFields {
  std::vector<std::string> minimise;
  std::vector<std::string> maximise;
  SearchMethod method = SearchMethod::kAuto;
  int evaluations = 100;
  int population = 20;
  std::int64_t seed = 1;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("minimise", minimise, "Names of metrics");
    visit("maximise", maximise, "Names of metrics");
    visit("method", method,
          "sga, de and annealing for one metric; nsga2 and moead for several; auto: sga for one, nsga2 for several; "
          "grid takes all points, for fidelity");
    visit("evaluations", evaluations, "Different points at the most", Range{1, 1'000'000'000});
    visit("population", population, "Points of a generation: those that can run at the same time", Range{4, 1'000'000});
    visit("seed", seed, "Of the search");
  }
};

/// What of a study has a fixed name and a simple value.
struct StudyFields {
  std::string name;
  std::string description;
  std::string platform;
  RunOptions options;
  Limits limits;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("name", name, "Of the study; the file's name if it is left out");
    visit("description", description, "For people");
    visit("platform", platform, "A file, beside the study or from where the command runs, or a name of the catalogue");
    visit("options", options, "How each point is run");
    visit("limits", limits, "What each point may take");
  }
};

/// Members of a study whose keys are a user's, for the reference: name, type and meaning.
struct StudyMember {
  const char* name;
  const char* type;
  const char* doc;
};
[[nodiscard]] const std::vector<StudyMember>& study_members();

/// From one value to another.
struct Span {
  nlohmann::json from;
  nlohmann::json to;
  bool log = false;
};

/// A place that takes several values.
struct Axis {
  std::string path;  ///< of a platform, of `collective`, "platform", or of the study's own values
  std::vector<nlohmann::json> values;
  std::optional<Span> span;  ///< of samples and searches alone, in place of values
};

struct Sampling {
  int points = 0;
  std::int64_t seed = 1;
  std::vector<Axis> axes;
  bool latin = false;
};

struct Search : SearchFields {};

/// A step of successive halving.
struct Fidelity {
  std::vector<std::pair<std::string, nlohmann::json>> set;
  double keep = 1;  ///< the share that goes on
};

using Assignments = std::vector<std::pair<std::string, nlohmann::json>>;
using Expressions = std::vector<std::pair<std::string, Expression>>;

struct Study : StudyFields {
  std::string file;
  Assignments set;
  nlohmann::json collective;  ///< null: the platform's workload is run
  std::vector<Axis> axes;
  std::vector<std::vector<Axis>> zips;  ///< axes of each have as many values, which go together
  std::vector<Sampling> samplings;      ///< one of each kind at the most
  Assignments constants;                ///< own values
  Expressions derived;
  std::vector<Expression> constraints;
  std::vector<Expression> require;  ///< over metrics, axes and values
  Expressions metrics;
  std::optional<Search> search;
  std::vector<Fidelity> fidelity;

  /// Whether it is a name of the study's own, which is no place in a platform.
  [[nodiscard]] bool is_own(const std::string& given) const;
  std::vector<std::string> own;

  /// The file of a platform that the study names.
  [[nodiscard]] std::string platform_file(const std::string& given) const;
};

/// Reads a study, in JSON with comments. Throws InputError.
[[nodiscard]] Study read_study(const std::string& file);

}  // namespace weft::study
