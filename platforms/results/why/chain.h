// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "platforms/results/why/kernel_pieces.h"
#include "platforms/results/why/resources.h"

namespace weft::platforms {

/// What pieces of a chain have in common that a change treats alike.
struct Portion {
  enum class Part {
    kWhole,    ///< takes as long as the resource needs
    kBytes,    ///< bytes pass, at its rate
    kWait,     ///< for others to pass, or for room: whoever comes later waits less
    kLatency,  ///< of an interface: as long as its latencies, whatever its rate
  };
  const Resource* resource = nullptr;
  Part part = Part::kWhole;
  bool at_end = false;  ///< at an end's link or interface; else, of a link, between switches
  double had = 1;       ///< of a link, the share of its rate that faults have left it

  auto operator<=>(const Portion&) const = default;
};

/// Links whose buffers are full before credit can be back: of a network, "fabric", by what their buffers let through.
using Starved = std::pair<std::string, double>;

/// Pieces in sequence, by what sets them, in ps.
struct Chain {
  std::map<Portion, double> ps;
  std::map<Starved, double> loops_ps;           ///< on starved links, and not in `ps`
  std::map<std::string, KernelPieces> kernels;  ///< which are not in `ps`
  double faults_ps = 0;                         ///< what bytes would spend less on links if these had their full rate
  std::map<const Resource*, std::map<std::string, double>> by_place;

  /// Of `ps`.
  [[nodiscard]] double of(const Resource& resource) const;
  /// The most of it that is at one place.
  [[nodiscard]] double most_at_one(const Resource& resource) const;
  /// All that waits in networks.
  [[nodiscard]] double waits() const;
  /// Kernels that wait for memory.
  [[nodiscard]] double bound_by_memory() const;
  [[nodiscard]] double in_kernels() const;
};

/// Reads chains of why.json.
class ChainReader {
 public:
  explicit ChainReader(const nlohmann::ordered_json& why);
  /// Adds a share of each piece. Of the time at an interface that a chain's pieces do not tell apart, latencies have
  /// the share that they have in chains that were read before.
  void add(Chain& chain, const nlohmann::ordered_json& pieces, double share);

 private:
  struct Link {
    std::string network;
    bool at_end = false;
    double had = 1;
    double fills = 1;  ///< the share of its rate that the buffer behind it lets through

    [[nodiscard]] bool is_starved() const { return fills < had; }
  };
  struct Sum {
    double latencies = 0;
    double all = 0;
  };
  [[nodiscard]] bool add_kernel(Chain& chain, const nlohmann::ordered_json& piece, double ps) const;
  [[nodiscard]] bool add_loop(Chain& chain, const nlohmann::ordered_json& piece, double ps) const;
  void add_at_interface(Chain& chain, const Resource& resource, const nlohmann::ordered_json& piece, double share);
  [[nodiscard]] Link link_of(const nlohmann::ordered_json& piece) const;

  std::map<std::string, Link, std::less<>> links_;
  std::map<std::string, double>
      all_starved_;  ///< networks where all links are alike in that, and what they let through
  std::map<const Resource*, double> latency_ps_;  ///< of one passage
  std::map<const Resource*, Sum> told_apart_;
};

}  // namespace weft::platforms
