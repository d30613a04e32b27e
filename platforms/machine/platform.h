// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hw/accelerator/kernel_work.h"
#include "platforms/config/document.h"
#include "platforms/machine/idle_fields.h"
#include "platforms/machine/machine.h"

namespace weft::platforms {

/// How a machine is asked for: what every command has options for that builds one.
struct PlatformOptions {
  std::string platform;
  std::vector<std::string> overrides;  ///< in order
  std::vector<std::string> patches;    ///< files, in order; overrides come after them
  std::optional<std::int64_t> seed;
  std::vector<OptionValue> by_option;  ///< which come last
  bool data = false;
  bool why = false;  ///< keep the critical path
};

/// The file that a user means: the path itself, or the name of a platform of the catalogue. Throws InputError.
std::string find_platform(const std::string& name);
/// Files of the catalogue's platforms by name. Throws UsageError that says where it looked if there are none.
std::map<std::string, std::filesystem::path> catalogue_platforms();
/// The file of one of these. Throws UsageError, which begins with `what`.
std::filesystem::path find_listed_platform(const std::string& what, const std::string& name);

/// The path as JSON can have it. Throws UsageError, which begins with `what`, if it is not UTF-8.
std::string text_of_path(const std::string& what, const std::filesystem::path& path);

/// The platform's name, or that of its file: the name of the folder of its results. Throws InputError.
std::string read_name(const Document& document, const Node& root);

/// A machine that lives until the process ends. SystemC's registries are searched from their beginning for each object
/// that is destroyed: taking 16,384 accelerators apart would cost half a minute, and nobody would gain by it.
Machine& build_machine(const MachineConfig& config);

/// For a BuildingLine: "1024 accelerators".
std::string what_is_built(const MachineConfig& config);

/// With data on, the bytes of simulated memories are bytes of this machine. Throws UsageError if it does not have them,
/// before the system ends the run, or another, for want of memory.
void require_host_memory(double bytes);

/// What hw/ or sw/ found wrong in a document, as an error of its file.
UsageError explain(const Document& document, const ConfigError& error);

/// The same of what is too large for simulated time or for 64 bits, with the values that may have made it so.
UsageError explain(const Document& document, const accelerator::KernelOverflow& error);
UsageError explain(const Document& document, const QuantityOverflow& error);

/// Does what `action` does, with all that it finds wrong in the configuration told as an error of the document.
template <typename Action>
auto checked_against(const Document& document, Action&& action) -> decltype(action()) {
  try {
    return std::forward<Action>(action)();
  } catch (const accelerator::KernelOverflow& error) {
    throw explain(document, error);
  } catch (const ConfigError& error) {
    throw explain(document, error);
  } catch (const QuantityOverflow& error) {
    throw explain(document, error);
  }
}

/// A platform as it was read: the machine, and the workload for those who want it.
class Platform {
 public:
  /// Throws InputError.
  explicit Platform(const PlatformOptions& options);
  /// As one of several jobs of a platform sees it: with a workload of its own, on its share of the machine.
  Platform(const Platform& whole, Node workload, MachineConfig share);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& description() const { return description_; }
  [[nodiscard]] const MachineConfig& machine() const { return machine_; }
  Document& document() { return *document_; }
  [[nodiscard]] Node workload() const { return workload_; }
  /// For commands that bring their own work: whatever the file says about its workload is not looked at.
  void ignore_workload() { static_cast<void>(workload().raw()); }

  /// Where a field is that modules know by such a path: one of `workload` is in workload().
  [[nodiscard]] std::string path_of(const std::string& path) const;

  /// Fields that --set or a patch gives and an option replaces.
  [[nodiscard]] std::vector<IdleFields> replaced() const;

  /// checked_against() this file, where a memory may be too small, too. What is wrong in `workload` is in workload().
  template <typename Action>
  auto checked(Action&& action) -> decltype(action()) {
    try {
      return checked_against(*document_, [&]() -> decltype(auto) { return in_workload(std::forward<Action>(action)); });
    } catch (const std::length_error& error) {
      throw memory_error(error);
    }
  }

 private:
  template <typename Action>
  auto in_workload(Action&& action) -> decltype(action()) {
    try {
      return std::forward<Action>(action)();
    } catch (const accelerator::KernelOverflow& error) {
      throw accelerator::KernelOverflow(path_of(error.path()), error.expected());
    } catch (const ConfigError& error) {
      throw ConfigError(path_of(error.path()), error.expected());
    }
  }
  [[nodiscard]] UsageError memory_error(const std::length_error& error) const;

  std::vector<OptionValue> by_option_;
  std::shared_ptr<Document> document_;
  Node workload_;
  std::string name_;
  std::string description_;
  MachineConfig machine_;
};

}  // namespace weft::platforms
