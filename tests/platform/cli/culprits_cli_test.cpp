// SPDX-License-Identifier: Apache-2.0
// weft why on machines with one thing wrong: it is what the critical path names first. Runs the binary.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/cli.h"
#include "tests/support/files.h"

namespace weft {
namespace {

using nlohmann::json;
using test::Ran;

class CulpritsCli : public test::CliTest {
 protected:
  CulpritsCli() {
    write("leaves.json", R"json({"name": "leaves", "accelerators": 128, "per_node": 1, "accelerator": "h100-sxm",
        "nic": "connectx-7", "collectives": {"algorithm": "ring", "channels": 1},
        "fabric": {"topology": "fat-tree", "radix": 32, "hosts_per_leaf": 16, "segment": "16KiB",
                   "link": {"rate": "400Gbps", "propagation": "100ns"}},
        "workload": {"kind": "fsdp", "model": "nano", "sequences": 1, "sequence": 128}})json");
  }
  /// The critical path of a collective, and that its pieces add up.
  json collective(const std::string& arguments) {
    return path("collective ../leaves.json --out out --why " + arguments);
  }
  json run(const std::string& arguments) {
    return path("run ../leaves.json --set accelerators=8 --timeline-ranks 0 --out out --why " + arguments);
  }
  /// The name under which most of the path is, and its share.
  static std::pair<std::string, double> worst(const json& why, const std::string& by) {
    std::map<std::string, std::int64_t> sums;
    std::int64_t all = 0;
    for (const json& piece : why["pieces"]) {
      sums[piece[by]] += piece["ps"].get<std::int64_t>();
      all += piece["ps"].get<std::int64_t>();
    }
    std::string name;
    for (const auto& [each, ps] : sums) {
      if (name.empty() || ps > sums[name]) name = each;
    }
    return {name, static_cast<double>(sums[name]) / static_cast<double>(all)};
  }
  static double share(const json& why, const std::string& kind) {
    std::int64_t its = 0;
    std::int64_t all = 0;
    for (const json& piece : why["pieces"]) {
      if (piece["kind"] == kind) its += piece["ps"].get<std::int64_t>();
      all += piece["ps"].get<std::int64_t>();
    }
    return static_cast<double>(its) / static_cast<double>(all);
  }

  /// What changes bring is foretold within 5 % of their simulation, or said to be loose; and the simulation is between
  /// the bounds, but for what another order of packets does. A change of nothing repeats the run as it was.
  void foretells(const std::string& changes) {
    constexpr double kOrder = 0.02;
    const Ran ran = weft("why out --verify --json --what-if launch=x1 --what-if " + changes);
    ASSERT_EQ(ran.code, 0) << ran.err;
    const json rows = json::parse(ran.out);
    EXPECT_EQ(rows[0]["simulated_ps"], rows[0]["before_ps"]);
    for (const json& row : rows) {
      const auto simulated = row["simulated_ps"].get<double>();
      EXPECT_GT(simulated, row["least_ps"].get<double>() * (1 - kOrder)) << row;
      if (!row["most_ps"].is_null()) {
        EXPECT_LT(simulated, row["most_ps"].get<double>() * (1 + kOrder)) << row;
      }
      if (row["loose"] == true) continue;
      EXPECT_NEAR(row["estimate_ps"].get<double>() / row["simulated_ps"].get<double>(), 1, 0.05) << row;
    }
  }

  /// Of the tables of collectives.
  static json row(const json& why, const std::string& group, const std::string& operation) {
    for (const char* const key : {"collectives", "overlapping"}) {
      for (const json& it : why[key]) {
        if (it["group"] == group && it["operation"] == operation) return it;
      }
    }
    ADD_FAILURE() << group << " " << operation << ": no row";
    return {};
  }
  /// Of what weft why prints, the one behind the length of the path.
  std::string first_sentence() {
    std::string text = weft("why out").out;
    std::replace(text.begin(), text.end(), '\n', ' ');
    const std::size_t length = text.find("The critical path is ");
    const std::size_t at = std::min(text.find(" long. ", length), text.size() - 7) + 7;
    return text.substr(at, text.find(". ", at) - at);
  }

  json path(const std::string& arguments) {
    const Ran ran = weft(arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    const json why = json::parse(test::read_file(folder_ / "work" / "out" / "why.json"));
    std::int64_t all = 0;
    for (const json& piece : why["pieces"]) all += piece["ps"].get<std::int64_t>();
    EXPECT_EQ(all, why["until_ps"].get<std::int64_t>() - why["from_ps"].get<std::int64_t>());
    return why;
  }
};

TEST_F(CulpritsCli, ASlowLinkAmong128) {
  const json why = collective(
      R"(--op all_gather --bytes 128MiB --set fabric.segment=64KiB --set 'fabric.faults=[{"link":"end77","rate":0.2}]')");
  const auto [place, share] = worst(why, "place");
  EXPECT_TRUE(place == "nic77 out" || place.ends_with(" to nic77")) << place;
  EXPECT_GT(share, 0.5);
  foretells("link=x2");
}

/// Those before it wait for room, which packets hold that wait for the slow link: it is what is named, not they.
TEST_F(CulpritsCli, ASlowLinkBehindASwitch) {
  const json why = collective(R"(--op all_gather --bytes 128MiB --set fabric.segment=64KiB --set fabric.uplinks=1 )"
                              R"(--set 'fabric.faults=[{"link":"leaf3>spine0","rate":0.2}]')");
  const auto [place, its] = worst(why, "place");
  EXPECT_EQ(place, "network.leaf3.port16 to spine0");
  EXPECT_GT(its, 0.5);
  EXPECT_LT(share(why, "credit"), 0.05);
  const json& its_link = why["links"][place];
  EXPECT_NEAR(its_link["had"].get<double>(), 0.2, 0.001);
  EXPECT_EQ(its_link["alike"]["as_busy"], json::array());
  std::string text = weft("why out").out;
  std::replace(text.begin(), text.end(), '\n', ' ');
  EXPECT_NE(text.find("The link that holds it up most is network.leaf3.port16 to spine0"), std::string::npos) << text;
  EXPECT_NE(text.find("20 % of 400Gbps"), std::string::npos) << text;
  foretells("link=x2 --what-if nic=x2");
}

TEST_F(CulpritsCli, AnOversubscribedSpine) {
  const json why =
      collective("--op all_to_all --algorithm dimensions --bytes 16MiB --set accelerators=64 --set fabric.uplinks=4");
  const auto [place, share] = worst(why, "place");
  ASSERT_TRUE(why["links"].contains(place)) << place;
  EXPECT_EQ(why["links"][place]["joins"], "between switches");
  EXPECT_GT(share, 0.3);
  foretells("link=x2 --what-if uplink=x2 --what-if nic=x2");
}

TEST_F(CulpritsCli, AKernelThatWaitsForHbm) {
  const auto [kind, share] = worst(run("--set accelerator.hbm.rate=100Gbps"), "kind");
  EXPECT_EQ(kind, "memory");
  EXPECT_GT(share, 0.5);
  foretells("hbm=x2");
}

/// What cores get of HBM, or all masters, may be less than HBM has: that is what the time is set by.
TEST_F(CulpritsCli, ARateBeforeHbm) {
  for (const char* const field : {"accelerator.hbm.core_rate", "accelerator.hbm.interconnect_rate"}) {
    SCOPED_TRACE(field);
    const std::string its = field;
    const auto [kind, share] = worst(run("--set " + its + "=100Gbps"), "kind");
    EXPECT_EQ(kind, "memory");
    EXPECT_GT(share, 0.5);
    EXPECT_NE(weft("why out").out.find("  " + its + " 100Gbps (--set)\n"), std::string::npos) << weft("why out").out;
    foretells("hbm=x2 --what-if " + its + "=x2 --what-if accelerator.hbm.rate=x2 --what-if accelerator.hbm.rate=x0.5");
    const json row = json::parse(weft("why out --json --what-if accelerator.hbm.rate=x2").out).front();
    // Interfaces have a little of it.
    EXPECT_NEAR(row["estimate_ps"].get<double>() / row["before_ps"].get<double>(), 1, 0.002);
    EXPECT_EQ(row["loose"], false);
  }
}

/// With a cap of power beside it.
TEST_F(CulpritsCli, AClockCap) {
  const json why = path(
      "run llama3-8b-fsdp-64xh100 --set accelerators=16 --set workload.layers=2 --timeline-ranks 0 --out out --why "
      "--set accelerator.compute.clock_cap=900MHz");
  EXPECT_EQ(worst(why, "kind").first, "cap");
  const std::string text = weft("why out").out;
  EXPECT_NE(text.find("  accelerator.compute.clock_cap 900MHz (--set)\n"), std::string::npos) << text;
  foretells(
      "cap=x2 --what-if accelerator.compute.clock_cap=x2 --what-if accelerator.compute.power.cap=x2 --what-if "
      "compute=x2 --what-if accelerator.compute.clock_cap=x0.75 --what-if accelerator.compute.power.cap=x0.7");
  const json row = json::parse(weft("why out --json --what-if accelerator.compute.power.cap=x2").out).front();
  EXPECT_NEAR(row["estimate_ps"].get<double>() / row["before_ps"].get<double>(), 1, 0.001);
}

TEST_F(CulpritsCli, APowerCap) {
  const json why = run(
      "--set workload.model=llama3-8b --set workload.layers=1 --set workload.sequence=4096 --set fabric.segment=256KiB "
      "--set accelerator.compute.power.cap=250W");
  EXPECT_EQ(worst(why, "kind").first, "cap");
  foretells("cap=x2");
  EXPECT_EQ(share(run("--set workload.model=nano"), "cap"), 0);
}

TEST_F(CulpritsCli, ASlowRank) {
  const json why = run(
      "--set workload.model=llama3-8b --set workload.layers=2 --set workload.sequence=8192 --set workload.sequences=4 "
      "--set accelerator.speed_spread=0.1 --set fabric.segment=256KiB");
  const auto [place, share] = worst(why, "place");
  EXPECT_TRUE(place.starts_with("accelerator")) << place;
  EXPECT_GT(share, 0.6);
  // Whom the path is on is whom the others wait for.
  std::map<int, std::int64_t> waited;
  for (const json& collective : why["collectives"]) {
    for (const json& last : collective["last"]) waited[last["rank"]] += last["ps"].get<std::int64_t>();
  }
  const auto slowest =
      std::max_element(waited.begin(), waited.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  ASSERT_NE(slowest, waited.end());
  EXPECT_EQ("accelerator" + std::to_string(slowest->first), place);
  foretells("hbm=x2 --what-if link=x2");
}

TEST_F(CulpritsCli, ALossyLinkWithATimeout) {
  const json why = collective(R"(--op all_gather --bytes 16MiB --set accelerators=8 --set nic.recovery=true )"
                              R"(--set nic.ack_timeout=200us --set 'fabric.faults=[{"link":"end3","loss":0.3}]')");
  EXPECT_EQ(worst(why, "kind").first, "recovery");
  foretells("timeout=x2");
}

TEST_F(CulpritsCli, AStarvedBuffer) {
  const json why = collective(
      "--op all_gather --bytes 64MiB --set accelerators=8 --set fabric.link.buffer=16KiB "
      "--set fabric.link.propagation=5us --set fabric.segment=4KiB");
  EXPECT_EQ(worst(why, "kind").first, "credit");
  foretells("cable=x2 --what-if link=x2");
}

/// Six ranks send to one. A seventh sends to another, and shares with them an uplink that is paused: the link that it
/// never crosses is what it waits for.
TEST_F(CulpritsCli, AVictimOfPauses) {
  constexpr int kMany = 4;
  constexpr int kVictim = 5;
  const auto message = [](int id, bool sends, int peer, int tag) {
    return json{{"id", id},
                {"name", "message"},
                {"type", sends ? "COMM_SEND_NODE" : "COMM_RECV_NODE"},
                {"attr",
                 {{{"name", sends ? "comm_dst" : "comm_src"}, {"int32_val", peer}},
                  {{"name", "comm_tag"}, {"int32_val", tag}},
                  {{"name", "comm_size"}, {"int64_val", 4 << 20}}}}};
  };
  std::vector<json> nodes(8, json::array());
  for (int rank = 0; rank < 8; ++rank) {
    if (rank == kMany || rank == 3) continue;
    nodes[rank].push_back(message(1, true, kMany, rank));
    nodes[kMany].push_back(message(1 + rank, false, rank, rank));
  }
  nodes[3].push_back(message(1, true, kVictim, 99));
  nodes[kVictim].push_back(message(2, false, 3, 99));
  nodes[kVictim].push_back(
      {{"id", 3}, {"name", "after"}, {"type", "COMP_NODE"}, {"data_deps", {2}}, {"duration_micros", 1000}});
  for (int rank = 0; rank < 8; ++rank) {
    write("t.json", json{{"metadata", {{"version", "0.0.4"}}}, {"nodes", nodes[rank]}}.dump());
    ASSERT_EQ(weft("trace convert ../t.json w." + std::to_string(rank) + ".et").code, 0);
  }
  const json why = path(
      R"(run ../leaves.json --set 'workload={"kind":"chakra","traces":"w"}' --set accelerators=8 --set fabric.radix=8 )"
      "--set fabric.hosts_per_leaf=4 --set fabric.uplinks=1 --set fabric.segment=4KiB "
      "--set fabric.link.flow_control=pfc --out out --why");
  const std::string congested = "network.leaf1.port0 to nic" + std::to_string(kMany);
  std::map<std::string, std::int64_t> on_links;
  for (const json& piece : why["pieces"]) {
    if (piece["on_link"]) on_links[piece["place"]] += piece["ps"].get<std::int64_t>();
  }
  for (const auto& [link, ps] : on_links) EXPECT_LE(ps, on_links[congested]) << link;
  EXPECT_GT(on_links[congested], 0);
}

TEST_F(CulpritsCli, ASlowHost) {
  const json slow = collective("--op all_gather --bytes 64KiB --set accelerators=8 --set firmware.clock=50MHz");
  EXPECT_EQ(worst(slow, "kind").first, "firmware");
  foretells("firmware=x2");
}

TEST_F(CulpritsCli, ASlowHostLinkBehindTheNetwork) {
  const json why = collective("--op all_gather --bytes 64MiB --set accelerators=8 --set nic.pcie.lanes=2");
  EXPECT_EQ(worst(why, "kind").first, "host link");
  foretells("link=x2 --what-if nic=x2 --what-if link=x0.5 --what-if nic=x0.5 --what-if nic.pcie.lanes=8");
}

/// An interface reads a memory that is slower than its link, through which it also sends to itself.
TEST_F(CulpritsCli, ASlowMemoryBehindAnInterface) {
  const json why = path("collective bluefield-3-pair --op all_gather --bytes 1MiB --out out --why");
  EXPECT_EQ(worst(why, "kind").first, "memory");
  EXPECT_LT(share(why, "injection"), 0.01);
  EXPECT_NE(weft("why out").out.find("accelerator.hbm.rate 800Gbps"), std::string::npos);
  foretells("hbm=x2 --what-if hbm=x1.1 --what-if link=x2");
}

/// Messages without many bytes wait for latencies of the host link, not for its bytes.
TEST_F(CulpritsCli, LatenciesOfHostLinks) {
  const json why = collective(
      "--op all_gather --bytes 4KiB --set accelerators=8 --set nic.read_latency=4us --set nic.write_latency=15us");
  EXPECT_EQ(worst(why, "kind").first, "write latency");
  const std::string text = weft("why out --all").out;
  EXPECT_NE(text.find("nic.write_latency 15us (--set), nic.read_latency 4us (--set)"), std::string::npos) << text;
  foretells("nic-latency=x2 --what-if nic=x0.5 --what-if nic-work=x2");
}

/// PCI Express has too few requests under way for a long way to memory: reads are as fast as their round trips.
TEST_F(CulpritsCli, TagsOfHostLinks) {
  const json why = collective(
      "--op all_gather --bytes 64MiB --set accelerators=8 --set nic.read_latency=10us --set fabric.segment=128KiB");
  const auto [kind, share] = worst(why, "kind");
  EXPECT_EQ(kind, "read latency");
  EXPECT_GT(share, 0.8);
  EXPECT_NE(weft("why out").out.find("nic.read_latency 10us (--set), nic.pcie.tags 256"), std::string::npos);
  foretells("nic.read_latency=x0.5 --what-if hbm=x2");
}

/// NVLink SHARP at the rate at which ports pass operands on.
TEST_F(CulpritsCli, ASlowEngineToGroups) {
  const json why =
      path("collective dgx-h100 --op all_reduce --bytes 64MiB --out out --why --set scale_up.port.group_rate=1000Gbps");
  EXPECT_EQ(worst(why, "kind").first, "group");
  const std::string text = weft("why out").out;
  EXPECT_NE(text.find("scale_up.port.group_rate 1Tbps (--set)"), std::string::npos) << text;
  foretells("port-group=x2 --what-if port=x2");
}

/// A timer within a node has a field of its own.
TEST_F(CulpritsCli, ALossyLinkWithinANode) {
  const json why =
      path(R"(collective dgx-h100 --op all_to_all --bytes 4MiB --out out --why --set scale_up.port.recovery=true )"
           R"(--set 'scale_up.fabric.faults=[{"link":"end3","loss":0.05}]')");
  EXPECT_EQ(worst(why, "kind").first, "recovery");
  const std::string text = weft("why out").out;
  EXPECT_NE(text.find("scale_up.port.ack_timeout"), std::string::npos) << text;
  EXPECT_EQ(text.find(" nic.ack_timeout"), std::string::npos) << text;
  EXPECT_NE(text.find("Packets were lost"), std::string::npos) << text;
  foretells("scale_up.port.ack_timeout=x0.5");
}

/// One of the accelerators is another part.
TEST_F(CulpritsCli, AnAcceleratorUnlikeTheOthers) {
  const json why = path(
      R"(collective dgx-h100 --op all_reduce --bytes 16MiB --algorithm ring --out out --why --set 'others=[{"first":3,)"
      R"("count":1,"accelerator":{"part":"h100-sxm","copy_rate":"20Gbps"}}]')");
  EXPECT_EQ(worst(why, "place").first, "accelerator3");
  std::string text = weft("why out").out;
  EXPECT_NE(text.find("others.0.accelerator.copy_rate 20Gbps (--set)"), std::string::npos) << text;
  std::replace(text.begin(), text.end(), '\n', ' ');
  EXPECT_NE(text.find("on accelerator3, whose accelerator.copy_rate is 20Gbps; that of the others is 400Gbps."),
            std::string::npos)
      << text;
}

/// Links of a graph have rates of their own.
TEST_F(CulpritsCli, ASlowEdge) {
  const json why = path(
      R"(collective ../leaves.json --op all_gather --bytes 16MiB --set accelerators=2 --out out --why )"
      R"(--set 'fabric={"topology":"graph","edges":["end0 - a",{"between":"end1 - a","link":{"rate":"10Gbps"}}]}')");
  EXPECT_EQ(why["links"]["nic1 out"]["path"], "fabric.edges.1.link");
  const std::string text = weft("why out").out;
  EXPECT_NE(text.find("fabric.edges.1.link.rate 10Gbps (--set)"), std::string::npos) << text;
}

/// Stages of a pipeline, one of which has a slower clock than the others.
TEST_F(CulpritsCli, ASlowStage) {
  const json why = run(
      R"(--set 'workload={"kind":"pipeline","model":"gpt2-xl","sequence":512,"batch":8,"microbatches":4,"cut":"units",)"
      R"("placement":"index","type":"bf16","stages":4}' --set accelerators=32 )"
      R"(--set 'others=[{"first":2,"count":1,"accelerator":{"part":"h100-sxm","compute":{"clock_cap":"345MHz"}}}]')");
  EXPECT_EQ(worst(why, "place").first, "accelerator2");
  EXPECT_TRUE(first_sentence().starts_with("accelerator2 computes ")) << first_sentence();
  // It waits least, and whoever comes behind it waits for it.
  std::map<std::string, std::int64_t> waits;
  for (const json& wait : why["waits"]) waits[wait["place"]] = wait["ps"];
  ASSERT_EQ(waits.size(), 4U);
  for (const auto& [place, ps] : waits) EXPECT_GE(ps, waits["accelerator2"]) << place;
  const json& behind = row(why, "stages", "activations");
  EXPECT_EQ(behind["last"][0]["rank"], 2);
  EXPECT_EQ(behind["calls"], 3 * 4 * 2);
}

TEST_F(CulpritsCli, ASlowRankOfARecommender) {
  const json why = path(
      "run dlrm-16xv100 --set accelerators=8 --set workload.tables=8 --set workload.width=16 --set "
      "workload.batch=16384 "
      "--set workload.lookups=1 --set 'workload.top=[2048,2048]' --set accelerator.speed_spread=0.1 "
      "--set fabric.link.rate=400Gbps --timeline-ranks 0 --out out --why");
  const auto [place, share] = worst(why, "place");
  EXPECT_TRUE(place.starts_with("accelerator")) << place;
  EXPECT_TRUE(first_sentence().starts_with(place + " computes ")) << first_sentence();
  const json& vectors = row(why, "exchange of vectors", "all_to_all");
  EXPECT_EQ("accelerator" + std::to_string(vectors["last"][0]["rank"].get<int>()), place);
  EXPECT_EQ(vectors["lateness"][0]["place"], place);
  EXPECT_EQ(why["waits"].size(), 8U);
}

/// Of two workers with equal blocks and bands, the one that computes longer: the other's block waits for as long as it
/// computes longer, each round.
TEST_F(CulpritsCli, ASlowWorker) {
  const json why = path(
      "run edge-12-workers --set accelerators=3 --set workload.parameters=100000 --set workload.allocation=equal "
      "--set workload.shadowing=0 --set workload.compute_spread=100 --timeline-ranks 0 --out out --why");
  const json& rounds = row(why, "workers", "round");
  EXPECT_EQ(rounds["calls"], 2 * 10);
  EXPECT_EQ(rounds["last"].size(), 1U);
  EXPECT_EQ(rounds["last"][0]["times"], 10);
  const std::string slow = "accelerator" + std::to_string(rounds["last"][0]["rank"].get<int>());
  EXPECT_EQ(rounds["lateness"][0]["place"], slow);
  // The server computes nothing, so that the median of the three is the other worker.
  const auto longer = why["computed"]["on_path"][slow].get<double>() - why["computed"]["median_ps"].get<double>();
  EXPECT_NEAR(rounds["ps"].get<double>(), longer, 10 * 1e6);
  EXPECT_EQ(rounds["late_ps"], rounds["ps"]);
  EXPECT_TRUE(first_sentence().starts_with(slow + " computes ")) << first_sentence();
  EXPECT_EQ(why["waits"].size(), 2U);
}

TEST_F(CulpritsCli, CollectivesInEachOthersWay) {
  const json both = collective("--op all_gather+reduce_scatter --bytes 64MiB --set accelerators=8");
  foretells(
      "link=x2 --what-if nic=x2 --what-if link=x2,nic=x2 --what-if link=x0.5 --what-if nic=x0.5 --what-if nic=x1.1 "
      "--what-if nic.write_latency=x2");
  const json one = collective("--op all_gather --bytes 64MiB --set accelerators=8");
  EXPECT_GT(share(both, "queue") + share(both, "serialisation"), share(one, "queue"));
}

}  // namespace
}  // namespace weft
