// SPDX-License-Identifier: Apache-2.0
#include "platforms/regress/case_file.h"

#include <algorithm>
#include <set>
#include <system_error>

#include "platforms/config/text.h"
#include "platforms/study/read_members.h"
#include "traces/metric_unit.h"

namespace weft::regress {

using nlohmann::json;
using platforms::InputError;
using platforms::Node;

namespace {

namespace fs = std::filesystem;

/// `path` is the metric's. A difference may have another unit than the metric, but one of the same kind.
Allowed read_allowed(const std::string& text, const std::string& path, const Node& node) {
  const bool is_path =
      path.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == std::string::npos;
  const std::size_t end = text.find_first_not_of("0123456789.eE+- ");
  const std::string unit = end == std::string::npos ? "" : text.substr(end);
  try {
    if (unit.empty() || unit == "%") return {traces::Tolerance::parse(text, ""), text};
    if (!is_path) throw std::invalid_argument("a tolerance such as 10%, or 0.5 without a unit, for an expression");
    const std::optional<double> factor = traces::unit_factor(path, unit);
    if (!factor) throw std::invalid_argument("a tolerance such as 10%, 0.5 or -, or with a unit that " + path + " has");
    Allowed allowed{traces::Tolerance::parse(text, unit), text};
    allowed.tolerance.value /= *factor;
    return allowed;
  } catch (const std::invalid_argument& error) {
    node.fail(error.what(), platforms::in_quotes(text));
  }
}

double read_share(const std::string& text, const Node& node) {
  try {
    const traces::Tolerance share = traces::Tolerance::parse(text, "%%");
    if (share.kind == traces::Tolerance::Kind::kRelative) return share.value;
  } catch (const std::invalid_argument&) {
    // What is expected is said below.
  }
  node.fail("a share such as 5%", platforms::in_quotes(text));
}

class CaseReader {
 public:
  CaseReader(Node root, Case& read) : root_(std::move(root)), order_(read.text), case_(read) {}

  void read() {
    if (root_.has("validate")) {
      read_validation();
    } else {
      read_simulation();
    }
  }

 private:
  void read_simulation() {
    CaseFields fields;
    root_.read(fields);
    // Those that are not given too: a message of what is unknown lists all.
    for (const study::StudyMember& member : case_members()) static_cast<void>(root_.child(member.name));
    study::Study& study = case_.study;
    study.file = case_.file;
    study.name = case_.name;
    study.platform = fields.platform;
    study.options = fields.options;
    study.limits = fields.limits;
    case_.digest = fields.digest;
    study.platform = find_platform(fields.platform);
    if (root_.has("collective")) {
      if (!root_.child("collective").is_object()) root_.child("collective").fail("an object with op and bytes");
      study.collective = root_.child("collective").raw();
    }
    for (auto& [path, node] : members("set")) study.set.emplace_back(path, node.raw());
    for (auto& [name, node] : members("metrics")) read_metric(name, node, fields.tolerance);
    if (study.metrics.empty() && !fields.digest) {
      root_.child("metrics").fail("an object with a metric or more, NAME: PATH of summary.json, or digest: true");
    }
    if (root_.has(kGolden)) {
      const Node golden = root_.child(kGolden);
      if (!golden.is_object()) golden.fail("an object with a value for each metric, as --update writes it");
      case_.golden = golden.raw();
    }
  }

  [[nodiscard]] std::vector<std::pair<std::string, Node>> members(const std::string& key) const {
    if (!root_.has(key)) return {};
    return order_.members(root_.child(key), {key});
  }

  [[nodiscard]] std::string find_platform(const std::string& given) const {
    const Node node = root_.child("platform");
    constexpr const char* kExpected = "a platform's file, or the name of a platform of the catalogue (weft platforms)";
    if (given.empty()) node.fail(kExpected);
    try {
      return case_.study.platform_file(given);
    } catch (const InputError&) {
      node.fail(kExpected, platforms::in_quotes(given) + ", which is neither");
    }
  }

  void read_metric(const std::string& name, const Node& node, const std::string& tolerance) {
    study::check_name(name, node);
    if (name == kDigest) node.fail("another name, since \"digest\": true compares the digest");
    if (!node.is_object()) {
      case_.study.metrics.emplace_back(name, study::read_expression(node));
      case_.allowed.push_back(
          read_allowed(tolerance, case_.study.metrics.back().second.text(), root_.child("tolerance")));
      return;
    }
    static_cast<void>(node.child("tolerance"));
    if (!node.has("path")) node.child("path").fail("a path in summary.json, or an expression");
    case_.study.metrics.emplace_back(name, study::read_expression(node.child("path")));
    case_.allowed.push_back(read_allowed(node.get("tolerance", tolerance), case_.study.metrics.back().second.text(),
                                         node.child("tolerance")));
  }

  void read_validation() {
    static_cast<void>(root_.get<std::string>("description", ""));
    for (const char* const other : {"platform", "metrics", "digest", kGolden}) {
      if (root_.has(other)) root_.child(other).fail("nothing beside validate, which compares measurements");
    }
    const Node node = root_.child("validate");
    ValidateFields fields;
    node.read(fields);
    Validation validation{fields.table, fields.suite, {}, {}};
    if (!fields.mean_error.empty()) validation.mean_error = read_share(fields.mean_error, node.child("mean_error"));
    if (!fields.row_error.empty()) validation.row_error = read_share(fields.row_error, node.child("row_error"));
    if (fields.table.empty() && fields.suite.empty()) node.fail("a table, a suite, or both");
    if (!fields.table.empty()) {
      std::error_code ignored;
      const fs::path beside = fs::path(case_.file).parent_path() / fields.table;
      if (fs::exists(beside, ignored)) {
        validation.table = beside.string();
      } else if (!fs::exists(fields.table, ignored)) {
        node.child("table").fail("a table of measurements beside the case", platforms::in_quotes(fields.table));
      }
    }
    case_.validation = validation;
  }

  Node root_;
  study::Order order_;
  Case& case_;
};

/// Cases below a folder, by their files.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  try {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().string().ends_with(kSuffix) && !entry.is_directory()) files.push_back(entry.path());
    }
  } catch (const fs::filesystem_error& error) {
    throw platforms::UsageError(folder.string() + ": expected a folder of cases, got " + error.code().message());
  }
  if (files.empty()) {
    throw platforms::UsageError(folder.string() + ": expected a folder with cases, files NAME" + kSuffix +
                                ", got none");
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Of a file below a folder, or of one that was named alone.
std::string name_of(const fs::path& file, const fs::path& folder) {
  std::string name = folder.empty() ? file.filename().string() : file.lexically_relative(folder).generic_string();
  if (name.ends_with(kSuffix)) name.resize(name.size() - std::string_view(kSuffix).size());
  return name;
}

}  // namespace

const std::vector<study::StudyMember>& case_members() {
  static const std::vector<study::StudyMember> kMembers = {
      {"set", "object", "PATH: VALUE; overrides of the platform"},
      {"collective", "object",
       "Time a collective in place of the platform's workload: op, bytes, algorithm, type and warm_up, as the options "
       "of weft collective"},
      {"metrics", "object",
       "NAME: a path in summary.json, or an expression over such paths; or {path, tolerance}. A tolerance is a share "
       "of "
       "the golden value (1%), a difference (0.5us), or - for a metric that never fails"},
      {"golden", "object", "NAME: VALUE of each metric, which weft regress --update writes"},
      {"validate", "object", "In place of all others: compare measurements with the simulator, as weft validate does"}};
  return kMembers;
}

Case read_case(const std::string& file, const std::string& name) {
  Case read;
  read.name = name;
  read.file = file;
  read.text = platforms::load_document(file, "a regression case", platforms::may_be_json);
  const json tree = platforms::parse_own_json(read.text, file);
  if (!tree.is_object()) throw InputError(file, "", "a regression case in JSON, an object", platforms::got_text(tree));
  platforms::Document document = platforms::Document::from_text(read.text, file);
  CaseReader(document.root(), read).read();
  document.check_unused();
  return read;
}

std::vector<Case> read_cases(const std::vector<std::string>& places) {
  std::vector<Case> cases;
  std::set<fs::path> known;
  const auto add = [&](const fs::path& file, const fs::path& folder) {
    std::error_code ignored;
    if (!known.insert(fs::weakly_canonical(file, ignored)).second) return;
    cases.push_back(read_case(file.string(), name_of(file, folder)));
  };
  for (const std::string& place : places) {
    std::error_code ignored;
    if (!fs::is_directory(place, ignored)) {
      add(place, "");
      continue;
    }
    for (const fs::path& file : files_below(place)) add(file, place);
  }
  return cases;
}

}  // namespace weft::regress
