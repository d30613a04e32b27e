// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
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

/// Recycled entropy packet spraying (Bonato et al. 2024): values whose packets came unmarked are kept in a ring of
/// eight and used again, each once; without one a value is drawn. After a loss it is frozen for twice `ack_timeout`:
/// then it draws none, but uses those of the ring over and over, for a value that is drawn may lead over the failed
/// link.
class RecycledSpray final : public PathSelector {
 public:
  static constexpr std::size_t kRing = 8;
  static constexpr int kFrozenTimeouts = 2;

  explicit RecycledSpray(const PathSelectorSite& site) : site_(site), random_(site.random) {}
  [[nodiscard]] std::uint16_t next(Time now) override;
  void heard(Time now, std::uint16_t entropy, PathNews news) override;

 private:
  PathSelectorSite site_;
  std::array<std::uint16_t, kRing> ring_{};
  std::size_t head_ = 0;   ///< where the next value goes
  std::size_t fresh_ = 0;  ///< of the ring, the latest ones
  std::size_t held_ = 0;   ///< of the ring, those that have ever been written
  std::size_t again_ = 0;  ///< of the ring, the one that a frozen queue pair used last
  Time frozen_until_;
  Random random_;
};

}  // namespace weft::nic
