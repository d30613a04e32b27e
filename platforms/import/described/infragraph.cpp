// SPDX-License-Identifier: Apache-2.0
#include "platforms/import/described/infragraph.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "platforms/config/input_error.h"
#include "platforms/config/text.h"
#include "platforms/import/astra_yaml.h"
#include "platforms/import/described/infragraph_members.h"

namespace weft::platforms::described {
namespace {

constexpr std::size_t kMostNodes = 1 << 20;
constexpr std::size_t kMostEdges = 1 << 22;
constexpr const char* kDescription = "a description of InfraGraph, with devices and instances";

/// Where something stands: "infrastructure.devices.0.edges.2.ep1".
struct Place {
  YAML::Node node;
  std::string path;
};

struct Component {
  std::string name;
  std::string kind;
  std::string text;
  std::size_t count = 0;
};

/// Of a device, with what it is made of written out.
struct Flat {
  std::vector<GraphNode> nodes;  ///< names within the device: "nic.1"
  std::vector<GraphEdge> edges;
};

struct Device {
  std::string name;
  std::string text;
  std::vector<Component> components;
  Place place;
  bool is_open = false;  ///< it is being written out: a device that contains itself would never end
  std::optional<Flat> flat;
};

struct Slice {
  std::string name;
  std::size_t first = 0;
  std::size_t last = 0;  ///< behind it
  std::size_t step = 1;
};

class GraphReader {
 public:
  explicit GraphReader(std::string file) : file_(std::move(file)) {}

  Infrastructure read() {
    const YAML::Node root = astra::load_yaml(file_, kDescription);
    Place top{root, ""};
    if (root["infrastructure"]) top = {root["infrastructure"], "infrastructure"};
    if (!top.node.IsMap() || !top.node["devices"] || !top.node["instances"]) fail(top, kDescription, "");
    graph_.name = optional_text(top, "name");
    read_devices(top);
    read_instances(top);
    const std::map<std::string, std::size_t> links = read_links(top);
    for (const Place& edge : list(top, "edges")) {
      const std::vector<std::size_t> from = instance_ends(child(edge, "ep1"));
      const std::vector<std::size_t> to = instance_ends(child(edge, "ep2"));
      join_ends(edge, from, to, link_of_edge(edge, links), graph_.between);
    }
    graph_.without_meaning = unread_members(root);
    return std::move(graph_);
  }

 private:
  [[noreturn]] void fail(const Place& at, const std::string& expected, const std::string& got) const {
    throw InputError(file_, at.path, expected, got);
  }

  [[nodiscard]] Place child(const Place& above, const std::string& key) const {
    if (!above.node || !above.node.IsMap()) fail(above, "an object", above.node ? "" : "nothing");
    return {above.node[key], join_path(above.path, key)};
  }

  [[nodiscard]] std::vector<Place> list(const Place& above, const std::string& key) const {
    const Place at = child(above, key);
    std::vector<Place> elements;
    if (!at.node || at.node.IsNull()) return elements;
    if (!at.node.IsSequence()) fail(at, "a list", "");
    for (std::size_t i = 0; i < at.node.size(); ++i) {
      elements.push_back({at.node[i], join_path(at.path, std::to_string(i))});
      if (!elements.back().node.IsMap()) fail(elements.back(), "an object", "");
    }
    return elements;
  }

  [[nodiscard]] std::string optional_text(const Place& above, const std::string& key) const {
    const Place at = child(above, key);
    if (!at.node || at.node.IsNull()) return "";
    if (!at.node.IsScalar()) fail(at, "a text", "");
    return at.node.Scalar();
  }

  [[nodiscard]] std::string text(const Place& above, const std::string& key) const {
    std::string value = optional_text(above, key);
    if (value.empty()) fail(child(above, key), "a text", "nothing");
    return value;
  }

  [[nodiscard]] std::size_t count(const Place& above) const {
    const std::string value = text(above, "count");
    const std::optional<std::uint64_t> number = whole_number(value);
    if (!number || *number > kMostNodes)
      fail(child(above, "count"), "a whole number from 0 to " + std::to_string(kMostNodes), in_quotes(value));
    return static_cast<std::size_t>(*number);
  }

  /// `bandwidth` or `latency`: the member that `choice` names or, without it, the one that is there.
  [[nodiscard]] std::optional<double> physical(const Place& link, const std::string& key, const Units& units) const {
    const Place physical = child(link, "physical");
    if (!physical.node || physical.node.IsNull()) return std::nullopt;
    const Place at = child(physical, key);
    if (!at.node || at.node.IsNull()) return std::nullopt;
    std::vector<std::string> names;
    for (const auto& [unit, factor] : units) names.push_back(unit);
    if (key == "bandwidth") names.emplace_back(kTransfers);
    std::vector<std::string> there;
    std::copy_if(names.begin(), names.end(), std::back_inserter(there),
                 [&](const std::string& name) { return !optional_text(at, name).empty(); });
    std::string choice = optional_text(at, "choice");
    if (choice.empty()) {
      if (there.empty()) fail(at, "one of " + join(names, ", "), "");
      if (there.size() > 1) fail(at, "choice, which names the member that counts", join(there, ", "));
      choice = there.front();
    }
    if (std::find(names.begin(), names.end(), choice) == names.end())
      fail(child(at, "choice"), "one of " + join(names, ", "), in_quotes(choice));
    const std::string value = optional_text(at, choice);
    if (value.empty())
      fail(child(at, choice), "a number, as choice names it", there.empty() ? "nothing" : join(there, ", "));
    double number = 0;
    if (!YAML::convert<double>::decode(YAML::Node(value), number) || !(number > 0 && number < 1e9))
      fail(child(at, choice), "a number above 0 and below 1e9", in_quotes(value));
    if (choice == kTransfers) return std::nullopt;
    return number *
           std::find_if(units.begin(), units.end(), [&](const auto& unit) { return unit.first == choice; })->second;
  }

  std::map<std::string, std::size_t> read_links(const Place& above) {
    std::map<std::string, std::size_t> names;
    for (const Place& at : list(above, "links")) {
      GraphLink link;
      link.name = text(at, "name");
      link.path = at.path;
      link.gigabytes_per_second = physical(at, "bandwidth", bandwidth_units());
      link.nanoseconds = physical(at, "latency", latency_units());
      if (!names.emplace(link.name, graph_.links.size()).second)
        fail(child(at, "name"), "each link once", in_quotes(link.name) + " twice");
      graph_.links.push_back(std::move(link));
    }
    return names;
  }

  std::size_t link_of_edge(const Place& edge, const std::map<std::string, std::size_t>& links) const {
    const std::string name = text(edge, "link");
    const auto found = links.find(name);
    if (found != links.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [each, index] : links) names.push_back(each);
    fail(child(edge, "link"), "a link of " + (names.empty() ? "links, which is empty" : join(names, ", ")),
         in_quotes(name));
  }

  void read_devices(const Place& top) {
    for (const Place& at : list(top, "devices")) {
      Device device;
      device.name = text(at, "name");
      device.text = device.name + " " + optional_text(at, "description");
      device.place = at;
      for (const Place& each : list(at, "components")) {
        Component component;
        component.name = text(each, "name");
        component.text = component.name + " " + optional_text(each, "description");
        component.kind = kind_of(each);
        component.count = count(each);
        device.components.push_back(std::move(component));
      }
      if (!devices_.emplace(device.name, device).second)
        fail(child(at, "name"), "each device once", in_quotes(device.name) + " twice");
    }
  }

  /// `choice`; left out, the member that is there.
  [[nodiscard]] std::string kind_of(const Place& component) const {
    const std::vector<std::string>& kinds = component_kinds();
    std::string choice = optional_text(component, "choice");
    for (const std::string& kind : kinds) {
      if (choice.empty() && component.node[kind]) choice = kind;
    }
    if (std::find(kinds.begin(), kinds.end(), choice) == kinds.end())
      fail(child(component, "choice"), "one of " + join(kinds, ", "), choice.empty() ? "nothing" : in_quotes(choice));
    if (choice != "custom") return choice;
    const Place custom = child(component, "custom");
    return custom.node && custom.node.IsMap() ? "custom " + optional_text(custom, "type") : choice;
  }

  /// "nic", "nic[3]", "nic[0:8]", "nic[0:8:2]", "nic[:4]", as slices of Python.
  [[nodiscard]] Slice slice(const Place& at, const std::string& word, std::size_t size) const {
    const std::size_t open = word.find('[');
    Slice result{word.substr(0, open), 0, size, 1};
    if (open == std::string::npos) return result;
    const auto wrong = [&](const std::string& what) {
      fail(at,
           "a slice within 0 to " + std::to_string(size) + ", such as " + result.name + "[0:" + std::to_string(size) +
               "]" + what,
           in_quotes(word));
    };
    if (word.back() != ']') wrong("");
    std::string inside = word.substr(open + 1, word.size() - open - 2);
    std::vector<std::string> pieces(1);
    for (const char c : inside) {
      if (c == ':') {
        pieces.emplace_back();
      } else {
        pieces.back() += c;
      }
    }
    std::vector<std::size_t> numbers = {0, size, 1};
    if (pieces.size() > numbers.size()) wrong("");
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].empty() && pieces.size() > 1) continue;
      const std::optional<std::uint64_t> number = whole_number(pieces[i]);
      if (!number) wrong("");
      numbers[i] = static_cast<std::size_t>(*number);
    }
    if (pieces.size() == 1) numbers[1] = numbers[0] + 1;
    if (numbers[0] > numbers[1] || numbers[1] > size || numbers[2] == 0) wrong("");
    result.first = numbers[0];
    result.last = numbers[1];
    result.step = numbers[2];
    return result;
  }

  /// Components by name and number, from the outermost: "cx5[0:2].port[0]" gives "cx5.0.port.0" and "cx5.1.port.0".
  [[nodiscard]] std::vector<std::string> component_names(const Place& at, const std::string& written,
                                                         const Device& in) const {
    std::vector<std::string> names = {""};
    const Device* device = &in;
    for (std::size_t begin = 0; begin <= written.size();) {
      const std::size_t dot = std::min(written.find('.', begin), written.size());
      const std::string word = written.substr(begin, dot - begin);
      begin = dot + 1;
      const std::string name = word.substr(0, word.find('['));
      if (device != nullptr && device != &in && name == device->name) continue;
      const Component* component = find_component(device, name);
      if (component == nullptr) {
        std::vector<std::string> there;
        if (device != nullptr) {
          for (const Component& each : device->components) there.push_back(each.name);
        }
        fail(at, "a component of " + (device != nullptr ? device->name + ": " + join(there, ", ") : "a device"),
             in_quotes(name));
      }
      const Slice part = slice(at, word, component->count);
      std::vector<std::string> longer;
      for (const std::string& prefix : names) {
        for (std::size_t i = part.first; i < part.last; i += part.step)
          longer.push_back(prefix + (prefix.empty() ? "" : ".") + name + "." + std::to_string(i));
      }
      if (longer.size() > kMostNodes) fail(at, "at most " + std::to_string(kMostNodes) + " components", "");
      names = std::move(longer);
      const auto inner = devices_.find(name);
      device = component->kind == "device" && inner != devices_.end() ? &inner->second : nullptr;
    }
    return names;
  }

  static const Component* find_component(const Device* device, const std::string& name) {
    if (device == nullptr) return nullptr;
    const auto found = std::find_if(device->components.begin(), device->components.end(),
                                    [&](const Component& each) { return each.name == name; });
    return found == device->components.end() ? nullptr : &*found;
  }

  void expect_size(const Place& at, std::size_t size, std::size_t most, const char* what) const {
    if (size > most) fail(at, "at most " + std::to_string(most) + " " + what + " in all", std::to_string(size));
  }

  const Flat& flat(Device& device) {
    if (device.flat) return *device.flat;
    if (device.is_open) fail(device.place, "devices that do not contain themselves", in_quotes(device.name));
    device.is_open = true;
    Flat result;
    std::vector<Place> places = list(device.place, "components");
    for (std::size_t c = 0; c < device.components.size(); ++c) {
      const Component& component = device.components[c];
      const Flat* inner = nullptr;
      if (component.kind == "device") {
        const auto found = devices_.find(component.name);
        if (found == devices_.end())
          fail(child(places[c], "name"), "the name of a device, as choice says", in_quotes(component.name));
        inner = &flat(found->second);
      }
      for (std::size_t i = 0; i < component.count; ++i) {
        const std::string name = component.name + "." + std::to_string(i);
        const std::size_t base = result.nodes.size();
        if (inner == nullptr) {
          result.nodes.push_back({name, component.kind, component.text, 0, component.kind == "nic"});
        } else {
          const std::string text = component.text + " " + devices_.at(component.name).text;
          const bool is_nic = is_nic_device(*inner);
          for (GraphNode node : inner->nodes) {
            node.name.insert(0, name + ".");
            node.text += " " + text;
            node.is_in_nic = node.is_in_nic || is_nic;
            result.nodes.push_back(std::move(node));
          }
          for (const GraphEdge& edge : inner->edges)
            result.edges.push_back({edge.from + base, edge.to + base, edge.link});
        }
        expect_size(places[c], result.nodes.size(), kMostNodes, "components");
      }
    }
    std::map<std::string, std::size_t> numbers;
    for (std::size_t i = 0; i < result.nodes.size(); ++i) numbers[result.nodes[i].name] = i;
    const std::map<std::string, std::size_t> links = read_links(device.place);
    for (const Place& edge : list(device.place, "edges")) {
      const std::vector<std::size_t> from = device_ends(child(edge, "ep1"), device, numbers);
      const std::vector<std::size_t> to = device_ends(child(edge, "ep2"), device, numbers);
      join_ends(edge, from, to, link_of_edge(edge, links), result.edges);
    }
    device.is_open = false;
    device.flat = std::move(result);
    return *device.flat;
  }

  /// A device that is put into others, has ports, and neither computes nor switches.
  static bool is_nic_device(const Flat& device) {
    const auto has = [&](const char* kind) {
      return std::any_of(device.nodes.begin(), device.nodes.end(),
                         [&](const GraphNode& node) { return node.kind == kind; });
    };
    return has("port") && !has("xpu") && !has("switch");
  }

  [[nodiscard]] std::vector<std::size_t> device_ends(const Place& at, const Device& device,
                                                     const std::map<std::string, std::size_t>& numbers) const {
    const std::string outer = optional_text(at, "device");
    const std::string component = text(at, "component");
    const std::string written =
        outer.empty() || outer.substr(0, outer.find('[')) == device.name ? component : outer + "." + component;
    return numbered(child(at, "component"), component_names(child(at, "component"), written, device), "", numbers);
  }

  [[nodiscard]] std::vector<std::size_t> numbered(const Place& at, const std::vector<std::string>& names,
                                                  const std::string& prefix,
                                                  const std::map<std::string, std::size_t>& numbers) const {
    std::vector<std::size_t> ends;
    for (const std::string& name : names) {
      const auto found = numbers.find(prefix + name);
      if (found == numbers.end()) fail(at, "a component within the device, such as its port", in_quotes(name));
      ends.push_back(found->second);
    }
    return ends;
  }

  void read_instances(const Place& top) {
    for (const Place& at : list(top, "instances")) {
      const std::string name = text(at, "name");
      const std::string device = text(at, "device");
      const auto found = devices_.find(device);
      if (found == devices_.end()) {
        std::vector<std::string> names;
        for (const auto& [each, value] : devices_) names.push_back(each);
        fail(child(at, "device"), "a device: " + join(names, ", "), in_quotes(device));
      }
      const std::size_t copies = count(at);
      if (!counts_.emplace(name, std::pair(copies, device)).second)
        fail(child(at, "name"), "each instance once", in_quotes(name) + " twice");
      const Flat& inner = flat(found->second);
      expect_size(at, graph_.nodes.size() + copies * inner.nodes.size(), kMostNodes, "components");
      expect_size(at, graph_.inside.size() + copies * inner.edges.size(), kMostEdges, "edges");
      for (std::size_t i = 0; i < copies; ++i) {
        const std::string full = name + "." + std::to_string(i);
        const std::size_t base = graph_.nodes.size();
        for (GraphNode node : inner.nodes) {
          node.name.insert(0, full + ".");
          node.text += " " + found->second.text;
          node.instance = graph_.instances.size();
          numbers_[node.name] = graph_.nodes.size();
          graph_.nodes.push_back(std::move(node));
        }
        for (const GraphEdge& edge : inner.edges)
          graph_.inside.push_back({edge.from + base, edge.to + base, edge.link});
        graph_.instances.push_back({full, device});
      }
    }
  }

  [[nodiscard]] std::vector<std::size_t> instance_ends(const Place& at) const {
    const Place where = child(at, "instance");
    const std::string written = text(at, "instance");
    const std::string name = written.substr(0, written.find('['));
    const auto found = counts_.find(name);
    if (found == counts_.end()) {
      std::vector<std::string> names;
      for (const auto& [each, value] : counts_) names.push_back(each);
      fail(where, "an instance: " + join(names, ", "), in_quotes(name));
    }
    const Slice part = slice(where, written, found->second.first);
    const Place component = child(at, "component");
    const std::vector<std::string> names =
        component_names(component, text(at, "component"), devices_.at(found->second.second));
    std::vector<std::size_t> ends;
    for (std::size_t i = part.first; i < part.last; i += part.step) {
      for (const std::size_t end : numbered(component, names, name + "." + std::to_string(i) + ".", numbers_))
        ends.push_back(end);
    }
    return ends;
  }

  void join_ends(const Place& edge, const std::vector<std::size_t>& from, const std::vector<std::size_t>& to,
                 std::size_t link, std::vector<GraphEdge>& edges) {
    const std::string scheme = text(edge, "scheme");
    const std::size_t before = edges.size();
    std::size_t same = 0;
    if (scheme == "many2many") {
      expect_size(edge, edges.size() + from.size() * to.size(), kMostEdges, "edges");
      // Of a component with itself each pair stands twice.
      std::set<std::pair<std::size_t, std::size_t>> joined;
      for (const std::size_t a : from) {
        for (const std::size_t b : to) {
          if (a != b && joined.insert(std::minmax(a, b)).second) edges.push_back({a, b, link});
        }
      }
    } else if (scheme == "one2one") {
      expect_size(edge, edges.size() + from.size(), kMostEdges, "edges");
      if (from.size() != to.size()) {
        const bool left = from.size() > to.size();
        graph_.unjoined.push_back(edge.path + ": one2one joins " + counted(std::min(from.size(), to.size()), "pair") +
                                  ", and " +
                                  counted(left ? from.size() - to.size() : to.size() - from.size(), "component") +
                                  " of " + (left ? "ep1" : "ep2") + " without another end have no edge");
      }
      for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i) {
        if (from[i] != to[i]) {
          edges.push_back({from[i], to[i], link});
        } else {
          ++same;
        }
      }
    } else if (scheme == "ring") {
      // Those of both ends, one after the other, and the last with the first.
      std::vector<std::size_t> all = from;
      std::set<std::size_t> seen(from.begin(), from.end());
      for (const std::size_t end : to) {
        if (seen.insert(end).second) all.push_back(end);
      }
      for (std::size_t i = 0; i + 1 < all.size(); ++i) edges.push_back({all[i], all[i + 1], link});
      if (all.size() > 2) edges.push_back({all.back(), all.front(), link});
    } else {
      fail(child(edge, "scheme"), "one of one2one, many2many, ring", in_quotes(scheme));
    }
    if (edges.size() == before) {
      graph_.unjoined.push_back(edge.path + ": it joins no two components" +
                                (from.empty() || to.empty() ? ", as one of its ends is empty" : "") +
                                ", and has no effect");
    } else if (same > 0) {
      graph_.unjoined.push_back(edge.path + ": of " + counted(same, "pair") +
                                " both ends are one component, and these have no edge");
    }
  }

  std::string file_;
  Infrastructure graph_;
  std::map<std::string, Device> devices_;
  std::map<std::string, std::pair<std::size_t, std::string>> counts_;  ///< of instances, with their devices
  std::map<std::string, std::size_t> numbers_;                         ///< of nodes
};

}  // namespace

Infrastructure read_infragraph(const std::filesystem::path& file) {
  return GraphReader(file.string()).read();
}

}  // namespace weft::platforms::described
