// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "traces/chakra/node.h"

/// Traces as JSON of Weft's own, one document for each rank:
///
///     {"metadata": {"version": "0.0.4"}, "nodes": [
///     {"id": 0, "name": "n0", "type": "COMM_COLL_NODE", "attr": [{"name": "comm_size", "int64_val": 1048576}]},
///     ...]}
///
/// Members have the schema's field names and are left out where they are empty or 0. A value stands under the name of
/// its kind, so that nothing is lost on the way back: int64_val, bool_list, ... Bytes and what the schema does not know
/// ("unknown", "list_unknown") are in hexadecimal digits. Numbers that JSON lacks are "NaN", "Infinity" and
/// "-Infinity".
namespace weft::chakra {

nlohmann::ordered_json to_json(const Node& node);
nlohmann::ordered_json to_json(const Metadata& metadata);
/// These throw std::invalid_argument, whose text begins with the path of the member that is wrong.
Node node_from_json(const nlohmann::json& json);
Metadata metadata_from_json(const nlohmann::json& json);

}  // namespace weft::chakra
