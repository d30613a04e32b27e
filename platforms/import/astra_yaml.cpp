// SPDX-License-Identifier: Apache-2.0
#include "platforms/import/astra_yaml.h"

#include <yaml-cpp/eventhandler.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <variant>

#include "platforms/config/field_visitor.h"
#include "platforms/config/text.h"
#include "traces/files/text_file.h"

namespace weft::platforms::astra {
namespace {

using analytical::DimensionConfig;
namespace fs = std::filesystem;

/// A number in whichever notation ASTRA-sim's reader of YAML takes for one of that kind: 0x4, 50., +50, .5e3.
nlohmann::json yaml_value(const YAML::Node& value, const Scalar& member) {
  if (!value.IsScalar()) return "";
  try {
    if (std::holds_alternative<IntegerRef>(member)) return value.as<std::int64_t>();
    if (std::holds_alternative<double*>(member)) {
      if (const auto number = value.as<double>(); std::isfinite(number)) return number;
    }
  } catch (const YAML::BadConversion&) {  // whether it is a number all the same, or what it is, is for the caller
  }
  const nlohmann::json number = nlohmann::json::parse(value.Scalar(), nullptr, false);
  return number.is_number() ? number : nlohmann::json(value.Scalar());
}

/// Where something begins.
class Beginning final : public YAML::EventHandler {
 public:
  [[nodiscard]] int line() const { return line_.value_or(0); }

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override { begin(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override { begin(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& /*value*/) override {
    begin(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {
    begin(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    begin(mark);
  }
  void OnMapEnd() override {}

 private:
  void begin(const YAML::Mark& mark) {
    if (!line_) line_ = mark.line;
  }

  std::optional<int> line_;
};

/// The line of a second document, counted from 0. Reading on would not end: where one begins that is no YAML, yaml-cpp
/// 0.7 stays there and finds one after the other.
std::optional<int> second_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Beginning first;
  Beginning second;
  if (!parser.HandleNextDocument(first) || !parser.HandleNextDocument(second)) return std::nullopt;
  return second.line();
}

}  // namespace

YAML::Node load_yaml(const std::string& file, const std::string& expected) {
  YAML::Node root;
  try {
    const std::string text = traces::read_text(file, expected);
    if (const std::optional<int> line = second_document(text)) {
      throw InputError(file, "line " + std::to_string(*line + 1), "nothing behind " + expected, "a second document");
    }
    root = YAML::Load(text);
  } catch (const YAML::Exception& error) {
    throw InputError(file, "line " + std::to_string(error.mark.line + 1), "YAML", error.msg);
  }
  if (!root.IsMap()) throw InputError(file, "", expected, "");
  std::set<std::string> keys;
  for (const auto& entry : root) {
    if (!entry.first.IsScalar()) throw InputError(file, "", expected, "a key that is no text");
    const std::string& key = entry.first.Scalar();
    if (!keys.insert(key).second) throw InputError(file, key, "each key once", in_quotes(key) + " twice");
  }
  return root;
}

std::vector<DimensionConfig> read_network(const fs::path& file) {
  const std::string name = file.string();
  static const std::set<std::string> known = {"topology", "npus_count", "bandwidth", "latency"};
  const std::string keys = "topology, npus_count, bandwidth and latency";
  const YAML::Node root = load_yaml(name, "ASTRA-sim's network file, with " + keys);
  for (const auto& entry : root) {
    const std::string& key = entry.first.Scalar();
    if (!known.contains(key)) throw InputError(name, "", keys, in_quotes(key));
  }
  const YAML::Node topology = root["topology"];
  std::vector<DimensionConfig> dimensions(topology && topology.IsSequence() ? topology.size() : 0);
  for (const std::string& key : known) {
    const YAML::Node list = root[key];
    if (!list || !list.IsSequence() || list.size() == 0) {
      throw InputError(name, key, "a list of values, one a dimension", list ? "" : "nothing");
    }
    if (list.size() != dimensions.size()) {
      throw InputError(name, key, std::to_string(dimensions.size()) + " values, one a dimension as in topology",
                       std::to_string(list.size()));
    }
  }
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    DimensionConfig& dimension = dimensions[i];
    const auto read = [&](const char* key, const Scalar& member, Range range, const char* expected) {
      const YAML::Node value = root[key][i];
      const std::string text = value.IsScalar() ? value.Scalar() : "";
      if (!assign(member, range, yaml_value(value, member))) throw InputError(name, key, expected, text);
    };
    read("topology", make_scalar(dimension.block), {}, "each of Ring, FullyConnected, Switch");
    read("npus_count", make_scalar(dimension.size), {2, 1 << 24}, "a whole number from 2 to 16777216");
    read("bandwidth", make_scalar(dimension.bandwidth_GiBps), {0, 1'000'000'000}, "a rate above 0, to 1e9 GB/s");
    read("latency", make_scalar(dimension.latency_ns), {0, 1'000'000'000'000}, "0 to 1e12 ns");
    if (dimension.bandwidth_GiBps <= 0) throw InputError(name, "bandwidth", "a rate above 0 in GB/s", "0");
  }
  return dimensions;
}

bool is_flow_yaml(const fs::path& network) {
  const std::string text = traces::read_text(network.string(), "a network file of ASTRA-sim");
  if (nlohmann::json::accept(text)) return false;
  // A key that begins without a quote is none of JSON's, whatever is wrong behind it.
  const std::size_t key = text.find_first_not_of(" \t\r\n", text.find('{') + 1);
  if (key != std::string::npos && text[key] != '"' && text[key] != '}') return true;
  try {
    const YAML::Node root = YAML::Load(text);
    return root.IsMap() && (root["topology"] || root["npus_count"]);
  } catch (const YAML::Exception&) {
    return false;
  }
}

}  // namespace weft::platforms::astra
