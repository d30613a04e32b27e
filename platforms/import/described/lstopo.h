// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "platforms/import/described/parts.h"

namespace weft::platforms::described {

/// A bridge on the way from the root complex to a device. Devices below one of type host have a root port in common at
/// most, devices below one of type PCI a switch.
struct Bridge {
  std::uint64_t id = 0;
  bool is_host = false;
};

/// A PCI function, with what drivers have found at it.
struct PciDevice {
  std::string bus;                   ///< "0000:18:00.0"
  int kind = 0;                      ///< class, 0x0302
  std::string id;                    ///< vendor and device, "10de:2330"
  double gigabytes_per_second = 0;   ///< of its link; 0: not said
  std::string name;                  ///< of a driver or of the table of PCI devices
  std::string subtype;               ///< "NVSwitch"
  std::vector<Bridge> bridges;       ///< the outermost first
  std::vector<std::uint64_t> ids;    ///< its own number and those of its drivers' devices
  std::vector<std::string> drivers;  ///< names, "mlx5_0"
  bool is_gpu = false;               ///< a driver for graphics or computing has it
  bool is_rdma = false;              ///< a driver of OpenFabrics has it
  bool has_nvml = false;             ///< which would have seen its NVLinks
  double memory = 0;                 ///< bytes of the device's own; 0: not said
};

/// Rates between devices, in MB/s, by the numbers of both.
using Rates = std::map<std::pair<std::uint64_t, std::uint64_t>, double>;

/// A host as hwloc sees it.
struct Host {
  std::string product;  ///< "DGXH100"; empty if it does not say
  int packages = 0;
  int cores = 0;
  double memory = 0;  ///< bytes
  std::vector<PciDevice> devices;
  Rates links;             ///< of NVLink, XGMI or Xe Link
  std::string links_name;  ///< "NVLinkBandwidth"
};

/// What `lstopo --of xml` writes, in version 2 of the format. All that is wrong is thrown as InputError.
Host read_lstopo(const std::filesystem::path& file);

/// So many such hosts, joined by a network. Throws InputError for what no machine can be made of without an option.
Described machine_of_host(const Host& host, const std::string& file, int nodes, const PartOptions& options);

}  // namespace weft::platforms::described
