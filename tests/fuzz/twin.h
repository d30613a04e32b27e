// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/chakra/node.h"

namespace weft::fuzz {

/// The other rank of what a rank does: receives for its sends, and nothing for every third node.
inline chakra::Node twin(chakra::Node node) {
  const bool is_message = node.type == chakra::NodeType::kSend || node.type == chakra::NodeType::kReceive;
  if (is_message)
    node.type = node.type == chakra::NodeType::kSend ? chakra::NodeType::kReceive : chakra::NodeType::kSend;
  for (chakra::Attribute& attribute : node.attributes) {
    if (!is_message || (attribute.name != "comm_src" && attribute.name != "comm_dst")) continue;
    attribute.name = attribute.name == "comm_src" ? "comm_dst" : "comm_src";
  }
  return node;
}

}  // namespace weft::fuzz
