// SPDX-License-Identifier: Apache-2.0
// weft import infragraph: a graph of devices becomes a machine. Runs the binary.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::CliTest;
using test::Ran;

json component(const char* name, int count, const char* choice, const char* description = "") {
  return {{"name", name}, {"count", count}, {"choice", choice}, {"description", description}};
}
json edge(const char* from, const char* to, const char* link, const char* scheme = "many2many") {
  return {{"ep1", {{"component", from}}}, {"ep2", {{"component", to}}}, {"link", link}, {"scheme", scheme}};
}
json wire(const char* from, const char* at, const char* to, const char* port, const char* link) {
  return {{"ep1", {{"instance", from}, {"component", at}}},
          {"ep2", {{"instance", to}, {"component", port}}},
          {"link", link},
          {"scheme", "one2one"}};
}
json link(const char* name, double gbps) {
  return {{"name", name}, {"physical", {{"bandwidth", {{"gigabits_per_second", gbps}}}, {"latency", {{"ns", 40}}}}}};
}

/// Two servers of two accelerators with a NIC each, on one switch.
json pair() {
  return {{"name", "pair"},
          {"devices",
           {{{"name", "server"},
             {"components",
              {component("gpu", 2, "xpu", "NVIDIA H100 SXM5"), component("nic", 2, "nic", "ConnectX-7"),
               component("cpu", 1, "cpu"), component("pcisw", 1, "switch"), component("nvsw", 1, "switch")}},
             {"links", {link("nvlink", 3600), {{"name", "pcie"}}}},
             {"edges",
              {edge("cpu", "pcisw", "pcie"), edge("gpu", "pcisw", "pcie"), edge("nic", "pcisw", "pcie"),
               edge("nvsw", "pcisw", "pcie"), edge("gpu", "nvsw", "nvlink")}}},
            {{"name", "box"},
             {"components", {component("port", 8, "port")}},
             {"links", json::array()},
             {"edges", json::array()}}}},
          {"links", {link("eth", 400)}},
          {"instances",
           {{{"name", "host"}, {"device", "server"}, {"count", 2}}, {{"name", "sw"}, {"device", "box"}, {"count", 1}}}},
          {"edges", {wire("host", "nic", "sw", "port[0:4]", "eth")}}};
}

class ImportInfragraph : public CliTest {
 protected:
  Ran import(const json& graph, const std::string& more = "") {
    write("graph.json", graph.dump());
    return weft("import infragraph ../graph.json --out p.json " + more);
  }
  json platform() { return json::parse(test::read_file(folder_ / "work/p.json")); }
  void expect_refused_of(const json& graph, const std::vector<const char*>& message) {
    write("graph.json", graph.dump());
    expect_refused({message.front(), "import infragraph ../graph.json --out p.json", message});
  }
};

TEST_F(ImportInfragraph, TheSampleBecomesAMachineThatRuns) {
  const Ran made = weft("import infragraph " WEFT_SOURCE_DIR "/docs/inputs/infragraph.yaml --out p.json");
  ASSERT_EQ(made.code, 0) << made.err;
  const json machine = platform();
  EXPECT_EQ(machine["accelerators"], 4);
  EXPECT_EQ(machine["per_node"], 2);
  EXPECT_EQ(machine["accelerator"], "h100-sxm");
  EXPECT_EQ(machine["nic"], "connectx-7");
  EXPECT_EQ(machine["scale_up"]["fabric"]["link"]["rate"], "3600Gbps");
  EXPECT_EQ(machine["fabric"]["topology"], "graph");
  EXPECT_EQ(machine["fabric"]["link"], json({{"rate", "400Gbps"}, {"propagation", "25000ps"}}));
  const json edges = machine["fabric"]["edges"];
  ASSERT_EQ(edges.size(), 8U);
  EXPECT_EQ(edges[2], "end2 - leaf_1");
  EXPECT_EQ(edges[5],
            json({{"between", "leaf_0 - spine_1"}, {"link", {{"rate", "800Gbps"}, {"propagation", "100000ps"}}}}));
  EXPECT_NE(made.err.find("1 instance left out, as no way between accelerators is over them: store.0"),
            std::string::npos)
      << made.err;
  const Ran sum = weft("collective p.json --op all_reduce --bytes 64KiB --data");
  EXPECT_EQ(sum.code, 0) << sum.err;
  const json run = run_json("p.json --set workload.kind=fsdp --set workload.model=nano --set workload.sequence=256");
  EXPECT_TRUE(run.is_object());
}

TEST_F(ImportInfragraph, APlatformGoesToStandardOutput) {
  write("graph.json", pair().dump());
  ASSERT_EQ(import(pair()).code, 0);
  json in_file = platform();
  in_file["name"] = "graph";
  for (const char* to : {"-", "/dev/stdout"}) {
    const Ran made = weft(std::string("import infragraph ../graph.json --out ") + to);
    ASSERT_EQ(made.code, 0) << made.err;
    EXPECT_EQ(json::parse(made.out), in_file) << to;
    EXPECT_NE(made.err.find(std::string("wrote ") + to + "\n"), std::string::npos) << made.err;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "work/-"));
}

/// Whatever order the members have.
TEST_F(ImportInfragraph, ChoiceNamesTheUnitThatCounts) {
  json graph = pair();
  json& bandwidth = graph["links"][0]["physical"]["bandwidth"];
  bandwidth = {{"choice", "gigabytes_per_second"}, {"gigabits_per_second", 400}, {"gigabytes_per_second", 100}};
  const Ran made = import(graph);
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(platform()["fabric"]["link"]["rate"], "800Gbps");
  EXPECT_NE(made.err.find("graph.json: links.0.physical.bandwidth.gigabits_per_second without effect"),
            std::string::npos)
      << made.err;
  bandwidth["choice"] = "furlongs";
  std::filesystem::remove(folder_ / "work/p.json");
  expect_refused_of(graph, {"graph.json: links.0.physical.bandwidth.choice: expected one of gigabits_per_second, "
                            "gigabytes_per_second, gigatransfers_per_second, got \"furlongs\""});
  bandwidth.erase("choice");
  expect_refused_of(graph, {"graph.json: links.0.physical.bandwidth: expected choice, which names the member that "
                            "counts, got gigabits_per_second, gigabytes_per_second"});
  graph = pair();
  graph["links"][0]["physical"]["latency"] = {{"choice", "us"}, {"ns", 25}};
  expect_refused_of(graph, {"graph.json: links.0.physical.latency.us: expected a number, as choice names it, got ns"});
}

TEST_F(ImportInfragraph, MembersWithoutEffectAreNamedAtAllLevels) {
  json graph = pair();
  EXPECT_EQ(import(graph).err.find("without effect"), std::string::npos);
  for (const char* pointer :
       {"/annotations", "/links/0/length", "/links/0/physical/loss", "/links/0/physical/latency/jitter",
        "/devices/0/height", "/devices/0/components/0/memory", "/devices/0/components/2/memory",
        "/devices/0/edges/0/colour", "/devices/0/edges/0/ep1/side", "/devices/0/links/1/length", "/instances/0/rack",
        "/edges/0/colour", "/edges/0/ep2/side"}) {
    graph[json::json_pointer(pointer)] = 1;
  }
  graph["devices"][0]["components"][0]["xpu"] = {{"cores", 4}};
  const Ran made = import(graph);
  ASSERT_EQ(made.code, 0) << made.err;
  for (const char* path : {"annotations", "links.0.length", "links.0.physical.loss", "links.0.physical.latency.jitter",
                           "devices.0.height", "devices.0.components.0.memory (and 1 more such)",
                           "devices.0.components.0.xpu.cores", "devices.0.edges.0.colour", "devices.0.edges.0.ep1.side",
                           "devices.0.links.1.length", "instances.0.rack", "edges.0.colour", "edges.0.ep2.side"}) {
    EXPECT_NE(made.err.find(path), std::string::npos) << path << " in " << made.err;
  }
}

TEST_F(ImportInfragraph, EdgesThatJoinNothingAreReported) {
  json graph = pair();
  graph["edges"].push_back(wire("sw[0]", "port[6]", "sw[0]", "port[7]", "eth"));
  graph["edges"].push_back(wire("sw[0]", "port[6]", "sw[0]", "port[6]", "eth"));
  graph["edges"].push_back(wire("sw[0]", "port[5:7]", "sw[0]", "port[5:7:1]", "eth"));
  graph["edges"].push_back(wire("sw[0]", "port[3:3]", "sw[0]", "port[5:5]", "eth"));
  const Ran made = import(graph);
  ASSERT_EQ(made.code, 0) << made.err;
  for (const char* warning :
       {"graph.json: 1 edge without effect, from an instance to itself, which is one switch: sw.0",
        "graph.json: edges.2: it joins no two components, and has no effect",
        "graph.json: edges.3: it joins no two components, and has no effect",
        "graph.json: edges.4: it joins no two components, as one of its ends is empty, and has no effect"}) {
    EXPECT_NE(made.err.find(warning), std::string::npos) << warning << " in " << made.err;
  }
  EXPECT_EQ(platform()["fabric"]["edges"].size(), 4U);
}

TEST_F(ImportInfragraph, ReadsJsonAndSwitchesThatAreConfiguredOverPcie) {
  const Ran made = import(pair());
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(platform()["per_node"], 2);
  EXPECT_EQ(platform()["fabric"]["edges"], json({"end0 - sw_0", "end1 - sw_0", "end2 - sw_0", "end3 - sw_0"}));
  EXPECT_NE(made.err.find("switches have Weft's defaults"), std::string::npos) << made.err;
}

TEST_F(ImportInfragraph, AcceleratorsCanShareALinkOrHaveSeveral) {
  json graph = pair();
  graph["devices"][0]["components"][1]["count"] = 1;
  graph["edges"] = {wire("host", "nic", "sw", "port[0:2]", "eth")};
  const Ran shared = import(graph);
  ASSERT_EQ(shared.code, 0) << shared.err;
  EXPECT_NE(shared.err.find("4 accelerators have several links to the network, or a link that others share"),
            std::string::npos)
      << shared.err;
  const json edges = platform()["fabric"]["edges"];
  ASSERT_EQ(edges.size(), 6U);
  EXPECT_EQ(edges[1]["between"], "end1 - host_0_nic_0");
  EXPECT_EQ(edges[4], "host_0_nic_0 - sw_0");
  graph = pair();
  graph["devices"][0]["components"][1]["count"] = 4;
  graph["edges"] = {wire("host", "nic", "sw", "port", "eth")};
  ASSERT_EQ(import(graph).code, 0);
  EXPECT_EQ(platform()["fabric"]["edges"][0],
            json({{"between", "end0 - host_0_gpu_0"}, {"link", {{"rate", "800Gbps"}}}}));
  EXPECT_EQ(platform()["fabric"]["edges"][4], json({{"between", "host_0_gpu_0 - sw_0"}, {"links", 2}}));
  const Ran sum = weft("collective p.json --op all_reduce --bytes 64KiB --data");
  EXPECT_EQ(sum.code, 0) << sum.err;
}

TEST_F(ImportInfragraph, NobodyHasTwoWaysOutBeforeEachHasOne) {
  json graph = pair();
  graph["devices"][0]["components"][0]["count"] = 4;
  graph["devices"][0]["components"][1]["count"] = 5;
  graph["devices"][1]["components"][0]["count"] = 10;
  graph["edges"] = {wire("host", "nic", "sw", "port", "eth")};
  const Ran made = import(graph);
  ASSERT_EQ(made.code, 0) << made.err;
  const json edges = platform()["fabric"]["edges"];
  ASSERT_EQ(edges.size(), 10U);
  EXPECT_EQ(edges[0]["between"], "end0 - host_0_gpu_0");
  EXPECT_EQ(edges[1]["between"], "end4 - host_1_gpu_0");
  EXPECT_NE(std::find(edges.begin(), edges.end(), json("end3 - sw_0")), edges.end()) << edges;
}

TEST_F(ImportInfragraph, EndsWithoutAnotherEndAreReported) {
  json graph = pair();
  graph["edges"][0]["ep2"]["component"] = "port[0:5]";
  const Ran made = import(graph);
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.err.find("graph.json: edges.0: one2one joins 4 pairs, and 1 component of ep2 without another end"),
            std::string::npos)
      << made.err;
  EXPECT_EQ(import(pair()).err.find("one2one"), std::string::npos);
}

/// A link of 7.2 Tb/s takes more than the least buffer; a machine that is imported has what its links take.
TEST_F(ImportInfragraph, LinksOfAnyRateAreFull) {
  json graph = pair();
  graph["devices"][0]["links"][0] = link("nvlink", 7200);
  graph["devices"][0]["components"][0]["description"] = "NVIDIA B200 SXM";
  ASSERT_EQ(import(graph).code, 0);
  const Ran sum = weft("collective p.json --op all_reduce --bytes 64KiB");
  EXPECT_EQ(sum.code, 0) << sum.err;
  EXPECT_EQ(sum.err.find("fills"), std::string::npos) << sum.err;
}

TEST_F(ImportInfragraph, SwitchesOutsideOfHostsCanJoinAccelerators) {
  json graph = pair();
  graph["devices"][0]["edges"].erase(4);
  graph["instances"].push_back({{"name", "nvl"}, {"device", "box"}, {"count", 1}});
  graph["edges"].push_back(wire("host", "gpu", "nvl", "port[0:4]", "eth"));
  ASSERT_EQ(import(graph).code, 0);
  EXPECT_EQ(platform()["per_node"], 4);
  EXPECT_EQ(platform()["scale_up"]["fabric"]["link"]["rate"], "400Gbps");
  EXPECT_EQ(platform()["fabric"]["edges"].size(), 4U);
}

TEST_F(ImportInfragraph, ARingOfAcceleratorsIsReported) {
  json graph = pair();
  json& server = graph["devices"][0];
  server["components"][0]["count"] = 4;
  server["components"][1]["count"] = 4;
  server["edges"][4] = edge("gpu", "gpu", "nvlink", "ring");
  graph["edges"] = {wire("host", "nic", "sw", "port[0:8]", "eth")};
  const Ran made = import(graph);
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(platform()["per_node"], 4);
  EXPECT_EQ(platform()["scale_up"]["fabric"]["link"]["rate"], "7200Gbps");
  EXPECT_NE(made.err.find("host.0.gpu.0 and other accelerators have links to some others only"), std::string::npos)
      << made.err;
  server["edges"][4] = edge("gpu", "gpu", "nvlink");
  const Ran full = import(graph);
  ASSERT_EQ(full.code, 0) << full.err;
  EXPECT_EQ(full.err.find("some others only"), std::string::npos) << full.err;
  EXPECT_NE(full.err.find("links join each pair"), std::string::npos) << full.err;
  const json scale_up = platform()["scale_up"]["fabric"];
  EXPECT_EQ(scale_up["dimensions"], json({"FullyConnected(4)"}));
  EXPECT_EQ(scale_up["link"]["rate"], "3600Gbps");
  EXPECT_EQ(platform()["collectives"]["algorithm"], "dimensions");
  const Ran sum = weft("collective p.json --op all_reduce --bytes 64KiB --data");
  EXPECT_EQ(sum.code, 0) << sum.err;
  ASSERT_EQ(import(graph, "--scale-up nvswitch-h100").code, 0);
  EXPECT_EQ(platform()["collectives"]["algorithm"], "nccl");
  EXPECT_FALSE(platform()["scale_up"]["fabric"].contains("dimensions"));
}

TEST_F(ImportInfragraph, MostLinksDecideAndOthersAreNamed) {
  json graph = pair();
  json& server = graph["devices"][0];
  server["components"][0]["count"] = 4;
  server["components"][1]["count"] = 4;
  graph["edges"] = {wire("host", "nic", "sw", "port[0:8]", "eth")};
  const auto expect_named = [&](const json& all, const json& more, const std::string& remark) {
    server["edges"][4] = all;
    server["edges"][5] = more;
    const Ran made = import(graph);
    ASSERT_EQ(made.code, 0) << made.err;
    EXPECT_EQ(platform()["scale_up"]["fabric"]["link"]["rate"], "3600Gbps");
    EXPECT_NE(made.err.find(remark), std::string::npos) << made.err;
  };
  expect_named(
      edge("gpu", "gpu", "nvlink"), edge("gpu[0:1]", "gpu[1:2]", "nvlink"),
      "host.0.gpu.0 and host.0.gpu.1 have 900 GB/s between them, where most pairs have 450 GB/s; each pair has "
      "450 GB/s in the machine");
  expect_named(edge("gpu", "nvsw", "nvlink"), edge("gpu[0:1]", "nvsw", "nvlink"),
               "host.1.gpu.0 has 900 GB/s to others of its node, where most accelerators have 450 GB/s; each "
               "accelerator has 450 GB/s in the machine");
}

TEST_F(ImportInfragraph, DevicesAreMadeOfDevices) {
  json graph = pair();
  json& server = graph["devices"][0];
  server["components"][1] = component("card", 2, "device");
  server["edges"][2] = edge("card.slot", "pcisw", "pcie");
  graph["devices"].push_back({{"name", "card"},
                              {"description", "NVIDIA ConnectX-7"},
                              {"components", {component("slot", 1, "custom"), component("out", 1, "port")}},
                              {"links", {{{"name", "board"}}}},
                              {"edges", {edge("slot", "out", "board")}}});
  graph["edges"] = {wire("host[0:2]", "card.out[0]", "sw[0]", "port[0:8:2]", "eth")};
  const Ran made = import(graph);
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(platform()["nic"], "connectx-7");
  EXPECT_EQ(platform()["fabric"]["edges"].size(), 4U);
}

TEST_F(ImportInfragraph, OptionsSayWhatTheGraphDoesNot) {
  json graph = pair();
  graph["devices"][0]["components"][0]["description"] = "an accelerator";
  graph["devices"][0]["links"][0].erase("physical");
  graph["links"][0].erase("physical");
  expect_refused_of(graph, {"graph.json: host.0.gpu.0: expected an accelerator that its description names, or "
                            "--accelerator PART with one of",
                            "mi300x", "got \"gpu an accelerator server \""});
  const Ran no_rate = import(graph, "--accelerator mi300x --scale-up nvswitch-h100");
  EXPECT_EQ(no_rate.code, 2);
  EXPECT_NE(no_rate.err.find("graph.json: links.0: expected physical.bandwidth in gigabits_per_second or "
                             "gigabytes_per_second, or --network PART with one of"),
            std::string::npos)
      << no_rate.err;
  const Ran no_scale_up = import(graph, "--accelerator mi300x --network ndr-400g");
  EXPECT_EQ(no_scale_up.code, 2);
  EXPECT_NE(no_scale_up.err.find("devices.0.links.0: expected a bandwidth"), std::string::npos) << no_scale_up.err;
  const Ran made = import(graph, "--accelerator mi300x --network ndr-400g --scale-up nvswitch-h100");
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(platform()["fabric"]["link"], json({{"part", "ndr-400g"}}));
  EXPECT_EQ(platform()["fabric"]["switch"], "quantum-2");
  EXPECT_NE(made.err.find("links.0 has no latency: links have that of ndr-400g"), std::string::npos) << made.err;
  EXPECT_NE(made.err.find("devices.0.links.0 has no bandwidth: scale_up is nvswitch-h100"), std::string::npos);
}

TEST_F(ImportInfragraph, RefusesWhatIsNoInfraGraph) {
  const auto changed = [](const char* pointer, const json& value) {
    json graph = pair();
    graph[json::json_pointer(pointer)] = value;
    return graph;
  };
  expect_refused_of(json::object({{"a", 1}}), {"graph.json: expected a description of InfraGraph"});
  expect_refused_of(changed("/devices", 3), {"graph.json: devices: expected a list"});
  expect_refused_of(changed("/devices/0/components/0/count", "many"),
                    {"devices.0.components.0.count: expected a whole number", "\"many\""});
  expect_refused_of(changed("/devices/0/components/0/choice", "gpu"),
                    {"devices.0.components.0.choice: expected one of cpu, xpu, nic", "\"gpu\""});
  expect_refused_of(changed("/devices/0/components/0/choice", "device"),
                    {"devices.0.components.0.name: expected the name of a device", "\"gpu\""});
  expect_refused_of(changed("/devices/0/edges/0/scheme", "star"),
                    {"devices.0.edges.0.scheme: expected one of one2one, many2many, ring, got \"star\""});
  expect_refused_of(changed("/devices/0/edges/0/link", "copper"),
                    {"devices.0.edges.0.link: expected a link of nvlink, pcie, got \"copper\""});
  expect_refused_of(changed("/devices/0/edges/0/ep1/component", "cpu[0:3]"),
                    {"devices.0.edges.0.ep1.component: expected a slice within 0 to 1", "\"cpu[0:3]\""});
  expect_refused_of(changed("/devices/0/edges/0/ep1/component", "fan"),
                    {"devices.0.edges.0.ep1.component: expected a component of server: gpu, nic, cpu", "\"fan\""});
  expect_refused_of(changed("/devices/0/name", "box"), {"devices.1.name: expected each device once"});
  expect_refused_of(changed("/instances/0/device", "tower"),
                    {"instances.0.device: expected a device: box, server, got \"tower\""});
  expect_refused_of(changed("/instances/0/count", 4000000), {"instances.0.count: expected a whole number from 0 to"});
  expect_refused_of(changed("/instances/0/count", 1000000), {"instances.0: expected at most 1048576 components"});
  expect_refused_of(changed("/edges/0/ep1/instance", "hosts[0]"),
                    {"edges.0.ep1.instance: expected an instance: host, sw, got \"hosts\""});
  expect_refused_of(changed("/edges/0/ep1", nullptr), {"edges.0.ep1: expected an object"});
  expect_refused_of(changed("/links/0/physical/bandwidth/gigabits_per_second", -1),
                    {"links.0.physical.bandwidth.gigabits_per_second: expected a number above 0 and below 1e9, got"});
  expect_refused_of(changed("/links/0/physical/latency/ns", 1e20),
                    {"links.0.physical.latency.ns: expected a number above 0 and below 1e9"});
  expect_refused_of(changed("/edges", json::array()), {"graph.json: edges: expected edges between the instances"});
  expect_refused_of(changed("/edges/0/ep1/instance", "host[0]"),
                    {"edges: expected an edge from host.1 to the network"});
  json graph = pair();
  graph["instances"][1]["count"] = 2;
  graph["edges"] = {wire("host[0]", "nic", "sw[0]", "port", "eth"), wire("host[1]", "nic", "sw[1]", "port", "eth")};
  expect_refused_of(graph, {"graph.json: edges: expected a way from host.0.gpu.0 to host.1.gpu.0 over instances"});
  graph = pair();
  graph["devices"][0]["components"].erase(0);
  graph["devices"][0]["edges"] = json::array();
  expect_refused_of(graph, {"instances: expected a device with a component of kind xpu"});
  graph = pair();
  graph["devices"].push_back({{"name", "loop"},
                              {"components", {component("loop", 1, "device")}},
                              {"links", json::array()},
                              {"edges", json::array()}});
  graph["instances"].push_back({{"name", "l"}, {"device", "loop"}, {"count", 1}});
  expect_refused_of(graph, {"devices.2: expected devices that do not contain themselves, got \"loop\""});
}

}  // namespace
}  // namespace weft
