// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/config/any_config.h"
#include "hw/core/config/registry.h"
#include "hw/core/dispatcher.h"
#include "hw/core/quantity.h"
#include "hw/core/stall.h"
#include "hw/memory/hbm_config.h"
#include "hw/memory/memory.h"
#include "hw/memory/stream_model.h"

/// Models of an accelerator's memory by the names that `accelerator.hbm.detail` gives them. Weft's own are listed in
/// memory_models.cpp; a user provides others before the platform is read:
///
///     memory::provide({.name = "my-memory",
///                      .doc = "one bank",
///                      .config = MyMemory::Config(),  // fields at accelerator.hbm.my_memory
///                      .make = [](const memory::MemorySite& site) {
///                        return std::make_unique<MyMemory>(site.name.c_str(), site.own<MyMemory::Config>(), site);
///                      }});
namespace weft::memory {

/// Where a memory is built in. What it refers to outlives the memory.
struct MemorySite {
  std::string name;  ///< of the module
  const HbmConfig& config;
  Dispatcher& dispatcher;
  std::vector<std::string> masters;  ///< the names of its sockets, in their order
  bool data = false;                 ///< bytes are stored and moved, not their times alone
  Stall::Config stall;
  const StreamModel* stacks = nullptr;  ///< what the stacks sustain; null where nothing is said of stacks

  /// The fields of this model.
  template <typename C>
  [[nodiscard]] const C& own() const {
    return config.sections.of<C>();
  }
};

/// A way of modelling the memory.
struct MemoryModel {
  std::string name;
  std::string doc;  ///< a few words, behind the name in the reference of `accelerator.hbm.detail`

  /// The fields that it has for itself, at `accelerator.hbm.NAME` with _ for -. May be none.
  AnyConfig config = {};
  std::string config_doc = {};
  /// Fields of `accelerator.hbm` that it does not follow: if a user sets them, a remark says so.
  std::vector<std::string> ignores = {};

  /// Its masters speak nb_transport with four phases to it, and it says later when it is done. Otherwise they call
  /// b_transport, and it adds its time to the delay (hw/core/memory_master.h).
  bool phases = false;
  /// All its places are alike, and nothing in it goes on by itself: steps of training repeat themselves, so that
  /// `steady` may leave some out, and data that nobody uses may lie anywhere.
  bool uniform = false;

  /// Throws ConfigError; `path` is where `accelerator.hbm` stands. May be null.
  std::function<void(const HbmConfig&, const std::string& path)> check = {};
  /// What people should know of a run with it, a line each. May be null.
  std::function<std::vector<std::string>(const HbmConfig&, const std::string& path)> warnings = {};
  /// What firmware and kernels count on before they run: what sequences sustain that read and write so much in turn,
  /// and the time of a read of an idle memory. Null: what the fields of `accelerator.hbm` say.
  std::function<Rate(const HbmConfig&, Bytes read, Bytes written)> sustained = {};
  std::function<Time(const HbmConfig&)> read_time = {};

  /// Makes the memory of one accelerator when elaborating. Throws ConfigError.
  std::function<std::unique_ptr<Memory>(const MemorySite&)> make;
};

/// Adds a user's own. Throws std::invalid_argument for a name that is taken, or that a field beside its
/// own has.
void provide(MemoryModel model);

/// All there are.
[[nodiscard]] const Registry<MemoryModel>& memory_models();
/// Throws ConfigError if there is none of this name.
[[nodiscard]] const MemoryModel& model_of(const HbmConfig& config);

}  // namespace weft::memory
