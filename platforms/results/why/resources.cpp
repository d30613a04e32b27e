// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/why/resources.h"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "platforms/config/other_values.h"
#include "platforms/machine/machine.h"
#include "sw/firmware/program_fields.h"

namespace weft::platforms {

const std::vector<Resource>& resources() {
  static const std::vector<Resource> kResources = {
      {"compute",
       "computing",
       "",
       {"kernel"},
       {{"accelerator.compute.tensor_16bit", true},
        {"accelerator.compute.tensor_8bit", true},
        {"accelerator.compute.tensor_tf32", true},
        {"accelerator.compute.tensor_int8", true},
        {"accelerator.compute.tensor_fp64", true},
        {"accelerator.compute.tensor_fp4", true},
        {"accelerator.compute.vector_fp32", true},
        {"accelerator.compute.vector_fp64", true},
        {"accelerator.compute.special_functions", true},
        {"accelerator.compute.operand_rate", true},
        {"accelerator.compute.l2_rate", true},
        {"accelerator.compute.tile_latency", false},
        {"accelerator.compute.tile_latency_tf32", false},
        {"accelerator.compute.panel_step", false}}},
      {"cap",
       "slowed by a cap of power or clock",
       "",
       {"cap"},
       {{"accelerator.compute.power.cap", true, "cap"}, {"accelerator.compute.clock_cap", true, kClockCap}}},
      {"cores", "slowed by collectives that have cores", "", {"lost cores"}, {}},
      {"hbm",
       "waiting for HBM",
       "",
       {"memory"},
       {{"accelerator.hbm.rate", true},
        {"accelerator.hbm.interconnect_rate", true},
        {"accelerator.hbm.core_rate", true}}},
      {"memory-latency",
       "waiting for memory at interfaces",
       "*",
       {"memory"},
       {{"accelerator.hbm.latency", false}},
       Resource::Is::kLatency},
      {"launch", "launches", "", {"launch"}, {{"accelerator.compute.launch", false}}},
      {"copy",
       "copies and sums of accelerators",
       "",
       {"copy"},
       {{"accelerator.copy_rate", true}, {"accelerator.copy_overhead", false}, {kCopyEngines, true, "", "", true}},
       Resource::Is::kStage,
       2},
      {"nic",
       "host links and DMA of interfaces",
       "fabric",
       {"host link"},
       {{"nic.dma_rate", true}, {"nic.pcie.lanes", true}},
       Resource::Is::kStage,
       2},
      {"nic-latency",
       "latencies of host links",
       "fabric",
       {"read latency", "write latency"},
       {{"nic.read_latency", false, "read latency"}, {"nic.write_latency", false, "write latency"}},
       Resource::Is::kLatency,
       2,
       {"nic.pcie.tags", "nic.context_cache.entries"}},
      {"nic-work",
       "work within interfaces",
       "fabric",
       {"network interface"},
       {{"nic.message_cost", false}, {"nic.packet_cost", false}},
       Resource::Is::kLatency,
       2},
      {"nic-group",
       "engines of interfaces to groups",
       "fabric",
       {"group"},
       {{"nic.group_rate", true}},
       Resource::Is::kStage},
      {"link",
       "bytes on links",
       "fabric",
       {"serialisation", "queue", "injection"},
       {{"fabric.link.rate", true}},
       Resource::Is::kStage,
       1,
       {"fabric.uplinks", "fabric.spines", "fabric.switch.speedup"}},
      {"uplink", "bytes on links between switches", "fabric", {}, {{"fabric.uplinks", true}}},
      {"buffer", "waiting for buffers behind links", "fabric", {"credit"}, {{"fabric.link.buffer", true}}},
      {"cable", "flight on links", "fabric", {"propagation"}, {{"fabric.link.propagation", false}}},
      {"switch",
       "switches",
       "fabric",
       {"pipeline"},
       {{"fabric.switch.latency", false}},
       Resource::Is::kAlone,
       1,
       {"fabric.switch.parse.latency", "fabric.switch.route.latency", "fabric.switch.admission.latency",
        "fabric.switch.arbitration.latency", "fabric.switch.crossbar.latency", "fabric.switch.egress.latency"}},
      {"reduction",
       "sums in switches",
       "fabric",
       {"reduction"},
       {{"fabric.switch.reduction.clock", true},
        {"fabric.switch.reduction.latency", false},
        {"fabric.switch.reduction.low_latency", false}}},
      {"port",
       "accelerators' ports",
       "scale_up",
       {"host link"},
       {{"scale_up.port.dma_rate", true}},
       Resource::Is::kStage},
      {"port-latency",
       "latencies of ports",
       "scale_up",
       {"read latency", "write latency"},
       {{"scale_up.port.read_latency", false, "read latency"}, {"scale_up.port.write_latency", false, "write latency"}},
       Resource::Is::kLatency,
       2,
       {"scale_up.port.context_cache.entries"}},
      {"port-work",
       "work within ports",
       "scale_up",
       {"network interface"},
       {{"scale_up.port.message_cost", false}, {"scale_up.port.packet_cost", false}},
       Resource::Is::kLatency,
       2},
      {"port-group",
       "engines of ports to groups",
       "scale_up",
       {"group"},
       {{"scale_up.port.group_rate", true}},
       Resource::Is::kStage},
      {"scale-up-link",
       "bytes on links within nodes",
       "scale_up",
       {"serialisation", "queue", "injection"},
       {{"scale_up.fabric.link.rate", true}},
       Resource::Is::kStage,
       1,
       {"scale_up.fabric.switch.speedup"}},
      {"scale-up-buffer",
       "waiting for buffers within nodes",
       "scale_up",
       {"credit"},
       {{"scale_up.fabric.link.buffer", true}}},
      {"scale-up-cable",
       "flight within nodes",
       "scale_up",
       {"propagation"},
       {{"scale_up.fabric.link.propagation", false}}},
      {"scale-up-switch",
       "switches within nodes",
       "scale_up",
       {"pipeline"},
       {{"scale_up.fabric.switch.latency", false}}},
      {"scale-up-reduction",
       "sums in switches within nodes",
       "scale_up",
       {"reduction"},
       {{"scale_up.fabric.switch.reduction.clock", true},
        {"scale_up.fabric.switch.reduction.latency", false},
        {"scale_up.fabric.switch.reduction.low_latency", false}}},
      {"remote-memory",
       "remote memory",
       "",
       {"remote memory"},
       {{"remote_memory.rate", true, "", "remote_memory"},
        {"remote_memory.latency", false, "", "remote_memory"},
        {"remote_memory.cxl.link.rate", true, "", "cxl_pool.link"},
        {"remote_memory.cxl.device_link.rate", true, "", "cxl_pool.device_link"},
        {"remote_memory.cxl.device.rate", true, "", "cxl_pool.device"},
        {"remote_memory.cxl.switch.latency", false, "", "cxl_pool.switch"},
        {"remote_memory.dma.overhead", false, "", "remote_dma"}}},
      {"timeout", "timers until something is sent again", "fabric", {"recovery"}, {{"nic.ack_timeout", false}}},
      {"scale-up-timeout", "timers within nodes", "scale_up", {"recovery"}, {{"scale_up.port.ack_timeout", false}}},
      {"firmware", "firmware", "", {"firmware"}, {{"firmware.clock", true}}},
      {"host", "launches of kernels by the host", "", {"host"}, {{"workload.launch", false}}},
      {"software", "times that programs set", "", {"software"}, {}},
      {"other", "what modules do not say", "", {"other"}, {}},
      {"other", "what modules do not say", "", {}, {}},
  };
  return kResources;
}

const Resource& resource_called(std::string_view name) {
  static const std::unordered_map<std::string_view, const Resource*> kByName = [] {
    std::unordered_map<std::string_view, const Resource*> all;
    for (const Resource& resource : resources()) all.emplace(resource.name, &resource);
    return all;
  }();
  const auto found = kByName.find(name);
  if (found == kByName.end()) throw std::out_of_range("no resource is called " + std::string(name));
  return *found->second;
}

namespace {

/// The resource whose fields alone say how long threads let time pass; null: there is none.
const Resource* resource_of_program(std::string_view about) {
  const Resource* resource = nullptr;
  for (const std::string& field : firmware::ProgramFields::of(about)) {
    const auto sets = [&field](const Resource::Setting& it) { return it.field == field; };
    const auto found = std::find_if(resources().begin(), resources().end(), [&sets](const Resource& it) {
      return std::any_of(it.settings.begin(), it.settings.end(), sets);
    });
    if (found == resources().end() || (resource != nullptr && resource != &*found)) return nullptr;
    resource = &*found;
  }
  return resource;
}

}  // namespace

const Resource& resource_of(std::string_view kind, std::string_view network) {
  static const std::unordered_map<std::string_view, std::vector<const Resource*>> kByKind = [] {
    std::unordered_map<std::string_view, std::vector<const Resource*>> all;
    for (const Resource& resource : resources()) {
      for (const std::string_view its : resource.kinds) all[its].push_back(&resource);
    }
    return all;
  }();
  const auto found = kByKind.find(kind);
  if (found == kByKind.end()) return resources().back();
  const std::vector<const Resource*>& all = found->second;
  for (const std::string_view wanted :
       {network, network.empty() ? network : std::string_view("*"), std::string_view()}) {
    const auto its =
        std::find_if(all.begin(), all.end(), [wanted](const Resource* it) { return it->network == wanted; });
    if (its != all.end()) return **its;
  }
  // Places of no network: a cable box, or what a user's own module marks.
  return *all.front();
}

const Resource& resource_of(const nlohmann::ordered_json& piece) {
  const Resource& resource = resource_of(word_of(piece, "kind"), word_of(piece, "network"));
  if (word_of(piece, "kind") != "software") return resource;
  const Resource* const set = resource_of_program(word_of(piece, "about"));
  return set == nullptr ? resource : *set;
}

std::string_view word_of(const nlohmann::ordered_json& piece, const char* key) {
  const auto found = piece.find(key);
  return found == piece.end() ? std::string_view() : found->get_ref<const std::string&>();
}

const nlohmann::ordered_json& member_of(const nlohmann::ordered_json& why, std::string_view key) {
  static const nlohmann::ordered_json kNone = nlohmann::ordered_json::object();
  const auto found = why.find(key);
  return found == why.end() ? kNone : *found;
}

namespace {

using KernelsOn = std::function<std::uint64_t(const accelerator::ComputeConfig&)>;

/// Adds those of one part, "others.0.".
void add_ignored(nlohmann::ordered_json& fields, const std::string& part, const accelerator::ComputeConfig& compute,
                 const KernelsOn& kernels_on) {
  constexpr std::string_view kArray = "accelerator.compute.";
  std::vector<Resource::Setting> settings = resource_called("compute").settings;
  std::erase_if(settings, [&](const Resource::Setting& each) { return !each.field.starts_with(kArray); });
  const std::uint64_t usual = kernels_on(compute);
  const auto has_none = [&](std::span<const Resource::Setting> some) {
    accelerator::ComputeConfig tried = compute;
    for (const Resource::Setting& each : some) {
      move_far([&](FieldVisitor& visitor) { tried.fields(visitor); }, each.field.substr(kArray.size()), !each.is_rate);
    }
    try {
      return kernels_on(tried) == usual;
    } catch (const std::exception&) {
      return false;  // no kernel can run at all
    }
  };
  // Several are worse at the same time, and their halves where a kernel follows one of them, since a plan of kernels
  // takes as long as a part of the run.
  const std::function<void(std::span<const Resource::Setting>)> look = [&](std::span<const Resource::Setting> some) {
    if (has_none(some)) {
      for (const Resource::Setting& each : some) fields.push_back(part + std::string(each.field));
    } else if (some.size() > 1) {
      look(some.first(some.size() / 2));
      look(some.subspan(some.size() / 2));
    }
  };
  look(settings);
}

}  // namespace

nlohmann::ordered_json ignored_by_kernels(const MachineConfig& machine, const KernelsOn& kernels_on) {
  nlohmann::ordered_json fields = nlohmann::ordered_json::array();
  if (!kernels_on) return fields;
  add_ignored(fields, "", machine.accelerator.array.compute, kernels_on);
  for (std::size_t i = 0; i < machine.others.size(); ++i) {
    add_ignored(fields, "others." + std::to_string(i) + ".", machine.others[i].accelerator.array.compute, kernels_on);
  }
  return fields;
}

}  // namespace weft::platforms
