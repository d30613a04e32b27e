// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "traces/chakra/node.h"

/// The parts of an AllToAll that are not alike, as attributes of Weft's own: send_bytes and receive_bytes, a list with
/// a number for each member of the group. Chakra has comm_size alone, which others read.
namespace weft::chakra {

struct Exchange {
  std::vector<std::int64_t> to;    ///< bytes to each member
  std::vector<std::int64_t> from;  ///< and from each

  /// The largest part.
  [[nodiscard]] std::int64_t most() const {
    return std::max(*std::max_element(to.begin(), to.end()), *std::max_element(from.begin(), from.end()));
  }
};

/// Of an AllToAll of tokens that come to several members, each once, and across the network once to each node, as
/// attributes of Weft's own: member_bytes and node_bytes, lists with what a member sends to each member and node, and
/// `combines` on the way back. All members send alike, and each node has as many neighbouring members.
struct Tokens {
  std::vector<std::int64_t> members;
  std::vector<std::int64_t> nodes;
  bool combines = false;
};

/// None where there are no such attributes. Throws AttributeError.
[[nodiscard]] std::optional<Tokens> tokens_of(const Node& node, std::size_t members);
/// The node has none yet.
void set_tokens(Node& node, const Tokens& tokens);

/// None where all parts are alike. Throws AttributeError, also where there is another number of members.
[[nodiscard]] std::optional<Exchange> exchange_of(const Node& node, std::size_t members);
/// The node has none yet.
void set_exchange(Node& node, const Exchange& exchange);

}  // namespace weft::chakra
