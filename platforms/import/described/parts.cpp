// SPDX-License-Identifier: Apache-2.0
#include "platforms/import/described/parts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

#include "hw/core/quantity.h"
#include "platforms/config/document.h"
#include "platforms/config/input_error.h"
#include "platforms/config/text.h"

namespace weft::platforms::described {
namespace {

using nlohmann::ordered_json;

/// Numbers of PCI devices, as pci.ids has them.
struct PciPart {
  std::string_view id;
  std::string_view part;
};
constexpr auto kPciAccelerators = std::to_array<PciPart>({
    {"10de:1db1", "v100-sxm2"},
    {"10de:1db5", "v100-sxm2"},
    {"10de:1e04", "rtx-2080-ti"},
    {"10de:1e07", "rtx-2080-ti"},
    {"10de:20b2", "a100-80g"},
    {"10de:2330", "h100-sxm"},
    {"10de:2335", "h200-sxm"},
    {"10de:233b", "h200-nvl"},
    {"10de:2901", "b200-sxm"},
    {"10de:2941", "gb200"},
    {"10de:3182", "b300-sxm"},
    {"10de:31c2", "gb300"},
    {"1002:74a1", "mi300x"},
    {"1002:74a5", "mi325x"},
    {"1002:75a3", "mi355x"},
});
constexpr auto kPciNics = std::to_array<PciPart>({
    {"15b3:1003", "connectx-3"},
    {"15b3:101b", "connectx-6"},
    {"15b3:1021", "connectx-7"},
    {"15b3:1023", "connectx-8"},
    {"15b3:a2dc", "bluefield-3"},
});

/// Words that a name has all of, in the order in which they are tried. No part: a product that another line would take
/// for one of the catalogue.
struct NamedPart {
  std::array<std::string_view, 3> words;
  std::string_view part;
};
constexpr auto kNamedAccelerators = std::to_array<NamedPart>({
    {{"h200", "nvl"}, "h200-nvl"},
    {{"h200"}, "h200-sxm"},
    {{"h100", "sxm"}, "h100-sxm"},
    {{"h100 80gb hbm3"}, "h100-sxm"},
    {{"a100", "sxm", "80"}, "a100-80g"},
    {{"v100", "sxm2"}, "v100-sxm2"},
    {{"2080 ti"}, "rtx-2080-ti"},
    {{"gb200"}, "gb200"},
    {{"gb300"}, "gb300"},
    {{"b200"}, "b200-sxm"},
    {{"b300"}, "b300-sxm"},
    {{"mi300x"}, "mi300x"},
    {{"mi325x"}, "mi325x"},
    {{"mi355x"}, "mi355x"},
    {{"tpu", "v3"}, "tpu-v3"},
    {{"tpu", "v4"}, "tpu-v4"},
    {{"tpu", "v5p"}, "tpu-v5p"},
    {{"tpu", "v6e"}, "tpu-v6e"},
    {{"ironwood"}, "tpu-v7"},
    {{"trainium2"}, "trainium-2"},
    {{"trainium 2"}, "trainium-2"},
});
constexpr auto kNamedNics = std::to_array<NamedPart>({
    {{"connectx-6", "dx"}, ""},
    {{"connectx-6", "lx"}, ""},
    {{"connectx-3 pro"}, ""},
    {{"bluefield-3"}, "bluefield-3"},
    {{"bluefield-4"}, "bluefield-4"},
    {{"connectx-3"}, "connectx-3"},
    {{"connectx-6"}, "connectx-6"},
    {{"connectx-7"}, "connectx-7"},
    {{"connectx-8"}, "connectx-8"},
    {{"thor ultra"}, "thor-ultra"},
});

struct LinkSwitch {
  std::string_view link;
  std::string_view switches;
  int radix;
};
constexpr auto kLinkSwitches = std::to_array<LinkSwitch>({
    {"fdr-56g", "sx6036", 36},
    {"hdr-200g", "quantum", 40},
    {"ndr-400g", "quantum-2", 64},
    {"xdr-800g", "quantum-x800", 144},
    {"ethernet-400g", "spectrum-4", 128},
    {"ethernet-800g", "spectrum-4", 64},
});

struct NicLinks {
  std::string_view nic;
  std::string_view infiniband;
  std::string_view ethernet;
};
constexpr auto kNicLinks = std::to_array<NicLinks>({
    {"connectx-3", "fdr-56g", ""},
    {"connectx-6", "hdr-200g", ""},
    {"connectx-7", "ndr-400g", "ethernet-400g"},
    {"bluefield-3", "ndr-400g", "ethernet-400g"},
    {"connectx-8", "xdr-800g", "ethernet-800g"},
    {"bluefield-4", "xdr-800g", "ethernet-800g"},
    {"thor-ultra", "", "ethernet-800g"},
});

constexpr auto kScaleUps = std::to_array<PciPart>({
    {"a100-80g", "nvswitch-a100"},
    {"h100-sxm", "nvswitch-h100"},
    {"h100-sxm-500w", "nvswitch-h100"},
    {"h200-sxm", "nvswitch-h100"},
    {"b200-sxm", "nvswitch-b200"},
    {"b300-sxm", "nvswitch-b200"},
    {"gb200", "nvswitch-nvl72"},
    {"gb300", "nvswitch-nvl72"},
});

template <std::size_t N>
std::string part_of(const std::array<PciPart, N>& table, std::string_view id) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const PciPart& each) { return each.id == id; });
  return found == table.end() ? "" : std::string(found->part);
}

template <std::size_t N>
std::string part_of(const std::array<NamedPart, N>& table, std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto found = std::find_if(table.begin(), table.end(), [&](const NamedPart& each) {
    return std::all_of(each.words.begin(), each.words.end(),
                       [&](std::string_view word) { return lower.find(word) != std::string::npos; });
  });
  return found == table.end() ? "" : std::string(found->part);
}

void expect_part(Catalogue& catalogue, const std::string& option, const std::string& kind, const std::string& name) {
  if (name.empty()) return;
  const Part* part = catalogue.find(name);
  if (part != nullptr && part->kind == kind) return;
  throw UsageError(option + ": expected a part of kind " + kind + " (" + join(Catalogue().names(kind), ", ") +
                   "), got " + in_quotes(name));
}

/// A platform with one part, whose fields are read with those of the part that it is derived from.
Document document_of(const std::string& kind, const std::string& part, const PartOptions& options) {
  return Document::from_text(ordered_json{{kind, part}}.dump(), options.beside, {}, catalogue_of(options));
}

}  // namespace

Catalogue catalogue_of(const PartOptions& options) {
  Catalogue catalogue;
  catalogue.search_first(std::filesystem::absolute(options.beside).parent_path());
  return catalogue;
}

void expect_parts(const PartOptions& options) {
  Catalogue catalogue = catalogue_of(options);
  expect_part(catalogue, "--accelerator", "accelerator", options.accelerator);
  expect_part(catalogue, "--nic", "nic", options.nic);
  expect_part(catalogue, "--network", "link", options.network);
  expect_part(catalogue, "--scale-up", "scale_up", options.scale_up);
}

std::string choice_of(const std::string& option, const std::string& kind) {
  return option + " PART with one of " + join(Catalogue().names(kind), ", ");
}

std::string accelerator_of_pci(std::string_view id) {
  return part_of(kPciAccelerators, id);
}
std::string nic_of_pci(std::string_view id) {
  return part_of(kPciNics, id);
}
std::string accelerator_of_name(std::string_view text) {
  return part_of(kNamedAccelerators, text);
}
std::string nic_of_name(std::string_view text) {
  return part_of(kNamedNics, text);
}
std::string usual_scale_up(std::string_view accelerator) {
  return part_of(kScaleUps, accelerator);
}

std::optional<NetworkParts> usual_network(std::string_view nic, bool is_ethernet) {
  for (const NicLinks& each : kNicLinks) {
    if (each.nic != nic) continue;
    const std::string_view link = is_ethernet ? each.ethernet : each.infiniband;
    if (!link.empty()) return network_of_link(link);
  }
  return std::nullopt;
}

NetworkParts network_of_link(std::string_view link) {
  NetworkParts parts{std::string(link), "", 64, link.starts_with("ethernet")};
  for (const LinkSwitch& each : kLinkSwitches) {
    if (each.link != link) continue;
    parts.switches = each.switches;
    parts.radix = each.radix;
  }
  return parts;
}

double most_frequent(const std::vector<double>& values) {
  std::map<double, int> counts;
  for (const double value : values) {
    if (value > 0) ++counts[value];
  }
  const auto most = std::max_element(counts.rbegin(), counts.rend(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.rend() ? 0 : most->first;
}

std::string rate_text(double gigabytes_per_second) {
  return to_text(Rate(std::llround(std::min(gigabytes_per_second, 1e9) * 8e3) * 1'000'000));
}

double link_rate(const std::string& part, const PartOptions& options) {
  Document document = document_of("link", part, options);
  const Node link = document.root().child("link").as_part("link");
  return static_cast<double>(link.get("rate", Rate(400'000'000'000)).count()) / 8e9;
}

double scale_up_rate(const std::string& part, const PartOptions& options) {
  Document document = document_of("scale_up", part, options);
  const Node link = document.root().child("scale_up").as_part("scale_up").child("fabric").child("link").as_part("link");
  return static_cast<double>(link.get("rate", Rate(0)).count()) / 8e9;
}

double memory_of(const std::string& part, const PartOptions& options) {
  Document document = document_of("accelerator", part, options);
  const Node hbm = document.root().child("accelerator").as_part("accelerator").child("hbm").as_part("hbm");
  return static_cast<double>(hbm.get("capacity", Bytes(0)).count());
}

ordered_json fabric_of_parts(const NetworkParts& network, double share, const PartOptions& options) {
  ordered_json link = {{"part", network.link}};
  if (share != 1) link["rate"] = rate_text(link_rate(network.link, options) * share);
  if (network.is_ethernet) link["flow_control"] = "pfc";
  ordered_json fabric = {{"link", link}};
  if (!network.switches.empty()) fabric["switch"] = network.switches;
  fabric["segment"] = "4KiB";
  return fabric;
}

ordered_json scale_up_of(const std::string& part, std::optional<double> gigabytes_per_second) {
  ordered_json scale_up = {{"fabric", {{"segment", "4KiB"}}}};
  if (gigabytes_per_second) scale_up["fabric"]["link"]["rate"] = rate_text(*gigabytes_per_second);
  if (!part.empty()) scale_up["part"] = part;
  return scale_up;
}

ordered_json nccl() {
  return {{"algorithm", "nccl"}, {"entry", "11.5us"}};
}

void leave_out_sums(ordered_json& scale_up) {
  if (!scale_up.contains("part")) return;
  scale_up["fabric"]["planes"] = ordered_json::array();
  scale_up["fabric"]["switch"]["reduction"]["trees"] = 0;
}

void join_all_pairs(ordered_json& platform, std::size_t per_node, double gigabytes_per_second) {
  leave_out_sums(platform["scale_up"]);
  ordered_json& fabric = platform["scale_up"]["fabric"];
  fabric["topology"] = "dimensions";
  fabric["dimensions"] = {"FullyConnected(" + std::to_string(per_node) + ")"};
  fabric["link"]["rate"] = rate_text(gigabytes_per_second);
  if (per_node < 3) return;
  ordered_json dimensions = ordered_json::object();
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter"}) dimensions[op] = {"direct", "ring"};
  dimensions["rooted"] = {"direct", "binomial"};
  platform["collectives"] = {{"algorithm", "dimensions"}, {"dimensions", dimensions}};
}

}  // namespace weft::platforms::described
