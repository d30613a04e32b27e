// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/chakra/ranks.h"

namespace weft::chakra {

/// Something in a trace that cannot be executed, or not as it was meant.
struct Finding {
  std::string file;
  std::optional<std::uint64_t> node;  ///< none for the file as a whole
  std::string name;                   ///< the node's
  std::string problem;
  std::string expected;

  /// "FILE: node 7 'conv1': PROBLEM; expected EXPECTED"
  [[nodiscard]] std::string text() const;
};

struct CheckReport {
  /// Those of a file by rank, in file order, then those between ranks; the first CheckOptions::most of them.
  std::vector<Finding> findings;
  std::uint64_t found = 0;  ///< with those that are not in the list
  std::uint64_t ranks = 0;
  std::uint64_t nodes = 0;
};

struct CheckOptions {
  std::size_t most = 1000;  ///< findings to keep
};

/// Checks each file: ids that are there twice, dependencies on ids that are not there, cycles (one is told for each
/// file), node types that the schema does not have, attributes that a node's type needs and that are missing or of
/// another kind, negative sizes, sends from and receives to another rank than the file's.
///
/// And the ranks of a prefix against each other: missing ranks; sends without a receive of the same source,
/// destination, tag and size, and receives without a send; collectives that the ranks of a group issue with different
/// types, sizes or in different numbers. Collectives are compared in file order, and only those of all dimensions:
/// which ranks take part in a collective of some dimensions is for the machine to say. Who belongs to a named group is
/// not in a trace, so a rank that issues nothing in it is taken not to belong.
///
/// Memory grows by some 30 bytes a node of the largest file, and by some 40 for each send and receive of all files.
/// Throws traces::FormatError for a file that cannot be read.
CheckReport check(const TraceFiles& files, const CheckOptions& options = {});

}  // namespace weft::chakra
