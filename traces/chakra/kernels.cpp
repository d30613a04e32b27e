// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/kernels.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace weft::chakra {
namespace {

/// The order in which the attribute's list has them, kernel by kernel.
constexpr std::array kMembers = {&KernelDemand::launch_ps, &KernelDemand::compute_ps, &KernelDemand::read,
                                 &KernelDemand::written,   &KernelDemand::cached,     &KernelDemand::blocks,
                                 &KernelDemand::tiles,     &KernelDemand::energy_nj};

/// Null: they are not integers of 0 or more.
const std::vector<std::int64_t>* naturals(const Attribute& attribute) {
  const auto* numbers = std::get_if<std::vector<std::int64_t>>(&attribute.value);
  if (numbers == nullptr) return nullptr;
  const bool fits = std::all_of(numbers->begin(), numbers->end(), [](std::int64_t number) { return number >= 0; });
  return fits ? numbers : nullptr;
}

void add_caps(const Node& node, const Attribute& capped, std::vector<KernelDemand>& kernels) {
  const std::vector<std::int64_t>* numbers = naturals(capped);
  bool fits = numbers != nullptr && numbers->size() == kernels.size();
  for (std::size_t k = 0; fits && k < kernels.size(); ++k) {
    kernels[k].capped_ps = (*numbers)[k];
    fits = kernels[k].capped_ps <= kernels[k].compute_ps;
  }
  if (fits) return;
  throw AttributeError(node.label() + ": attribute " + kKernelsCapped +
                       ": expected a list of an integer for each kernel, from 0 to what it computes");
}

void add(Node& node, const char* name, std::vector<std::int64_t> numbers) {
  Attribute attribute;
  attribute.name = name;
  attribute.kind = ValueKind::kInt64List;
  attribute.value = std::move(numbers);
  node.attributes.push_back(std::move(attribute));
}

}  // namespace

std::vector<KernelDemand> kernels_of(const Node& node) {
  const Attribute* found = node.find(kKernels);
  if (found == nullptr) return {};
  const std::vector<std::int64_t>* numbers = naturals(*found);
  if (numbers == nullptr || numbers->size() % kMembers.size() != 0) {
    throw AttributeError(node.label() + ": attribute " + kKernels + ": expected a list of " +
                         std::to_string(kMembers.size()) + " integers of 0 or more for each kernel");
  }
  std::vector<KernelDemand> kernels(numbers->size() / kMembers.size());
  auto number = numbers->begin();
  for (KernelDemand& kernel : kernels) {
    for (const auto member : kMembers) kernel.*member = *number++;
  }
  if (const Attribute* capped = node.find(kKernelsCapped); capped != nullptr) add_caps(node, *capped, kernels);
  return kernels;
}

void set_kernels(Node& node, const std::vector<KernelDemand>& kernels) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(kernels.size() * kMembers.size());
  for (const KernelDemand& kernel : kernels) {
    for (const auto member : kMembers) numbers.push_back(kernel.*member);
  }
  add(node, kKernels, std::move(numbers));
  if (std::none_of(kernels.begin(), kernels.end(), [](const KernelDemand& kernel) { return kernel.capped_ps > 0; }))
    return;
  std::vector<std::int64_t> capped;
  capped.reserve(kernels.size());
  for (const KernelDemand& kernel : kernels) capped.push_back(kernel.capped_ps);
  add(node, kKernelsCapped, std::move(capped));
}

}  // namespace weft::chakra
