// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/line/line_algorithms.h"

#include <bit>
#include <stdexcept>

namespace weft::collectives {

using dimensions::Algorithm;
using dimensions::Operation;
using firmware::Task;

namespace {

/// A ring's strands: one, or one in each direction with half of each block.
template <typename Ring>
std::vector<Task> rings(Passage& passage, bool both, const Ring& ring) {
  std::vector<Task> strands;
  strands.push_back(ring(Strand(passage, 0), 1, both ? 2 : 1));
  if (both) strands.push_back(ring(Strand(passage, 1), -1, 2));
  return strands;
}

std::vector<Task> one(Task task) {
  std::vector<Task> strands;
  strands.push_back(std::move(task));
  return strands;
}

[[noreturn]] void impossible() {
  throw std::invalid_argument("the algorithm has no such collective");
}

}  // namespace

bool is_possible(Operation operation, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRing:
    case Algorithm::kDirect:
      return true;
    case Algorithm::kBidirectionalRing:
    case Algorithm::kHalvingDoubling:
      return operation != Operation::kAllToAll;
    case Algorithm::kDoubleBinaryTree:
      return operation == Operation::kAllReduce;
    case Algorithm::kBruck:
      return operation == Operation::kAllgather || operation == Operation::kAllToAll;
    default:  // of several dimensions
      return false;
  }
}

std::string possible_names(Operation operation) {
  std::string text = "expected";
  for (const auto& [name, algorithm] : enum_names(Algorithm{})) {
    if (!is_possible(operation, algorithm)) continue;
    text += (text == "expected" ? " " : " or ") + std::string(name);
  }
  return text;
}

std::uint64_t staging_units(const Phase& phase, int members) {
  const Operation operation = phase.operation;
  const Algorithm algorithm = phase.algorithm;
  if (phase.rooted) return *phase.rooted == Rooted::kReduce ? static_cast<std::uint64_t>(members) : 0;
  const auto n = static_cast<std::uint64_t>(members);
  const bool sums = operation == Operation::kAllReduce || operation == Operation::kReduceScatter;
  if (operation == Operation::kAllToAll) {
    if (algorithm == Algorithm::kRing) return 2 * n;
    if (algorithm == Algorithm::kBruck) return static_cast<std::uint64_t>(std::bit_width(n - 1)) * (n / 2 + 1);
  }
  if (!sums) return 0;
  switch (algorithm) {
    case Algorithm::kHalvingDoubling:
      return 3 * n;
    case Algorithm::kDoubleBinaryTree:
      return 4 * (n / 2 + 1);
    case Algorithm::kBidirectionalRing:
      return 2 * n;
    default:
      return n;
  }
}

std::vector<Task> strands_of(Passage& passage, const Phase& phase, int members) {
  const Strand strand(passage, 0);
  if (phase.rooted) {
    switch (*phase.rooted) {
      case Rooted::kBroadcast:
        return one(broadcast_in_line(strand, phase.rooted_algorithm, phase.root));
      case Rooted::kReduce:
        return one(reduce_in_line(strand, phase.rooted_algorithm, phase.root));
      case Rooted::kGather:
        return one(gather_in_line(strand, phase.rooted_algorithm, phase.root));
      case Rooted::kScatter:
        return one(scatter_in_line(strand, phase.rooted_algorithm, phase.root));
    }
  }
  const bool both = phase.algorithm == Algorithm::kBidirectionalRing && members > 2;
  switch (phase.algorithm) {
    case Algorithm::kRing:
    case Algorithm::kBidirectionalRing:
      if (phase.operation == Operation::kReduceScatter) return rings(passage, both, ring_reduce_scatter);
      if (phase.operation == Operation::kAllgather) return rings(passage, both, ring_allgather);
      if (phase.operation == Operation::kAllReduce) return rings(passage, both, ring_all_reduce);
      if (phase.algorithm == Algorithm::kBidirectionalRing) impossible();
      return one(ring_all_to_all(strand));
    case Algorithm::kDirect:
      if (phase.operation == Operation::kReduceScatter) return one(direct_reduce_scatter(strand));
      if (phase.operation == Operation::kAllgather) return one(direct_allgather(strand));
      if (phase.operation == Operation::kAllReduce) return one(direct_all_reduce(strand));
      return one(direct_all_to_all(strand));
    case Algorithm::kHalvingDoubling:
      if (phase.operation == Operation::kReduceScatter) return one(halving_reduce_scatter(strand));
      if (phase.operation == Operation::kAllgather) return one(doubling_allgather(strand));
      if (phase.operation == Operation::kAllReduce) return one(halving_doubling_all_reduce(strand));
      impossible();
    case Algorithm::kDoubleBinaryTree: {
      if (phase.operation != Operation::kAllReduce) impossible();
      std::vector<Task> strands;
      strands.reserve(Passage::kStrands);
      for (int tree = 0; tree < Passage::kStrands; ++tree) strands.push_back(tree_all_reduce(Strand(passage, tree)));
      return strands;
    }
    case Algorithm::kBruck:
      if (phase.operation == Operation::kAllgather) return one(bruck_allgather(strand));
      if (phase.operation == Operation::kAllToAll) return one(bruck_all_to_all(strand));
      impossible();
    default:
      impossible();
  }
  impossible();
}

}  // namespace weft::collectives
