// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/platform.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string_view>

#include "platforms/config/text.h"
#include "traces/files/data_path.h"
#include "traces/files/text_file.h"
#include "traces/nearest_names.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;

std::vector<OptionValue> values_by_option(const PlatformOptions& options) {
  std::vector<OptionValue> all = options.by_option;
  if (options.seed) all.push_back({"seed", std::to_string(*options.seed), "--seed"});
  return all;
}

/// Of a time, a size or a count that is too large.
std::string causes_text(const Document& document) {
  const std::vector<std::string> causes = document.farthest();
  if (causes.empty()) return "";
  return std::string("; the likely cause") + (causes.size() == 1 ? " is " : "s are ") + join(causes, ", ");
}

}  // namespace

std::map<std::string, fs::path> catalogue_platforms() {
  std::map<std::string, fs::path> found;
  for (const fs::path& directory : traces::data_directories()) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(directory, ignored)) {
      const fs::path name = entry.path().stem();
      // Beside them lie the schemas.
      if (entry.path().extension() == ".json" && name.extension() != ".schema")
        found.emplace(name.string(), entry.path());
    }
  }
  if (found.empty()) {
    throw UsageError("the catalogue has no platforms: looked in " + traces::data_directories_text() +
                     "; set WEFT_DATA to the folder of an installed share/weft");
  }
  return found;
}

fs::path find_listed_platform(const std::string& what, const std::string& name) {
  const std::map<std::string, fs::path> all = catalogue_platforms();
  if (const auto found = all.find(name); found != all.end()) return found->second;
  traces::NearestNames near(name);
  for (const auto& [known, file] : all) near.look_at(known);
  throw UsageError(what + ": expected a platform of the catalogue (weft platforms), got " + in_quotes(name) +
                   near.question());
}

std::string find_platform(const std::string& name) {
  std::error_code error;
  // A folder may bear a platform's name: it is where its results go.
  const bool is_file = fs::exists(name, error) && !fs::is_directory(name, error);
  if (is_file || name.ends_with(".json") || name.find('/') != std::string::npos) return name;
  for (const fs::path& directory : traces::data_directories()) {
    const fs::path file = directory / (name + ".json");
    if (fs::exists(file, error)) return file.string();
  }
  traces::NearestNames near(name);
  for (const auto& [known, file] : catalogue_platforms()) near.look_at(known);
  throw InputError(name, "", "a platform's file, or the name of a platform of the catalogue (weft platforms)",
                   "neither" + near.question());
}

std::string text_of_path(const std::string& what, const fs::path& path) {
  if (traces::find_not_utf8(path.native()) == std::string::npos) return path.string();
  throw UsageError(what + ": expected a path in UTF-8, got " + in_quotes(path.native()));
}

std::string read_name(const Document& document, const Node& root) {
  std::string name = root.get<std::string>("name", fs::path(document.origin()).stem().string());
  constexpr std::size_t kLongest = 255;  // bytes of a file's name
  const bool is_name = !name.empty() && name.size() <= kLongest && name != "." && name != ".." &&
                       name.find_first_of("/\n\t") == std::string::npos && traces::printable(name) == name;
  if (!is_name) root.child("name").fail("a name that a folder can have");
  return name;
}

Machine& build_machine(const MachineConfig& config) {
  static Machine* machine = nullptr;
  machine = new Machine(config);
  return *machine;
}

std::string what_is_built(const MachineConfig& config) {
  return counted(config.accelerators, "accelerator");
}

void require_host_memory(double bytes) {
  std::ifstream meminfo("/proc/meminfo");
  std::string line;
  while (std::getline(meminfo, line)) {
    constexpr std::string_view kKey = "MemAvailable:";
    if (!line.starts_with(kKey)) continue;
    const double available = std::stod(line.substr(kKey.size())) * 1024;
    if (bytes <= available) return;
    constexpr double kGiB = 1 << 30;
    throw UsageError(
        fmt::format("--data: expected at most the {:.1f} GiB that this computer has free, got {:.1f} GiB of "
                    "simulated memory: take a smaller model, smaller sizes or fewer accelerators",
                    available / kGiB, bytes / kGiB));
  }
}

Platform::Platform(const PlatformOptions& options)
    : by_option_(values_by_option(options)),
      document_(std::make_shared<Document>(find_platform(options.platform), options.overrides, Catalogue(),
                                           options.patches, by_option_)),
      workload_(document_->root().child("workload")) {
  const Node root = document_->root();
  name_ = read_name(*document_, root);
  description_ = root.get<std::string>("description", "");
  root.read(machine_);
  machine_.data = options.data;
  machine_.why = options.why;
}

Platform::Platform(const Platform& whole, Node workload, MachineConfig share)
    : document_(whole.document_),
      workload_(std::move(workload)),
      name_(whole.name_),
      description_(whole.description_),
      machine_(std::move(share)) {}

std::string Platform::path_of(const std::string& path) const {
  constexpr std::string_view kWorkload = "workload";
  const bool is_there = path == kWorkload || path.starts_with(std::string(kWorkload) + ".");
  return is_there ? workload_.path() + path.substr(kWorkload.size()) : path;
}

std::vector<IdleFields> Platform::replaced() const {
  std::vector<IdleFields> fields;
  for (const auto& [path, value, option] : by_option_) {
    if (document_->is_set_again(path)) fields.push_back({path, {}, option + " stands in its place", false, {}});
  }
  return fields;
}

UsageError explain(const Document& document, const ConfigError& error) {
  // Some modules give the noun phrase that is expected, others a whole sentence.
  if (error.expected().find("expected ") == std::string::npos) return UsageError(document.explain(error).what());
  return UsageError(document.explain(error).file() + ": " + error.path() + ": " + error.expected());
}

UsageError explain(const Document& document, const accelerator::KernelOverflow& error) {
  return UsageError(explain(document, static_cast<const ConfigError&>(error)).what() + causes_text(document));
}

UsageError explain(const Document& document, const QuantityOverflow& error) {
  return UsageError(document.file() + ": " + error.what() + causes_text(document));
}

UsageError Platform::memory_error(const std::length_error& error) const {
  const auto* full = dynamic_cast<const firmware::OutOfMemory*>(&error);
  const bool has_path = full != nullptr && !full->path().empty();
  const ConfigError config(has_path ? full->path() : "accelerator.hbm.capacity", "a memory that holds what runs on it");
  return UsageError(std::string(document_->explain(config).what()) + ": " + error.what());
}

}  // namespace weft::platforms
