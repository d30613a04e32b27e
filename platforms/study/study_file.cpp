// SPDX-License-Identifier: Apache-2.0
#include "platforms/study/study_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "platforms/config/text.h"
#include "platforms/machine/platform.h"
#include "platforms/study/expression/quantity_value.h"
#include "platforms/study/read_members.h"

namespace weft::study {

using nlohmann::json;
using platforms::InputError;
using platforms::Node;

namespace {

namespace fs = std::filesystem;

constexpr int kMostSteps = 1'000'000;
constexpr const char* kCollectiveBytes = "collective.bytes";

double number_at(const Node& node) {
  const std::optional<double> number = number_of(node.raw());
  if (!number) node.fail("a number, or a quantity with its unit");
  return *number;
}

/// Whether six digits say all of it.
bool is_short(double value) {
  constexpr double kSame = 1e-9;
  return std::abs(std::stod(fmt::format("{:.6g}", value)) - value) <= kSame * std::abs(value);
}

/// A value of a range. One that the range does not meet exactly, such as a third of a rate, is rounded.
json step_like(const std::string& path, const json& from, double value, bool log) {
  if (path == kCollectiveBytes && from.is_number()) return step_like("", "1B", value, log);
  constexpr double kNearly = 1e-12;
  const json exact = value_like(from, value);
  const double error = std::abs(*number_of(exact) - value);
  // A rate of whole bits a second may be a third of another one all the same.
  const bool is_whole = from.is_string() ? error <= kNearly * std::abs(value) && (is_size(from) || is_short(value))
                                         : exact.is_number_integer();
  // Steps of plain numbers are parts of their range, all digits of which may be meant.
  return (log && !is_whole) || (from.is_string() && !is_whole) ? round_like(from, value) : exact;
}

/// {"from": ..., "to": ...} with `steps` or `factor`, or, where `samples`, with neither.
void read_span(const Node& node, bool samples, Axis& axis) {
  const json from = node.child("from").raw();
  const json to = node.child("to").raw();
  for (const char* const end : {"from", "to"}) {
    if (!node.has(end))
      node.fail("a list, or an object with from, to and " + std::string(samples ? "" : "steps or factor"));
  }
  const double first = number_at(node.child("from"));
  const double last = number_at(node.child("to"));
  if (!are_alike(from, to)) node.child("to").fail("a quantity of the same kind as from, " + from.dump());
  if (!(first < last)) node.child("to").fail("more than from, " + from.dump());
  const bool log = node.get<bool>("log", false);
  if (log && first <= 0) node.child("from").fail("more than 0, since log is true");
  const int steps = node.get<int>("steps", 0, Range{0, kMostSteps});
  const double factor = node.get<double>("factor", 0, Range{0, INT64_MAX});
  if (steps == 0 && factor == 0) {
    if (!samples) node.fail("a list, or an object with from, to and steps or factor");
    axis.span = Span{from, to, log};
    return;
  }
  if (steps != 0 && factor != 0) node.fail("steps or factor, not both");
  if (steps == 1) node.child("steps").fail("2 or more");
  if (steps != 0) {
    for (int i = 0; i < steps; ++i) {
      const double share = static_cast<double>(i) / (steps - 1);
      const double value = log ? first * std::pow(last / first, share) : first + share * (last - first);
      axis.values.push_back(i == 0 ? from : i == steps - 1 ? to : step_like(axis.path, from, value, log));
    }
    return;
  }
  if (factor <= 1) node.child("factor").fail("more than 1");
  if (first <= 0) node.child("from").fail("more than 0, since there is a factor");
  constexpr double kRounding = 1 + 1e-9;
  for (double value = first; value <= last * kRounding; value *= factor) {
    axis.values.push_back(step_like(axis.path, from, value, false));
  }
}

Axis read_axis(const std::string& path, const Node& node, bool samples) {
  Axis axis{path, {}, {}};
  if (node.is_array()) {
    for (const Node& element : node.elements()) axis.values.push_back(element.raw());
    if (axis.values.empty()) node.fail("a list of one value or more", "an empty one");
    return axis;
  }
  if (!node.is_object()) node.fail("a list, or an object with from, to and steps or factor");
  read_span(node, samples, axis);
  return axis;
}

class Reader {
 public:
  Reader(Node root, const std::string& text, Study& study) : root_(std::move(root)), order_(text), study_(study) {}

  void read() {
    root_.read(static_cast<StudyFields&>(study_));
    // Those that are not given too: a message of what is unknown lists all.
    for (const StudyMember& member : study_members()) static_cast<void>(root_.child(member.name));
    if (study_.name.empty()) study_.name = fs::path(study_.file).stem().string();
    if (root_.has("collective")) {
      if (!root_.child("collective").is_object()) root_.child("collective").fail("an object with op and bytes");
      study_.collective = root_.child("collective").raw();
    }
    for (auto& [path, node] : members("set")) {
      study_.set.emplace_back(path, node.raw());
      set_.insert(path);
    }
    read_values();
    for (auto& [path, node] : members("axes")) add(study_.axes, read_axis(path, node, root_.has("search")), node);
    read_zips();
    read_sampling("random", false);
    read_sampling("latin_hypercube", true);
    for (auto& [path, node] : members("derived")) {
      claim(path, node);
      study_.derived.emplace_back(path, read_expression(node));
    }
    for (const Node& node : root_.child("constraints").elements()) study_.constraints.push_back(read_expression(node));
    for (auto& [name, node] : members("metrics")) {
      check_metric_name(name, node);
      if (study_.is_own(name)) node.fail("a name that is none of values", platforms::in_quotes(name));
      if (claimed_.count(name) != 0) node.fail("a name that no axis has", platforms::in_quotes(name));
      study_.metrics.emplace_back(name, read_expression(node));
    }
    if (study_.metrics.empty())
      root_.child("metrics").fail("an object with a metric or more, NAME: PATH of summary.json");
    read_requirements();
    read_search();
    read_fidelity();
    check_platform();
  }

 private:
  [[nodiscard]] std::vector<std::pair<std::string, Node>> members(const std::string& key) const {
    if (!root_.has(key)) return {};
    return order_.members(root_.child(key), {key});
  }

  /// A place has one source of values.
  void claim(const std::string& path, const Node& node) {
    if (!claimed_.insert(path).second) node.fail("one place that gives its values", "a second one");
    if (set_.count(path) != 0) node.fail("one place that gives its values", "a second one beside set");
  }
  void add(std::vector<Axis>& axes, Axis axis, const Node& node) {
    claim(axis.path, node);
    if (axis.span) spans_.emplace_back(axis.path, node);
    axes.push_back(std::move(axis));
  }

  void read_values() {
    for (auto& [name, node] : members("values")) {
      check_metric_name(name, node);
      study_.own.push_back(name);
      if (node.is_array() || node.is_object()) {
        add(study_.axes, read_axis(name, node, root_.has("search")), node);
      } else {
        claim(name, node);
        number_at(node);
        study_.constants.emplace_back(name, node.raw());
      }
    }
  }

  void read_zips() {
    if (!root_.has("zip")) return;
    const Node zip = root_.child("zip");
    const bool several = zip.is_array();
    const std::vector<Node> all = several ? zip.elements() : std::vector<Node>{zip};
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::vector<Axis> axes;
      std::vector<std::string> place = {"zip"};
      if (several) place.push_back(std::to_string(i));
      for (auto& [path, node] : order_.members(all[i], place)) {
        add(axes, read_axis(path, node, false), node);
        if (axes.back().values.size() != axes.front().values.size()) {
          node.fail("as many values as " + axes.front().path + " has, " + std::to_string(axes.front().values.size()),
                    std::to_string(axes.back().values.size()));
        }
      }
      if (!axes.empty()) study_.zips.push_back(std::move(axes));
    }
  }

  void read_sampling(const char* key, bool latin) {
    if (!root_.has(key)) return;
    const Node node = root_.child(key);
    Sampling sampling;
    sampling.latin = latin;
    sampling.points = node.require<int>("points", Range{1, kMostSteps});
    sampling.seed = node.get<std::int64_t>("seed", 1);
    if (!node.has("ranges")) node.child("ranges").fail("an object with PATH: {from, to} or a list for each");
    for (auto& [path, range] : order_.members(node.child("ranges"), {key, "ranges"})) {
      add(sampling.axes, read_axis(path, range, true), range);
    }
    study_.samplings.push_back(std::move(sampling));
  }

  void read_requirements() {
    std::vector<std::string> known(claimed_.begin(), claimed_.end());
    for (const auto& [name, expression] : study_.metrics) known.push_back(name);
    for (const Node& node : root_.child("require").elements()) {
      study_.require.push_back(read_expression(node));
      try {
        for (const std::string& name : study_.require.back().names()) {
          if (std::find(known.begin(), known.end(), name) != known.end()) continue;
          node.fail("a metric, an axis or a value of the study", platforms::in_quotes(name));
        }
      } catch (const ExpressionError& error) {
        node.fail(error.what(), "");
      }
    }
  }

  void read_search() {
    if (!root_.has("search")) return;
    const Node node = root_.child("search");
    Search search;
    node.read(static_cast<SearchFields&>(search));
    const auto check = [&](const char* key, const std::vector<std::string>& names) {
      const std::vector<Node> nodes = node.has(key) ? node.child(key).elements() : std::vector<Node>();
      for (std::size_t i = 0; i < names.size(); ++i) {
        check_metric(names[i], nodes[i]);
        if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
            names.begin() + static_cast<std::ptrdiff_t>(i)) {
          nodes[i].fail("each metric once");
        }
      }
    };
    check("minimise", search.minimise);
    check("maximise", search.maximise);
    for (std::size_t i = 0; i < search.maximise.size(); ++i) {
      const std::vector<std::string>& others = search.minimise;
      if (std::find(others.begin(), others.end(), search.maximise[i]) == others.end()) continue;
      node.child("maximise").elements()[i].fail("a metric that minimise does not have");
    }
    const std::size_t all = search.minimise.size() + search.maximise.size();
    if (all == 0) node.child("minimise").fail("one metric or more, or some to maximise");
    if (search.method == SearchMethod::kAuto) search.method = all == 1 ? SearchMethod::kGenetic : SearchMethod::kNsga2;
    const bool several = search.method == SearchMethod::kNsga2 || search.method == SearchMethod::kMoead;
    if (!several && search.method != SearchMethod::kGrid && all > 1) {
      node.child("method").fail("nsga2 or moead, since there are several metrics");
    }
    if (several && all == 1) node.child("method").fail("sga, de or annealing, since there is one metric");
    if (search.method == SearchMethod::kGrid) {
      for (const auto& [path, place] : spans_) {
        place.fail("a list, or from and to with steps or factor, since search.method is grid", "neither");
      }
    }
    if (!study_.samplings.empty()) node.fail("axes, without random or latin_hypercube");
    if (study_.axes.empty() && study_.zips.empty()) node.fail("axes to search over");
    study_.search = std::move(search);
  }

  void check_metric(const std::string& name, const Node& node) const {
    std::vector<std::string> names;
    for (const auto& [known, expression] : study_.metrics) names.push_back(known);
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    node.fail("one of the metrics, " + platforms::join(names, ", "));
  }

  void read_fidelity() {
    if (!root_.has("fidelity")) return;
    if (!study_.search) root_.child("fidelity").fail("search beside it, which says what is best");
    const std::vector<Node> nodes = root_.child("fidelity").elements();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      Fidelity step;
      static_cast<void>(nodes[i].child("set"));
      if (nodes[i].has("set")) {
        for (auto& [path, node] : order_.members(nodes[i].child("set"), {"fidelity", std::to_string(i), "set"})) {
          if (claimed_.count(path) != 0) node.fail("a path whose values nothing else of the study gives");
          step.set.emplace_back(path, node.raw());
        }
      }
      step.keep = nodes[i].get<double>("keep", 1);
      if (!(step.keep > 0 && step.keep <= 1)) nodes[i].child("keep").fail("a share of more than 0 up to 1");
      study_.fidelity.push_back(std::move(step));
    }
  }

  void check_platform() {
    if (study_.platform.empty() && claimed_.count("platform") == 0) {
      root_.child("platform").fail("a platform's file, or the name of a platform of the catalogue (weft platforms)");
    }
  }

  Node root_;
  Order order_;
  Study& study_;
  std::set<std::string> set_;
  std::set<std::string> claimed_;
  std::vector<std::pair<std::string, Node>> spans_;  ///< axes without values of their own
};

}  // namespace

const std::vector<StudyMember>& study_members() {
  static const std::vector<StudyMember> kMembers = {
      {"set", "object", "PATH: VALUE; overrides of the platform that all points have"},
      {"collective", "object",
       "Time a collective in place of the platform's workload: op, bytes, algorithm, type and warm_up, as the options "
       "of weft collective"},
      {"axes", "object",
       "PATH: a list, or {from, to} with steps or factor, and log for steps that grow. Every combination is a point. A "
       "path is one of a platform, of collective (collective.bytes), or platform"},
      {"zip", "object or list of objects", "PATH: a list; those of one object go together"},
      {"random", "object",
       "points, seed, and ranges with PATH: a list or {from, to, log}; so many points, each with random values"},
      {"latin_hypercube", "object",
       "Likewise; each range is divided into as many parts as there are points, and each part has one"},
      {"values", "object", "NAME: a number, a quantity, or what an axis can have; for expressions alone"},
      {"derived", "object", "PATH: an expression; what follows from other values, as an override"},
      {"constraints", "list of expressions", "Points for which one of them is 0 are left out"},
      {"require", "list of expressions",
       "Over metrics, axes and values: a point for which one of them is 0 is simulated and shown, but it is never the "
       "best and on no front"},
      {"metrics", "object", "NAME: a path in summary.json, or an expression over such paths, values and metrics"},
      {"search", "object", "Look for the best points, in place of running all"},
      {"fidelity", "list of objects",
       "Steps of successive halving: set with overrides, and keep, the share of points that goes on to the next one"}};
  return kMembers;
}

bool Study::is_own(const std::string& given) const {
  return std::find(own.begin(), own.end(), given) != own.end();
}

std::string Study::platform_file(const std::string& given) const {
  std::error_code ignored;
  const fs::path beside = fs::path(file).parent_path() / given;
  if (fs::exists(beside, ignored) && !fs::is_directory(beside, ignored)) return beside.string();
  const std::string found = platforms::find_platform(given);
  if (fs::exists(found, ignored)) return found;
  throw InputError(file, "platform", "a platform's file, or the name of a platform of the catalogue (weft platforms)",
                   platforms::in_quotes(given) + ", which is neither");
}

Study read_study(const std::string& file) {
  const std::string text = platforms::load_document(file, "a study", platforms::may_be_json);
  const json tree = platforms::parse_own_json(text, file);
  if (!tree.is_object()) throw InputError(file, "", "a study in JSON, an object", platforms::got_text(tree));
  platforms::Document document = platforms::Document::from_text(text, file);
  Study study;
  study.file = file;
  Reader(document.root(), text, study).read();
  document.check_unused();
  return study;
}

}  // namespace weft::study
