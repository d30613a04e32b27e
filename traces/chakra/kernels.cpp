// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/kernels.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace weft::chakra {
namespace {

constexpr const char* kName = "kernels";

/// The order in which the attribute's list has them, kernel by kernel.
constexpr std::array kMembers = {&KernelDemand::launch_ps, &KernelDemand::compute_ps, &KernelDemand::read,
                                 &KernelDemand::written,   &KernelDemand::cached,     &KernelDemand::blocks,
                                 &KernelDemand::tiles,     &KernelDemand::energy_nj};

}  // namespace

std::vector<KernelDemand> kernels_of(const Node& node) {
  const Attribute* found = node.find(kName);
  if (found == nullptr) return {};
  const auto* numbers = std::get_if<std::vector<std::int64_t>>(&found->value);
  const bool fits = numbers != nullptr && numbers->size() % kMembers.size() == 0 &&
                    std::all_of(numbers->begin(), numbers->end(), [](std::int64_t number) { return number >= 0; });
  if (!fits) {
    throw AttributeError(node.label() + ": attribute " + kName + ": expected a list of " +
                         std::to_string(kMembers.size()) + " integers of 0 or more for each kernel");
  }
  std::vector<KernelDemand> kernels(numbers->size() / kMembers.size());
  auto number = numbers->begin();
  for (KernelDemand& kernel : kernels) {
    for (const auto member : kMembers) kernel.*member = *number++;
  }
  return kernels;
}

void set_kernels(Node& node, const std::vector<KernelDemand>& kernels) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(kernels.size() * kMembers.size());
  for (const KernelDemand& kernel : kernels) {
    for (const auto member : kMembers) numbers.push_back(kernel.*member);
  }
  Attribute attribute;
  attribute.name = kName;
  attribute.kind = ValueKind::kInt64List;
  attribute.value = std::move(numbers);
  node.attributes.push_back(std::move(attribute));
}

}  // namespace weft::chakra
