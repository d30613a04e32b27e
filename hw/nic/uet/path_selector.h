// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "hw/core/config/registry.h"
#include "hw/core/packet.h"
#include "hw/core/quantity.h"
#include "hw/core/random.h"

/// How a queue pair of Ultra Ethernet spreads its packets, by the names that `nic.uet.spray` gives it. Weft's own are
/// in path_selectors.h; a user provides others before the platform is read:
///
///     nic::provide({.name = "my-spray",
///                   .doc = "two paths in turn",
///                   .make = [](const nic::PathSelectorSite& site) { return std::make_unique<MySpray>(site); }});
namespace weft::nic {

/// What has become of a packet, by the acknowledgement or the silence that followed.
enum class PathNews : std::uint8_t {
  kGood,     ///< it came, unmarked
  kMarked,   ///< it came, and a switch had marked it
  kTrimmed,  ///< a switch before the last one cut it to its header
  kLost      ///< nothing was heard of it, and newer ones came or `ack_timeout` has passed
};

/// Chooses the path of each packet of one queue pair: an entropy value, by which switches with `routing` of `ecmp`
/// choose among equal paths. Two values may lead over the same links.
class PathSelector {
 public:
  PathSelector() = default;
  PathSelector(const PathSelector&) = delete;
  PathSelector& operator=(const PathSelector&) = delete;
  virtual ~PathSelector() = default;

  /// For the next packet; below PathSelectorSite::paths.
  [[nodiscard]] virtual std::uint16_t next(Time now) = 0;
  /// Of a packet that had this value. Acknowledgements for several tell of one.
  virtual void heard(Time /*now*/, std::uint16_t /*entropy*/, PathNews /*news*/) {}
};

/// A queue pair that is to have a PathSelector.
struct PathSelectorSite {
  std::uint16_t paths;  ///< entropy values
  Time ack_timeout;     ///< after which the last losses are noticed
  Random random;        ///< of its own
};

/// A way of spreading packets.
struct PathSelection {
  std::string name;
  std::string doc;  ///< a few words, behind the name in the reference of `nic.uet.spray`
  std::function<std::unique_ptr<PathSelector>(const PathSelectorSite&)> make = {};
};

/// Adds a user's own. Throws std::invalid_argument for a name that is taken.
void provide(PathSelection selection);

/// All there are.
[[nodiscard]] const Registry<PathSelection>& path_selections();

/// One of them as a field.
[[nodiscard]] const Names& registered(const PathSelection* kind);
using PathSelectorName = NameOf<PathSelection>;

}  // namespace weft::nic
