// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "traces/vcd/name_rules.h"
#include "traces/vcd/sampler.h"

namespace weft::vcd {

/// The signals of an interface; only `valid` must be there.
struct StreamNames {
  std::string valid;
  std::string ready;
  std::string data;
  std::string last;  ///< none: each beat is a transaction
  std::string id;
  std::string adds;  ///< of an operand of a reduction: it has a value
  std::string kind;  ///< the type of elements
};

/// Interfaces as options name them. `text` is either "valid=SIGNAL,ready=SIGNAL,..." or what the names of all signals
/// begin with ("tb.lane.in_"), of which those that the file has are taken. Each signal may hold `split` interfaces side
/// by side, the first one in the lowest bits. Throws std::invalid_argument of text that is none, and
/// traces::FormatError of signals that the file does not have or that cannot be split.
std::vector<StreamNames> parse_streams(const std::string& text, std::size_t split, const Reader& file);
/// The same in two steps, between which names can become those of another file (map_names).
StreamNames parse_stream(const std::string& text, const Reader& file);
std::vector<StreamNames> split_stream(const StreamNames& whole, std::size_t split, const Reader& file);

/// With each name as the rules have it (map_name).
StreamNames map_names(const std::vector<NameRule>& rules, StreamNames names);
/// Those that there are.
std::vector<std::string> all_names(const StreamNames& names);

/// One beat of an interface.
struct Beat {
  std::uint64_t offered = 0;  ///< the first cycle in which it was valid
  std::uint64_t taken = 0;
  std::uint64_t time = 0;  ///< of the edge that took it, in units of the file
  bool last = true;
  bool adds = true;
  std::string id;
  std::string kind;
  std::string data;  ///< bits, if they were asked for
};

/// What passed the interfaces of a block.
struct BlockTrace {
  std::string file;
  std::vector<std::vector<Beat>> inputs;
  std::vector<Beat> output;
  std::vector<bool> ready;    ///< of the output, by cycle
  std::size_t data_bits = 0;  ///< of an input; 0 if it has none
  Timescale timescale;
  double period = 0;                 ///< of the clock, in units of the file; 0 if it has fewer than two edges
  std::vector<std::string> remarks;  ///< of Reader
};

/// Reads a whole file, of which `reader` has the declarations. An edge with an unknown valid or ready hands nothing
/// over.
BlockTrace read_block(Reader reader, const Sampling& sampling, const std::vector<StreamNames>& inputs,
                      const StreamNames* output, bool with_data);
inline BlockTrace read_block(const std::string& file, const Sampling& sampling, const std::vector<StreamNames>& inputs,
                             const StreamNames* output, bool with_data) {
  return read_block(Reader(file), sampling, inputs, output, with_data);
}

}  // namespace weft::vcd
