// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "traces/chakra/check.h"
#include "traces/chakra/ranks.h"

namespace weft::chakra {

/// What was done against findings of a kind.
struct Mended {
  Problem kind = Problem::kAttribute;
  std::uint64_t count = 0;
  std::string file;  ///< of the first
  std::optional<std::uint64_t> node;

  /// "dependencies on nodes that are not in the file, left out: 3 (the first in FILE, node 7)"
  [[nodiscard]] std::string text() const;
};

/// Of how many ranks repair() writes a file, where `in` is a prefix: with those that have none, and with all of the
/// machine. Throws traces::FormatError where too many have none, or the machine has fewer than there are files.
std::uint32_t repaired_ranks(const TraceFiles& in, const CheckOptions& options);

/// Writes a trace in which check() finds nothing that can be mended. A node that cannot be run, or that other ranks
/// know nothing of, becomes a METADATA_NODE: it takes no time, and what depends on it keeps its order.
///
/// - Dependencies of a node on itself or on ids that are not there, and those that close a cycle, are left out.
/// - A node whose id was there before gets another one, or is left out where it is a copy.
/// - Sends and receives without a peer take the other rank of a group of two; those without a counterpart, or in a file
///   that is the trace of all ranks, are no longer run; of two sizes the larger is taken.
/// - Collectives of a group are aligned over its ranks: those that some rank does not issue, or only in an order
/// against
///   others' dependencies, are no longer run, of different sizes the largest is taken, and a root that cannot be is the
///   group's first rank.
/// - Collectives of some dimensions (involved_dim) are those of groups where CheckOptions says the dimensions of the
///   network. Else they stay as they are, but for what stands on other ranks in the place of one of all dimensions that
///   is left out.
/// - A rank without a file gets the nodes of the lowest one that has a file, without its messages and without
///   collectives of groups that it is not in.
/// - Compute nodes without a time take a nanosecond, as in ASTRA-sim; communication is no operation of the CPU.
///
/// `out` is a prefix where `in` is one, else a file, and another one than that of `in`. Equal input gives equal bytes.
/// One file at a time is in memory. Gives what was done, the heaviest first. Throws traces::FormatError for a file that
/// cannot be read and for a group whose ranks nothing says, before anything is written, and std::system_error where
/// `out` cannot be written.
std::vector<Mended> repair(const TraceFiles& in, const std::filesystem::path& out, const CheckOptions& options);

}  // namespace weft::chakra
