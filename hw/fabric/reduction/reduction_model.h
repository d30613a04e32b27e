// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "hw/fabric/reduction/reduction_engine.h"

namespace weft::fabric {

class ReductionWaves;

/// The adders of a ReductionEngine as a latency and an interval. Each port has an adder that takes a number of operand
/// bytes a cycle, whatever the others do; the last operand's first byte and the latency tell when the sum leaves.
class ReductionModel final : public ReductionEngine {
 public:
  ReductionModel(const Config& config, std::size_t ports, PacketPool& packets);
  ~ReductionModel() override;

  Outcome take(std::uint32_t group, std::uint16_t port, Packet& packet, Time now) override;
  void spread_over(const Planes& planes) override { planes_ = &planes; }
  /// What pins would show: see ReductionWaves.
  void record(Waves& waves, const std::string& scope) override;
  [[nodiscard]] std::size_t open_chunks() const override { return chunks_.size(); }

 private:
  struct Chunk {
    std::vector<Packet*> operands;  ///< by child
    std::size_t missing = 0;
    Time head{};
    Time tail{};
  };

  [[nodiscard]] const ByteTime& cost(ElementType type) const { return costs_[static_cast<std::size_t>(type)]; }
  Packet* add_up(Chunk& chunk);

  PacketPool& packets_;
  std::vector<ByteTime> costs_;  ///< of an operand byte, by ElementType
  ByteTime low_latency_cost_;
  std::unordered_map<std::uint64_t, Chunk> chunks_;
  std::vector<Time> adder_free_;    ///< by port
  const Planes* planes_ = nullptr;  ///< null unless some are down
  std::unique_ptr<ReductionWaves> waves_;
};

}  // namespace weft::fabric
