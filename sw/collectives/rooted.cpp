// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/rooted.h"

#include <bit>

namespace weft::collectives {
namespace {

RootedPlace in_chain(int members, int number) {
  RootedPlace place{number - 1, {}};
  if (number + 1 < members) place.children = {number + 1};
  return place;
}

RootedPlace beside_all(int members, int number) {
  if (number > 0) return {0, {}};
  RootedPlace place;
  for (int child = 1; child < members; ++child) place.children.push_back(child);
  return place;
}

RootedPlace in_knomial(std::int64_t radix, std::int64_t members, std::int64_t number) {
  RootedPlace place;
  std::int64_t reach = 1;  // numbers of a subtree: up to the lowest digit that is not 0, or all
  while (reach < members && number % (reach * radix) == 0) reach *= radix;
  if (number > 0) place.parent = static_cast<int>(number / (reach * radix) * (reach * radix));
  for (std::int64_t step = reach / radix; step > 0; step /= radix) {
    for (std::int64_t digit = radix - 1; digit > 0; --digit) {
      if (number + digit * step < members) place.children.push_back(static_cast<int>(number + digit * step));
    }
  }
  return place;
}

RootedPlace in_binary(int members, int number) {
  const int width = 1 << (std::bit_width(static_cast<unsigned>(number + 1)) - 1);  // of its level
  RootedPlace place;
  if (number > 0) place.parent = number - (number < width - 1 + width / 2 ? width / 2 : width);
  for (const int child : {number + width, number + 2 * width}) {
    if (child < members) place.children.push_back(child);
  }
  return place;
}

}  // namespace

RootedPlace rooted_place(RootedAlgorithm tree, int radix, int members, int number) {
  switch (tree) {
    case RootedAlgorithm::kChain:
      return in_chain(members, number);
    case RootedAlgorithm::kDirect:
      return beside_all(members, number);
    case RootedAlgorithm::kBinomial:
      return in_knomial(2, members, number);
    case RootedAlgorithm::kKNomial:
      return in_knomial(radix, members, number);
    case RootedAlgorithm::kBinaryTree:
      break;
  }
  return in_binary(members, number);
}

}  // namespace weft::collectives
