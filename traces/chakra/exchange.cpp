// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/exchange.h"

#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

namespace weft::chakra {
namespace {

constexpr const char* kSends = "send_bytes";
constexpr const char* kReceives = "receive_bytes";
constexpr const char* kMemberBytes = "member_bytes";
constexpr const char* kNodeBytes = "node_bytes";
constexpr const char* kCombines = "combines";

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

std::optional<Tokens> tokens_of(const Node& node, std::size_t members) {
  if (node.find(kMemberBytes) == nullptr && node.find(kNodeBytes) == nullptr) return std::nullopt;
  Tokens tokens;
  tokens.members = list_of(node, kMemberBytes, members);
  const Attribute* found = node.find(kNodeBytes);
  const auto* nodes = found != nullptr ? std::get_if<std::vector<std::int64_t>>(&found->value) : nullptr;
  const std::size_t count = nodes != nullptr && !nodes->empty() && members % nodes->size() == 0 ? nodes->size() : 0;
  if (count == 0) {
    throw AttributeError(node.label() + ": attribute " + kNodeBytes +
                         ": expected a list of integers, one for each node, that divide the " +
                         std::to_string(members) + " members of its group");
  }
  tokens.nodes = list_of(node, kNodeBytes, count);
  for (std::size_t n = 0; n < count; ++n) {
    const auto first = tokens.members.begin() + static_cast<std::ptrdiff_t>(n * (members / count));
    const auto last = first + static_cast<std::ptrdiff_t>(members / count);
    const std::int64_t most = *std::max_element(first, last);
    const std::int64_t all = std::accumulate(first, last, std::int64_t{0});
    if (tokens.nodes[n] >= most && tokens.nodes[n] <= all) continue;
    throw AttributeError(node.label() + ": attribute " + kNodeBytes + ": expected from " + std::to_string(most) +
                         " to " + std::to_string(all) + " bytes for node " + std::to_string(n) +
                         ", the most of a member and the sum of all in " + kMemberBytes + ", got " +
                         std::to_string(tokens.nodes[n]));
  }
  const Attribute* combines = node.find(kCombines);
  const auto* flag = combines != nullptr ? std::get_if<bool>(&combines->value) : nullptr;
  if (combines != nullptr && flag == nullptr) {
    throw AttributeError(node.label() + ": attribute " + kCombines + ": expected true or false");
  }
  tokens.combines = flag != nullptr && *flag;
  return tokens;
}

void set_tokens(Node& node, const Tokens& tokens) {
  node.attributes.push_back(list(kMemberBytes, tokens.members));
  node.attributes.push_back(list(kNodeBytes, tokens.nodes));
  node.attributes.push_back(Attribute::boolean(kCombines, tokens.combines));
}

}  // namespace weft::chakra
