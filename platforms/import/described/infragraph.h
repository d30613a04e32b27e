// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "platforms/import/described/parts.h"

namespace weft::platforms::described {

/// A link of InfraGraph; what it does not say is empty.
struct GraphLink {
  std::string name;
  std::string path;  ///< in the file: "infrastructure.links.0"
  std::optional<double> gigabytes_per_second;
  std::optional<double> nanoseconds;
};

/// A component of an instance of a device, every one of its count.
struct GraphNode {
  std::string name;        ///< "host.0.nic.1"
  std::string kind;        ///< xpu, nic, switch, port, cpu, memory, or a type of the user's own
  std::string text;        ///< its name and description, and those of what it is in
  std::size_t instance;    ///< in Infrastructure::instances
  bool is_in_nic = false;  ///< it is a NIC, or in a device that has the name of one
};

struct GraphEdge {
  std::size_t from;  ///< in Infrastructure::nodes
  std::size_t to;
  std::size_t link;  ///< in Infrastructure::links
};

/// One of an instance's count: "host.0".
struct GraphInstance {
  std::string name;
  std::string device;
};

/// The graph that a description stands for, with all counts and slices written out.
struct Infrastructure {
  std::string name;
  std::vector<GraphInstance> instances;
  std::vector<GraphNode> nodes;
  std::vector<GraphLink> links;
  std::vector<GraphEdge> inside;             ///< between components of one instance
  std::vector<GraphEdge> between;            ///< between instances
  std::vector<std::string> without_meaning;  ///< members that are not read
  std::vector<std::string> unjoined;         ///< what edges do not join, such as ends that are left over, for people
};

/// InfraGraph's description of an infrastructure, in YAML or JSON: devices with components, links and edges, instances
/// of them, and edges between instances. All that is wrong is thrown as InputError with file and path.
Infrastructure read_infragraph(const std::filesystem::path& file);

/// A machine whose accelerators are the components of kind xpu, and whose network has an edge for each between
/// instances. Throws InputError for what no machine can be made of without an option.
Described machine_of_graph(const Infrastructure& graph, const std::string& file, const PartOptions& options);

}  // namespace weft::platforms::described
