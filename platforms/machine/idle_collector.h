// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "platforms/machine/idle_fields.h"

/// How the rules of idle_fields() are written down.
namespace weft::platforms {

class IdleCollector {
 public:
  void add(bool idle, std::string path, std::string why, std::vector<std::string> except = {}) {
    if (!idle) return;
    for (std::string& field : except) field = path + "." + field;
    all_.push_back({std::move(path), std::move(except), std::move(why), false, {}});
  }
  void add_together(std::string path, std::string why, std::vector<std::string> except = {}) {
    for (std::string& field : except) field = path + "." + field;
    all_.push_back({std::move(path), std::move(except), std::move(why), true, {}});
  }
  /// Fields below `path` for which `decides_nothing`, asked for each that is set, finds that they change nothing.
  void add_tried(std::string path, std::string why, std::function<bool(std::string_view)> decides_nothing) {
    all_.push_back({std::move(path), {}, std::move(why), false, std::move(decides_nothing)});
  }
  std::vector<IdleFields> take() { return std::move(all_); }

 private:
  std::vector<IdleFields> all_;
};

/// Of the interfaces on a network and of the network itself; `path` and `network_path` are their places.
void add_interface(IdleCollector& idle, const nic::NicConfig& nic, const fabric::FabricConfig& network,
                   const InterfaceUse& use, const std::string& path, const std::string& network_path);
void add_network(IdleCollector& idle, const fabric::FabricConfig& network, int ends, const InterfaceUse& use,
                 const std::string& path);

}  // namespace weft::platforms
