// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/exchange.h"

#include <string>
#include <utility>

namespace weft::chakra {
namespace {

constexpr const char* kSends = "send_bytes";
constexpr const char* kReceives = "receive_bytes";

std::vector<std::int64_t> list_of(const Node& node, const char* name, std::size_t members) {
  const Attribute* found = node.find(name);
  const auto* numbers = found != nullptr ? std::get_if<std::vector<std::int64_t>>(&found->value) : nullptr;
  const bool fits = numbers != nullptr && numbers->size() == members &&
                    std::all_of(numbers->begin(), numbers->end(), [](std::int64_t number) { return number >= 0; });
  if (!fits) {
    throw AttributeError(node.label() + ": attribute " + name + ": expected a list of " + std::to_string(members) +
                         " integers of 0 or more, one for each member of its group");
  }
  return *numbers;
}

Attribute list(const char* name, std::vector<std::int64_t> numbers) {
  Attribute attribute;
  attribute.name = name;
  attribute.kind = ValueKind::kInt64List;
  attribute.value = std::move(numbers);
  return attribute;
}

}  // namespace

std::optional<Exchange> exchange_of(const Node& node, std::size_t members) {
  if (node.find(kSends) == nullptr && node.find(kReceives) == nullptr) return std::nullopt;
  return Exchange{list_of(node, kSends, members), list_of(node, kReceives, members)};
}

void set_exchange(Node& node, const Exchange& exchange) {
  node.attributes.push_back(list(kSends, exchange.to));
  node.attributes.push_back(list(kReceives, exchange.from));
}

}  // namespace weft::chakra
