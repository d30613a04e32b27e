// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

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

enum class RootedAlgorithm : std::uint8_t { kChain, kDirect, kBinomial };
inline EnumNames<RootedAlgorithm> enum_names(RootedAlgorithm /*tag*/) {
  return {{"chain", RootedAlgorithm::kChain},
          {"direct", RootedAlgorithm::kDirect},
          {"binomial", RootedAlgorithm::kBinomial}};
}

}  // namespace weft::collectives
