// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hw/core/quantity.h"
#include "platforms/machine/waves/wave_clocks.h"
#include "platforms/machine/waves/wave_order.h"
#include "traces/vcd/writer.h"

namespace weft::platforms {

/// Writes what a WaveOrder gives, and the edges of clocks between.
class WaveWriter {
 public:
  explicit WaveWriter(vcd::Writer& writer) : writer_(writer), clocks_(writer) {}

  /// Of the next pin.
  void add(vcd::Writer::Id id) { nets_.push_back({id}); }
  [[nodiscard]] std::size_t pins() const { return nets_.size(); }
  [[nodiscard]] WaveClocks& clocks() { return clocks_; }

  /// Of several changes of one pin at a time the last one told counts.
  void write(WaveOrder::Part& part);
  /// The last part, and what clocks have to run, until `end` at least.
  void finish(WaveOrder::Part& part, Time end);

 private:
  struct Net {
    vcd::Writer::Id id;
    std::uint64_t value = 0;
  };

  void run(const WaveOrder::Running& running);
  void write(const WaveOrder::Change& change, const std::vector<std::byte>& bytes);

  vcd::Writer& writer_;
  WaveClocks clocks_;
  std::vector<Net> nets_;
  WaveSort sort_;
};

}  // namespace weft::platforms
