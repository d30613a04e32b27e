// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "traces/chakra/process_groups.h"
#include "traces/chakra/ranks.h"

namespace weft::chakra {

/// Sums over the nodes of one or more files.
struct TraceStatistics {
  struct Volume {
    std::uint64_t nodes = 0;
    double bytes =
        0;  ///< of their comm_size or tensor_size; a double, since a sum over many ranks may be beyond 64 bits
  };

  std::uint64_t ranks = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t nodes = 0;
  std::uint64_t fewest_nodes = 0;  ///< of a rank
  std::uint64_t most_nodes = 0;
  std::map<int, std::uint64_t> by_type;  ///< NodeType
  std::map<int, Volume> collectives;     ///< CollectiveType; -1 where a node does not tell
  Volume sends;
  Volume receives;
  Volume memory;  ///< loads and stores
  /// Collectives by communicator group, "" for everybody. A name that is another group on another rank counts as both.
  std::map<std::string, std::uint64_t> groups;
  double operations = 0;     ///< num_ops
  double compute_nanos = 0;  ///< durations of compute nodes
  std::uint64_t cpu_operations = 0;
  std::uint64_t control_dependencies = 0;
  std::uint64_t data_dependencies = 0;
  /// Nodes on the longest way through dependencies, at most over the ranks. A node that comes before one that it
  /// depends on makes this -1, since it is found in one pass over the file.
  std::int64_t longest_path = 0;
  /// The same by the time of compute nodes: a lower bound of how long the trace takes with free communication.
  double longest_path_nanos = 0;
  std::vector<std::string> versions;  ///< of the schema, as the files say
};

/// Reads each file once. For the longest path it holds some 60 bytes for each node of one file. `groups` are of a
/// groups file. Throws traces::FormatError, also for an attribute that is not what it should be.
TraceStatistics statistics(const TraceFiles& files, const GroupTable::Named& groups = {});

}  // namespace weft::chakra
