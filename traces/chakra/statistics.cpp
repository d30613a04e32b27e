// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/statistics.h"

#include <algorithm>
#include <unordered_map>

#include "traces/chakra/reader.h"

namespace weft::chakra {
namespace {

struct Length {
  std::int64_t nodes = 0;
  double nanos = 0;
};

void add(TraceStatistics::Volume& volume, std::optional<std::int64_t> bytes) {
  ++volume.nodes;
  volume.bytes += static_cast<double>(bytes.value_or(0));
}

std::string version_of(const Metadata& metadata) {
  for (const Attribute& attribute : metadata.attributes) {
    if (attribute.name != "schema") continue;
    if (const auto* text = std::get_if<std::string>(&attribute.value)) return *text;
  }
  return metadata.version;
}

/// Of communication and metadata a run does not ask for it.
bool is_cpu_operation(const Node& node) {
  const bool is_asked =
      node.type == NodeType::kCompute || node.type == NodeType::kMemoryLoad || node.type == NodeType::kMemoryStore;
  try {
    return node.is_cpu_op();
  } catch (const AttributeError&) {
    if (is_asked) throw;
    return false;
  }
}

/// A run that goes by a duration does not ask for them.
std::optional<std::int64_t> operations_of(const Node& node) {
  try {
    return node.num_ops();
  } catch (const AttributeError&) {
    if (node.duration_nanos() == 0) throw;
    return std::nullopt;
  }
}

class Summing {
 public:
  Summing(TraceStatistics& sums, const TraceFiles& files, const GroupTable::Named& groups)
      : sums_(sums), is_prefix_(files.is_prefix), table_(is_prefix_ ? *files.files.back().rank + 1 : 0, groups) {}

  void add_file(const RankFile& file) {
    TraceReader reader(file.file);
    rank_ = is_prefix_ ? *file.rank : 0;
    lengths_.clear();
    in_order_ = true;
    Node node;
    std::uint64_t nodes = 0;
    for (; reader.next(node); ++nodes) {
      try {
        add_node(node);
      } catch (const AttributeError& error) {
        reader.fail(error.what());
      }
    }
    sums_.fewest_nodes = sums_.ranks == 0 ? nodes : std::min(sums_.fewest_nodes, nodes);
    sums_.most_nodes = std::max(sums_.most_nodes, nodes);
    sums_.nodes += nodes;
    sums_.file_bytes += reader.size();
    ++sums_.ranks;
    if (!in_order_) sums_.longest_path = -1;
    const std::string version = version_of(reader.metadata());
    if (std::find(sums_.versions.begin(), sums_.versions.end(), version) == sums_.versions.end()) {
      sums_.versions.push_back(version);
    }
  }

  /// After all files, when it is known what names mean.
  void add_groups() {
    for (const auto& [rank, names] : groups_) {
      for (const auto& [name, count] : names) {
        const GroupMembers* const group = is_prefix_ ? table_.find(rank, name).group : nullptr;
        sums_.groups[group != nullptr ? group->key : name] += count;
      }
    }
  }

 private:
  void add_node(const Node& node) {
    if (is_prefix_ && lists_process_groups(node)) {
      for (const ProcessGroup& group : process_groups_of(node).groups) table_.add(rank_, group);
    }
    ++sums_.by_type[static_cast<int>(node.type)];
    sums_.control_dependencies += node.control_dependencies.size();
    sums_.data_dependencies += node.data_dependencies.size();
    if (is_cpu_operation(node)) ++sums_.cpu_operations;
    double nanos = 0;
    switch (node.type) {
      case NodeType::kCompute:
        nanos = static_cast<double>(node.duration_nanos());
        sums_.operations += static_cast<double>(operations_of(node).value_or(0));
        sums_.compute_nanos += nanos;
        break;
      case NodeType::kSend:
        chakra::add(sums_.sends, node.comm_size());
        break;
      case NodeType::kReceive:
        chakra::add(sums_.receives, node.comm_size());
        break;
      case NodeType::kMemoryLoad:
      case NodeType::kMemoryStore:
        chakra::add(sums_.memory, node.tensor_size());
        break;
      case NodeType::kCollective: {
        const std::optional<CollectiveType> type = node.comm_type();
        chakra::add(sums_.collectives[type ? static_cast<int>(*type) : -1], node.comm_size());
        ++groups_[rank_][node.pg_name()];
        break;
      }
      default:
        break;
    }
    follow(node, nanos);
  }

  void follow(const Node& node, double nanos) {
    Length length;
    for (const auto* dependencies : {&node.control_dependencies, &node.data_dependencies}) {
      for (const std::uint64_t dependency : *dependencies) {
        const auto found = lengths_.find(dependency);
        if (found == lengths_.end()) {
          in_order_ = false;
          continue;
        }
        length.nodes = std::max(length.nodes, found->second.nodes);
        length.nanos = std::max(length.nanos, found->second.nanos);
      }
    }
    ++length.nodes;
    length.nanos += nanos;
    lengths_[node.id] = length;
    if (sums_.longest_path >= 0) sums_.longest_path = std::max(sums_.longest_path, length.nodes);
    sums_.longest_path_nanos = std::max(sums_.longest_path_nanos, length.nanos);
  }

  TraceStatistics& sums_;
  bool is_prefix_;
  GroupTable table_;
  std::uint32_t rank_ = 0;                                                ///< of the file that is read
  std::map<std::uint32_t, std::map<std::string, std::uint64_t>> groups_;  ///< collectives by rank and name
  std::unordered_map<std::uint64_t, Length> lengths_;
  bool in_order_ = true;
};

}  // namespace

TraceStatistics statistics(const TraceFiles& files, const GroupTable::Named& groups) {
  TraceStatistics sums;
  Summing summing(sums, files, groups);
  for (const RankFile& file : files.files) summing.add_file(file);
  summing.add_groups();
  return sums;
}

}  // namespace weft::chakra
