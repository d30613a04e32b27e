// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "hw/nic/uet/path_selector.h"

/// Weft's own ways to spread packets over entropy values.
namespace weft::nic {

/// All values in turn, in an order that is drawn anew for each round.
class Rounds {
 public:
  explicit Rounds(const PathSelectorSite& site);
  [[nodiscard]] std::uint16_t next();

 private:
  std::vector<std::uint16_t> order_;
  std::size_t next_;
  Random random_;
};

/// All values in turn. It follows no news.
class ObliviousSpray final : public PathSelector {
 public:
  explicit ObliviousSpray(const PathSelectorSite& site) : rounds_(site) {}
  [[nodiscard]] std::uint16_t next(Time /*now*/) override { return rounds_.next(); }

 private:
  Rounds rounds_;
};

/// All values in turn, but a value is passed over once for each point that it holds: one for a mark, some for a cut
/// packet, the most for a loss. A good acknowledgement takes a point. After the evolving bitmap of the Ultra Ethernet
/// Specification 1.0 (3.6.16); the points are those of htsim (github.com/Broadcom/csg-htsim, sim/uec_mp.cpp), from
/// memory, not checked.
class BitmapSpray final : public PathSelector {
 public:
  static constexpr std::uint8_t kMostPoints = 15;
  static constexpr std::uint8_t kMarked = 1;
  static constexpr std::uint8_t kTrimmed = 4;

  explicit BitmapSpray(const PathSelectorSite& site) : points_(site.paths), rounds_(site) {}
  [[nodiscard]] std::uint16_t next(Time now) override;
  void heard(Time now, std::uint16_t entropy, PathNews news) override;
  [[nodiscard]] std::uint8_t points(std::uint16_t entropy) const { return points_[entropy]; }

 private:
  std::vector<std::uint8_t> points_;
  Rounds rounds_;
};

/// Recycled entropy packet spraying (Bonato et al. 2024, arXiv:2407.21625): values whose packets came unmarked are kept
/// in a ring of eight and used again, each once; without one a value is drawn. A loss freezes the ring for twice
/// `ack_timeout`: then it draws none, but uses those of the ring over and over, for a value that is drawn may lead over
/// the failed link. More losses do not prolong that, since the ring may hold nothing but values of the failed link.
/// After that the ring is emptied, and the next 16 values are drawn (htsim/sim/uec_mp.cpp of
/// github.com/ultraethernet/uet-htsim, August 2025; it freezes for 10 ms, with timeouts of its own). Until these are
/// used up a loss freezes nothing.
///
/// A value whose packet was lost leaves the ring. The authors' sender does not know it: it keeps no values of what it
/// sends. Weft's does, as BitmapSpray needs it.
class RecycledSpray final : public PathSelector {
 public:
  static constexpr std::size_t kRing = 8;
  static constexpr int kFrozenTimeouts = 2;
  static constexpr int kExplored = 16;

  explicit RecycledSpray(const PathSelectorSite& site) : site_(site), random_(site.random) {}
  [[nodiscard]] std::uint16_t next(Time now) override;
  void heard(Time now, std::uint16_t entropy, PathNews news) override;

 private:
  void forget(std::uint16_t entropy);
  void thaw(Time now);

  PathSelectorSite site_;
  std::array<std::uint16_t, kRing> ring_{};
  std::size_t head_ = 0;   ///< where the next value goes
  std::size_t fresh_ = 0;  ///< of the ring, the latest ones
  std::size_t held_ = 0;   ///< of the ring, the latest ones, fresh or used
  std::size_t again_ = 0;  ///< of the ring, the one that a frozen queue pair used last
  std::optional<Time> frozen_until_;
  int to_explore_ = 0;  ///< values to draw, whatever the ring holds
  Random random_;
};

}  // namespace weft::nic
