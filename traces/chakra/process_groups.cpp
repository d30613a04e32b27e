// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/process_groups.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>

#include "traces/json/json_depth.h"

namespace weft::chakra {
namespace {

using nlohmann::json;

constexpr std::size_t kMostShown = 60;  ///< characters of a text in a message
constexpr int kMostNested = 8;          ///< lists and texts around an entry

/// Discarded where it is no JSON, or deeper than what it is shown by can go.
json parsed(std::string_view text) {
  return traces::too_deep_at(text) ? json(json::value_t::discarded) : json::parse(text, nullptr, false);
}

std::optional<std::uint64_t> rank_of(const json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  std::uint64_t rank = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return rank;
}

/// By the place in the group that the map gives each.
std::optional<std::vector<std::uint64_t>> ranks_of_map(const json& map) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> by_place;
  for (const auto& [key, value] : map.items()) {
    const std::optional<std::uint64_t> rank = rank_of(key);
    const std::optional<std::uint64_t> place = rank_of(value);
    if (!rank || !place) return std::nullopt;
    by_place.emplace_back(*place, *rank);
  }
  std::sort(by_place.begin(), by_place.end());
  std::vector<std::uint64_t> ranks;
  for (const auto& [place, rank] : by_place) ranks.push_back(rank);
  return ranks;
}

/// None where it is no list of ranks; an empty one is everybody.
std::optional<std::vector<std::uint64_t>> ranks_of(const json& value) {
  if (value.is_string()) {
    if (value == "all") return std::vector<std::uint64_t>();
    const json inner = parsed(value.get_ref<const std::string&>());
    return inner.is_array() ? ranks_of(inner) : std::nullopt;
  }
  if (value.is_object()) return ranks_of_map(value);
  if (!value.is_array()) return std::nullopt;
  std::vector<std::uint64_t> ranks;
  for (const json& each : value) {
    const std::optional<std::uint64_t> rank = rank_of(each);
    if (!rank) return std::nullopt;
    ranks.push_back(*rank);
  }
  return ranks;
}

std::string shown(std::string_view text) {
  return std::string(text.substr(0, kMostShown)) + (text.size() > kMostShown ? "..." : "");
}

void add_entry(const json& entry, ProcessGroupList& list) {
  ProcessGroup group;
  const json& name = entry["pg_name"];
  if (name.is_string()) {
    group.name = name.get<std::string>();
  } else if (name.is_number_integer()) {
    group.name = name.dump();
  } else {
    list.problem = "pg_name: expected a text, got " + shown(name.dump());
    return;
  }
  const auto ranks = entry.contains("ranks") ? ranks_of(entry["ranks"]) : std::nullopt;
  if (!ranks) {
    list.problem = "ranks of group \"" + group.name + "\": expected a list of ranks, got " +
                   (entry.contains("ranks") ? shown(entry["ranks"].dump()) : "nothing");
    return;
  }
  if (!ranks->empty()) group.ranks = *ranks;
  if (entry.contains("pg_desc") && entry["pg_desc"].is_string()) group.description = entry["pg_desc"];
  for (const char* key : {"group_size", "pg_size"}) {
    if (!group.size && entry.contains(key)) group.size = rank_of(entry[key]);
  }
  list.groups.push_back(std::move(group));
}

/// Lists within lists and JSON within texts, as tools nest them. False if something in it is no JSON.
bool collect(const json& value, ProcessGroupList& list, int depth = 0) {
  if (value.is_discarded() || depth > kMostNested) return false;
  if (value.is_object()) {
    if (value.contains("pg_name")) add_entry(value, list);
    return true;
  }
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return text.find("pg_name") == std::string::npos || collect(parsed(text), list, depth + 1);
  }
  if (!value.is_array()) return true;
  return std::all_of(value.begin(), value.end(), [&](const json& each) { return collect(each, list, depth + 1); });
}

/// The text of a Python list of one text, in either quotes; the text itself if it is none such.
std::string without_python_quotes(const std::string& text) {
  const std::size_t open = text.find_first_not_of("[( ");
  if (open == std::string::npos || (text[open] != '\'' && text[open] != '"')) return text;
  const std::size_t last = text.rfind(text[open]);
  const std::size_t close = last > open ? last : text.size();
  std::string inner;
  for (std::size_t i = open + 1; i < close; ++i) {
    if (text[i] == '\\' && i + 1 < close && (text[i + 1] == '\\' || text[i + 1] == '\'')) ++i;
    inner += text[i];
  }
  return inner;
}

/// Python's way to print a dictionary of texts and numbers, as JSON.
std::string with_json_quotes(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  for (std::size_t at = 0; (at = text.find("None", at)) != std::string::npos;) text.replace(at, 4, "null");
  return text;
}

/// The whole entries of a list that ends within one.
void collect_whole_entries(std::string_view text, ProcessGroupList& list) {
  std::size_t begin = 0;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && text[i] == '{' && depth++ == 0) {
      begin = i;
    } else if (!quoted && text[i] == '}' && depth > 0 && --depth == 0) {
      collect(parsed(text.substr(begin, i + 1 - begin)), list);
    }
  }
}

/// Whether behind its last entry the list ends.
bool is_closed(std::string_view text) {
  const std::size_t entry = text.find_last_of('}');
  if (entry == std::string_view::npos) return false;
  const std::string_view behind = text.substr(entry + 1);
  return behind.find(']') != std::string_view::npos && behind.find_first_not_of("]\"') \n") == std::string_view::npos;
}

}  // namespace

bool lists_process_groups(const Node& node) {
  if (!node.inputs) return false;
  if (node.name.find("process_group:init") != std::string::npos) return !node.inputs->values.empty();
  return node.type == NodeType::kMetadata && node.inputs->values.find("pg_name") != std::string::npos;
}

ProcessGroupList process_groups_of(const Node& node) {
  const std::string& text = node.inputs->values;
  const std::string inner = without_python_quotes(text);
  for (const std::string& candidate : {text, inner, with_json_quotes(text)}) {
    ProcessGroupList list;
    if (collect(parsed(candidate), list)) return list;
  }
  ProcessGroupList list;
  list.is_cut = !is_closed(text);
  collect_whole_entries(inner, list);
  if (list.problem.empty() && !list.is_cut && !list.groups.empty()) {
    list.problem = "expected a JSON list of groups, of which some entry is none";
  }
  if (list.groups.empty() && list.problem.empty()) {
    list.problem = "expected a JSON list of groups with pg_name and ranks, got " + shown(text);
  }
  return list;
}

}  // namespace weft::chakra
