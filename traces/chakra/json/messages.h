// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "traces/chakra/node.h"

/// Nodes in other people's JSON. All of these throw std::invalid_argument, whose text names the member that is wrong.
namespace weft::chakra {

/// Protobuf's own JSON, as chakra_jsonizer writes it: names in camel case or as in the schema, integers of 64 bits in
/// quotes or not, enumerators by name or number, bytes in base64.
void node_from_message_json(std::string_view text, Node& node);
void metadata_from_message_json(std::string_view text, Metadata& metadata);
/// Whether it is an object with a member that a node has and metadata has not.
bool is_message_of_node(const nlohmann::json& object);
/// Into that JSON, on one line. Fields that the schema does not have find no place in it: they are an error.
std::string to_message_json(const Node& node);
std::string to_message_json(const Metadata& metadata);

/// That what the schema does not have ("unknown", in Weft's JSON) is encoded fields.
void check_unknown(const Node& node);
void check_unknown(const Metadata& metadata);

/// Of Chakra's feeder: Id, Name, NodeType, runtime (microseconds), data_deps, ctrlDeps or ctrl_deps; anything else is
/// an attribute.
Node node_from_feeder_json(const nlohmann::json& object);
/// By the kind that the attribute of this name has in a protobuf trace; by what JSON says where there is none such.
Attribute attribute_from_feeder_json(const std::string& name, const nlohmann::json& value);

}  // namespace weft::chakra
