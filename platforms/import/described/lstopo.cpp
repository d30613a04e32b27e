// SPDX-License-Identifier: Apache-2.0
#include "platforms/import/described/lstopo.h"

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "platforms/config/input_error.h"
#include "platforms/config/text.h"
#include "traces/files/text_file.h"

namespace weft::platforms::described {
namespace {

using boost::property_tree::ptree;

constexpr const char* kExpected = "the XML of lstopo --of xml";

std::string attribute(const ptree& object, const char* name) {
  return object.get<std::string>(ptree::path_type(std::string("<xmlattr>/") + name, '/'), "");
}

/// The parser calls itself for each level: a file of millions would overflow the stack.
void expect_depth(const std::string& file, const std::string& text) {
  constexpr int kMost = 200;
  int depth = 0;
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
    if (at + 1 >= text.size() || text[at + 1] == '!' || text[at + 1] == '?') continue;
    const std::size_t end = text.find('>', at);
    if (text[at + 1] == '/') {
      --depth;
    } else if (end != std::string::npos && text[end - 1] != '/' && ++depth > kMost) {
      throw InputError(file, "", "at most " + std::to_string(kMost) + " elements within each other", "");
    }
  }
}

class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  Host read() {
    const ptree root = load();
    if (root.empty() || root.count("topology") == 0) {
      throw InputError(file_, "", std::string(kExpected) + ", with <topology>",
                       root.empty() ? "nothing" : "<" + root.front().first + ">");
    }
    const ptree& topology = root.get_child("topology");
    const std::string version = attribute(topology, "version");
    if (!version.starts_with("2.")) {
      throw InputError(file_, "topology.version", "2.0, as hwloc 2 writes it",
                       version.empty() ? "nothing, as in files of hwloc 1" : in_quotes(version));
    }
    for (const auto& [key, child] : topology) {
      if (key == "object") read_object(child, "topology", {});
      if (key == "distances2" || key == "distances2hetero") read_distances(child);
    }
    return std::move(host_);
  }

 private:
  ptree load() {
    const std::string text = traces::read_text(file_, kExpected);
    expect_depth(file_, text);
    std::istringstream stream(text);
    ptree root;
    try {
      read_xml(stream, root, boost::property_tree::xml_parser::trim_whitespace);
    } catch (const boost::property_tree::xml_parser_error& error) {
      throw InputError(file_, error.line() > 0 ? "line " + std::to_string(error.line()) : "", kExpected,
                       "what is no XML: " + error.message());
    }
    return root;
  }

  [[nodiscard]] double number(const ptree& object, const std::string& path, const char* name) const {
    const std::string text = attribute(object, name);
    if (text.empty()) return 0;
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (*end != '\0' || !(value >= 0 && value < 1e18)) {
      throw InputError(file_, path + "." + name, "a number", in_quotes(text));
    }
    return value;
  }

  [[nodiscard]] std::uint64_t id_of(const ptree& object, const std::string& path) const {
    return static_cast<std::uint64_t>(number(object, path, "gp_index"));
  }

  void read_object(const ptree& object, const std::string& above, std::vector<Bridge> bridges) {
    const std::string type = attribute(object, "type");
    if (type.empty()) throw InputError(file_, above + ".object", "a type, such as \"Machine\"", "nothing");
    std::string path = above;
    path += "." + type;
    if (type == "PCIDev") {
      read_device(object, path + " " + attribute(object, "pci_busid"), bridges);
      return;
    }
    if (type == "Package") ++host_.packages;
    if (type == "Core") ++host_.cores;
    // Memory of accelerators has a subtype.
    if (type == "NUMANode" && attribute(object, "subtype").empty())
      host_.memory += number(object, path, "local_memory");
    if (type == "Bridge") bridges.push_back({id_of(object, path), attribute(object, "bridge_type").starts_with("0")});
    for (const auto& [key, child] : object) {
      if (key == "object") read_object(child, path, bridges);
      if (key == "info" && type == "Machine" && attribute(child, "name") == "DMIProductName")
        host_.product = attribute(child, "value");
    }
  }

  void read_device(const ptree& object, const std::string& path, const std::vector<Bridge>& bridges) {
    PciDevice device;
    device.bus = attribute(object, "pci_busid");
    const std::string type = attribute(object, "pci_type");
    const char* const end = type.data() + type.size();
    const auto [last, error] = std::from_chars(type.data(), end, device.kind, 16);
    const std::size_t open = type.find('[');
    const std::size_t close = type.find(']');
    if (error != std::errc() || last != type.data() + 4 || open == std::string::npos || close != open + 10) {
      throw InputError(file_, path + ".pci_type", "a class, vendor and device, such as \"0302 [10de:2330]\"",
                       in_quotes(type));
    }
    device.id = type.substr(open + 1, close - open - 1);
    device.gigabytes_per_second = number(object, path, "pci_link_speed");
    device.subtype = attribute(object, "subtype");
    device.bridges = bridges;
    device.ids.push_back(id_of(object, path));
    for (const auto& [key, child] : object) {
      if (key == "info" && attribute(child, "name") == "PCIDevice" && device.name.empty())
        device.name = attribute(child, "value");
      if (key == "object" && attribute(child, "type") == "OSDev") read_driver(child, path, device);
    }
    host_.devices.push_back(std::move(device));
  }

  void read_driver(const ptree& object, const std::string& above, PciDevice& device) {
    const std::string name = attribute(object, "name");
    const std::string path = above + ".OSDev " + name;
    const std::string type = attribute(object, "osdev_type");
    const std::string subtype = attribute(object, "subtype");
    device.ids.push_back(id_of(object, path));
    device.drivers.push_back(name);
    device.is_gpu = device.is_gpu || type == "1" || type == "5";
    device.is_rdma = device.is_rdma || type == "3";
    device.has_nvml = device.has_nvml || subtype == "NVML";
    for (const auto& [key, child] : object) {
      if (key != "info") continue;
      const std::string info = attribute(child, "name");
      if (info == "GPUModel") device.name = attribute(child, "value");
      // KiB
      if (info == "CUDAGlobalMemorySize" || info == "RSMIVRAMSize")
        device.memory = number(child, path + "." + info, "value") * 1024;
    }
  }

  /// Those of links between accelerators: a matrix of MB/s, by rows.
  void read_distances(const ptree& distances) {
    const std::string name = attribute(distances, "name");
    if (name != "NVLinkBandwidth" && name != "XGMIBandwidth" && name != "XeLinkBandwidth") return;
    const std::string path = "topology.distances2 " + name;
    std::vector<std::uint64_t> objects;
    std::vector<double> values;
    for (const auto& [key, child] : distances) {
      if (key != "indexes" && key != "u64values") continue;
      std::istringstream words(child.data());
      for (std::string word; words >> word;) {
        const std::size_t colon = word.find(':');  // OSDev:802, where objects are of several types
        const std::optional<std::uint64_t> value =
            whole_number(colon == std::string::npos ? word : word.substr(colon + 1));
        if (!value) throw InputError(file_, path + "." + key, "whole numbers", in_quotes(word));
        if (key == "indexes") {
          objects.push_back(*value);
        } else {
          values.push_back(static_cast<double>(*value));
        }
      }
    }
    if (values.size() != objects.size() * objects.size()) {
      throw InputError(file_, path + ".u64values",
                       std::to_string(objects.size() * objects.size()) + " values, one for each pair of " +
                           counted(objects.size(), "object"),
                       std::to_string(values.size()));
    }
    host_.links_name = name;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      for (std::size_t j = 0; j < objects.size(); ++j) {
        if (i != j) host_.links[{objects[i], objects[j]}] += values[i * objects.size() + j];
      }
    }
  }

  std::string file_;
  Host host_;
};

}  // namespace

Host read_lstopo(const std::filesystem::path& file) {
  return Reader(file.string()).read();
}

}  // namespace weft::platforms::described
