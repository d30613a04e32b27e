// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/core/element.h"
#include "hw/core/quantity.h"
#include "platforms/cli/command.h"
#include "traces/vcd/block_trace.h"

/// What `weft vcd calibrate` and `replay` share: the interfaces of a block in a waveform.
namespace weft::platforms {

struct BlockOptions {
  vcd::Sampling sampling;
  std::vector<std::string> inputs;
  std::size_t split = 1;
  std::string output;
  std::string kind;

  /// `output` is needed.
  void add_to(const Arguments& app, bool needs_output);
  /// Throws UsageError and traces::FormatError.
  [[nodiscard]] vcd::BlockTrace read(const std::string& file, bool with_data) const;
};

/// The subcommands of `weft vcd` beside `compare`.
Command info_command(const Arguments& parent);
Command calibrate_command(const Arguments& parent);
Command replay_command(const Arguments& parent);

/// The clock of a waveform. Throws traces::FormatError if it has none.
Frequency clock_of(const vcd::BlockTrace& trace);
/// Whether a platform takes it: test benches may count in seconds.
bool is_clock_of_engines(Frequency clock);
/// Of bits that are all known; throws traces::FormatError, which says `what` they are, of others.
std::uint64_t number_of(const vcd::BlockTrace& trace, const std::string& bits, const char* what);
/// By the number that it has in `kind`; throws traces::FormatError if there is none.
ElementType type_of(const vcd::BlockTrace& trace, const std::string& bits);

}  // namespace weft::platforms
