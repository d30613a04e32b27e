// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

/// Networks of switches that ASTRA-sim's packet simulators read, as edges of a machine. All that is wrong is thrown as
/// InputError with file, line or key and what was expected; FormatError for a file that cannot be read.
namespace weft::platforms::astra {

/// What links of a machine can have, in bits a second and in nanoseconds of flight.
inline constexpr double kLeastLinkRate = 1e9;
inline constexpr double kMostLinkRate = 1e15;
inline constexpr double kMostFlight = 1e6;

struct Wire {
  std::string from;  ///< "end0", or a switch by another name
  std::string to;
  double bits_per_second = 0;
  double nanoseconds = 0;  ///< of flight
  double loss = 0;         ///< share of packets that arrive damaged
  int links = 1;           ///< in parallel
};

struct WiredNetwork {
  std::uint32_t ends = 0;
  std::vector<Wire> wires;
  double switch_nanoseconds = 0;
  std::vector<std::string> without_meaning;  ///< keys of the file that change nothing
};

/// ns-3's topology file: "nodes switches links", the numbers of the switches, and for each link "from to rate delay
/// error-rate". What is no switch is an end; ends have the lowest numbers, which are ranks.
WiredNetwork read_ns3_topology(const std::filesystem::path& file);

/// ns-3's config.txt: lines of a key and its values.
struct Ns3Config {
  std::filesystem::path topology;            ///< TOPOLOGY_FILE, relative to this file; empty if it has none
  std::optional<std::int64_t> payload;       ///< PACKET_PAYLOAD_SIZE, bytes
  std::vector<std::string> without_meaning;  ///< keys of ns-3's own transport and switches, and of its logs
};
Ns3Config read_ns3_config(const std::filesystem::path& file);

/// The logical topology that goes with it, {"logical-dims": ["8", "2"]}: ranks in each dimension, the innermost first.
/// Nothing where the file has no such key.
std::optional<std::vector<int>> read_logical_dimensions(const std::filesystem::path& file);

/// htsim's fat tree of two or three tiers (.topo): Nodes, Tiers, Podsize, and for each tier Downlink_speed_Gbps,
/// Downlink_Latency_ns, Radix_Down, Radix_Up, Bundle, Switch_latency_ns. The radices say what is oversubscribed, and
/// queues are those of the machine's switches.
WiredNetwork read_htsim_topology(const std::filesystem::path& file);

/// The `fabric` of a machine of so many accelerators: a graph. Ends beyond these are left out.
nlohmann::ordered_json fabric_of(const WiredNetwork& network, std::uint32_t ends);

}  // namespace weft::platforms::astra
