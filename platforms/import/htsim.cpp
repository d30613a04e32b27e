// SPDX-License-Identifier: Apache-2.0
// The fat tree of ASTRA-sim's htsim backend.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>

#include "platforms/config/input_error.h"
#include "platforms/config/text.h"
#include "platforms/import/wired_network.h"
#include "platforms/import/word_lines.h"

namespace weft::platforms::astra {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostTiers = 3;
/// Three tiers of as many ends as a machine can have, and some.
constexpr std::uint64_t kMostLinks = 1U << 22;

bool may_be_tree(traces::FileKind kind) {
  return kind == traces::FileKind::kHtsimTree || traces::is_unknown_text(kind);
}

/// A number and where it stands, for messages.
struct Value {
  std::uint64_t number = 0;
  std::size_t line = 0;
};
using Values = std::map<std::string, Value>;

struct Tiers {
  fs::path file;
  Values head;
  std::array<Values, kMostTiers> tiers;
  std::array<std::size_t, kMostTiers> lines_of_tiers{};  ///< where each begins; 0: nowhere

  [[noreturn]] void fail(std::size_t line, const std::string& expected, const std::string& got) const {
    throw InputError(file.string(), line == 0 ? "" : "line " + std::to_string(line), expected, got);
  }
  [[nodiscard]] std::uint64_t get(const std::string& key) const {
    const auto found = head.find(key);
    if (found == head.end()) fail(0, key + " of a fat tree of htsim, as a whole number above 0", "nothing");
    return found->second.number;
  }
  [[nodiscard]] std::uint64_t get(std::size_t tier, const std::string& key) const {
    const auto found = tiers[tier].find(key);
    if (found == tiers[tier].end()) fail(0, key + " of tier " + std::to_string(tier), "nothing");
    return found->second.number;
  }
  [[nodiscard]] std::uint64_t get(std::size_t tier, const std::string& key, std::uint64_t otherwise) const {
    const auto found = tiers[tier].find(key);
    return found == tiers[tier].end() ? otherwise : found->second.number;
  }
  [[nodiscard]] std::size_t line_of(std::size_t tier, const std::string& key) const {
    const auto found = tiers[tier].find(key);
    return found == tiers[tier].end() ? 0 : found->second.line;
  }
  /// That `whole` things can be dealt out `part` at a time; tells how many times.
  std::uint64_t divide(std::uint64_t whole, std::uint64_t part, std::size_t line, const std::string& what) const {
    if (whole % part != 0) {
      fail(line, what + " " + std::to_string(whole) + " to be a multiple of " + std::to_string(part), "");
    }
    return whole / part;
  }
};

Tiers read(const fs::path& file) {
  static const std::vector<std::string> of_head = {"nodes", "tiers", "podsize"};
  static const std::vector<std::string> of_tiers = {
      "downlink_speed_gbps", "downlink_latency_ns", "radix_down", "radix_up", "bundle",
      "switch_latency_ns",   "oversubscribed",      "queue_down", "queue_up"};
  constexpr double kMostSwitchTime = 1e5;  // of a machine's
  static const std::map<std::string, double> limits = {{"downlink_speed_gbps", kMostLinkRate / 1e9},
                                                       {"downlink_latency_ns", kMostFlight},
                                                       {"switch_latency_ns", kMostSwitchTime}};
  Tiers result{file, {}, {}, {}};
  Values* values = &result.head;
  for (const WordLine& line : word_lines(file, "htsim's fat tree", may_be_tree)) {
    std::string key = line.words.front();
    std::transform(key.begin(), key.end(), key.begin(), [](unsigned char c) { return std::tolower(c); });
    const auto& known = values == &result.head ? of_head : of_tiers;
    if (key != "tier" && std::find(known.begin(), known.end(), key) == known.end()) {
      fail_at(file, line, "one of " + join(known, ", ") + " or tier", in_quotes(key));
    }
    const std::optional<std::uint64_t> number =
        line.words.size() == 2 ? whole_number(line.words[1]) : std::optional<std::uint64_t>();
    if (!number || *number > 1U << 24) {
      fail_at(file, line, "one whole number after " + key,
              in_quotes(join(std::vector<std::string>(line.words.begin() + 1, line.words.end()), " ")));
    }
    const auto most = limits.find(key);
    if (most != limits.end() && static_cast<double>(*number) > most->second) {
      fail_at(file, line, key + " of at most " + std::to_string(std::llround(most->second)), line.words[1]);
    }
    if (key == "tier") {
      if (*number >= kMostTiers) fail_at(file, line, "tier 0, 1 or 2", line.words[1]);
      values = &result.tiers[*number];
      result.lines_of_tiers[*number] = line.number;
      continue;
    }
    if (*number == 0 && !key.ends_with("latency_ns") && !key.starts_with("queue")) {
      fail_at(file, line, key + " above 0", line.words[1]);
    }
    if (!values->emplace(key, Value{*number, line.number}).second) {
      fail_at(file, line, key + " once", "it a second time");
    }
  }
  return result;
}

constexpr const char* kDown = "radix_down";
constexpr const char* kUp = "radix_up";
constexpr const char* kBundle = "bundle";

/// Keys whose values change nothing.
std::vector<std::string> without_meaning(const Tiers& tree, std::uint64_t tiers) {
  std::vector<std::string> keys;
  // In two tiers all ends are of one pod.
  const auto pod = tree.head.find("podsize");
  if (tiers == 2 && pod != tree.head.end() && pod->second.number != tree.get("nodes")) keys.emplace_back("podsize");
  for (const char* const key : {"oversubscribed", "queue_down", "queue_up"}) {
    const bool stands = std::any_of(tree.tiers.begin(), tree.tiers.end(),
                                    [key](const Values& values) { return values.find(key) != values.end(); });
    if (stands) keys.emplace_back(key);
  }
  return keys;
}

/// What builds it, level by level.
struct Builder {
  const Tiers& tree;
  WiredNetwork network;

  void join(std::size_t tier, const std::string& lower, const std::string& upper, std::uint64_t links) {
    network.wires.push_back({lower, upper, 1e9 * static_cast<double>(tree.get(tier, "downlink_speed_gbps")),
                             static_cast<double>(tree.get(tier, "downlink_latency_ns")), 0, static_cast<int>(links)});
  }
};

/// Of a tier, before they are made: a few lines can ask for more than any memory holds.
void require_links(const Tiers& tree, std::size_t line, std::uint64_t links) {
  if (links <= kMostLinks) return;
  tree.fail(line, "at most " + std::to_string(kMostLinks) + " links of a tier", std::to_string(links));
}

std::string numbered(const char* what, std::uint64_t number) {
  return what + std::to_string(number);
}

}  // namespace

WiredNetwork read_htsim_topology(const fs::path& file) {
  const Tiers tree = read(file);
  const std::uint64_t nodes = tree.get("nodes");
  const std::uint64_t tiers = tree.get("tiers");
  if (tiers < 2 || tiers > kMostTiers) tree.fail(tree.head.at("tiers").line, "2 or 3 tiers", std::to_string(tiers));
  if (nodes > 1U << 20) tree.fail(tree.head.at("nodes").line, "at most 1048576 nodes", std::to_string(nodes));
  for (std::size_t tier = tiers; tier < kMostTiers; ++tier) {
    if (tree.lines_of_tiers[tier] == 0) continue;
    tree.fail(tree.lines_of_tiers[tier], "tiers below " + std::to_string(tiers), std::to_string(tier));
  }
  Builder builder{tree, {}};
  builder.network.without_meaning = without_meaning(tree, tiers);
  builder.network.ends = static_cast<std::uint32_t>(nodes);
  builder.network.switch_nanoseconds = static_cast<double>(tree.get(0, "switch_latency_ns", 0));
  for (std::size_t tier = 1; tier < tiers; ++tier) {
    if (tree.get(tier, "switch_latency_ns", 0) == tree.get(0, "switch_latency_ns", 0)) continue;
    tree.fail(tree.line_of(tier, "switch_latency_ns"), "the switch_latency_ns of tier 0, since a machine has one", "");
  }
  if (tree.get(0, kBundle, 1) != 1) tree.fail(tree.line_of(0, kBundle), "a bundle of 1 in tier 0", "");

  const std::uint64_t per_leaf = tree.get(0, kDown);
  const std::uint64_t leaves = tree.divide(nodes, per_leaf, tree.line_of(0, kDown), "nodes");
  for (std::uint64_t end = 0; end < nodes; ++end) {
    builder.join(0, numbered("end", end), numbered("tor", end / per_leaf), 1);
  }
  // A pod's leaves are joined to all of its upper switches; in two tiers all is one pod.
  const std::uint64_t pod = tiers == 2 ? nodes : tree.get("podsize");
  const std::size_t pod_line = tiers == 2 ? 0 : tree.head.at("podsize").line;
  const std::uint64_t pods = tree.divide(nodes, pod, pod_line, "nodes");
  const std::uint64_t leaves_of_pod = tree.divide(pod, per_leaf, pod_line, "podsize");
  const std::uint64_t bundle = tree.get(1, kBundle, 1);
  const std::uint64_t uppers_of_pod = tree.divide(tree.get(0, kUp), bundle, tree.line_of(0, kUp), kUp);
  if (tree.get(1, kDown) != leaves_of_pod * bundle) {
    tree.fail(tree.line_of(1, kDown),
              "radix_down " + std::to_string(leaves_of_pod * bundle) + " in tier 1, of " +
                  std::to_string(leaves_of_pod) + " switches below with " + std::to_string(bundle) + " links each",
              std::to_string(tree.get(1, kDown)));
  }
  require_links(tree, tree.line_of(0, kUp), leaves * uppers_of_pod);
  const char* const upper_name = tiers == 2 ? "spine" : "agg";
  for (std::uint64_t leaf = 0; leaf < leaves; ++leaf) {
    for (std::uint64_t u = 0; u < uppers_of_pod; ++u) {
      builder.join(1, numbered("tor", leaf), numbered(upper_name, leaf / leaves_of_pod * uppers_of_pod + u), bundle);
    }
  }
  if (tiers == 2) return builder.network;

  // The uth upper switch of each pod has the uth part of the cores.
  const std::uint64_t core_bundle = tree.get(2, kBundle, 1);
  const std::uint64_t cores_of_upper = tree.divide(tree.get(1, kUp), core_bundle, tree.line_of(1, kUp), kUp);
  if (tree.get(2, kDown) != pods * core_bundle) {
    tree.fail(tree.line_of(2, kDown),
              "radix_down " + std::to_string(pods * core_bundle) + " in tier 2, of " + std::to_string(pods) +
                  " pods with " + std::to_string(core_bundle) + " links each",
              std::to_string(tree.get(2, kDown)));
  }
  require_links(tree, tree.line_of(1, kUp), pods * uppers_of_pod * cores_of_upper);
  for (std::uint64_t upper = 0; upper < pods * uppers_of_pod; ++upper) {
    for (std::uint64_t c = 0; c < cores_of_upper; ++c) {
      builder.join(2, numbered("agg", upper), numbered("core", upper % uppers_of_pod * cores_of_upper + c),
                   core_bundle);
    }
  }
  return builder.network;
}

}  // namespace weft::platforms::astra
