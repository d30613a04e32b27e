// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "traces/vcd/name_rules.h"
#include "traces/vcd/sampler.h"

namespace weft::vcd {

/// What an x or z agrees with.
enum class Unknowns : std::uint8_t {
  kReference,  ///< in the first file with anything; in the second with nothing but an x or z
  kEither,     ///< in either file with anything
  kExact,      ///< with itself only
};

/// Signals that hand over one item at each rising edge where valid, and ready if there is one, are 1.
struct Interface {
  std::string valid;
  std::string ready;              ///< none if empty: valid alone
  std::vector<std::string> data;  ///< all that must agree
  std::string last;               ///< none if empty
  std::string id;                 ///< none if empty
};

struct CompareOptions {
  std::string reference;  ///< the first file; signals have its names
  std::string subject;    ///< the second file
  Sampling sampling;
  std::vector<NameRule> rules;
  Unknowns unknowns = Unknowns::kReference;
  /// As transactions of this interface, ...
  Interface interface;
  /// ... with the latency from those of this one, the n-th to the n-th, or the n-th of its id where both have one, ...
  std::optional<Interface> input;
  /// ... or, if not empty, these signals at every edge. Patterns, as of matches(), among the reference's names.
  std::vector<std::string> signals;
  /// Of signals at edges, those that only one file has do not count: it may end earlier than the other.
  bool common_edges = false;
  /// Cycles that the subject comes later: an item that the reference has in cycle n is expected in n + offset.
  std::int64_t offset = 0;
  /// By how many cycles an item may be off, and its latency too; times do not matter without it.
  std::optional<std::uint64_t> tolerance;
  /// With a tolerance, times and latencies count only of the first and the last beat of a packet, which is what models
  /// of whole packets know. Needs the interface's `last`.
  bool packet_times = false;
  std::size_t context = 3;          ///< items shown before a divergence and after it
  std::size_t context_signals = 8;  ///< of them so many signals in text(): those that differ, where there are more
};

/// One item, or the chosen signals at one edge.
struct Item {
  std::uint64_t time = 0;  ///< in units of its file
  std::uint64_t cycle = 0;
  std::vector<std::string> values;  ///< in the order of Comparison::names
  std::optional<std::uint64_t> latency;
};

struct Divergence {
  /// The signal of the reference, "cycle", "latency", "missing" (in the subject) or "extra" (there).
  std::string what;
  std::uint64_t index = 0;           ///< from 0
  std::vector<std::size_t> signals;  ///< all that differ, as indices of Comparison::names
  std::optional<Item> expected;
  std::optional<Item> found;
  std::vector<Item> expected_context;  ///< items before, the one in question, those after
  std::vector<Item> found_context;
  std::uint64_t context_from = 0;  ///< index of the first in the contexts
};

/// Of integers.
struct Spread {
  std::uint64_t count = 0;
  std::int64_t least = 0;
  std::int64_t most = 0;
  double sum = 0;

  void add(std::int64_t value);
  [[nodiscard]] double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
};

struct Comparison {
  bool signals = false;  ///< compared at edges, not as transactions
  std::vector<std::string> names;
  std::string reference;
  std::string subject;
  Timescale reference_timescale;
  Timescale subject_timescale;
  std::uint64_t reference_items = 0;
  std::uint64_t subject_items = 0;
  std::uint64_t reference_cycles = 0;
  std::uint64_t subject_cycles = 0;
  std::uint64_t different = 0;              ///< items that differ, are missing or are extra
  std::vector<std::uint64_t> different_of;  ///< of each of the names, the items in which it differs
  std::size_t context_signals = 8;          ///< of CompareOptions
  /// Edges at which valid or ready was x or z, while the other was not 0: nothing is known to be handed over.
  std::uint64_t reference_unknown = 0;
  std::uint64_t subject_unknown = 0;
  Spread shift;  ///< cycles that the subject's items came later, without the offset
  Spread reference_latency;
  Spread subject_latency;
  std::optional<Divergence> first;
  /// Of signals at edges, the file that has no more while the other goes on.
  struct End {
    bool subject = false;     ///< it is the second file
    std::uint64_t time = 0;   ///< of its last edge, in units of its file
    std::uint64_t edges = 0;  ///< that the other has beyond
  };
  std::optional<End> ended_early;
  std::vector<std::string> remarks;  ///< of Reader, of both files

  /// False also where there was nothing to compare.
  [[nodiscard]] bool same() const { return different == 0 && reference_items > 0 && subject_items > 0; }
  /// About a screen, however many signals there are and however wide.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] nlohmann::ordered_json json() const;
};

/// Streams both files side by side: memory does not grow with them, but for inputs that wait for their output. One of
/// them may be "-", standard input. A vector that one file has bit by bit has the order of bits of the other file.
/// Throws traces::FormatError of files, also of a signal that is not there, and std::invalid_argument of options that
/// mean nothing.
Comparison compare(const CompareOptions& options);

}  // namespace weft::vcd
