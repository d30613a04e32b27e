// SPDX-License-Identifier: Apache-2.0
// weft import lstopo: a host as hwloc sees it becomes a machine, and what the file does not say is reported. Runs the
// binary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::BadInput;
using test::CliTest;
using test::Ran;

/// What a host of one test differs in.
struct Board {
  std::string gpu = "0302 [10de:2330] [10de:16c1] a1";
  std::string model = "NVIDIA H100 80GB HBM3";
  std::string gpu_speed = "63.015385";
  std::string driver = "NVML";  ///< its NVLinks would be in the file
  std::string memory = "83009536";
  std::string nic = "0207 [15b3:1021] [15b3:0041] 00";
  std::string nic_speed = "63.015385";
  int gpus = 2;
  int nics = 2;
  std::string links;  ///< distances
};

std::string xml_of(const Board& board) {
  std::string text =
      "<?xml version=\"1.0\"?>\n<topology version=\"2.0\"><object type=\"Machine\" gp_index=\"1\">\n"
      "<object type=\"Package\" gp_index=\"2\"><object type=\"NUMANode\" gp_index=\"3\" local_memory=\"68719476736\"/>"
      "<object type=\"Core\" gp_index=\"4\"/><object type=\"Core\" gp_index=\"5\"/><object type=\"Core\" "
      "gp_index=\"6\"/><object type=\"Core\" gp_index=\"7\"/></object>\n";
  for (int i = 0; i < std::max(board.gpus, board.nics); ++i) {
    const std::string n = std::to_string(i);
    text += "<object type=\"Bridge\" bridge_type=\"0-1\" gp_index=\"10" + n + "\"><object type=\"Bridge\" " +
            "bridge_type=\"1-1\" gp_index=\"11" + n + "\">\n";
    if (i < board.gpus) {
      text += "<object type=\"PCIDev\" gp_index=\"12" + n + "\" pci_busid=\"0000:1" + n + ":00.0\" pci_type=\"" +
              board.gpu + "\" pci_link_speed=\"" + board.gpu_speed + "\"><object type=\"OSDev\" gp_index=\"13" + n +
              "\" name=\"gpu" + n + "\" subtype=\"" + board.driver +
              "\" osdev_type=\"1\"><info name=\"GPUModel\" value=\"" + board.model +
              "\"/><info name=\"CUDAGlobalMemorySize\" value=\"" + board.memory + "\"/></object></object>\n";
    }
    if (i < board.nics) {
      text += "<object type=\"PCIDev\" gp_index=\"14" + n + "\" pci_busid=\"0000:2" + n + ":00.0\" pci_type=\"" +
              board.nic + "\" pci_link_speed=\"" + board.nic_speed + "\"><object type=\"OSDev\" gp_index=\"15" + n +
              "\" name=\"mlx5_" + n + "\" osdev_type=\"3\"/></object>\n";
    }
    text += "</object></object>\n";
  }
  return text + "</object>" + board.links + "</topology>\n";
}

/// Rates between two accelerators, in MB/s.
std::string links_of(const std::string& name, const std::string& rate) {
  return "<distances2 type=\"OSDev\" nbobjs=\"2\" kind=\"9\" name=\"" + name +
         "\" indexing=\"gp\"><indexes length=\"8\">130 131 </indexes><u64values length=\"8\">1000000 " + rate + " " +
         rate + " 1000000 </u64values></distances2>";
}

/// Rates between all accelerators, by rows, in MB/s.
std::string matrix_of(const std::vector<std::vector<int>>& rates) {
  std::string ids;
  std::string values;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    ids += "13" + std::to_string(i) + " ";
    for (const int rate : rates[i]) values += std::to_string(rate) + " ";
  }
  return "<distances2 type=\"OSDev\" name=\"NVLinkBandwidth\" indexing=\"gp\"><indexes>" + ids +
         "</indexes><u64values>" + values + "</u64values></distances2>";
}

class ImportLstopo : public CliTest {
 protected:
  Ran import(const Board& board, const std::string& more = "") {
    write("host.xml", xml_of(board));
    return weft("import lstopo ../host.xml --out p.json " + more);
  }
  json platform() { return json::parse(test::read_file(folder_ / "work/p.json")); }
  /// The import works, and a warning says so.
  void expect_warning(const Board& board, const std::string& more, const std::string& warning) {
    const Ran made = import(board, more);
    EXPECT_EQ(made.code, 0) << made.err;
    EXPECT_NE(made.err.find(warning), std::string::npos) << warning << " in " << made.err;
  }
  void expect_refused_of(const Board& board, const std::string& more, const std::vector<const char*>& message) {
    write("host.xml", xml_of(board));
    expect_refused({message.front(), ("import lstopo ../host.xml --out p.json " + more).c_str(), message});
  }
};

TEST_F(ImportLstopo, AHostBecomesNodesOfAMachine) {
  Board board;
  board.links = links_of("NVLinkBandwidth", "400000");
  const Ran made = import(board, "--nodes 3");
  ASSERT_EQ(made.code, 0) << made.err;
  const json machine = platform();
  EXPECT_EQ(machine["accelerators"], 6);
  EXPECT_EQ(machine["per_node"], 2);
  EXPECT_EQ(machine["accelerator"], "h100-sxm");
  EXPECT_EQ(machine["nic"], json({{"part", "connectx-7"}, {"pcie", {{"generation", 5}, {"lanes", 16}}}}));
  EXPECT_EQ(machine["fabric"]["link"]["part"], "ndr-400g");
  EXPECT_EQ(machine["fabric"]["switch"], "quantum-2");
  EXPECT_EQ(machine["scale_up"]["part"], "nvswitch-h100");
  EXPECT_EQ(machine["scale_up"]["fabric"]["link"]["rate"], "3200Gbps");
  EXPECT_EQ(machine["firmware"]["cores"], 2);
  const json catalogue = json::parse(test::read_file(WEFT_SOURCE_DIR "/platforms/dgx-h100.json"));
  EXPECT_EQ(machine["collectives"]["entry"], catalogue["collectives"]["entry"]);
  for (const char* fact : {"2 accelerators in a node: 0000:10:00.0 [10de:2330] NVIDIA H100 80GB HBM3, as h100-sxm",
                           "under one PCIe switch: NIC 0000:21:00.0 (mlx5_1) and accelerator 0000:11:00.0",
                           "NVLinkBandwidth: 400 GB/s from an accelerator", "host: 4 cores in 1 package"}) {
    EXPECT_NE(made.out.find(fact), std::string::npos) << fact << " in " << made.out;
  }
  for (const char* warning : {"nothing is said of the network beyond the NICs", "the host has 64 GiB of memory"})
    EXPECT_NE(made.err.find(warning), std::string::npos) << warning << " in " << made.err;

  const json run = run_json("p.json --set workload.kind=fsdp --set workload.model=nano --set workload.sequence=256");
  EXPECT_TRUE(run.is_object());
  const Ran again = import(board, "--nodes 2");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(platform()["accelerators"], 4);
}

TEST_F(ImportLstopo, TheSampleRuns) {
  ASSERT_EQ(weft("import lstopo " WEFT_SOURCE_DIR "/docs/inputs/lstopo.xml --nodes 2 --out p.json").code, 0);
  EXPECT_EQ(platform()["accelerators"], 8);
  // Four H100 with links to each other, as a board without NVSwitches has them.
  EXPECT_EQ(platform()["scale_up"]["fabric"]["dimensions"], json({"FullyConnected(4)"}));
  const Ran sum = weft("collective p.json --op all_reduce --bytes 64KiB --data");
  EXPECT_EQ(sum.code, 0) << sum.err;
}

/// Two levels of switches of 64 ports join 2,048.
TEST_F(ImportLstopo, ManyNodesNeedThreeLevels) {
  const std::string sample = "import lstopo " WEFT_SOURCE_DIR "/docs/inputs/lstopo.xml --out p.json --nodes ";
  ASSERT_EQ(weft(sample + "512").code, 0);
  EXPECT_FALSE(platform()["fabric"].contains("levels"));
  const Ran made = weft(sample + "513");
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(platform()["fabric"]["levels"], 3);
  EXPECT_NE(made.out.find("three levels"), std::string::npos) << made.out;
}

TEST_F(ImportLstopo, LanesFollowFromTheRate) {
  struct Link {
    const char* rate;
    int generation;
    int lanes;
  };
  for (const Link& link : {Link{"4.000000", 1, 16},
                           {"3.938462", 3, 4},
                           {"7.876923", 3, 8},
                           {"15.753846", 3, 16},
                           {"31.507692", 4, 16},
                           {"126.030769", 6, 16},
                           {"121.000000", 6, 16}}) {
    Board board;
    board.nic_speed = link.rate;
    ASSERT_EQ(import(board).code, 0) << link.rate;
    EXPECT_EQ(platform()["nic"]["pcie"], json({{"generation", link.generation}, {"lanes", link.lanes}})) << link.rate;
  }
}

TEST_F(ImportLstopo, LinksWithoutSwitchesJoinAllPairs) {
  Board board;
  board.gpu = "1200 [1002:74a1] [1002:74a1] 00";
  board.driver = "RSMI";
  board.links = links_of("XGMIBandwidth", "64000");
  ASSERT_EQ(import(board).code, 0);
  const json machine = platform();
  EXPECT_EQ(machine["accelerator"], "mi300x");
  EXPECT_EQ(machine["scale_up"]["fabric"]["dimensions"], json({"FullyConnected(2)"}));
  EXPECT_EQ(machine["scale_up"]["fabric"]["link"]["rate"], "512Gbps");
  const Ran sum = weft("collective p.json --op all_reduce --bytes 64KiB --data");
  EXPECT_EQ(sum.code, 0) << sum.err;
}

/// Of rings that all go one way, a link to each other accelerator is left to one of them.
TEST_F(ImportLstopo, CollectivesUseLinksBetweenAllPairs) {
  Board board;
  board.gpu = "1200 [1002:74a1] [1002:74a1] 00";
  board.driver = "RSMI";
  board.gpus = 8;
  board.nics = 8;
  std::string ids;
  std::string values;
  for (int i = 0; i < 8; ++i) {
    ids += "13" + std::to_string(i) + " ";
    for (int j = 0; j < 8; ++j) values += i == j ? "0 " : "64000 ";
  }
  board.links = "<distances2 type=\"OSDev\" nbobjs=\"8\" kind=\"9\" name=\"XGMIBandwidth\" indexing=\"gp\"><indexes>" +
                ids + "</indexes><u64values>" + values + "</u64values></distances2>";
  const Ran made = import(board);
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.err.find("links join each pair of a node's accelerators: collectives go by the algorithm dimensions"),
            std::string::npos)
      << made.err;
  const auto busbw = [&](const std::string& more) {
    const Ran sum = weft("collective p.json --op all_reduce --bytes 64MiB --json " + more);
    EXPECT_EQ(sum.code, 0) << sum.err;
    const bool is_told = sum.err.find("rings use 1 of 7") != std::string::npos;
    EXPECT_EQ(is_told, !more.empty()) << sum.err;
    return json::parse(sum.out)["rows"][0]["busbw"].get<double>();
  };
  const double one = busbw("--algorithm nccl");
  EXPECT_LT(one, 64);
  EXPECT_GT(busbw(""), 4 * one);
  const Ran right = weft("collective p.json --op all_reduce --bytes 64KiB --data");
  EXPECT_EQ(right.code, 0) << right.err;
}

/// lstopo --distances-transform transitive: what goes over switches stands between each pair.
TEST_F(ImportLstopo, RatesOverSwitchesAreOfAPort) {
  Board board;
  board.gpus = 3;
  std::string values;
  for (int i = 0; i < 9; ++i) values += i % 4 == 0 ? "1000000 " : "450000 ";
  board.links =
      "<distances2 type=\"OSDev\" nbobjs=\"3\" kind=\"9\" name=\"NVLinkBandwidth\" indexing=\"gp\">"
      "<indexes length=\"12\">130 131 132 </indexes><u64values length=\"80\">" +
      values + "</u64values></distances2>";
  const Ran made = import(board);
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(platform()["scale_up"]["part"], "nvswitch-h100");
  EXPECT_EQ(platform()["scale_up"]["fabric"]["link"]["rate"], "3600Gbps");
  EXPECT_NE(
      made.out.find(
          "NVLinkBandwidth: 450 GB/s from an accelerator, to each other one over switches, since each pair has the "
          "whole rate of a port of nvswitch-h100, 450 GB/s"),
      std::string::npos)
      << made.out;
}

/// NVLinks between each pair are no NVSwitch, which alone could add: SHARP is of switches.
TEST_F(ImportLstopo, NvLinksBetweenAllPairsAreNoSwitch) {
  Board board;
  board.gpus = 4;
  board.nics = 4;
  const int link = 150000;
  board.links = matrix_of({{0, link, link, link}, {link, 0, link, link}, {link, link, 0, link}, {link, link, link, 0}});
  const Ran made = import(board);
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("NVLinkBandwidth: 450 GB/s from an accelerator, 150 GB/s to each other one over links of "),
            std::string::npos)
      << made.out;
  EXPECT_NE(made.err.find("no NVSwitch is in it: scale_up has the links of nvswitch-h100 without switches"),
            std::string::npos)
      << made.err;
  const json fabric = platform()["scale_up"]["fabric"];
  EXPECT_EQ(fabric["dimensions"], json({"FullyConnected(4)"}));
  EXPECT_EQ(fabric["link"]["rate"], "1200Gbps");
  EXPECT_EQ(fabric["switch"]["reduction"]["trees"], 0);
  const auto algorithm = [&](const std::string& more) {
    const Ran sum = weft("collective p.json --op all_reduce --bytes 256MiB --json " + more);
    EXPECT_EQ(sum.code, 0) << sum.err;
    return json::parse(sum.out)["rows"][0]["algorithm"].get<std::string>();
  };
  EXPECT_EQ(algorithm(""), "dimensions");
  EXPECT_EQ(algorithm("--algorithm nccl").find("nvls"), std::string::npos);
  // The user can say what the file does not.
  ASSERT_EQ(import(board, "--scale-up nvswitch-h100").code, 0);
  EXPECT_NE(algorithm("").find("nvls"), std::string::npos);
  // A link is missing both ways: what is left is not a switch that adds, either.
  board.links = matrix_of({{0, link, link, 0}, {link, 0, link, link}, {link, link, 0, link}, {0, link, link, 0}});
  expect_warning(board, "", "not every accelerator has a link to each other one (0000:10:00.0 and 0000:13:00.0 have");
  EXPECT_EQ(platform()["scale_up"]["fabric"]["switch"]["reduction"]["trees"], 0);
}

TEST_F(ImportLstopo, ASickLinkDoesNotSlowTheOthers) {
  Board board;
  board.gpus = 4;
  board.nics = 4;
  const int link = 150000;
  const std::string pair = "NVLinkBandwidth: 0000:10:00.0 and 0000:13:00.0 have ";
  const std::string most = " between them, where most pairs have 150000 MB/s; each pair has 150000 MB/s in the machine";
  board.links = matrix_of({{0, link, link, link}, {link, 0, link, link}, {link, link, 0, link}, {1, link, link, 0}});
  expect_warning(board, "", pair + "150000 MB/s there and 1 MB/s back" + most);
  EXPECT_EQ(platform()["scale_up"]["fabric"]["link"]["rate"], "1200Gbps");
  board.links = matrix_of({{0, link, link, 2}, {link, 0, link, link}, {link, link, 0, link}, {2, link, link, 0}});
  expect_warning(board, "", pair + "2 MB/s" + most);
  board.links = matrix_of({{0, link, link, 0}, {link, 0, link, link}, {link, link, 0, link}, {link, link, link, 0}});
  expect_warning(board, "", pair + "0 MB/s there and 150000 MB/s back" + most);
  EXPECT_EQ(platform()["scale_up"]["fabric"]["dimensions"], json({"FullyConnected(4)"}));
  board.links = matrix_of({{0, link, link, link}, {link, 0, link, link}, {link, link, 0, link}, {link, link, link, 0}});
  const Ran even = import(board);
  EXPECT_EQ(even.code, 0);
  EXPECT_EQ(even.err.find("most pairs"), std::string::npos) << even.err;
}

/// A link of one to a switch is at fault.
TEST_F(ImportLstopo, ASickLinkToASwitchDoesNotSlowTheOthers) {
  Board board;
  board.gpus = 3;
  board.nics = 0;
  const auto made = [&](const std::string& last) {
    board.links =
        "<distances2 name=\"NVLinkBandwidth\"><indexes>130 131 132 160</indexes><u64values>0 0 0 450000 "
        "0 0 0 450000 0 0 0 " +
        last + " 450000 450000 450000 0</u64values></distances2>";
    std::string text = xml_of(board);
    text.insert(text.find("<distances2") - std::string("</object>").size(),
                "<object type=\"PCIDev\" gp_index=\"160\" pci_busid=\"0000:30:00.0\" pci_type=\"0680 [10de:22a3] "
                "[10de:22a3] a1\" subtype=\"NVSwitch\"/>");
    write("host.xml", text);
    return weft("import lstopo ../host.xml --out p.json");
  };
  const Ran even = made("450000");
  ASSERT_EQ(even.code, 0) << even.err;
  EXPECT_NE(even.out.find("450 GB/s from an accelerator, to switches"), std::string::npos) << even.out;
  EXPECT_EQ(even.err.find("most accelerators"), std::string::npos) << even.err;
  const Ran sick = made("1");
  ASSERT_EQ(sick.code, 0) << sick.err;
  EXPECT_NE(sick.err.find("NVLinkBandwidth: 0000:12:00.0 has 1 MB/s in all, where most accelerators have 450000 MB/s; "
                          "each accelerator has 450000 MB/s in the machine"),
            std::string::npos)
      << sick.err;
  EXPECT_EQ(platform()["scale_up"]["fabric"]["link"]["rate"], "3600Gbps");
  EXPECT_FALSE(platform()["scale_up"]["fabric"].contains("switch"));
}

TEST_F(ImportLstopo, NicsOnEthernetHaveItsLinks) {
  Board board;
  board.nic = "0200 [15b3:1021] [15b3:0041] 00";
  ASSERT_EQ(import(board, "--nodes 2").code, 0);
  const json fabric = platform()["fabric"];
  EXPECT_EQ(fabric["link"], json({{"part", "ethernet-400g"}, {"flow_control", "pfc"}}));
  EXPECT_EQ(fabric["switch"], "spectrum-4");
  const Ran sum = weft("collective p.json --op all_reduce --bytes 64KiB --data");
  EXPECT_EQ(sum.code, 0) << sum.err;
}

TEST_F(ImportLstopo, PartsOfOnesOwnLieBesideThePlatform) {
  Board board;
  board.nics = 1;
  write("work/my-link.json",
        R"({"kind": "link", "source": "mine", "fields": {"part": "ndr-400g", "rate": "100Gbps"}})");
  write("work/my-like.json", R"({"kind": "link", "source": "mine", "fields": {"part": "my-link"}})");
  const Ran made = import(board, "--network my-like");
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(platform()["fabric"]["link"], json({{"part", "my-like"}, {"rate", "50Gbps"}}));
  EXPECT_EQ(import(board, "--network my-like").code, 0);
  const Ran refused = import(board, "--network my-links");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("--network: expected a part of kind link ("), std::string::npos) << refused.err;
}

TEST_F(ImportLstopo, WhatIsNotInTheFileIsReported) {
  Board board;
  expect_warning(board, "", "no links between accelerators are in it: scale_up is a switch with the rate of their PCI");
  EXPECT_EQ(platform()["scale_up"]["fabric"]["link"]["rate"], "504123Mbps");
  board.driver = "CUDA";
  expect_warning(board, "", "no NVLinkBandwidth is in it (lstopo with NVML writes that): scale_up is nvswitch-h100");
  board.memory = "41943040";
  expect_warning(board, "", "an accelerator has 42.9 GB of memory; h100-sxm has 85.9 GB, which the machine keeps");
  board = Board();
  board.nics = 1;
  expect_warning(board, "", "1 NIC for 2 accelerators: an accelerator has a NIC of its own in a machine");
  EXPECT_EQ(platform()["fabric"]["link"]["rate"], "200Gbps");
  board = Board();
  board.nic_speed = "0.000000";
  expect_warning(board, "", "pci_link_speed of 0000:20:00.0 is missing (lstopo sees it as root)");
  EXPECT_EQ(platform()["nic"], json({{"part", "connectx-7"}}));
  board = Board();
  board.nic = "0200 [15b3:101d] [15b3:0016] 00";
  expect_warning(board, "", "0000:20:00.0 [15b3:101d] is no NIC of the catalogue, and nic has Weft's defaults; --nic");
  expect_warning(board, "", "links of the network are not known, and fabric has Weft's default");
  board.nics = 0;
  expect_warning(board, "", "no NIC that does RDMA is in it");
  board = Board();
  expect_warning(board, "--accelerator h200-sxm",
                 "is the part h100-sxm of the catalogue, but --accelerator says h200-");
}

TEST_F(ImportLstopo, RefusesWhatNoMachineCanBeMadeOf) {
  write("text.xml", "not XML");
  write("other.xml", "<html/>");
  write("old.xml", "<topology><object type=\"Machine\"/></topology>");
  write("new.xml", "<topology version=\"3.0\"/>");
  std::string deep;
  for (int i = 0; i < 300; ++i) deep += "<object>";
  write("deep.xml", deep);
  const std::string end = " --out p.json";
  for (const BadInput& bad : std::vector<BadInput>{
           {"no file", "import lstopo ../none.xml --out p.json", {"none.xml", "no such file"}},
           {"no XML", "import lstopo ../text.xml --out p.json", {"text.xml: ", "the XML of lstopo --of xml"}},
           {"other XML", "import lstopo ../other.xml --out p.json", {"with <topology>, got <html>"}},
           {"hwloc 1", "import lstopo ../old.xml --out p.json", {"topology.version: expected 2.0", "hwloc 1"}},
           {"hwloc 3", "import lstopo ../new.xml --out p.json", {"topology.version: expected 2.0", "\"3.0\""}},
           {"depth", "import lstopo ../deep.xml --out p.json", {"deep.xml: expected at most 200 elements"}},
           {"nodes", "import lstopo ../old.xml --nodes 0 --out p.json", {"--nodes"}},
           {"no part",
            "import lstopo ../old.xml --nic h100-sxm --out p.json",
            {"--nic: expected a part of kind nic (", "connectx-7", "got \"h100-sxm\""}},
       }) {
    expect_refused(bad);
  }
}

TEST_F(ImportLstopo, RefusesWhatOnlyAnOptionCanSay) {
  Board board;
  board.gpus = 0;
  expect_refused_of(board, "", {"host.xml: topology: expected an accelerator: a PCIDev of class 03", "--no-io"});
  board = Board();
  board.gpu = "0302 [10de:1db8] [10de:131d] a1";
  board.model = "Tesla V100-SXM3-32GB-H";
  expect_refused_of(board, "",
                    {"PCIDev 0000:10:00.0: expected an accelerator of the catalogue, or --accelerator PART with one of",
                     "h100-sxm, ", "got 0000:10:00.0 [10de:1db8] Tesla V100-SXM3-32GB-H"});
  EXPECT_EQ(import(board, "--accelerator v100-sxm2").code, 0);
  std::filesystem::remove(folder_ / "work/p.json");
  board = Board();
  board.nics = 0;
  expect_refused_of(board, "--nodes 2",
                    {"expected a NIC whose links are known, or --network PART with one of", "ndr-400g", "got no NIC"});
  board = Board();
  board.gpu_speed = "0.000000";
  expect_refused_of(board, "", {"PCIDev 0000:10:00.0.pci_link_speed: expected a rate above 0", "--scale-up PART"});
  board = Board();
  board.gpu = "x302 [10de]";
  expect_refused_of(board, "",
                    {"PCIDev 0000:10:00.0.pci_type: expected a class, vendor and device", "\"x302 [10de]\""});
  board = Board();
  board.gpu_speed = "fast";
  expect_refused_of(board, "", {"PCIDev 0000:10:00.0.pci_link_speed: expected a number, got \"fast\""});
  board = Board();
  board.links = "<distances2 name=\"NVLinkBandwidth\"><indexes>1 2</indexes><u64values>0 1 1</u64values></distances2>";
  expect_refused_of(board, "", {"NVLinkBandwidth.u64values: expected 4 values", "2 objects, got 3"});
}

}  // namespace
}  // namespace weft
