// SPDX-License-Identifier: Apache-2.0
#include "platforms/study/task.h"

#include <fmt/format.h>

#include <filesystem>

#include "platforms/config/choices.h"
#include "platforms/config/sizes.h"
#include "platforms/config/text.h"
#include "platforms/results/version.h"
#include "platforms/study/stored_text.h"

namespace weft::study {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr const char* kCollectiveKey = "collective";
/// As --steady has it.
constexpr double kSteadyTolerance = 0.002;

platforms::CollectiveRequest read_collective(const Task& task, json& values) {
  json tree = {{kCollectiveKey, task.collective}};
  json& bytes = tree[kCollectiveKey]["bytes"];
  if (bytes.is_null()) tree[kCollectiveKey].erase("bytes");
  if (bytes.is_number_integer()) bytes = std::to_string(bytes.get<std::int64_t>()) + "B";
  platforms::Document document = platforms::Document::from_text(tree.dump(), task.by);
  CollectiveFields fields;
  const platforms::Node node = document.root().child(kCollectiveKey);
  node.read(fields);
  document.check_unused();
  const json effective = document.effective();
  for (const auto& [path, value] : effective.items()) values[path] = value["value"];
  if (!fields.algorithm.empty()) {
    const std::vector<std::string> known = platforms::collective_algorithms();
    if (const std::string wrong = platforms::not_one_of(known, fields.algorithm); !wrong.empty()) {
      throw platforms::UsageError(task.by + ": collective.algorithm: " + wrong);
    }
  }
  return {fields.op, fields.algorithm, fields.type,
          platforms::parse_sizes(fields.bytes, task.by + ": collective.bytes", size_of(fields.type)), fields.warm_up};
}

bool is_analytical(const Task& task) {
  platforms::Document document(task.platform);
  const platforms::Node root = document.root();
  return root.has("network") && root.child("network").raw() == "analytical";
}

/// An object as paths and values, as overrides could give it.
void flatten(const std::string& path, const json& value, json& values) {
  if (!value.is_object() || value.empty()) {
    values[path] = value;
    return;
  }
  for (const auto& [key, member] : value.items()) flatten(platforms::join_path(path, key), member, values);
}

json options_json(const RunOptions& options) {
  return {{"why", options.why}, {"data", options.data}};
}

}  // namespace

json to_json(const Task& task) {
  json overrides = json::array();
  for (const auto& [path, value] : task.overrides) overrides.push_back({path, value});
  return {{"platform", task.platform},
          {"overrides", overrides},
          {"collective", task.collective},
          {"steady", task.options.steady},
          {"why", task.options.why},
          {"data", task.options.data},
          {"time_ps", task.limits.time.count()},
          {"memory", task.limits.memory.count()},
          {"by", task.by}};
}

Task task_of(const json& from) {
  Task task;
  task.platform = from.at("platform");
  for (const json& each : from.at("overrides")) task.overrides.emplace_back(each.at(0), each.at(1));
  task.collective = from.at("collective");
  task.options = {from.at("steady"), from.at("why"), from.at("data")};
  task.limits = {Time(from.at("time_ps").get<std::int64_t>()), Bytes(from.at("memory").get<std::int64_t>())};
  task.by = from.at("by");
  return task;
}

ReadTask::ReadTask(const Task& task) : options_(task.options), values_(json::object()) {
  platforms::PlatformOptions options;
  options.platform = task.platform;
  options.data = task.options.data;
  options.why = task.options.why;
  if (task.options.steady) options.overrides.push_back(fmt::format("steady.tolerance={}", kSteadyTolerance));
  if (!task.collective.is_null()) {
    collective_ = read_collective(task, values_);
    options.by_option = platforms::options_of(*collective_, task.by + ": collective.algorithm");
  }
  if (is_analytical(task)) {
    throw platforms::UsageError(task.by + ": platform: expected a machine of modules, got an analytical network, " +
                                task.platform + ": weft run and weft collective simulate it");
  }
  std::vector<platforms::OptionValue> given;
  for (const auto& [path, value] : task.overrides) given.push_back({path, value.dump(), task.by});
  options.by_option.insert(options.by_option.begin(), given.begin(), given.end());
  platform_ = std::make_unique<platforms::Platform>(options);
  platforms::Document& document = platform_->document();
  const json effective = document.effective();
  for (const auto& [path, value] : effective.items()) values_[path] = value["value"];
  for (const char* const told : {"name", "description"}) values_.erase(told);
  if (!collective_) flatten("workload", platform_->workload().raw(), values_);
}

std::string ReadTask::key() const {
  json values = values_;
  // "1MiB" and "1024KiB" are one size.
  if (collective_) values["collective.bytes"] = collective_->sizes;
  return hash_of(platforms::version_text() + options_json(options_).dump() + values.dump());
}

void ReadTask::warm_up() {
  try {
    static_cast<void>(platform_->machine().accelerator.hbm.sustained());
  } catch (const std::exception&) {
    return;  // Building it will say what is wrong.
  }
}

std::string key_of_unreadable(const Task& task) {
  json text = to_json(task);
  for (const char* const left_out : {"time_ps", "memory", "platform"}) text.erase(left_out);
  text["file"] = std::filesystem::path(task.platform).filename().string();
  return hash_of(platforms::version_text() + text.dump());
}

}  // namespace weft::study
