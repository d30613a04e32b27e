// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platforms/config/catalogue.h"

/// Machines from descriptions of hardware: what lstopo sees of a host, and InfraGraph's graphs of devices.
namespace weft::platforms::described {

/// A machine, what was read of it, and what the description does not say or a machine of Weft does not have.
struct Described {
  nlohmann::ordered_json platform;  ///< without a workload
  std::vector<std::string> facts;
  std::vector<std::string> remarks;
};

/// A machine in the making, from a file.
class DescribedMachine {
 protected:
  explicit DescribedMachine(std::string file) : file_(std::move(file)) {}

  template <typename... Args>
  void fact(fmt::format_string<Args...> text, Args&&... args) {
    made_.facts.push_back(fmt::format(text, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void remark(fmt::format_string<Args...> text, Args&&... args) {
    made_.remarks.push_back(file_ + ": " + fmt::format(text, std::forward<Args>(args)...));
  }

  /// The first few of what there may be many of, and how many more there are: "3 " and what those are.
  void remark_some(const std::vector<std::string>& lines, std::string_view before, std::string_view after,
                   std::string_view others) {
    constexpr std::size_t kMost = 5;
    for (std::size_t i = 0; i < std::min(kMost, lines.size()); ++i) remark("{}{}{}", before, lines[i], after);
    if (lines.size() > kMost) remark("{}{} {}", before, lines.size() - kMost, others);
  }

  std::string file_;
  Described made_;
};

/// Parts that the command line names; empty: as the description says.
struct PartOptions {
  std::string accelerator;
  std::string nic;
  std::string network;  ///< a link
  std::string scale_up;
  std::string beside;  ///< the platform that will be written: own parts lie beside it
};

/// The catalogue, and own parts beside the platform.
Catalogue catalogue_of(const PartOptions& options);

/// Throws UsageError, which lists the parts there are, if an option names none of its kind.
void expect_parts(const PartOptions& options);

/// "--accelerator PART with one of a100-80g, ...", of all parts of a kind. A user's own that lie beside the platform
/// are not among them: to list them is to read each file of that folder, the platform that is replaced among them.
std::string choice_of(const std::string& option, const std::string& kind);

/// The part of a product, by "vendor:device" of PCI. Empty if the catalogue has none.
std::string accelerator_of_pci(std::string_view id);
std::string nic_of_pci(std::string_view id);
/// The same, by what drivers, tables of PCI devices and people call it: "NVIDIA H100 80GB HBM3".
std::string accelerator_of_name(std::string_view text);
std::string nic_of_name(std::string_view text);

/// What joins accelerators of this part in its maker's usual machine. Empty if the catalogue has none.
std::string usual_scale_up(std::string_view accelerator);

/// Links of a network, and the switches that are made for them.
struct NetworkParts {
  std::string link;
  std::string switches;  ///< empty: Weft's default
  int radix = 64;
  bool is_ethernet = false;
};
/// Of the ports of a NIC; nothing if the part is not known.
std::optional<NetworkParts> usual_network(std::string_view nic, bool is_ethernet);
/// Of a link by its part's name.
NetworkParts network_of_link(std::string_view link);

/// The most frequent value above 0; of several as frequent, the highest: a link at fault is slower than others. 0 if
/// there is none.
double most_frequent(const std::vector<double>& values);

/// "400Gbps" of a rate in gigabytes a second.
std::string rate_text(double gigabytes_per_second);

/// Of a link's part, in gigabytes a second.
double link_rate(const std::string& part, const PartOptions& options);
/// Of a port of a scale_up's part, in gigabytes a second; 0 if the part says nothing.
double scale_up_rate(const std::string& part, const PartOptions& options);
/// Of an accelerator's part, in bytes; 0 if its memory says nothing.
double memory_of(const std::string& part, const PartOptions& options);

/// `fabric`, without its topology. `share`: of a link's rate that an accelerator has, 1 if it has a NIC of its own.
nlohmann::ordered_json fabric_of_parts(const NetworkParts& network, double share, const PartOptions& options);
/// `scale_up` of a part, or without one, with links of such a rate or those of the part.
nlohmann::ordered_json scale_up_of(const std::string& part, std::optional<double> gigabytes_per_second);

/// `collectives` by NCCL. A collective's entry is the library's, whatever machine it runs on: that of dgx-h100, which
/// nccl-tests of an H100 gave.
nlohmann::ordered_json nccl();

/// What a machine whose links join each pair of three or more accelerators does with them, for people.
inline constexpr std::string_view kDirect =
    "links join each pair of a node's accelerators: collectives go by the algorithm dimensions, direct within a node, "
    "which uses all of them, as the rings of RCCL do; rings of Weft use one of an accelerator";
/// Of a part whose switches are not there: what those add up.
void leave_out_sums(nlohmann::ordered_json& scale_up);
/// Links of such a rate between each pair of the accelerators of a node, and collectives that use them. Of a part of
/// scale_up, switches are left out.
void join_all_pairs(nlohmann::ordered_json& platform, std::size_t per_node, double gigabytes_per_second);

}  // namespace weft::platforms::described
