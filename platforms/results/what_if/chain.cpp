// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/what_if/chain.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "platforms/results/what_if/factors_by_place.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

/// What passes a link while its credit comes back.
bool is_of_loop(const Resource& resource) {
  return is_called(resource, "link") || is_called(resource, "buffer") || is_called(resource, "cable");
}

/// Of pieces on the way through a network.
Portion::Part part_on_way(const Resource& resource, std::string_view kind) {
  if (is_called(resource, "buffer")) return Portion::Part::kWait;
  if (is_interface(resource)) return Portion::Part::kBytes;
  if (!is_called(resource, "link")) return Portion::Part::kWhole;
  return kind == "serialisation" ? Portion::Part::kBytes : Portion::Part::kWait;
}

}  // namespace

double Chain::of(const Resource& resource) const {
  double sum = 0;
  for (const auto& [portion, its] : ps) {
    if (portion.resource == &resource) sum += its;
  }
  return sum;
}

double Chain::of(const Resource& resource, std::string_view own) const {
  double sum = 0;
  for (const auto& [portion, its] : ps) {
    if (portion.resource == &resource && portion.own == own) sum += its;
  }
  return sum;
}

double Chain::most_at_one(const Resource& resource) const {
  const auto found = by_place.find(&resource);
  if (found == by_place.end()) return 0;
  double most = 0;
  for (const auto& [place, its] : found->second) most = std::max(most, its);
  return most;
}

double Chain::most_at_one(const Resource& resource, const std::string& own) const {
  const auto found = by_place.find(&resource);
  if (found == by_place.end()) return 0;
  double most = 0;
  for (const auto& [place, its] : found->second) {
    const auto there = own_of_place.find(place);
    if (there != own_of_place.end() && there->second == own) most = std::max(most, its);
  }
  return most;
}

double Chain::waits() const {
  double sum = 0;
  for (const auto& [portion, its] : ps) {
    if (portion.part == Portion::Part::kWait) sum += its;
  }
  return sum;
}

double Chain::bound_by_memory() const {
  double sum = 0;
  for (const auto& [name, kernel] : kernels) sum += kernel.in_memory();
  return sum;
}

double Chain::in_kernels() const {
  double sum = 0;
  for (const auto& [name, kernel] : kernels) sum += kernel.whole();
  return sum;
}

std::string own_path(const ordered_json& link) {
  const std::string path = link.value("path", "");
  return path == "fabric.link" || path == "scale_up.fabric.link" ? "" : path;
}

ChainReader::ChainReader(const ordered_json& why) : caps_(why), parts_(why) {
  for (const auto& [name, link] : member_of(why, "links").items()) {
    links_[name] = {link.value("network", ""), link["joins"] != "between switches", link.value("had", 1.0),
                    link.value("fills", 1.0), own_path(link)};
  }
  std::map<std::string, std::pair<double, double>> fills;
  for (const auto& [name, link] : links_) {
    auto& [least, most] = fills.try_emplace(link.network, link.fills, link.fills).first->second;
    least = std::min(least, link.is_starved() ? link.fills : 0);
    most = std::max(most, link.fills);
  }
  for (const auto& [network, its] : fills) {
    if (its.first == its.second) all_starved_[network] = its.first;
  }
}

void ChainReader::add(Chain& chain, const ordered_json& pieces, double share) const {
  for (const ordered_json& piece : pieces) {
    const double ps = share * piece["ps"].get<double>();
    if (add_kernel(chain, piece, ps) || add_loop(chain, piece, ps)) continue;
    const Resource& resource = resource_of(piece);
    chain.by_place[&resource][piece["place"].get_ref<const std::string&>()] += ps;
    const Portion::Part part = part_on_way(resource, word_of(piece, "kind"));
    const Link link = link_of(piece);
    if (is_called(resource, "link")) chain.faults_ps += ps * (1 - link.had);
    const std::string own = own_of(resource, piece);
    if (!own.empty()) chain.own_of_place[piece["place"]] = own;
    chain.ps[{&resource, part, link.at_end, link.had, own}] += ps;
  }
}

bool ChainReader::add_kernel(Chain& chain, const ordered_json& piece, double ps) const {
  if (piece["of"] != "kernel") return false;
  const std::string_view kind = word_of(piece, "kind");
  if (kind != "kernel" && kind != "cap" && kind != "memory") return false;
  const double memory_share = piece.value("memory_share", KernelPieces::kUnknown);
  KernelPieces& its = chain.kernels[{piece["about"], memory_share, own_of(resource_called("compute"), piece)}];
  its.memory_share = memory_share;
  (kind == "kernel"           ? its.computing
   : kind != "cap"            ? its.waiting
   : caps_.is_by_clock(piece) ? its.clock_capped
                              : its.capped) += ps;
  return true;
}

bool ChainReader::add_loop(Chain& chain, const ordered_json& piece, double ps) const {
  if (!is_of_loop(resource_of(piece))) return false;
  if (piece["place"] == "others") {
    const auto starved = all_starved_.find(piece.value("network", ""));
    if (starved == all_starved_.end()) return false;
    chain.loops_ps[{starved->first, starved->second, std::string(FactorsByPlace::kSomewhere)}] += ps;
    return true;
  }
  const Link link = link_of(piece);
  if (!link.is_starved()) return false;
  chain.loops_ps[{link.network, link.fills, link.own}] += ps;
  return true;
}

ChainReader::Link ChainReader::link_of(const ordered_json& piece) const {
  Link link;
  // What waits to enter a network is at an end. Of what is left of many pieces nothing says where it is.
  link.at_end = !piece.value("on_link", false) && piece["place"] != "others";
  const auto found = links_.find(piece["place"].get<std::string>());
  return piece.value("on_link", false) && found != links_.end() ? found->second : link;
}

std::string ChainReader::own_of(const Resource& resource, const ordered_json& piece) const {
  const auto& place = piece["place"].get_ref<const std::string&>();
  const bool is_of_link = is_of_loop(resource) || is_interface(resource);
  if (!is_of_link && !is_of_accelerator(resource)) return "";
  if (place == "others") return std::string(FactorsByPlace::kSomewhere);
  if (!is_of_link) return parts_.name_at(place);
  const auto found = links_.find(piece.value("on_link", false) ? place : place + " out");
  if (found != links_.end()) return found->second.own;
  return is_interface(resource) ? "" : std::string(FactorsByPlace::kSomewhere);
}

}  // namespace weft::platforms
