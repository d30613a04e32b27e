// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hw/core/element.h"
#include "hw/core/quantity.h"
#include "platforms/commands/command.h"
#include "traces/vcd/block_trace.h"

/// What `weft vcd calibrate` and `replay` share: the interfaces of a block in a waveform.
namespace weft::platforms {

struct BlockOptions {
  vcd::Sampling sampling;
  std::vector<std::string> inputs;
  std::size_t split = 1;
  std::string output;
  std::string kind;

  /// The signals of a file, each interface whole.
  struct Names {
    vcd::Sampling sampling;
    std::vector<vcd::StreamNames> inputs;
    std::optional<vcd::StreamNames> output;
    std::string kind;

    /// As another file has them.
    [[nodiscard]] Names mapped(const std::vector<vcd::NameRule>& rules) const;
    [[nodiscard]] std::vector<std::string> all() const;
  };

  /// `output` is needed.
  void add_to(const Arguments& app, bool needs_output);
  /// These throw UsageError and traces::FormatError.
  [[nodiscard]] Names names_in(const vcd::Reader& file) const;
  [[nodiscard]] vcd::BlockTrace read(vcd::Reader file, const Names& names, bool with_data) const;
  [[nodiscard]] vcd::BlockTrace read(const std::string& file, bool with_data) const;
};

/// What --map says, FROM=TO each. Throws UsageError.
std::vector<vcd::NameRule> parse_maps(const std::vector<std::string>& maps);

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
