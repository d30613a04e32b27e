// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "et_def.pb.h"
#include "traces/chakra/node.h"

/// Between protobuf's messages and Weft's types. Only sources of this folder include it.
namespace weft::chakra {

/// The targets keep their capacity, so that a loop over records does not allocate.
void from_message(const ChakraProtoMsg::GlobalMetadata& message, Metadata& metadata);
void from_message(const ChakraProtoMsg::Node& message, Node& node);
void to_message(const Metadata& metadata, ChakraProtoMsg::GlobalMetadata& message);
void to_message(const Node& node, ChakraProtoMsg::Node& message);

}  // namespace weft::chakra
