// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "hw/core/config/provide_beside.h"
#include "sw/collectives/algorithm.h"

namespace weft::collectives {

using dimensions::Operation;

/// Weft's own, in the order in which messages list them: for each NAME, NAME_algorithm() of the algorithm's own file.
#define WEFT_ALGORITHMS(EACH) \
  EACH(ring)                  \
  EACH(tree)                  \
  EACH(nccl)                  \
  EACH(hierarchical)          \
  EACH(in_network)            \
  EACH(multicast)             \
  EACH(deepep)                \
  EACH(dimensions)

#define WEFT_DECLARE(NAME) Algorithm NAME##_algorithm();
WEFT_ALGORITHMS(WEFT_DECLARE)
#undef WEFT_DECLARE

namespace {

constexpr const char* kAlgorithm = "collective algorithm";

Registry<Algorithm>& registry() {
#define WEFT_MAKER(NAME) NAME##_algorithm,
  static Registry<Algorithm> all(kAlgorithm, {WEFT_ALGORITHMS(WEFT_MAKER)});
#undef WEFT_MAKER
  return all;
}

/// "a, b or c".
template <typename Has>
std::string names_of_those(const Has& has) {
  std::vector<std::string> names;
  for (const Algorithm& each : registry()) {
    if (has(each)) names.push_back(each.name);
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

template <typename What>
std::string names_of_those_with(What what) {
  const CommunicatorConfig config;
  return names_of_those([&](const Algorithm& each) {
    const Algorithm* other = in_place_of(each, config);
    return each.has(what) || (other != nullptr && other->has(what));
  });
}

}  // namespace

bool Algorithm::has(Operation what) const {
  return std::find(operations.begin(), operations.end(), what) != operations.end();
}

bool Algorithm::has(Rooted what) const {
  return std::find(rooted.begin(), rooted.end(), what) != rooted.end();
}

bool Algorithm::is_whole() const {
  return has(Operation::kAllgather) && has(Operation::kReduceScatter) && has(Operation::kAllReduce);
}

void provide(Algorithm algorithm) {
  provide_beside<CommunicatorConfig>(registry(), std::move(algorithm), kAlgorithm, "collectives");
}

const Registry<Algorithm>& algorithms() {
  return registry();
}

const Algorithm& algorithm_of(const AlgorithmName& name) {
  return registry().at(name.text(), "collectives.algorithm");
}

const Algorithm* in_place_of(const Algorithm& algorithm, const CommunicatorConfig& config) {
  if (algorithm.is_whole()) return nullptr;
  return &algorithm_of(algorithm.in_place ? algorithm.in_place(config) : kRingAlgorithm);
}

std::string names_with(Operation what) {
  return names_of_those_with(what);
}

std::string names_with(Rooted what) {
  return names_of_those_with(what);
}

const Names& registered(const Algorithm* /*kind*/) {
  return registry();
}

}  // namespace weft::collectives
