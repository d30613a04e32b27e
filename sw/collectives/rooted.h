// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "hw/core/fields.h"

namespace weft::collectives {

/// Collectives with a root.
enum class Rooted : std::uint8_t { kBroadcast, kReduce, kGather, kScatter };
inline EnumNames<Rooted> enum_names(Rooted /*tag*/) {
  return {{"broadcast", Rooted::kBroadcast},
          {"reduce", Rooted::kReduce},
          {"gather", Rooted::kGather},
          {"scatter", Rooted::kScatter}};
}

/// Trees over n members whose numbers count from the root, which is 0. A member sends to its children in their order.
///
/// chain        each to the next
/// direct       the root to all
/// k-nomial     of radix k: a number's parent has its lowest digit to base k that is not 0 as 0, so that the root
///              has up to k - 1 children for each of the ceil(log_k n) digits; the largest subtree comes first. UCC's
///              (src/components/tl/ucp/bcast/bcast_knomial.c) and Open MPI's (ompi_coll_base_topo_build_kmtree)
/// binomial     k-nomial of radix 2 (Thakur, Rabenseifner and Gropp 2005, section 3.2)
/// binary-tree  level l holds numbers 2^l - 1 to 2^(l+1) - 2, of which n has the children n + 2^l and n + 2^(l+1).
///              Open MPI's (ompi_coll_base_topo_build_tree with a fanout of 2)
enum class RootedAlgorithm : std::uint8_t { kChain, kDirect, kBinomial, kKNomial, kBinaryTree };
inline EnumNames<RootedAlgorithm> enum_names(RootedAlgorithm /*tag*/) {
  return {{"chain", RootedAlgorithm::kChain},
          {"direct", RootedAlgorithm::kDirect},
          {"binomial", RootedAlgorithm::kBinomial},
          {"k-nomial", RootedAlgorithm::kKNomial},
          {"binary-tree", RootedAlgorithm::kBinaryTree}};
}

/// The radix of k-nomial trees in UCC (BCAST_KN_RADIX of src/components/tl/ucp/tl_ucp.c, version 1.1) and in Open MPI
/// (coll_tuned_bcast_algorithm_knomial_radix, version 5.0).
inline constexpr int kLibraryRadix = 4;

struct RootedPlace {
  static constexpr int kNone = -1;
  int parent = kNone;
  std::vector<int> children;
};

/// `radix`: of a k-nomial tree, at least 2.
[[nodiscard]] RootedPlace rooted_place(RootedAlgorithm tree, int radix, int members, int number);

}  // namespace weft::collectives
