// SPDX-License-Identifier: Apache-2.0
// A machine of hosts that lstopo describes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include "hw/core/quantity.h"
#include "platforms/config/input_error.h"
#include "platforms/config/text.h"
#include "platforms/import/described/host_links.h"
#include "platforms/import/described/lstopo.h"

namespace weft::platforms::described {
namespace {

using nlohmann::ordered_json;
using Devices = std::vector<const PciDevice*>;

constexpr int kDisplay = 0x03;
constexpr int kEthernet = 0x0200;
constexpr int kAccelerator = 0x12;

std::string part_of_accelerator(const PciDevice& device) {
  const std::string part = accelerator_of_pci(device.id);
  return part.empty() ? accelerator_of_name(device.name) : part;
}

std::string part_of_nic(const PciDevice& device) {
  const std::string part = nic_of_pci(device.id);
  return part.empty() ? nic_of_name(device.name) : part;
}

bool is_accelerator(const PciDevice& device) {
  if (device.kind >> 8 == kAccelerator) return true;
  if (device.kind >> 8 != kDisplay) return false;
  // Boards have a display controller of their own, which no driver for computing has.
  return device.is_gpu || device.id.starts_with("10de:") || device.id.starts_with("1002:");
}

bool is_nic(const PciDevice& device) {
  return device.kind >> 8 == kEthernet >> 8 && (device.is_rdma || !part_of_nic(device).empty());
}

std::string shown(const PciDevice& device) {
  return device.bus + " [" + device.id + "]" + (device.name.empty() ? "" : " " + device.name);
}

std::string buses_of(const Devices& devices) {
  std::vector<std::string> buses;
  for (const PciDevice* device : devices) buses.push_back(device->bus);
  return join(buses, ", ");
}

/// Kinds of device by their number of PCI, in the order of the file.
std::vector<Devices> by_kind(const Devices& devices) {
  std::vector<Devices> kinds;
  for (const PciDevice* device : devices) {
    const auto kind =
        std::find_if(kinds.begin(), kinds.end(), [&](const Devices& each) { return each.front()->id == device->id; });
    if (kind == kinds.end()) {
      kinds.push_back({device});
    } else {
      kind->push_back(device);
    }
  }
  return kinds;
}

/// Whether a switch of PCI Express has both below it.
bool share_switch(const PciDevice& a, const PciDevice& b) {
  return std::any_of(a.bridges.begin(), a.bridges.end(), [&](const Bridge& above) {
    return !above.is_host &&
           std::any_of(b.bridges.begin(), b.bridges.end(), [&](const Bridge& other) { return other.id == above.id; });
  });
}

struct Lanes {
  int generation;
  int lanes;
};

/// What gives such a rate, with as many lanes as possible: the same rate is of half as many lanes a generation later.
std::optional<Lanes> lanes_of(double gigabytes_per_second) {
  constexpr std::array<double, 6> kLane = {0.25, 0.5, 0.98462, 1.96923, 3.93846, 7.87692};
  constexpr double kLaneOfFlits = 7.5625;  // generation 6, less what flits need
  for (const int lanes : {16, 8, 4, 2, 1}) {
    for (std::size_t i = 0; i < kLane.size(); ++i) {
      const auto is_near = [&](double lane) {
        return std::abs(gigabytes_per_second - lane * lanes) < 0.005 * gigabytes_per_second;
      };
      if (is_near(kLane[i]) || (i + 1 == kLane.size() && is_near(kLaneOfFlits)))
        return Lanes{static_cast<int>(i) + 1, lanes};
    }
  }
  return std::nullopt;
}

class HostMachine final : private DescribedMachine {
 public:
  HostMachine(const Host& host, std::string file, int nodes, const PartOptions& options)
      : DescribedMachine(std::move(file)), host_(host), nodes_(nodes), options_(options) {}

  Described build() {
    choose_accelerators();
    choose_nics();
    const std::size_t per_node = accelerators_.size();
    ordered_json& platform = made_.platform;
    platform["accelerators"] = per_node * static_cast<std::size_t>(nodes_);
    platform["per_node"] = per_node;
    platform["accelerator"] = accelerator_;
    add_nic();
    add_network();
    if (per_node > 1) {
      platform["collectives"] = nccl();
      add_scale_up();
    }
    add_host();
    return std::move(made_);
  }

 private:
  void choose_accelerators() {
    Devices all;
    for (const PciDevice& device : host_.devices) {
      if (is_accelerator(device)) all.push_back(&device);
    }
    if (all.empty()) {
      throw InputError(
          file_, "topology", "an accelerator: a PCIDev of class 03 (display) or 12 (accelerator)",
          "none among " + counted(host_.devices.size(), "PCI device") + "; lstopo leaves them out with --no-io");
    }
    const std::vector<Devices> kinds = by_kind(all);
    std::vector<Devices> known;
    for (const Devices& kind : kinds) {
      const std::string part = part_of_accelerator(*kind.front());
      if (options_.accelerator.empty() ? !part.empty() : part == options_.accelerator) known.push_back(kind);
    }
    if (known.empty() && !options_.accelerator.empty()) known = kinds;
    if (known.empty()) {
      throw InputError(file_, "PCIDev " + kinds.front().front()->bus,
                       "an accelerator of the catalogue, or " + choice_of("--accelerator", "accelerator"),
                       shown(*kinds.front().front()));
    }
    if (known.size() > 1) {
      throw InputError(file_, "PCIDev " + known[1].front()->bus,
                       "accelerators of one kind, as a machine has, or --accelerator with the part of one of them",
                       shown(*known[0].front()) + " and " + shown(*known[1].front()));
    }
    accelerators_ = known.front();
    const std::string part = part_of_accelerator(*accelerators_.front());
    accelerator_ = options_.accelerator.empty() ? part : options_.accelerator;
    for (const Devices& kind : kinds) {
      if (kind != accelerators_) remark("{} left out: another kind of accelerator", shown(*kind.front()));
    }
    fact("{} in a node: {}, as {}", counted(accelerators_.size(), "accelerator"), shown(*accelerators_.front()),
         accelerator_);
    if (!part.empty() && part != accelerator_)
      remark("{} is the part {} of the catalogue, but --accelerator says {}", shown(*accelerators_.front()), part,
             accelerator_);
    compare_memory();
  }

  /// A model may be sold with several sizes of memory under one name.
  void compare_memory() {
    const double memory = accelerators_.front()->memory;
    if (memory == 0) return;
    const double capacity = memory_of(accelerator_, options_);
    if (capacity == 0) return;
    if (std::abs(memory / capacity - 1) < 0.1) return;
    remark("an accelerator has {:.1f} GB of memory; {} has {:.1f} GB, which the machine keeps", memory / 1e9,
           accelerator_, capacity / 1e9);
  }

  void choose_nics() {
    Devices all;
    std::set<std::string> slots;
    for (const PciDevice& device : host_.devices) {
      if (!is_nic(device)) continue;
      // Ports of one NIC are functions of one device.
      if (slots.insert(device.bus.substr(0, device.bus.rfind('.'))).second) {
        all.push_back(&device);
      } else {
        remark("{} is another port of a NIC, which has one in a machine", shown(device));
      }
    }
    if (all.empty()) return;
    Devices near;
    std::copy_if(all.begin(), all.end(), std::back_inserter(near), [&](const PciDevice* nic) {
      return std::any_of(accelerators_.begin(), accelerators_.end(),
                         [&](const PciDevice* accelerator) { return share_switch(*accelerator, *nic); });
    });
    std::vector<Devices> kinds = by_kind(near.empty() ? all : near);
    nics_ = *std::max_element(kinds.begin(), kinds.end(),
                              [](const Devices& a, const Devices& b) { return a.size() < b.size(); });
    for (const PciDevice* device : all) {
      if (std::find(nics_.begin(), nics_.end(), device) != nics_.end()) continue;
      remark("{} left out: {}", shown(*device),
             near.empty() || std::find(near.begin(), near.end(), device) != near.end()
                 ? "another kind of NIC"
                 : "no accelerator is under its PCIe switch, as one is under that of others");
    }
  }

  void add_nic() {
    if (nics_.empty()) {
      remark("no NIC that does RDMA is in it; {}",
             options_.nic.empty() ? "nic has Weft's defaults, --nic PART says otherwise" : "nic is as --nic says");
      if (!options_.nic.empty()) made_.platform["nic"] = options_.nic;
      return;
    }
    const PciDevice& first = *nics_.front();
    const std::string known = part_of_nic(first);
    nic_ = options_.nic.empty() ? known : options_.nic;
    fact("{} in a node: {}{}", counted(nics_.size(), "NIC"), shown(first), nic_.empty() ? "" : ", as " + nic_);
    if (nic_.empty())
      remark("{} is no NIC of the catalogue, and nic has Weft's defaults; {}", shown(first), choice_of("--nic", "nic"));
    ordered_json nic = ordered_json::object();
    if (!nic_.empty()) nic["part"] = nic_;
    const double rate = first.gigabytes_per_second;
    if (const std::optional<Lanes> lanes = lanes_of(rate)) {
      fact("PCI Express of a NIC: {:.2f} GB/s, generation {} with {} lanes", rate, lanes->generation, lanes->lanes);
      nic["pcie"] = {{"generation", lanes->generation}, {"lanes", lanes->lanes}};
    } else {
      remark("pci_link_speed of {} {}, and nic.pcie is that of the part", first.bus,
             rate > 0 ? fmt::format("is of no generation of PCI Express: {} GB/s", rate)
                      : std::string("is missing (lstopo sees it as root)"));
    }
    if (!nic.empty()) made_.platform["nic"] = nic;
    for (const PciDevice* device : nics_) {
      Devices beside;
      std::copy_if(accelerators_.begin(), accelerators_.end(), std::back_inserter(beside),
                   [&](const PciDevice* accelerator) { return share_switch(*accelerator, *device); });
      if (beside.empty()) continue;
      fact("under one PCIe switch: NIC {}{} and {} {}", device->bus,
           device->drivers.empty() ? "" : " (" + device->drivers.back() + ")",
           beside.size() == 1 ? "accelerator" : "accelerators", buses_of(beside));
    }
  }

  void add_network() {
    const bool is_ethernet = !nics_.empty() && nics_.front()->kind == kEthernet;
    std::optional<NetworkParts> network;
    if (!options_.network.empty()) {
      network = network_of_link(options_.network);
    } else {
      network = usual_network(nic_, is_ethernet);
    }
    if (!network) {
      if (nodes_ > 1) {
        throw InputError(file_, "",
                         "a NIC whose links are known, or " + choice_of("--network", "link") + ", for the network of " +
                             counted(nodes_, "node"),
                         nics_.empty() ? "no NIC" : shown(*nics_.front()));
      }
      remark("links of the network are not known, and fabric has Weft's default; --network PART says otherwise");
      return;
    }
    if (options_.network.empty()) {
      remark(
          "nothing is said of the network beyond the NICs: a fat tree of links {}, as {} for {} has; --network PART "
          "names another link",
          network->link, nic_, is_ethernet ? "Ethernet" : "InfiniBand");
    }
    if (!network->switches.empty()) fact("network: links {}, switches {}", network->link, network->switches);
    double share = 1;
    if (!nics_.empty() && nics_.size() != accelerators_.size()) {
      share = static_cast<double>(nics_.size()) / static_cast<double>(accelerators_.size());
      remark("{} for {}: an accelerator has a NIC of its own in a machine, whose link has the rate of its share",
             counted(nics_.size(), "NIC"), counted(accelerators_.size(), "accelerator"));
    }
    ordered_json fabric = {{"topology", "fat-tree"}, {"radix", network->radix}, {"hosts_per_leaf", network->radix / 2}};
    const std::size_t ends = accelerators_.size() * static_cast<std::size_t>(nodes_);
    if (ends > static_cast<std::size_t>(network->radix) * static_cast<std::size_t>(network->radix) / 2) {
      fabric["levels"] = 3;
      fact("network: three levels, since two of switches of {} ports join {} accelerators at most", network->radix,
           network->radix * network->radix / 2);
    }
    fabric.update(fabric_of_parts(*network, share, options_));
    made_.platform["fabric"] = fabric;
  }

  /// Why what joins accelerators is a switch, though each has an entry for each other one in the matrix and no switch
  /// is in it; empty if those are links. hwloc can add what goes over switches (--distances-transform transitive): each
  /// pair then has a port's whole rate.
  [[nodiscard]] static std::string why_switch(const HostLinks& found, const std::string& usual, double port) {
    if (usual.empty() || port == 0) return "";
    constexpr double kNear = 1.1;
    if (found.pair > port / kNear)
      return fmt::format("since each pair has the whole rate of a port of {}, {:.0f} GB/s", usual, port);
    if (found.rate > kNear * port)
      return fmt::format("since the sum of its pairs is more than a port of {} has, {:.0f} GB/s", usual, port);
    return "";
  }

  void add_scale_up() {
    const std::string usual = options_.scale_up.empty() ? usual_scale_up(accelerator_) : options_.scale_up;
    HostLinks found = links_of(host_, accelerators_);
    const bool is_full = found.missing.empty();
    const std::string why = found.by_switches || !is_full || found.rate == 0
                                ? ""
                                : why_switch(found, usual, usual.empty() ? 0 : scale_up_rate(usual, options_));
    const bool is_direct = found.rate > 0 && is_full && !found.by_switches && why.empty();
    if (!why.empty()) found.rate = found.pair;
    ordered_json& scale_up = made_.platform["scale_up"];
    if (usual == "nvswitch-nvl72" && !is_direct) {
      remark("{} is of a rack that NVLink joins, of which this is one host: per_node={} is what the file shows",
             accelerator_, accelerators_.size());
    }
    if (found.rate > 0) {
      fact("{}: {:.0f} GB/s from an accelerator{}", host_.links_name, found.rate,
           found.by_switches ? ", to switches"
           : !why.empty()    ? ", to each other one over switches, " + why
           : is_direct       ? fmt::format(", {:.0f} GB/s to each other one over links of their own", found.pair)
                             : "");
      scale_up = scale_up_of(usual, found.rate);
      if (usual.empty()) remark("scale_up has Weft's defaults but for its rate; --scale-up PART says otherwise");
      remark_some(found.uneven, host_.links_name + ": ",
                  !why.empty() || (is_direct && options_.scale_up.empty())
                      ? fmt::format("; each pair has {:.0f} MB/s in the machine", found.pair * 1e3)
                      : fmt::format("; each accelerator has {:.0f} MB/s in the machine", found.rate * 1e3),
                  "more like this");
      // A part that the user names is a switch, whatever the matrix shows.
      if (found.by_switches || !why.empty() || !options_.scale_up.empty()) return;
      if (is_direct) {
        join_all_pairs(made_.platform, accelerators_.size(), found.pair);
        if (!usual.empty())
          remark("no NVSwitch is in it: scale_up has the links of {} without switches; --scale-up {} has those", usual,
                 usual);
        if (accelerators_.size() > 2) remark("{}", kDirect);
        return;
      }
      leave_out_sums(scale_up);
      remark(
          "not every accelerator has a link to each other one ({} have none): scale_up is a switch with the rate of "
          "all links",
          found.missing);
      return;
    }
    const bool has_none = accelerators_.front()->has_nvml;
    if (!usual.empty() && (!has_none || !options_.scale_up.empty())) {
      scale_up = scale_up_of(usual, std::nullopt);
      if (options_.scale_up.empty())
        remark("no NVLinkBandwidth is in it (lstopo with NVML writes that): scale_up is {}, as {} usually has", usual,
               accelerator_);
      return;
    }
    const double pcie = accelerators_.front()->gigabytes_per_second;
    if (pcie == 0) {
      throw InputError(
          file_, "PCIDev " + accelerators_.front()->bus + ".pci_link_speed",
          "a rate above 0, as no other link between accelerators is said, or " + choice_of("--scale-up", "scale_up"),
          "");
    }
    scale_up = scale_up_of("", pcie);
    remark(
        "no links between accelerators are in it: scale_up is a switch with the rate of their PCI Express, {:.2f} "
        "GB/s; --scale-up PART says otherwise",
        pcie);
  }

  void add_host() {
    if (host_.cores == 0) {
      remark("no cores are in it: firmware.cores has its default");
    } else {
      constexpr std::size_t kMost = 1024;
      const std::size_t share =
          std::max<std::size_t>(1, std::min(kMost, static_cast<std::size_t>(host_.cores) / accelerators_.size()));
      made_.platform["firmware"] = {{"cores", share}};
      fact("host: {} in {}, {} of them for each accelerator", counted(host_.cores, "core"),
           counted(host_.packages, "package"), share);
    }
    if (host_.memory > 0)
      remark(
          "the host has {:.0f} GiB of memory, for which a machine has no field: a workload offloads to a remote_memory",
          host_.memory / (1 << 30));
  }

  const Host& host_;
  int nodes_;
  const PartOptions& options_;
  Devices accelerators_;
  Devices nics_;
  std::string accelerator_;
  std::string nic_;
};

}  // namespace

Described machine_of_host(const Host& host, const std::string& file, int nodes, const PartOptions& options) {
  return HostMachine(host, file, nodes, options).build();
}

}  // namespace weft::platforms::described
