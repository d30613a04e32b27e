// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/config/any_config.h"
#include "hw/core/config/registry.h"
#include "hw/core/dispatcher.h"
#include "hw/core/stall.h"
#include "hw/memory/remote/remote_config.h"
#include "hw/memory/remote/remote_target.h"

/// Kinds of memory beyond the accelerators' own by the names that `remote_memory.kind` gives them. Weft's own are
/// listed in remote_models.cpp; a user provides others before the platform is read:
///
///     memory::provide({.name = "my-pool",
///                      .doc = "one memory that all share",
///                      .config = MyPool::Config(),  // fields at remote_memory.my_pool
///                      .make = [](const memory::RemoteSite& site) {
///                        return std::make_unique<MyPool>(site.name.c_str(), site.own<MyPool::Config>(), site);
///                      }});
namespace weft::memory {

/// Where a remote memory is built in. What it refers to outlives the memory.
struct RemoteSite {
  std::string name;  ///< of the module
  const RemoteConfig& config;
  int accelerators = 0;
  int per_node = 0;
  Dispatcher& dispatcher;
  bool data = false;  ///< bytes are stored and moved, not their times alone
  Stall::Config stall;

  /// The fields of this kind.
  template <typename C>
  [[nodiscard]] const C& own() const {
    return config.sections.of<C>();
  }
};

/// A kind of remote memory.
struct RemoteModel {
  std::string name;
  std::string doc;  ///< a few words, behind the name in the reference of `remote_memory.kind`

  /// The fields that it has for itself, at `remote_memory.NAME` with _ for -. May be none.
  AnyConfig config = {};
  std::string config_doc = {};
  /// Fields of `remote_memory` that it does not follow: if a user sets them, a remark says so.
  std::vector<std::string> ignores = {};

  /// Throws ConfigError; `path` is where `remote_memory` stands. May be null.
  std::function<void(const RemoteConfig&, const std::string& path)> check = {};

  /// Makes the memory of a machine when elaborating. Throws ConfigError. Null: there is no memory.
  std::function<std::unique_ptr<RemoteTarget>(const RemoteSite&)> make;
};

/// Adds a user's own. Throws std::invalid_argument for a name that is taken, or that a field beside its own has.
void provide(RemoteModel model);

/// All there are.
[[nodiscard]] const Registry<RemoteModel>& remote_models();
/// Throws ConfigError if there is none of this name.
[[nodiscard]] const RemoteModel& model_of(const RemoteConfig& config);

}  // namespace weft::memory
