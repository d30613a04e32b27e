// SPDX-License-Identifier: Apache-2.0
#include "traces/files/kind/kind_of_text.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "traces/files/kind/json_beginning.h"

namespace weft::traces {
namespace {

using namespace std::string_view_literals;

/// Words with which a text workload begins: how it is trained in parallel.
constexpr std::string_view kParallelisms[] = {"MICRO",
                                              "DATA",
                                              "MODEL",
                                              "HYBRID_DATA_MODEL",
                                              "HYBRID_MODEL_DATA",
                                              "HYBRID_DLRM",
                                              "HYBRID_DLRM_ENHANCED",
                                              "HYBRID_TRANSFORMER",
                                              "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
                                              "HYBRID_CUSTOMIZED",
                                              "DISTRIBUTED_INFERENCE"};

constexpr std::string_view kVcdKeywords[] = {"$comment", "$date",    "$version",   "$timescale", "$scope",
                                             "$var",     "$upscope", "$attrbegin", "$attrend",   "$enddefinitions",
                                             "$dumpvars"};

std::string_view first_word(std::string_view text) {
  const auto end = std::find_if(text.begin(), text.end(), is_layout);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

FileKind json_kind(const JsonBeginning& json) {
  const bool is_node = json.has("id") && (json.has("type") || json.has("ctrlDeps") || json.has("dataDeps"));
  // A version that is empty may be left out.
  const bool has_version = json.has("version") || (json.has("attr") && json.documents > 1);
  const bool is_metadata = has_version && std::all_of(json.members.begin(), json.members.end(), [](const auto& member) {
                             return member == "version" || member == "attr";
                           });
  if (is_node || (is_metadata && (json.documents > 1 || !json.has_objects_within || json.is_list || json.has("attr"))))
    return FileKind::kChakraJsonizer;
  if (json.is_list) return json.has("ph") ? FileKind::kTimeline : FileKind::kJson;
  // Weft's results name Weft, and have members of platforms and traces; config.json is run as a platform.
  if (json.has("weft")) {
    const bool is_platform = std::all_of(json.members.begin(), json.members.end(), [](const std::string& member) {
      return member == "weft" || member == "file" || member == "platform" || member == "values";
    });
    return is_platform && json.has("file") ? FileKind::kPlatform : FileKind::kResult;
  }
  if (json.has("traceEvents") || json.has("deviceProperties")) {
    return json.has("deviceProperties") || json.has("schemaVersion") || json.has("baseTimeNanoseconds")
               ? FileKind::kKineto
               : FileKind::kTimeline;
  }
  if (json.has("schema") && (json.has("nodes") || json.has("pid"))) return FileKind::kPyTorchTrace;
  if (json.has("workload_graph")) return FileKind::kChakraFeederJson;
  if (json.has("nodes") || json.has("metadata")) return FileKind::kChakraJson;
  for (const std::string_view key :
       {"all-reduce-implementation", "scheduling-policy", "preferred-dataset-splits", "endpoint-delay"}) {
    if (json.has(key)) return FileKind::kSystemFile;
  }
  for (const std::string_view key : {"accelerators", "accelerator", "fabric", "analytical", "scale_up"}) {
    if (json.has(key)) return FileKind::kPlatform;
  }
  for (const std::string_view key : {"dimensions-count", "topologies-per-dim", "logical-dims", "npus_count"}) {
    if (json.has(key)) return FileKind::kNetworkJson;
  }
  if (json.has("memory-type")) return FileKind::kMemoryFile;
  if (json.has("workload")) return FileKind::kPlatform;
  for (const std::string_view key : {"d_model", "heads", "vocab"}) {
    if (json.has(key)) return FileKind::kTransformer;
  }
  if (json.has("layers")) return FileKind::kLayers;
  const bool numbered = std::all_of(json.members.begin(), json.members.end(), [](const std::string& member) {
    return !member.empty() && std::all_of(member.begin(), member.end(), [](char c) { return c >= '0' && c <= '9'; });
  });
  return numbered && json.has_lists_of_numbers ? FileKind::kGroups : FileKind::kJson;
}

bool is_number(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The words of the line that the text begins with, which is taken from it.
std::vector<std::string_view> take_line(std::string_view& text) {
  text = without_blanks(text);
  std::string_view line = first_line(text);
  text.remove_prefix(line.size());
  std::vector<std::string_view> words;
  for (line = without_blanks(line); !line.empty(); line = without_blanks(line)) {
    words.push_back(first_word(line));
    line.remove_prefix(words.back().size());
  }
  return words;
}

/// Whatever its parallelism is called: a line with that, a number of layers, and a layer.
bool is_text_workload(std::string_view text) {
  constexpr std::size_t kLayer = 12;
  const std::vector<std::string_view> head = take_line(text);
  const std::vector<std::string_view> count = take_line(text);
  const std::vector<std::string_view> layer = take_line(text);
  return !head.empty() && count.size() == 1 && is_number(count[0]) && layer.size() >= kLayer &&
         std::isalpha(static_cast<unsigned char>(head[0][0])) != 0 && is_number(layer[2]);
}

/// Three counts, the switches, and a link with its rate and delay.
bool is_ns3_topology(std::string_view text) {
  const std::vector<std::string_view> counts = take_line(text);
  if (counts.size() != 3 || !std::all_of(counts.begin(), counts.end(), is_number)) return false;
  std::vector<std::string_view> link = take_line(text);
  if (counts[1] != "0") link = take_line(text);
  return link.size() >= 4 && is_number(link[0]) && is_number(link[1]) && !is_number(link[2]) &&
         std::isdigit(static_cast<unsigned char>(link[2][0])) != 0;
}

/// The first line that is not empty and no comment with #.
std::string_view first_content(std::string_view text) {
  text = without_blanks(text);
  while (text.starts_with('#')) {
    text.remove_prefix(std::min(text.find('\n'), text.size()));
    text = without_blanks(text);
  }
  return first_line(text);
}

bool is_memory_request(std::string_view line) {
  if (line.size() < 3 || (line[0] != 'R' && line[0] != 'W' && line[0] != 'M') || (line[1] != ' ' && line[1] != '\t'))
    return false;
  const std::string_view rest = without_blanks(line.substr(1));
  return !rest.empty() && rest[0] >= '0' && rest[0] <= '9';
}

/// "key: value", the key a word.
bool is_yaml(std::string_view line) {
  const std::size_t colon = line.find(':');
  return line == "---" ||
         (colon != std::string_view::npos && colon > 0 &&
          std::all_of(
              line.begin(), line.begin() + static_cast<std::ptrdiff_t>(colon),
              [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }) &&
          (colon + 1 == line.size() || line[colon + 1] == ' '));
}

/// Its first two lines, if there are two, have as many commas as each other, and any at all.
bool has_rows(std::string_view text) {
  const std::string_view header = first_content(text);
  const auto commas = std::count(header.begin(), header.end(), ',');
  if (commas == 0) return false;
  text.remove_prefix(static_cast<std::size_t>(header.data() + header.size() - text.data()));
  const std::string_view row = first_content(text);
  return row.empty() || std::count(row.begin(), row.end(), ',') == commas;
}

/// A whole number after one of htsim's keys, and its tiers.
bool is_htsim_tree(std::string_view text) {
  bool has_tiers = false;
  for (std::string_view rest = text; !without_blanks(rest).empty();) {
    const std::vector<std::string_view> words = take_line(rest);
    std::string key(words.front());
    if (key.starts_with('#')) continue;
    std::transform(key.begin(), key.end(), key.begin(), [](unsigned char c) { return std::tolower(c); });
    if (words.size() != 2 || !is_number(words[1])) return false;
    if (key == "nodes" || key == "podsize") continue;
    has_tiers = key == "tiers" || key == "tier";
    break;
  }
  return has_tiers;
}

/// The first key is one of those in capitals, with a value, and some are ns-3's.
bool is_ns3_config(std::string_view text) {
  static constexpr std::string_view kKeys[] = {"TOPOLOGY_FILE", "FLOW_FILE", "PACKET_PAYLOAD_SIZE",
                                               "ENABLE_QCN",    "CC_MODE",   "TRACE_FILE"};
  const std::string_view first = first_word(first_content(text));
  const auto is_of_key = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  if (first.empty() || !std::all_of(first.begin(), first.end(), is_of_key)) return false;
  for (std::string_view rest = text; !without_blanks(rest).empty();) {
    const std::vector<std::string_view> words = take_line(rest);
    if (words.size() > 1 && std::find(std::begin(kKeys), std::end(kKeys), words[0]) != std::end(kKeys)) return true;
  }
  return false;
}

/// By its columns, which commas, semicolons or tabs separate.
FileKind table_kind(std::string_view header) {
  const auto has = [header](std::string_view column) {
    for (std::size_t begin = 0; begin <= header.size();) {
      const std::size_t end = std::min(header.find_first_of(",;\t", begin), header.size());
      std::string_view cell = header.substr(begin, end - begin);
      if (cell.size() > 1 && cell.starts_with('"') && cell.ends_with('"')) cell = cell.substr(1, cell.size() - 2);
      if (cell == column) return true;
      begin = end + 1;
    }
    return false;
  };
  if (has("suite") && has("metric") && has("published")) return FileKind::kMeasurements;
  if (has("between")) return FileKind::kEdges;
  if (has("link") && has("utilisation")) return FileKind::kLinkTable;
  if (has("layer") && has("kind")) return FileKind::kLayers;
  if (has("name") && has("d_model")) return FileKind::kTransformer;
  return FileKind::kCsv;
}

}  // namespace

FileKind kind_of_text(std::string_view text, std::string& members) {
  const std::string_view content = without_blanks(text);
  if (content.empty()) return FileKind::kText;
  const std::string_view plain = without_comments(content);
  if (plain.starts_with('{') || plain.starts_with('[')) {
    const std::string_view inside = without_comments(plain.substr(1));
    if (inside.empty() || "\"{}[]-0123456789tfn"sv.find(inside[0]) != std::string_view::npos) {
      const JsonBeginning json = json_beginning(plain);
      constexpr std::size_t kShown = 5;
      for (std::size_t i = 0; i < json.members.size() && i < kShown; ++i)
        members += (i == 0 ? "" : ", ") + json.members[i];
      return json_kind(json);
    }
  }
  const std::string_view word = first_word(content);
  if (std::find(std::begin(kVcdKeywords), std::end(kVcdKeywords), word) != std::end(kVcdKeywords))
    return FileKind::kVcd;
  if (first_word(plain) == "num_ranks") return FileKind::kGoal;
  if (std::find(std::begin(kParallelisms), std::end(kParallelisms), word) != std::end(kParallelisms) ||
      is_text_workload(content)) {
    return FileKind::kTextWorkload;
  }
  if (is_ns3_topology(content)) return FileKind::kNs3Topology;
  if (content[0] == '<') return FileKind::kXml;
  if (is_htsim_tree(content)) return FileKind::kHtsimTree;
  if (is_ns3_config(content)) return FileKind::kNs3Config;
  const std::string_view line = first_content(content);
  if (is_memory_request(line)) return FileKind::kMemoryTrace;
  if (line.find("comm_type") != std::string_view::npos && line.find("comm_group") != std::string_view::npos)
    return FileKind::kWorkloadSpecification;
  if (is_yaml(line)) {
    const bool is_network =
        text.find("npus_count:") != std::string_view::npos && text.find("topology:") != std::string_view::npos;
    return is_network ? FileKind::kNetworkFile : FileKind::kYaml;
  }
  const FileKind table = table_kind(line);
  if (table != FileKind::kCsv) return table;
  return has_rows(content) ? FileKind::kCsv : FileKind::kText;
}

}  // namespace weft::traces
