// SPDX-License-Identifier: Apache-2.0
// A user's own memories, congestion control, switch and network interface on the command line, like own_cli_test.cpp:
// those of docs/example/hardware.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/cli.h"
#include "tests/support/files.h"

namespace weft {
namespace {

using nlohmann::json;
using test::Ran;

class OwnHardwareCli : public test::CliTest {
 protected:
  json run(const std::string& arguments) {
    const Ran ran = weft(arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.code == 0 ? json::parse(ran.out) : json();
  }
  json read(const std::string& file) { return json::parse(test::read_file(folder_ / "work" / file)); }
};

constexpr const char* kStep = "run ../small.json --data --timeline-ranks 0 --json --set workload.model=nano ";
constexpr const char* kOpenPage = "--set accelerator.hbm.detail=open-page ";
constexpr const char* kFlash = "--set remote_memory.kind=flash --set remote_memory.chunk=64KiB ";
constexpr const char* kOffload = "--set workload.offload.optimizer=true ";
constexpr const char* kNic = "--set nic.implementation=my-nic ";
constexpr const char* kFifo = "--set fabric.switch.implementation=fifo ";
constexpr const char* kWindow = "--set nic.congestion=my-window ";

json has_no_effect(const char* path, const char* because) {
  return json::array({{{"field", path}, {"because", because}}});
}

TEST_F(OwnHardwareCli, AMemoryIsChosenByName) {
  const json own = run(std::string(kStep) + kOpenPage + "--set accelerator.hbm.open_page.hit=700ns --out out");
  EXPECT_EQ(own["wrong"], 0);
  EXPECT_EQ(own["without_effect"], json::array());
  const json memory = read("out/summary.json")["memory"];
  EXPECT_GT(memory["own"]["row_misses"], 0);
  EXPECT_GT(memory["own"]["row_hits"], 0);
  EXPECT_GT(memory["by_master"]["compute"]["requests"], 0);
  const json values = read("out/config.json")["values"];
  EXPECT_EQ(values["accelerator.hbm.detail"], (json{{"value", "open-page"}, {"source", "command line"}}));
  EXPECT_EQ(values["accelerator.hbm.open_page.hit"], (json{{"value", "700ns"}, {"source", "command line"}}));
  EXPECT_EQ(values["accelerator.hbm.open_page.banks"], (json{{"value", 32}, {"source", "default"}}));
  // What a run wrote runs again.
  EXPECT_EQ(run("run out/config.json --data --timeline-ranks 0 --json --out again")["simulator"]["digest"],
            own["simulator"]["digest"]);
  const json weft = run(std::string(kStep) + "--out weft");
  EXPECT_NE(weft["simulator"]["digest"], own["simulator"]["digest"]);
  EXPECT_FALSE(weft["memory"].contains("own"));
}

/// What is said of it before the run counts: kernels are timed by what it sustains.
TEST_F(OwnHardwareCli, KernelsCountOnWhatAMemorySustains) {
  write("fast.json", R"({"name": "m", "accelerator": "h100-sxm", "nic": "connectx-7"})");
  const std::string kernel = "kernel ../fast.json --gemm 4096,4096,1 --json " + std::string(kOpenPage);
  const json fast = run(kernel + "--set accelerator.hbm.open_page.miss=0ns");
  const json slow = run(kernel + "--set accelerator.hbm.open_page.miss=20us");
  EXPECT_GT(slow["rows"][0]["time_us"].get<double>(), 1.5 * fast["rows"][0]["time_us"].get<double>());
}

TEST_F(OwnHardwareCli, ARemoteMemoryIsChosenByName) {
  const std::string step = std::string(kStep) + kOffload;
  const json own = run(step + kFlash + "--set remote_memory.flash.read=2ms --out out");
  EXPECT_EQ(own["wrong"], 0);
  EXPECT_EQ(own["without_effect"], json::array());
  EXPECT_GT(own["remote_memory_bytes"], 0);
  const json memory = read("out/summary.json")["memory"];
  EXPECT_GT(memory["remote_own"]["pages_read"], 0);
  EXPECT_GT(memory["remote_own"]["pages_programmed"], 0);
  EXPECT_GT(memory["by_master"]["remote"]["requests"], 0);
  const json values = read("out/config.json")["values"];
  EXPECT_EQ(values["remote_memory.kind"], (json{{"value", "flash"}, {"source", "command line"}}));
  EXPECT_EQ(values["remote_memory.flash.read"], (json{{"value", "2ms"}, {"source", "command line"}}));
  EXPECT_EQ(values["remote_memory.flash.dies"], (json{{"value", 64}, {"source", "default"}}));
  // What a run wrote runs again.
  EXPECT_EQ(run("run out/config.json --data --timeline-ranks 0 --json --out again")["simulator"]["digest"],
            own["simulator"]["digest"]);
  const json fast = run(step + kFlash + "--out fast");
  EXPECT_LT(fast["step_time_us"], own["step_time_us"]);
  const json weft = run(step + "--set remote_memory.kind=pool --set remote_memory.chunk=64KiB --out weft");
  EXPECT_NE(weft["simulator"]["digest"], own["simulator"]["digest"]);
  EXPECT_FALSE(weft["memory"].contains("remote_own"));
}

TEST_F(OwnHardwareCli, ACongestionControlIsChosenByName) {
  const std::string all_reduce =
      "collective ../small.json --op all_reduce --algorithm ring --bytes 4MiB --no-warmup --json --data "
      "--set per_node=1 --set collectives.channels=1 ";
  const json free = run(all_reduce);
  const json wide = run(all_reduce + kWindow + "--set nic.my_window.size=64MiB");
  const json narrow = run(all_reduce + kWindow + "--set nic.my_window.size=64KiB");
  EXPECT_EQ(narrow["rows"][0]["wrong"], 0);
  EXPECT_EQ(narrow["without_effect"], json::array());
  EXPECT_GT(narrow["rows"][0]["time_us"].get<double>(), 1.2 * free["rows"][0]["time_us"].get<double>());
  EXPECT_LT(wide["rows"][0]["time_us"].get<double>(), 1.05 * free["rows"][0]["time_us"].get<double>());
}

TEST_F(OwnHardwareCli, ASwitchIsChosenByName) {
  const std::string all_reduce =
      "collective ../small.json --op all_reduce --algorithm ring --bytes 4MiB --no-warmup --json --data "
      "--set per_node=1 ";
  const json weft = run(all_reduce);
  const json own = run(all_reduce + kFifo);
  EXPECT_EQ(own["rows"][0]["wrong"], 0);
  EXPECT_EQ(own["without_effect"], json::array());
  EXPECT_GT(own["rows"][0]["time_us"], weft["rows"][0]["time_us"]) << "it takes packets in whole";
  const json slow = run(all_reduce + kFifo + "--set fabric.switch.fifo.lookup=10us");
  EXPECT_GT(slow["rows"][0]["time_us"], own["rows"][0]["time_us"]);
  // Several of them, joined, with all that a run writes.
  const json step = run(std::string(kStep) + std::string(kFifo) +
                        "--set scale_up.fabric.switch.implementation=fifo --set fabric.topology=ring --out out");
  EXPECT_EQ(step["wrong"], 0);
  EXPECT_GT(read("out/summary.json")["links"].size(), 0U);
}

TEST_F(OwnHardwareCli, ANetworkInterfaceIsChosenByName) {
  const std::string all_reduce =
      "collective ../small.json --op all_reduce --algorithm ring --bytes 1MiB --no-warmup --json --data "
      "--set per_node=1 ";
  const json weft = run(all_reduce);
  // Nothing is slower through the interface that is between.
  const json same = run(all_reduce + kNic + "--set nic.my_nic.firmware=0ns");
  EXPECT_EQ(same["rows"][0]["time_us"], weft["rows"][0]["time_us"]);
  EXPECT_EQ(same["rows"][0]["wrong"], 0);
  EXPECT_EQ(same["without_effect"], json::array());
  const json slow = run(all_reduce + kNic + "--set nic.my_nic.firmware=5us");
  EXPECT_GT(slow["rows"][0]["time_us"], weft["rows"][0]["time_us"]);
  const json step = run(std::string(kStep) + kNic + "--set scale_up.port.implementation=my-nic --out out");
  EXPECT_EQ(step["wrong"], 0);
  EXPECT_GT(read("out/summary.json")["links"].size(), 0U);
}

TEST_F(OwnHardwareCli, FieldsAreCheckedLikeOthers) {
  struct Bad {
    const char* what;
    std::string settings;
    std::vector<const char*> message;
  };
  const std::vector<Bad> all = {
      {"an unknown memory",
       "--set accelerator.hbm.detail=open-pag",
       {"weft: --set: accelerator.hbm.detail: expected one of stream, bank, open-page, got "
        "\"open-pag\"; did you mean \"open-page\"?"}},
      {"an unknown key of it",
       "--set accelerator.hbm.open_page.bank=3",
       {"--set: accelerator.hbm.open_page.bank: ", "\"banks\""}},
      {"a value out of range",
       "--set accelerator.hbm.open_page.banks=0",
       {"--set: accelerator.hbm.open_page.banks: expected an integer from 1 to 4096, got 0"}},
      {"a memory that is too slow",
       std::string(kOpenPage) + "--set accelerator.hbm.open_page.row=64B --set "
                                "accelerator.hbm.open_page.banks=1 --set "
                                "accelerator.hbm.open_page.miss=1ms",
       {"accelerator.hbm.detail: expected a memory that sustains at least 1Mbps, got ", " of open-page"}},
      {"an unknown remote memory",
       "--set remote_memory.kind=flush",
       {"weft: --set: remote_memory.kind: expected one of none, per-accelerator, per-node, pool, hierarchical, cxl, "
        "flash, got \"flush\"; did you mean \"flash\"?"}},
      {"what the check of a remote memory refuses",
       std::string(kFlash) + "--set remote_memory.flash.page=128KiB",
       {"remote_memory.flash.page: expected at most remote_memory.chunk, which is 64KiB, got 128KiB"}},
      {"an unknown congestion control",
       "--set scale_up.port.congestion=my-windw",
       {"weft: --set: scale_up.port.congestion: expected one of none, dcqcn, dctcp, swift, hpcc, nscc, rccc, "
        "nscc-rccc, my-window, got "
        "\"my-windw\"; did you mean \"my-window\"?"}},
      {"an unknown switch",
       "--set fabric.switch.implementation=fif",
       {"weft: --set: fabric.switch.implementation: expected one of model, fifo, got \"fif\"; did "
        "you mean \"fifo\"?"}},
      {"a switch that has no PFC",
       std::string(kFifo) + "--set fabric.link.flow_control=pfc",
       {"fabric.switch.implementation: expected model, since links have pfc (link.flow_control), got "
        "fifo"}},
      {"a switch that cannot take other routes",
       std::string(kFifo) + "--set 'fabric.faults=[{\"link\": \"*\", \"down\": true, \"from\": \"1us\"}]' --set "
                            "fabric.reroute_after=1us",
       {"fabric.switch.implementation: expected model, since links go down and routes change "
        "(reroute_after), got fifo"}},
      {"a switch that does not tell the load of its links",
       std::string(kFifo) + "--set nic.congestion=hpcc",
       {"nic.congestion: expected one that needs no load of links, since fabric.switch.implementation is fifo, which "
        "does not write it into packets, got hpcc"}},
      {"a switch that does not multicast",
       std::string(kFifo) + "--set per_node=1 --algorithm multicast",
       {"fabric.switch.implementation: expected model, since the network multicasts, got fifo"}},
      {"an unknown network interface",
       "--set nic.implementation=my-nick",
       {"weft: --set: nic.implementation: expected one of model, my-nic, got \"my-nick\"; did you "
        "mean \"my-nic\"?"}},
      {"an interface that has no cores",
       std::string(kNic) + "--set dpa.cores=4",
       {"dpa.cores: expected 0, since nic.implementation is my-nic, which has no cores of its own, "
        "got 4"}},
      {"an interface that has no groups",
       std::string(kNic) + "--set per_node=1 --algorithm multicast",
       {": expected an interface that has ", ": implementation model, or other collectives"}},
      {"what its own check refuses",
       "--set nic.my_window.size=100B",
       {"nic.my_window.size: expected at least 1KiB, got 100B"}},
  };
  for (const Bad& bad : all) {
    const std::string command = "collective ../small.json --op all_gather --bytes 64KiB " + bad.settings;
    expect_refused({bad.what, command.c_str(), bad.message});
  }
}

TEST_F(OwnHardwareCli, FieldsWithoutEffectAreNamed) {
  const std::string command = "collective ../small.json --op all_gather --bytes 64KiB --no-warmup --json ";
  EXPECT_EQ(run(command + "--set accelerator.hbm.open_page.banks=4")["without_effect"],
            has_no_effect("accelerator.hbm.open_page.banks", "accelerator.hbm.detail is stream"));
  EXPECT_EQ(run(command + kOpenPage + "--set accelerator.hbm.core_rate=1TB/s")["without_effect"],
            has_no_effect("accelerator.hbm.core_rate", "accelerator.hbm.detail is open-page"));
  // The stacks would say it for another model.
  EXPECT_EQ(run(command + kOpenPage + "--set accelerator.hbm.efficiency=0.5")["without_effect"],
            has_no_effect("accelerator.hbm.efficiency", "accelerator.hbm.detail is open-page"));
  const std::string moves = std::string(kStep) + kOffload + "--out out ";
  EXPECT_EQ(run(moves + kFlash + "--set remote_memory.sharers=2")["without_effect"],
            has_no_effect("remote_memory.sharers", "remote_memory.kind is flash"));
  EXPECT_EQ(run(moves + "--set remote_memory.kind=pool --set remote_memory.flash.dies=2")["without_effect"],
            has_no_effect("remote_memory.flash.dies", "remote_memory.kind is pool"));
  EXPECT_EQ(run(command + kWindow + "--set nic.dcqcn.g=0.5")["without_effect"],
            has_no_effect("nic.dcqcn.g", "nic.congestion is my-window"));
  EXPECT_EQ(run(command + kFifo + "--set fabric.switch.latency=1us")["without_effect"],
            has_no_effect("fabric.switch.latency", "fabric.switch.implementation is fifo"));
}

/// A switch that follows rules of its own marks no packets by those of `marking`.
TEST_F(OwnHardwareCli, ASwitchThatIgnoresMarkingLeavesAControlOfMarksWithoutEffect) {
  const std::string command =
      std::string(
          "collective ../small.json --op all_gather --bytes 64KiB --no-warmup --json --set nic.congestion=dcqcn ") +
      kFifo;
  const json unmarked = {{"field", "nic.congestion"},
                         {"because", "fabric.switch.implementation is fifo, and no packet came marked"}};
  EXPECT_EQ(run(command)["without_effect"], json::array({unmarked}));
  const auto marking = [](const char* field) {
    return json{{"field", std::string("fabric.switch.marking.") + field},
                {"because", "fabric.switch.implementation is fifo"}};
  };
  EXPECT_EQ(
      run(command + "--set fabric.switch.marking.min=1KiB --set fabric.switch.marking.max=1KiB")["without_effect"],
      json::array({marking("max"), marking("min"), unmarked}));
}

TEST_F(OwnHardwareCli, CountsOfItsOwnAreInTheSummary) {
  const json own = run(std::string(kStep) + kFifo + kWindow + "--out out");
  EXPECT_GT(own["counters"]["nic"]["own"]["acknowledged_bytes"], 0);
  EXPECT_GT(own["counters"]["switch"]["own"]["lookups"], 0);
  const json weft = run(std::string(kStep) + "--out weft");
  EXPECT_FALSE(weft["counters"]["nic"].contains("own"));
  EXPECT_FALSE(weft["counters"].contains("switch"));
}

TEST_F(OwnHardwareCli, DescribeAndSchemaHaveThem) {
  const std::string page = weft("describe").out;
  for (const char* text :
       {"| one of stream, bank, open-page | `\"stream\"` |", "open-page: in order, with a row open in each bank |",
        "| `accelerator.hbm.open_page.banks` | integer | `32` | 1 to 4096 | Rows lie in the banks in turn |",
        "| one of none, dcqcn, dctcp, swift, hpcc, nscc, rccc, nscc-rccc, my-window | `\"none\"` |",
        "| one of model, my-nic | `\"model\"` |", "| `nic.my_nic.firmware` | time | `\"500ns\"` |",
        "| one of model, fifo | `\"model\"` |", "| `fabric.switch.fifo.lookup` | time | `\"300ns\"` |",
        "flash: flash that all share |",
        "| `remote_memory.flash.dies` | integer | `64` | 1 to 65536 | Pages lie in the dies in turn |",
        "| `nic.my_window.size` |", "| `scale_up.port.my_window.size` |"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
  const json definitions = run("describe --schema")["$defs"];
  EXPECT_EQ(definitions["hbm"]["properties"]["detail"]["enum"], (json{"stream", "bank", "open-page"}));
  EXPECT_EQ(definitions["open_page"]["properties"]["banks"]["maximum"], 4096);
  EXPECT_EQ(definitions["remote_memory"]["properties"]["kind"]["enum"].back(), "flash");
  EXPECT_EQ(definitions["flash"]["properties"]["dies"]["maximum"], 65536);
  EXPECT_EQ(definitions["nic"]["properties"]["congestion"]["enum"],
            (json{"none", "dcqcn", "dctcp", "swift", "hpcc", "nscc", "rccc", "nscc-rccc", "my-window"}));
}

}  // namespace
}  // namespace weft
