// SPDX-License-Identifier: Apache-2.0
// Files of ASTRA-sim's ns-3 backend.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "hw/core/quantity.h"
#include "platforms/config/input_error.h"
#include "platforms/config/text.h"
#include "platforms/import/wired_network.h"
#include "platforms/import/word_lines.h"

namespace weft::platforms::astra {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostNodes = 1U << 20;

bool may_be_topology(traces::FileKind kind) {
  return kind == traces::FileKind::kNs3Topology || traces::is_unknown_text(kind);
}
bool may_be_config(traces::FileKind kind) {
  return kind == traces::FileKind::kNs3Config || traces::is_unknown_text(kind);
}

[[noreturn]] void fail(const fs::path& file, const WordLine& line, const std::string& expected,
                       const std::string& got) {
  fail_at(file, line, expected, in_quotes(got));
}

/// A number before a unit; nothing if there is none.
std::optional<double> number_before(const std::string& text, std::string& unit) {
  std::size_t used = 0;
  double number = 0;
  try {
    number = std::stod(text, &used);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  unit = text.substr(used);
  return std::isfinite(number) && number >= 0 ? std::optional(number) : std::nullopt;
}

/// A quantity that `parse` reads; what else is expected of it is said of `noun`.
template <typename Parse>
auto quantity(const fs::path& file, const WordLine& line, const std::string& text, std::string noun, Parse parse) {
  try {
    return parse(text);
  } catch (const UnknownUnit& error) {
    fail(file, line, noun + ", with one of the units " + error.units(), text);
  } catch (const std::invalid_argument&) {
    fail(file, line, noun, text);
  }
}

/// In seconds where there is no unit, as ns-3 has it.
Time parse_delay(const std::string& text) {
  const bool has_unit = text.empty() || std::isdigit(static_cast<unsigned char>(text.back())) == 0;
  return parse_time(has_unit ? text : text + "s");
}

/// Of a node, by its number.
std::string name_of_node(std::uint64_t number, const std::set<std::uint64_t>& switches) {
  return (switches.contains(number) ? "switch" : "end") + std::to_string(number);
}

Wire wire_of(const fs::path& file, const WordLine& line, std::uint64_t nodes, const std::set<std::uint64_t>& switches) {
  if (line.words.size() < 4 || line.words.size() > 5) {
    fail(file, line, "a link as \"from to rate delay error-rate\", such as 0 8 400Gbps 0.0005ms 0",
         std::to_string(line.words.size()) + " words");
  }
  Wire wire;
  for (std::string* name : {&wire.from, &wire.to}) {
    const std::string& word = line.words[name == &wire.from ? 0 : 1];
    const std::optional<std::uint64_t> number = whole_number(word);
    if (!number || *number >= nodes) fail(file, line, "the number of a node below " + std::to_string(nodes), word);
    *name = name_of_node(*number, switches);
  }
  if (wire.from == wire.to) fail(file, line, "two different nodes", line.words[0] + " " + line.words[1]);
  const Rate rate = quantity(file, line, line.words[2], "a rate, such as 400Gbps", parse_rate);
  const Time delay = quantity(file, line, line.words[3], "a delay, such as 0.0005ms", parse_delay);
  wire.bits_per_second = static_cast<double>(rate.count());
  wire.nanoseconds = static_cast<double>(delay.count()) / 1000;
  if (wire.bits_per_second < kLeastLinkRate || wire.bits_per_second > kMostLinkRate) {
    fail(file, line, "a rate from 1Gbps to 1000Tbps", line.words[2]);
  }
  if (wire.nanoseconds > kMostFlight) fail(file, line, "a delay of at most 1ms", line.words[3]);
  if (line.words.size() == 4) return wire;
  std::string unit;
  const std::optional<double> loss = number_before(line.words[4], unit);
  if (!loss || *loss >= 1 || !unit.empty()) fail(file, line, "an error rate from 0 to below 1", line.words[4]);
  wire.loss = *loss;
  return wire;
}

}  // namespace

namespace {

constexpr std::size_t kLinkWords = 5;

/// A word, and the line that it stands in.
struct Word {
  const WordLine* line = nullptr;
  std::string text;
};

std::vector<Word> words_of(const std::vector<WordLine>& lines) {
  std::vector<Word> words;
  for (const WordLine& line : lines) {
    for (const std::string& word : line.words) words.push_back({&line, word});
  }
  return words;
}

/// ns-3 reads words, wherever lines end: links of five each. With fewer words there are lines without an error rate.
std::vector<WordLine> link_lines(std::span<const Word> words, std::uint64_t links) {
  const bool are_whole = words.size() == links * kLinkWords;
  std::vector<WordLine> lines;
  const WordLine* last = nullptr;
  for (const Word& word : words) {
    if (are_whole ? lines.empty() || lines.back().words.size() == kLinkWords : word.line != last) {
      lines.push_back({word.line->number, {}});
    }
    last = word.line;
    lines.back().words.push_back(word.text);
  }
  return lines;
}

}  // namespace

WiredNetwork read_ns3_topology(const fs::path& file) {
  const std::string expected = "ns-3's topology, which begins with the numbers of nodes, switches and links";
  const std::vector<WordLine> lines = word_lines(file, expected, may_be_topology);
  if (lines.empty()) throw InputError(file.string(), "", expected, "nothing");
  const std::vector<Word> words = words_of(lines);
  constexpr std::size_t kCounts = 3;
  std::vector<std::uint64_t> counts;
  for (std::size_t i = 0; i < std::min(words.size(), kCounts); ++i) {
    const std::optional<std::uint64_t> number = whole_number(words[i].text);
    if (!number || *number > kMostNodes) fail(file, *words[i].line, expected, words[i].text);
    counts.push_back(*number);
  }
  if (counts.size() != kCounts) fail(file, lines.front(), expected, std::to_string(counts.size()) + " numbers");
  const std::uint64_t nodes = counts[0];
  if (counts[1] > nodes) {
    fail(file, lines.front(), "at most as many switches as nodes, " + std::to_string(nodes), words[1].text);
  }
  // The kind of the GPU ends the first line of another simulator's files.
  const std::vector<std::string>& head = lines.front().words;
  for (std::size_t i = kCounts; i < std::min(head.size(), kCounts + counts[1]); ++i) {
    if (whole_number(head[i])) continue;
    fail(file, lines.front(),
         "the numbers of " + std::to_string(counts[1]) +
             " switches after those of nodes, switches and links (files with more, such as of GPUs for each server, "
             "are of another simulator)",
         head[i]);
  }
  std::set<std::uint64_t> switches;
  std::size_t at = kCounts;
  for (; at < kCounts + counts[1]; ++at) {
    if (at == words.size()) {
      throw InputError(file.string(), "line " + std::to_string(words.back().line->number),
                       "the numbers of " + std::to_string(counts[1]) + " switches", std::to_string(at - kCounts));
    }
    const Word& word = words[at];
    const std::optional<std::uint64_t> number = whole_number(word.text);
    if (!number || *number >= nodes) {
      fail(file, *word.line,
           "the numbers of " + std::to_string(counts[1]) + " switches, below " + std::to_string(nodes), word.text);
    }
    if (*number < nodes - counts[1]) {
      fail(file, *word.line,
           "switches with numbers above those of the " + std::to_string(nodes - counts[1]) + " ends, which are ranks",
           word.text);
    }
    if (!switches.insert(*number).second) {
      fail(file, *word.line, std::to_string(counts[1]) + " different switches", word.text + " twice");
    }
  }
  WiredNetwork network;
  network.ends = static_cast<std::uint32_t>(nodes - switches.size());
  const std::vector<WordLine> links = link_lines(std::span(words).subspan(at), counts[2]);
  if (links.size() != counts[2]) {
    throw InputError(file.string(), "line " + std::to_string(lines.front().number),
                     std::to_string(counts[2]) + " links", std::to_string(links.size()));
  }
  if (counts[2] == 0) throw InputError(file.string(), "", "at least one link", "none");
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (const WordLine& link : links) {
    const Wire wire = wire_of(file, link, nodes, switches);
    const auto [place, is_new] = known.try_emplace(std::minmax(wire.from, wire.to), network.wires.size());
    if (is_new) {
      network.wires.push_back(wire);
      continue;
    }
    Wire& first = network.wires[place->second];
    if (first.bits_per_second != wire.bits_per_second || first.nanoseconds != wire.nanoseconds ||
        first.loss != wire.loss) {
      std::string got = link.words[2];
      for (std::size_t i = 3; i < link.words.size(); ++i) got += " " + link.words[i];
      fail(file, link, "the rate, delay and error rate of the link before that joins the same nodes", got);
    }
    ++first.links;
  }
  return network;
}

Ns3Config read_ns3_config(const fs::path& file) {
  Ns3Config config;
  for (const WordLine& line :
       word_lines(file, "ns-3's configuration, a key and its values in each line", may_be_config)) {
    const std::string& key = line.words.front();
    if (std::any_of(key.begin(), key.end(),
                    [](char c) { return (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_'; })) {
      fail(file, line, "a key of ns-3's configuration, such as TOPOLOGY_FILE", key);
    }
    if (key != "TOPOLOGY_FILE" && key != "PACKET_PAYLOAD_SIZE") {
      config.without_meaning.push_back(key);
      continue;
    }
    if (line.words.size() != 2) fail(file, line, "one value of " + key, std::to_string(line.words.size() - 1));
    if (key == "TOPOLOGY_FILE") {
      config.topology = file.parent_path() / line.words[1];
      continue;
    }
    const std::optional<std::uint64_t> bytes = whole_number(line.words[1]);
    if (!bytes || *bytes < 64 || *bytes > 65536)
      fail(file, line, "64 to 65536 bytes of PACKET_PAYLOAD_SIZE", line.words[1]);
    config.payload = static_cast<std::int64_t>(*bytes);
  }
  return config;
}

std::optional<std::vector<int>> read_logical_dimensions(const fs::path& file) {
  const nlohmann::json root = load_json_object(file.string(), "a network file of ASTRA-sim");
  const auto found = root.find("logical-dims");
  if (found == root.end()) return std::nullopt;
  const std::string expected = "a list of numbers of ranks above 1, such as [\"8\", \"2\"]";
  if (!found->is_array() || found->empty()) throw InputError(file.string(), "logical-dims", expected, got_text(*found));
  std::vector<int> sizes;
  for (std::size_t i = 0; i < found->size(); ++i) {
    const nlohmann::json& value = (*found)[i];
    const std::optional<std::uint64_t> size = whole_number(value.is_string() ? value.get<std::string>() : value.dump());
    if (!size || *size < 2 || *size > kMostNodes) {
      throw InputError(file.string(), "logical-dims." + std::to_string(i), expected, got_text(value));
    }
    sizes.push_back(static_cast<int>(*size));
  }
  for (const auto& [key, value] : root.items()) {
    if (key != "logical-dims") throw InputError(file.string(), key, "logical-dims alone", "");
  }
  return sizes;
}

}  // namespace weft::platforms::astra
