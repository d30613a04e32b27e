// SPDX-License-Identifier: Apache-2.0
#include "traces/files/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <system_error>
#include <utility>

#include "traces/files/input_file.h"
#include "traces/files/json_beginning.h"

namespace weft::traces {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::size_t at;
  std::string_view bytes;
  FileKind kind;
};

constexpr Magic kMagics[] = {
    {0, "\xff\xfe\0\0"sv, FileKind::kUtf32},
    {0, "\x1f\x8b"sv, FileKind::kGzip},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     FileKind::kXz},
    {0, "BZh"sv, FileKind::kBzip2},
    {0, "\x28\xb5\x2f\xfd"sv, FileKind::kZstd},
    {0, "\x04\x22\x4d\x18"sv, FileKind::kLz4},
    {0, "PK\x03\x04"sv, FileKind::kZip},
    {0, "PK\x05\x06"sv, FileKind::kZip},
    {257, "ustar"sv, FileKind::kTar},
    {0, "SQLite format 3\0"sv, FileKind::kSqlite},
    {0,
     "\x7f"
     "ELF"sv,
     FileKind::kElf},
    {0, "\x89PNG\r\n"sv, FileKind::kPicture},
    {0, "\xff\xd8\xff"sv, FileKind::kPicture},
    {0, "GIF8"sv, FileKind::kPicture},
    {0, "%PDF-"sv, FileKind::kPdf},
    {0, "\x89HDF\r\n"sv, FileKind::kHdf5},
    {0, "GHDLwave"sv, FileKind::kGhw},
    // An FST file begins with a header of 329 bytes, or is gzip with one more byte and two lengths before it.
    {0, "\0\0\0\0\0\0\0\x01\x49"sv, FileKind::kFst},
    // LXT2 and VZT have a version after their magic number; the second half of it is 0 for all that there are.
    {0, "\x13\x80\0"sv, FileKind::kLxt},
    {0, "VZ\0"sv, FileKind::kVzt},
    // 4223 in 64 bits.
    {0, "\x7f\x10\0\0\0\0\0\0"sv, FileKind::kGoalBinary},
};

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

bool is_layout(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

std::string_view first_word(std::string_view text) {
  const auto end = std::find_if(text.begin(), text.end(), is_layout);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

std::string_view first_line(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

constexpr unsigned kBeyondUtf8 = 0xF5;  ///< the first of the bytes that UTF-8 never has

/// Without control characters but those of layout, and without bytes that UTF-8 never has. JSON may have DEL as it is.
bool is_text(std::string_view bytes, unsigned beyond = kBeyondUtf8) {
  constexpr std::size_t kLooked = 4096;
  return std::all_of(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), kLooked)),
                     [beyond](char c) {
                       const auto byte = static_cast<unsigned char>(c);
                       return is_layout(c) || c == '\x1b' || (byte >= ' ' && byte < beyond);
                     });
}

/// Text in UTF-16 that begins with ASCII, of which every other byte is 0.
bool is_utf16(std::string_view bytes) {
  constexpr std::size_t kLooked = 16;
  constexpr std::size_t kLeast = 8;
  const bool has_mark = bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff");
  bytes = bytes.substr(has_mark ? 2 : 0, kLooked);
  if (bytes.size() < (has_mark ? 2 : kLeast)) return false;
  for (const std::size_t zeros : {0U, 1U}) {
    bool fits = true;
    for (std::size_t i = 0; i < bytes.size() && fits; ++i) {
      fits = i % 2 == zeros ? bytes[i] == '\0' : is_layout(bytes[i]) || (bytes[i] >= ' ' && bytes[i] <= '~');
    }
    if (fits) return true;
  }
  return false;
}

/// Protobuf's number of up to `most` groups of seven bits; none if it does not end.
std::optional<std::uint64_t> varint(std::string_view bytes, std::size_t& at, int most = 10) {
  std::uint64_t value = 0;
  for (int group = 0; group < most && at < bytes.size(); ++group) {
    const auto byte = static_cast<std::uint8_t>(bytes[at++]);
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << (7 * group);
    if ((byte & 0x80U) == 0) return value;
  }
  return std::nullopt;
}

/// Whether fields follow each other up to the message's end, or to that of what is there of it.
bool is_message(std::string_view message, bool is_whole) {
  std::size_t at = 0;
  while (at < message.size()) {
    const std::optional<std::uint64_t> tag = varint(message, at);
    if (!tag) return !is_whole && at == message.size();
    constexpr std::uint64_t kMostFields = 100;
    const std::uint64_t field = *tag >> 3U;
    if (field == 0 || field > kMostFields) return false;
    std::uint64_t length = 0;
    switch (*tag & 7U) {
      case 0:
        if (!varint(message, at)) return !is_whole && at == message.size();
        break;
      case 1:
        length = 8;
        break;
      case 5:
        length = 4;
        break;
      case 2: {
        const std::optional<std::uint64_t> given = varint(message, at);
        if (!given) return !is_whole && at == message.size();
        length = *given;
        break;
      }
      default:
        return false;
    }
    if (length > message.size() - at) return !is_whole;
    at += length;
  }
  return true;
}

/// Records, each a length and a message, the first of them GlobalMetadata. A file of zeros is none.
bool is_chakra(std::string_view bytes, bool has_more) {
  constexpr int kFew = 3;
  std::size_t at = 0;
  bool says_something = false;
  for (int record = 0; record < kFew && at < bytes.size(); ++record) {
    constexpr int kLongestLength = 5;
    const std::optional<std::uint64_t> length = varint(bytes, at, kLongestLength);
    if (!length) return false;
    const bool is_whole = *length <= bytes.size() - at;
    if (!is_whole && !has_more && record == 0) return false;
    if (!is_message(bytes.substr(at, *length), is_whole)) return false;
    if (!is_whole) return true;
    says_something = says_something || *length > 0;
    at += *length;
  }
  return says_something;
}

/// Versions 2 to 5 begin with their number and end in a point; earlier ones have no mark.
bool is_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
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
  if (json.has("layers")) return FileKind::kLayers;
  const bool numbered = std::all_of(json.members.begin(), json.members.end(), [](const std::string& member) {
    return !member.empty() && std::all_of(member.begin(), member.end(), [](char c) { return c >= '0' && c <= '9'; });
  });
  return numbered && json.has_lists_of_numbers ? FileKind::kGroups : FileKind::kJson;
}

/// Without comments of C, which GOAL has.
std::string_view without_comments(std::string_view text) {
  for (;;) {
    text = without_blanks(text);
    if (text.starts_with("//")) {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else if (text.starts_with("/*")) {
      const std::size_t end = text.find("*/");
      if (end == std::string_view::npos) return {};
      text.remove_prefix(end + 2);
    } else {
      return text;
    }
  }
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
  return FileKind::kCsv;
}

FileKind text_kind(std::string_view text, std::string& members) {
  const std::string_view content = without_blanks(text);
  if (content.empty()) return FileKind::kText;
  if (content[0] == '{' || content[0] == '[') {
    const std::string_view inside = without_blanks(content.substr(1));
    if (inside.empty() || "\"{}[]-0123456789tfn"sv.find(inside[0]) != std::string_view::npos) {
      const JsonBeginning json = json_beginning(content);
      constexpr std::size_t kShown = 5;
      for (std::size_t i = 0; i < json.members.size() && i < kShown; ++i)
        members += (i == 0 ? "" : ", ") + json.members[i];
      return json_kind(json);
    }
  }
  const std::string_view word = first_word(content);
  if (std::find(std::begin(kVcdKeywords), std::end(kVcdKeywords), word) != std::end(kVcdKeywords))
    return FileKind::kVcd;
  if (first_word(without_comments(content)) == "num_ranks") return FileKind::kGoal;
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

std::string shown(std::string_view bytes, bool is_text) {
  constexpr std::size_t kLine = 40;
  constexpr std::size_t kBytes = 8;
  std::string text;
  if (is_text) {
    const std::string_view line = first_line(without_blanks(bytes));
    for (const char c : line.substr(0, kLine))
      text += static_cast<unsigned char>(c) >= ' ' && static_cast<unsigned char>(c) < 0x7F ? c : '?';
    return "\"" + text + (line.size() > kLine ? "...\"" : "\"");
  }
  for (const char c : bytes.substr(0, kBytes))
    text += fmt::format("{}{:02x}", text.empty() ? "" : " ", static_cast<unsigned char>(c));
  return "bytes " + text;
}

FileKind kind_of(std::string_view bytes, bool has_more, std::string& members) {
  if (bytes.empty()) return FileKind::kEmpty;
  for (const Magic& magic : kMagics) {
    if (bytes.size() >= magic.at && bytes.substr(magic.at).starts_with(magic.bytes)) return magic.kind;
  }
  constexpr std::size_t kWrapped = 17;  // the FST file in gzip
  if (bytes.size() > kWrapped && bytes[0] == '\xfe' && bytes.substr(kWrapped).starts_with("\x1f\x8b"))
    return FileKind::kFst;
  // What was cut short or preallocated may end in zeros, of which the reader of the text says where they begin.
  const std::string_view text = bytes.substr(0, bytes.find_last_not_of('\0') + 1);
  if (!text.empty() && is_text(text)) return text_kind(text, members);
  if (is_utf16(bytes)) return FileKind::kUtf16;
  if (is_pickle(bytes)) return FileKind::kPickle;
  if (is_chakra(bytes, has_more)) return FileKind::kChakra;
  // Text that is known by its beginning may have bytes that no text has: its reader says where.
  constexpr unsigned kAnyByte = 0x100;
  if (!is_text(text, kAnyByte)) return FileKind::kBinary;
  const FileKind kind = text_kind(text, members);
  if (is_text(kind) && !is_plain_text(kind)) return kind;
  members.clear();
  return FileKind::kBinary;
}

}  // namespace

std::string_view without_blanks(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  while (!text.empty() && is_layout(text.front())) text.remove_prefix(1);
  return text;
}

bool is_trace_json(FileKind kind) {
  return kind == FileKind::kChakraJson || kind == FileKind::kChakraJsonizer || kind == FileKind::kChakraFeederJson;
}

bool is_json(FileKind kind) {
  return is_trace_json(kind) || kind == FileKind::kPyTorchTrace || kind == FileKind::kKineto ||
         kind == FileKind::kTimeline || kind == FileKind::kPlatform || kind == FileKind::kSystemFile ||
         kind == FileKind::kNetworkJson || kind == FileKind::kMemoryFile || kind == FileKind::kGroups ||
         kind == FileKind::kResult || kind == FileKind::kJson;
}

bool is_text(FileKind kind) {
  return is_json(kind) || is_plain_text(kind) || kind == FileKind::kGoal || kind == FileKind::kTextWorkload ||
         kind == FileKind::kVcd || kind == FileKind::kNetworkFile || kind == FileKind::kNs3Topology ||
         kind == FileKind::kNs3Config || kind == FileKind::kHtsimTree || kind == FileKind::kXml || is_table(kind);
}
bool is_unknown_text(FileKind kind) {
  return kind == FileKind::kEmpty || kind == FileKind::kText || kind == FileKind::kCsv || kind == FileKind::kYaml;
}
bool is_table(FileKind kind) {
  return is_unknown_text(kind) || kind == FileKind::kLayers || kind == FileKind::kEdges ||
         kind == FileKind::kLinkTable || kind == FileKind::kMeasurements;
}
bool is_plain_text(FileKind kind) {
  return kind == FileKind::kEmpty || kind == FileKind::kText || kind == FileKind::kCsv || kind == FileKind::kYaml ||
         kind == FileKind::kMemoryTrace || kind == FileKind::kWorkloadSpecification;
}

FileGuess guess(std::string_view beginning, bool has_more) {
  FileGuess guessed;
  guessed.kind = kind_of(beginning, has_more, guessed.members);
  if (!beginning.empty()) guessed.begins = shown(beginning, is_text(beginning));
  return guessed;
}

FileGuess guess(InputFile& file) {
  // Of most files a little tells all; JSON may have much before the member by which it is known.
  constexpr std::size_t kLittle = 4096;
  std::string_view beginning = file.peek(kLittle);
  bool has_more = beginning.size() == kLittle;
  if (has_more && is_text(beginning)) {
    beginning = file.peek(kGuessed);
    has_more = beginning.size() == kGuessed;
  }
  FileGuess guessed = guess(beginning, has_more);
  guessed.is_gzip = file.is_gzip();
  return guessed;
}

FileGuess guess(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    FileGuess folder;
    folder.kind = FileKind::kFolder;
    return folder;
  }
  InputFile input(file);
  return guess(input);
}

}  // namespace weft::traces
