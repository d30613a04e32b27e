// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sw/collectives/line/passage.h"

/// The algorithms of a line: collectives among n members that a dimension joins, each in the file of its name.
namespace weft::collectives {

/// Whether an algorithm has such a collective.
[[nodiscard]] bool is_possible(dimensions::Operation operation, dimensions::Algorithm algorithm);
/// "expected ..." for one that has not: the names of those that have.
[[nodiscard]] std::string possible_names(dimensions::Operation operation);
/// Staging memory that a phase needs, in units of its largest block.
[[nodiscard]] std::uint64_t staging_units(const Phase& phase, int members);
/// The phase's strands.
[[nodiscard]] std::vector<firmware::Task> strands_of(Passage& passage, const Phase& phase, int members);

/// Ring (Patarasuk and Yuan 2009): n - 1 steps, in each a block goes to the next member. `direction` is 1 or -1; with
/// `share` 2 a strand takes the part of each block that has its number.
firmware::Task ring_reduce_scatter(Strand strand, int direction, int share);
firmware::Task ring_allgather(Strand strand, int direction, int share);
firmware::Task ring_all_reduce(Strand strand, int direction, int share);
/// Blocks travel on until they are at home: n (n - 1) / 2 of them pass each link.
firmware::Task ring_all_to_all(Strand strand);

/// Direct: each block goes to its place in one step, to all at a time.
firmware::Task direct_reduce_scatter(Strand strand);
firmware::Task direct_allgather(Strand strand);
firmware::Task direct_all_reduce(Strand strand);
firmware::Task direct_all_to_all(Strand strand);

/// Recursive halving and doubling (Thakur, Rabenseifner and Gropp 2005, sections 3.4 and 4.4): log2 n steps. Where n is
/// no power of two, the first members are pairs of which one takes part for both.
firmware::Task halving_reduce_scatter(Strand strand);
firmware::Task doubling_allgather(Strand strand);
firmware::Task halving_doubling_all_reduce(Strand strand);

/// Double binary tree (Sanders, Speck and Traeff 2009): each strand sums half of the chunk up one of two trees and
/// sends the sum down; who is a leaf in one is none in the other.
firmware::Task tree_all_reduce(Strand strand);

/// Bruck et al. 1997: ceil(log2 n) steps for any n.
firmware::Task bruck_allgather(Strand strand);
firmware::Task bruck_all_to_all(Strand strand);

/// Collectives with a root, which is `root` in the line, along RootedAlgorithm's trees (Thakur, Rabenseifner and Gropp
/// 2005, sections 3.2 and 3.3). Of a Gather and a Scatter a message has the blocks of a whole subtree; by `chain` each
/// block is one, and passes from neighbour to neighbour.
firmware::Task broadcast_in_line(Strand strand, RootedAlgorithm algorithm, int root);
firmware::Task reduce_in_line(Strand strand, RootedAlgorithm algorithm, int root);
firmware::Task gather_in_line(Strand strand, RootedAlgorithm algorithm, int root);
firmware::Task scatter_in_line(Strand strand, RootedAlgorithm algorithm, int root);

}  // namespace weft::collectives
