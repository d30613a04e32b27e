// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "platforms/results/what_if/kernel_pieces.h"
#include "platforms/results/why/parts.h"
#include "platforms/results/why/resources.h"

namespace weft::platforms {

/// What pieces of a chain have in common that a change treats alike.
struct Portion {
  enum class Part {
    kWhole,  ///< takes as long as the resource needs
    kBytes,  ///< bytes pass, at its rate
    kWait,   ///< for others to pass, or for room: whoever comes later waits less
  };
  const Resource* resource = nullptr;
  Part part = Part::kWhole;
  bool at_end = false;  ///< at an end's link or interface; else, of a link, between switches
  double had = 1;       ///< of a link, the share of its rate that faults have left it
  std::string own{};    ///< of links and accelerators that may have fields of their own, which (FactorsByPlace)

  auto operator<=>(const Portion&) const = default;
};

/// Links whose buffers are full before credit can be back: of a network, "fabric", by what their buffers let through.
struct Starved {
  std::string network;
  double fills = 1;
  std::string own{};  ///< as Portion has it

  auto operator<=>(const Starved&) const = default;
};
/// Kernels of one name that memory binds alike, on accelerators that are alike.
struct KernelName {
  std::string name;
  double memory_share = KernelPieces::kUnknown;
  std::string own{};  ///< as Portion has it

  auto operator<=>(const KernelName&) const = default;
};

/// Pieces in sequence, by what sets them, in ps.
struct Chain {
  std::map<Portion, double> ps;
  std::map<Starved, double> loops_ps;          ///< on starved links, and not in `ps`
  std::map<KernelName, KernelPieces> kernels;  ///< not in `ps`
  double faults_ps = 0;                        ///< what bytes would spend less on links if these had their full rate
  std::map<const Resource*, std::map<std::string, double>> by_place;
  std::map<std::string, std::string> own_of_place;  ///< as Portion has it

  /// Of `ps`.
  [[nodiscard]] double of(const Resource& resource) const;
  /// The same at those of one name.
  [[nodiscard]] double of(const Resource& resource, std::string_view own) const;
  /// The most of it that is at one place.
  [[nodiscard]] double most_at_one(const Resource& resource) const;
  [[nodiscard]] double most_at_one(const Resource& resource, const std::string& own) const;
  /// All that waits in networks.
  [[nodiscard]] double waits() const;
  /// What memory alone takes for its kernels.
  [[nodiscard]] double bound_by_memory() const;
  [[nodiscard]] double in_kernels() const;
};

/// The name of links with fields of their own, by their `path` in why.json; empty: they have those of all.
[[nodiscard]] std::string own_path(const nlohmann::ordered_json& link);

/// Reads chains of why.json.
class ChainReader {
 public:
  explicit ChainReader(const nlohmann::ordered_json& why);
  /// Adds a share of each piece.
  void add(Chain& chain, const nlohmann::ordered_json& pieces, double share) const;

 private:
  struct Link {
    std::string network;
    bool at_end = false;
    double had = 1;
    double fills = 1;   ///< the share of its rate that the buffer behind it lets through
    std::string own{};  ///< as Portion has it

    [[nodiscard]] bool is_starved() const { return fills < had; }
  };
  [[nodiscard]] bool add_kernel(Chain& chain, const nlohmann::ordered_json& piece, double ps) const;
  [[nodiscard]] bool add_loop(Chain& chain, const nlohmann::ordered_json& piece, double ps) const;
  [[nodiscard]] Link link_of(const nlohmann::ordered_json& piece) const;
  /// As Portion has it. A link stands for its end, too.
  [[nodiscard]] std::string own_of(const Resource& resource, const nlohmann::ordered_json& piece) const;

  Caps caps_;
  Parts parts_;
  std::map<std::string, Link, std::less<>> links_;
  std::map<std::string, double>
      all_starved_;  ///< networks where all links are alike in that, and what they let through
};

}  // namespace weft::platforms
