// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/packet.h"
#include "hw/core/waves.h"
#include "hw/fabric/reduction_model.h"

namespace weft::platforms {

/// A reduction engine alone, which is given operands at their times.
class ReductionBench final : public sc_core::sc_module, public EventTarget {
 public:
  struct Operand {
    Time at;        ///< its first byte is there
    Time tail_lag;  ///< the last one comes this much later
    std::uint16_t port = 0;
    std::vector<std::uint16_t> children;  ///< ports that take part in its chunk, ascending
    std::uint32_t chunk = 0;
    ElementType type = ElementType::kFp32;
    std::uint32_t bytes = 0;      ///< 0: it abstains
    std::vector<std::byte> data;  ///< none where it is not known
  };

  ReductionBench(sc_core::sc_module_name name, const fabric::ReductionEngine::Config& config, std::size_t ports,
                 Dispatcher& dispatcher);

  /// Before the run; of each chunk one from each child.
  void give(Operand operand);
  void record(Waves& waves) { engine_.record(waves, name()); }

  [[nodiscard]] std::int64_t sums() const { return sums_; }
  [[nodiscard]] Time last_sum() const { return last_sum_; }
  [[nodiscard]] std::size_t open_chunks() const { return engine_.open_chunks(); }

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override;

 private:
  void start_of_simulation() override;

  Dispatcher& dispatcher_;
  PacketPool packets_;
  fabric::ReductionModel engine_;
  std::vector<Operand> operands_;
  std::map<std::vector<std::uint16_t>, std::uint32_t> trees_;  ///< groups by their children
  std::int64_t sums_ = 0;
  Time last_sum_;
};

}  // namespace weft::platforms
