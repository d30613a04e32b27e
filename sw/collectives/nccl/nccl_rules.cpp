// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/nccl/nccl_rules.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace weft::collectives {

namespace {

/// Each release is the one before it and what is new in it.
constexpr NcclRules k2_19{.tree_simple = {0, 28, 28},
                          .words_once = 1.0 / 3,
                          .words = 0.25,
                          .most_words = {39e3, 87.7e3, 87.7e3, 87.7e3},
                          .lines_alone = 0.7,
                          .more_hops = 2,
                          .hops_of_trees = false,
                          .pat = std::nullopt,
                          .nvls_blocks = 5.0 / 6,
                          .nvls_within = 23,
                          .nvls_tree_across = 14,
                          .nvls_by_generation = false,
                          .collnet_blocks = false,
                          .nvls_blocks_across = false,
                          .most_ctas = 32,
                          .most_nvls_heads = 8,
                          .nvls_chunks_in_trees = false};

constexpr NcclRules rules_2_20() {
  NcclRules rules = k2_19;
  rules.collnet_blocks = true;
  return rules;
}

constexpr NcclRules rules_2_21() {
  NcclRules rules = rules_2_20();
  rules.words_once = rules.words = 0.5;
  rules.most_words = {39e3, 87.7e3, 141e3, 141e3};
  rules.nvls_within = 25;
  rules.most_nvls_heads = 32;
  rules.nvls_chunks_in_trees = true;
  return rules;
}

constexpr NcclRules rules_2_23() {
  NcclRules rules = rules_2_21();
  rules.tree_simple = {8.4, 4, 14};
  rules.lines_alone = 0.92;
  rules.more_hops = 0;
  rules.hops_of_trees = true;
  rules.pat = 0.85;
  rules.nvls_blocks = 1;
  return rules;
}

constexpr NcclRules rules_2_24() {
  NcclRules rules = rules_2_23();
  rules.pat = 0.75;
  return rules;
}

constexpr NcclRules rules_2_25() {
  NcclRules rules = rules_2_24();
  rules.most_words[3] = 282e3;
  return rules;
}

constexpr NcclRules rules_2_27() {
  NcclRules rules = rules_2_25();
  rules.nvls_blocks_across = true;
  return rules;
}

constexpr NcclRules rules_2_28() {
  NcclRules rules = rules_2_27();
  rules.nvls_tree_across = 20.9;
  rules.nvls_by_generation = true;
  rules.most_ctas = 16;
  return rules;
}

/// By NcclVersion.
constexpr std::array<NcclRules, 10> kRules = {k2_19,        rules_2_20(), rules_2_21(), rules_2_21(), rules_2_23(),
                                              rules_2_24(), rules_2_25(), rules_2_25(), rules_2_27(), rules_2_28()};
static_assert(kRules.size() == static_cast<std::size_t>(kNewestNccl) + 1);

}  // namespace

const NcclRules& rules_of(NcclVersion version) {
  return kRules[static_cast<std::size_t>(version)];
}

Bytes longest_nvls_chunk(NcclVersion version, int nodes, Bytes chunk) {
  constexpr Bytes kOfSimple(512 << 10);    // a step of a buffer of 4 MiB
  constexpr Bytes kOfManyNodes(64 << 10);  // from four on
  const Bytes longest = rules_of(version).nvls_chunks_in_trees ? chunk : kOfSimple;
  return nodes >= 4 ? std::min(longest, kOfManyNodes) : longest;
}

}  // namespace weft::collectives
