// SPDX-License-Identifier: Apache-2.0
// The command line as a user meets it: exit codes, messages, what is written, and the shape of --json. Runs the binary.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/cli.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::BadInput;
using test::CliTest;
using test::Ran;
using test::read_file;

TEST_F(CliTest, BadInput) {
  write("not.json", "{ \"name\": ");
  write("list.json", "[1, 2]");
  write("key.json", R"({ "acelerators": 4 })");
  write("unit.json", R"({ "nic": { "dma_rate": 400 } })");
  write("part.json", R"({ "accelerator": "h100-sx" })");
  write("kind.json", R"({ "accelerator": "connectx-7" })");
  write("nested.json", R"({ "accelerator": { "part": "h100-sxm", "compute": { "sm": 3 } } })");
  write("columns.csv", "suite,platform\na,b\n");
  const std::vector<BadInput> cases = {
      {"no command", "", {"weft --help"}},
      {"unknown command", "frobnicate", {"weft --help"}},
      {"no platform", "run", {"platform is required"}},
      {"unknown option",
       "run ../small.json --frobnicate",
       {"an option of weft run, got \"--frobnicate\". See weft run"}},
      {"option with a slip", "run ../small.json --otput x", {"did you mean \"--out\"? See weft run --help"}},
      {"option before a command", "--foo platforms", {"an option of weft, got \"--foo\""}},
      {"option of a command before it",
       "trace --network net.yml check f.json",
       {"--network: expected behind \"weft trace check\", whose option it is. See weft trace check --help"}},
      {"unknown option alone", "--foo", {"an option of weft, got \"--foo\". See weft --help"}},
      {"option before a command that needs it",
       "import --network net.yml astra-sim",
       {"--network: expected behind \"weft import astra-sim\", whose option it is"}},
      {"argument too many", "run ../small.json ../list.json", {"no further argument, got \"../list.json\""}},
      {"choice with a slip",
       "collective dgx-h100 --op allreduce",
       {"--op: expected one of all_gather, ", "\"all_reduce\""}},
      {"name begun with a slip", "run lama3", {"catalogue (weft platforms)", "did you mean \"llama3-"}},
      {"kind unknown", "parts --kind hbn", {"--kind: expected one of accelerator, ", "did you mean \"hbm\"?"}},
      {"file absent", "run nofile.json", {"nofile.json: ", "no such file"}},
      {"name unknown", "run no-such-platform", {"no-such-platform: ", "catalogue"}},
      {"not JSON", "run ../not.json", {"../not.json: line 1", "expected JSON"}},
      {"no object", "run ../list.json", {"../list.json: ", "object", "array"}},
      {"unknown key", "run ../key.json", {"../key.json: acelerators: ", "Did you mean \"accelerators\"?"}},
      {"unknown key in a part's place",
       "collective ../nested.json --op all_gather",
       {"../nested.json: accelerator.compute.sm: ", "Did you mean \"sms\"?"}},
      {"missing unit", "run ../unit.json", {"../unit.json: nic.dma_rate: expected a rate", "400"}},
      {"unknown part", "run ../part.json", {"../part.json: accelerator: ", "h100-sxm", "Did you mean"}},
      {"part of another kind", "run ../kind.json", {"../kind.json: accelerator: ", "of kind nic"}},
      {"value out of range", "run ../small.json --set fabric.link.lanes=99", {"fabric.link.lanes: ", "1 to 8", "99"}},
      {"override without value", "run ../small.json --set foo", {"--set", "path=value", "foo"}},
      {"override nowhere", "run ../small.json --set accelerators.x=1", {"accelerators.x"}},
      {"seed", "run ../small.json --seed x", {"--seed"}},
      {"negative seed", "run ../small.json --seed -1", {"seed: ", "-1"}},
      {"half a node", "run ../small.json --set accelerators=3", {"accelerators: ", "multiple of per_node", "3"}},
      {"leaf too wide", "run ../small.json --set fabric.hosts_per_leaf=3", {"fabric.hosts_per_leaf: ", "radix 4"}},
      {"topology does not close",
       "run ../small.json --set accelerators=64",
       {"fabric.radix: ", "does not close", "got 4"}},
      {"buffer below a segment", "run ../small.json --set fabric.link.buffer=1KiB", {"fabric.link.buffer: ", "1KiB"}},
      {"segment below the MTU", "run ../small.json --set fabric.segment=1KiB", {"fabric.segment: ", "4KiB", "1KiB"}},
      {"memory too small",
       "run ../small.json --set accelerator.hbm.capacity=100MiB",
       {"accelerator.hbm.capacity: ", "\"100MiB\"", "needs"}},
      {"no workload", "run dgx-h100", {"dgx-h100.json: workload: ", "fsdp"}},
      {"unknown workload", "run ../small.json --set workload.kind=foo", {"workload.kind: ", "fsdp", "kfac", "foo"}},
      {"unknown model", "run ../small.json --set workload.model=llama9", {"workload.model: ", "llama9", "llama3-8b"}},
      {"unknown network",
       "run resnet50-kfac-64x2080ti --set workload.network=resnet51",
       {"workload.network: ", "resnet51", "resnet152"}},
      {"unknown fusion",
       "run resnet50-kfac-64x2080ti --set workload.fusion=some",
       {"workload.fusion: ", "threshold", "some"}},
      {"network too large for the memory",
       "run resnet50-kfac-64x2080ti --set workload.batch=256",
       {"accelerator.hbm.capacity: ", "\"11GiB\"", "resnet50 needs ", " GiB: activations "}},
      {"no text", "run ../small.json --set workload.sequences=lots", {"workload.sequences: ", "integer", "lots"}},
      {"folder", "run ../small.json --out /proc/x/y", {"--out: ", "/proc/x/y"}},
      {"timeline", "run ../small.json --timeline /proc/x/y", {"--timeline: ", "/proc/x"}},
      {"unknown collective", "collective dgx-h100 --op foo", {"--op", "foo", "all_gather"}},
      {"size without unit", "collective dgx-h100 --op all_gather --bytes 5", {"--bytes: ", "units", "\"5\""}},
      {"part of an element", "collective dgx-h100 --op all_gather --bytes 6B", {"--bytes: ", "4 bytes", "6B"}},
      {"range down", "collective dgx-h100 --op all_gather --bytes 2KiB:1KiB", {"--bytes: ", "2KiB:1KiB"}},
      {"range's factor", "collective dgx-h100 --op all_gather --bytes 1KiB:2KiB:x1", {"--bytes: ", "factor"}},
      {"buffer too large",
       "collective dgx-h100 --op all_gather --bytes 500GiB",
       {"accelerator.hbm.capacity: ", "500 GiB"}},
      {"data beyond this computer",
       "collective dgx-h100 --data --op all_gather --bytes 30TiB --set accelerator.hbm.capacity=40TiB",
       {"--data: ", "free", "245760.0 GiB"}},
      {"no kernel", "kernel h100-sxm", {"--gemm", "attention", "inverse"}},
      {"kernel without a dimension", "kernel gemm --m 1 --n 1", {"--k: ", "gemm"}},
      {"kernel of 0", "kernel gemm --m 0 --n 1 --k 1", {"--m: ", "from 1", "\"0\""}},
      {"kernels in no order", "kernel gemm --m 8:4 --n 1 --k 1", {"--m: ", "goes up"}},
      {"kernels without a step", "kernel gemm --m 4:8:x1 --n 1 --k 1", {"--m: ", "factor"}},
      {"dimensions that name each other", "kernel gemm --m n --n m --k 1", {"--m: ", "has a number"}},
      {"too many kernels", "kernel gemm --m 1:65536 --n 1:65536 --k 1:65536", {"--k: ", "4096"}},
      {"kernel beyond the clock", "kernel gemm --m 99999999 --n m --k m", {"gemm: ", "at most 1e18"}},
      {"too few SMs", "kernel copy --bytes 1KiB --sms 133", {"--sms: ", "132", "133"}},
      {"size of a copy", "kernel copy --bytes 5x", {"--bytes: ", "64MiB", "\"5x\""}},
      {"option before its kernel", "kernel --type fp8 gemm --m 1 --n 1 --k 1", {"--type: ", "after gemm"}},
      {"two platforms", "kernel a100-80g copy h100-sxm --bytes 1KiB", {"platform: ", "once", "a100-80g"}},
      {"part and platform", "kernel copy a100-80g --part h100-sxm --bytes 1KiB", {"--part: ", "both"}},
      {"part absent", "kernel copy --part foo --bytes 1KiB", {"--part: ", "weft parts", "foo"}},
      {"convolution that does not fit",
       "kernel conv --in 3 --out 8 --size 2 --kernel 5",
       {"larger than the padded image, got 5 x 5 for 2 x 2"}},
      {"convolution whose padding does not do",
       "kernel conv --in 3 --out 8 --size 2 --kernel 7 --pad 2",
       {"larger than the padded image, got 7 x 7 for 6 x 6"}},
      {"groups",
       "kernel conv --in 3 --out 8 --size 8 --groups 2",
       {"groups must divide the channels in and out, got 2 groups of 3 in and 8 out"}},
      {"full accumulation of 16 bits",
       "kernel gemm --m 1 --n 1 --k 1 --full-accumulation",
       {"--full-accumulation: expected --type fp8, the only type whose sums it changes, got \"bf16\""}},
      {"gradient of what", "kernel conv --in 3 --out 8 --size 8 --pass back", {"--pass: ", "data-gradient", "back"}},
      {"key heads by name", "kernel attention --heads 3 --kv-heads 2 --seq 8", {"--kv-heads: ", "divides the 3"}},
      {"kind of norm", "kernel norm --rows 1 --columns 1 --kind foo", {"--kind: ", "rms", "foo"}},
      {"kind of optimizer", "kernel optimizer --parameters 1 --kind foo", {"--kind: ", "adam", "foo"}},
      {"sparse vectors", "kernel gemm --m 1 --n 1 --k 1 --sparse --type fp32", {"tensor cores"}},
      {"sparse without support", "kernel gemm --m 1 --n 1 --k 1 --sparse --part v100-sxm2", {"sparsity"}},
      {"factors of 8 bits", "kernel inverse --n 64 --type fp8", {"inverse: ", "8 bits"}},
      {"cap that the board does not take",
       "kernel copy --bytes 1KiB --set compute.power.cap=50W",
       {"compute.power.cap: ", "200W", "50W"}},
      {"cap below idle",
       "kernel copy --bytes 1KiB --set compute.power.cap=50W --set compute.power.lowest_cap=0W",
       {"compute.power.cap: ", "133W", "50W"}},
      {"power without unit", "kernel copy --bytes 1KiB --set compute.power.idle=50", {"a power", "700W", "50"}},
      {"energy without unit",
       "kernel copy --bytes 1KiB --set compute.power.memory_byte=3",
       {"an energy", "0.75pJ", "3"}},
      {"spread too wide",
       "run ../small.json --set accelerator.speed_spread=0.5",
       {"accelerator.speed_spread: ", "0 to 0.1", "0.5"}},
      {"cap of a platform",
       "run ../small.json --set accelerator.compute.power.cap=50W",
       {"compute.power.cap: ", "200W"}},
      {"faster link whose part brings its own limit",
       "run llama3-70b-fsdp-64xh100-pool --set remote_memory.cxl.link=cxl-pcie6-x16",
       {"remote_memory.chunk: expected at most remote_memory.cxl.link.outstanding, which is 128KiB, got 1MiB; "
        "a part brings its own: set remote_memory.cxl.link.outstanding after it"}},
      {"activations that do not fit",
       "run llama3-70b-fsdp-64xh100-pool --set workload.offload.activations=false",
       {"accelerator.hbm.capacity: ", "activations of 80 blocks needs ", "are free", "workload.offload.activations"}},
      {"buffers that collectives ask for while they run",
       "run llama3-8b-fsdp-64xh100 --set accelerators=4 --set per_node=2 --set workload.model=nano --set "
       "workload.sequences=1 --set workload.sequence=256 --set accelerator.hbm.capacity=100MiB",
       {"accelerator.hbm.capacity: ", "collective staging needs 8 MiB, and ", " of 100 MiB are free"}},
      {"no room for what switches gather",
       "run moe-1t-pool --set accelerators=32 --set remote_memory.hierarchical.groups=32 --set "
       "accelerator.hbm.capacity=1GiB",
       {" finds no room: ", " needs ", "iB are free (accelerator.hbm.capacity)"}},
      {"a pool that is too small",
       "run llama3-70b-fsdp-64xh100-pool --set remote_memory.cxl.device.capacity=64GiB",
       {"remote_memory.cxl.device.capacity: ", "in remote memory needs ", "are free", "1/8 for each accelerator"}},
      {"two dimensions", "kernel h100-sxm --gemm 1,2", {"--gemm: ", "3 numbers", "1,2"}},
      {"dimension of 0", "kernel h100-sxm --gemm 0,1,2", {"--gemm: ", "above 0"}},
      {"too much work", "kernel h100-sxm --gemm 99999999,99999999,99999999", {"--gemm: ", "at most"}},
      {"unknown type", "kernel h100-sxm --gemm 1,1,1 --type fp3", {"--type: ", "bf16", "fp3"}},
      {"key heads", "kernel h100-sxm --attention 1,3,2,64,64", {"--attention: ", "divide"}},
      {"unknown accelerator", "kernel h100-sx --gemm 1,1,1", {"h100-sx: "}},
      {"table absent", "validate nofile.csv", {"nofile.csv"}},
      {"table of another shape", "validate ../columns.csv", {"../columns.csv:1: ", "expected a column"}},
  };
  for (const BadInput& bad : cases) expect_refused(bad);
}

TEST_F(CliTest, HelpAndVersion) {
  EXPECT_EQ(weft("--version").out.substr(0, 5), "weft ");
  for (const char* command : {"", "run ", "collective ", "kernel ", "dpa ", "validate ", "bench ", "parts ",
                              "describe ", "topology ", "memory "}) {
    const Ran ran = weft(std::string(command) + "--help");
    EXPECT_EQ(ran.code, 0);
    EXPECT_NE(ran.out.find("Usage:"), std::string::npos);
    EXPECT_EQ(ran.err, "");
  }
}

TEST_F(CliTest, RunWritesItsResults) {
  const Ran ran = weft("run ../small.json --json --out results --set workload.steps=2");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  const json printed = json::parse(ran.out);
  EXPECT_EQ(printed, json::parse(read_file(folder_ / "work/results/summary.json")));
  EXPECT_TRUE(fs::exists(folder_ / "work/results/timeline.pftrace.gz"));

  EXPECT_EQ(printed["platform"], "small");
  EXPECT_EQ(printed["accelerators"], 4);
  ASSERT_EQ(printed["steps_us"].size(), 2U);
  EXPECT_EQ(printed["step_time_us"], printed["steps_us"][1]);
  double sum = 0;
  for (const auto& [part, time] : printed["breakdown_us"].items()) sum += time.get<double>();
  EXPECT_NEAR(sum, printed["step_time_us"].get<double>(), 0.01);
  EXPECT_GT(printed["links"]["fabric"]["from_ends"]["mean"], 0);
  EXPECT_LE(printed["links"]["fabric"]["from_ends"]["max"], 1);
  EXPECT_GT(printed["memory"]["by_master"]["compute"]["mean"], 0);
  std::int64_t listed = 0;
  for (const auto& [what, bytes] : printed["accelerator_memory_bytes"].items()) listed += bytes.get<std::int64_t>();
  EXPECT_GT(printed["memory"]["allocated_bytes_max"], listed);  // with what collectives have
  EXPECT_LT(printed["memory"]["allocated_bytes_max"], printed["memory"]["capacity_bytes"]);
  EXPECT_EQ(printed["simulator"]["digest"].get<std::string>().size(), 16U);
  const json& accelerator = printed["counters"]["accelerator"];
  EXPECT_GT(accelerator["power_mean_w"], 80);  // what an H100 draws idle
  EXPECT_LT(accelerator["power_mean_w"], 700);
  // The energy is that power over the whole run, which is a little longer than its steps.
  const double us = accelerator["energy_j"].get<double>() / accelerator["power_mean_w"].get<double>() / 4 * 1e6;
  EXPECT_GE(us, printed["steps_us"][0].get<double>() + printed["steps_us"][1].get<double>() - 1);

  const json& energy = printed["energy"];
  double joules = 0;
  for (const auto& [kind, spent] : energy["by_kind_j"].items()) joules += spent.get<double>();
  EXPECT_NEAR(joules / energy["total_j"].get<double>(), 1, 1e-9);
  EXPECT_GT(energy["by_kind_j"]["compute"], 0);
  EXPECT_EQ(energy["accelerator_power_mean_w"], accelerator["power_mean_w"]);
  EXPECT_GE(energy["accelerator_power_max_w"], energy["accelerator_power_mean_w"]);

  // Counters of links: totals are sums over the table, and each network has its picture.
  const std::string table = read_file(folder_ / "work/results/links.csv");
  EXPECT_TRUE(table.starts_with("link,utilisation,packets,bytes,most_queued_bytes,marked,dropped,damaged,replayed,"));
  std::stringstream lines(table);
  std::string line;
  std::getline(lines, line);
  std::int64_t packets = 0;
  while (std::getline(lines, line)) {
    std::stringstream cells(line);
    std::string cell;
    for (int i = 0; i < 3; ++i) std::getline(cells, cell, ',');
    packets += std::stoll(cell);
  }
  const json& links = printed["links"];
  EXPECT_EQ(packets, links["fabric"]["totals"]["packets"].get<std::int64_t>() +
                         links["scale_up"]["totals"]["packets"].get<std::int64_t>());
  EXPECT_EQ(packets, printed["simulator"]["hops"]);
  EXPECT_GT(links["fabric"]["busiest"][0]["utilisation"], 0);
  EXPECT_EQ(links["fabric"]["totals"]["dropped"], 0);
  EXPECT_EQ(printed["counters"]["nic"]["timeouts"], 0);
  const std::string picture = read_file(folder_ / "work/results/network.svg");
  EXPECT_TRUE(picture.starts_with("<svg")) << picture;
  EXPECT_NE(picture.find("100 %"), std::string::npos);
  EXPECT_NE(read_file(folder_ / "work/results/timeline.svg").find(">reduce-scatter<"), std::string::npos);

  const json config = json::parse(read_file(folder_ / "work/results/config.json"))["values"];
  EXPECT_EQ(config["workload.steps"], json({{"value", 2}, {"source", "command line"}}));
  EXPECT_EQ(config["accelerators"], json({{"value", 4}, {"source", "file"}}));
  EXPECT_EQ(config["nic.dma_rate"]["source"], "part connectx-7");
  EXPECT_EQ(config["nic.message_cost"]["source"], "default");
}

TEST_F(CliTest, RunIsTheSameTwice) {
  const json a = json::parse(weft("run ../small.json --json --out a --timeline-ranks 0").out);
  const json b = json::parse(weft("run ../small.json --json --out b").out);
  EXPECT_EQ(a["simulator"]["digest"], b["simulator"]["digest"]);
  EXPECT_EQ(a["steps_us"], b["steps_us"]);
  EXPECT_EQ(a["timeline"], nullptr);
  EXPECT_FALSE(fs::exists(folder_ / "work/a/timeline.pftrace.gz"));
}

TEST_F(CliTest, RunNamesItsFolderAfterThePlatform) {
  const Ran ran = weft("run ../small.json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("exposed allgather"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder_ / "work/out/small/summary.json"));
}

TEST_F(CliTest, FaultsAreGoneRoundOrReported) {
  const std::string all_reduce = "collective ../small.json --op all_reduce --bytes 1MiB --data --json ";
  const std::string tree = "--set accelerators=8 --set fabric.radix=8 --set fabric.spines=2 ";
  const std::string recovery = "--set nic.recovery=true ";
  const auto faults = [](const std::string& list) { return "--set 'fabric.faults=" + list + "' "; };
  const Ran whole = weft(all_reduce + tree);
  ASSERT_EQ(whole.code, 0) << whole.err;
  const Ran round =
      weft(all_reduce + tree + faults(R"([{"link":"spine0","down":true}])") + "--set fabric.reroute_after=10us");
  ASSERT_EQ(round.code, 0) << round.err;
  EXPECT_EQ(json::parse(round.out)["rows"][0]["wrong"], 0);
  EXPECT_NE(json::parse(round.out)["digest"], json::parse(whole.out)["digest"]);
  const Ran later = weft(all_reduce + tree + recovery + faults(R"([{"link":"spine0","from":"30us","down":true}])") +
                         "--set fabric.reroute_after=10us");
  ASSERT_EQ(later.code, 0) << later.err;
  EXPECT_EQ(json::parse(later.out)["rows"][0]["wrong"], 0);
  const Ran lossy = weft(all_reduce + tree + recovery + faults(R"([{"loss":0.001}])"));
  ASSERT_EQ(lossy.code, 0) << lossy.err;
  EXPECT_EQ(json::parse(lossy.out)["rows"][0]["wrong"], 0);
  const json damaged = json::parse(lossy.out)["links"]["fabric"]["totals"]["damaged"];
  EXPECT_GT(damaged, 0);
  EXPECT_GT(json::parse(lossy.out)["counters"]["nic"]["retransmitted_packets"], 0);
  const Ran people =
      weft("collective ../small.json --op all_reduce --bytes 1MiB " + tree + recovery + faults(R"([{"loss":0.001}])"));
  EXPECT_NE(people.out.find("fabric: " + damaged.dump() + " packets damaged, most on "), std::string::npos)
      << people.out;

  for (const std::string& more : {std::string(), "--set fabric.reroute_after=10us " + recovery, recovery}) {
    const Ran cut = weft((all_reduce + tree).append(more) + faults(R"([{"link":"leaf1","from":"20us","down":true}])"));
    EXPECT_EQ(cut.code, 1) << cut.err;
    EXPECT_EQ(cut.out, "");
    EXPECT_NE(cut.err.find("network: leaf1 is down from 20us on\n"), std::string::npos) << cut.err;
    EXPECT_NE(cut.err.find("no path leads to 2 of 8 ends, end2, end3\n"), std::string::npos) << cut.err;
  }

  // Nobody needs it: the run is done long before, or all wait until it is up again.
  const Ran unneeded =
      weft(all_reduce + tree + recovery + faults(R"([{"link":"leaf1","from":"20us","until":"30us","down":true},
                                       {"link":"leaf2","from":"1000ms","down":true}])"));
  EXPECT_EQ(unneeded.code, 0) << unneeded.err;
  const std::string warning =
      "network: leaf1 was down from 20us until 30us, when no path led to 2 of 8 ends, end2, end3";
  EXPECT_EQ(unneeded.err, "weft: warning: " + warning + "\n");
  EXPECT_EQ(json::parse(unneeded.out)["warnings"], json::array({warning}));
  EXPECT_EQ(json::parse(round.out)["warnings"], json::array());

  // A segment has to cross the host link in a time that a packet can hold.
  const Ran slow =
      weft(all_reduce + "--set fabric.segment=1MiB --set fabric.link.buffer=2MiB --set nic.dma_rate=1Gbps");
  EXPECT_EQ(slow.code, 2);
  EXPECT_NE(slow.err.find("nic.dma_rate: expected more, or a smaller segment: 1MiB take "), std::string::npos)
      << slow.err;

  const Ran nobody = weft(all_reduce + tree + faults(R"([{"link":"spine0","loss":0.1}])"));
  EXPECT_EQ(nobody.code, 2);
  EXPECT_NE(nobody.err.find("nic.recovery: expected true, since fabric.faults.0"), std::string::npos) << nobody.err;
  EXPECT_EQ(
      weft(all_reduce + tree + faults(R"([{"link":"spine0","loss":0.1}])") + "--set fabric.link.replay=true").code, 0);
  const Ran full = weft(all_reduce + tree +
                        "--set fabric.link.flow_control=lossy --set fabric.link.buffer=8KiB --set fabric.segment=4KiB "
                        "--set fabric.switch.buffer.shared=0B");
  EXPECT_EQ(full.code, 1);
  EXPECT_NE(
      full.err.find("found no room in a switch and were dropped; a network interface repeats them with `recovery`"),
      std::string::npos)
      << full.err;
  const Ran unknown = weft(all_reduce + tree + faults(R"([{"link":"spine9"}])"));
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("fabric.faults.0.link: expected"), std::string::npos) << unknown.err;
}

TEST_F(CliTest, TopologyMeasuresAndDraws) {
  const Ran table = weft("topology ../small.json");
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_NE(table.out.find("bisection bandwidth"), std::string::npos);
  for (const char* file : {"fabric.dot", "fabric.svg", "scale_up.fabric.dot", "scale_up.fabric.svg"}) {
    EXPECT_TRUE(fs::exists(folder_ / "work/out/small" / file)) << file;
  }
  write("torus.json", R"json({"name": "torus", "accelerators": 24, "per_node": 2,
      "fabric": {"topology": "dimensions",
                 "dimensions": ["Ring(4)", {"block": "Ring(3)", "links": 2}, "Switch(2)"]},
      "scale_up": {"fabric": {"topology": "graph", "edges": "pair.json"}}})json");
  write("pair.json", R"(["end0 - a", {"between": "end1 - b", "link": {"rate": "100Gbps"}}, "a - b"])");
  write("pair.csv", "between,link.rate\nend0 - a,\nend1 - b,100Gbps\na - b,\n");
  const Ran from_table = weft("topology ../torus.json --json --out pictures --set scale_up.fabric.edges=pair.csv");
  EXPECT_EQ(from_table.code, 0) << from_table.err;
  write("pair.csv", "between,link.rate\nend0 - a,\nend1 - end0,100Gbps\na - b,\n");
  const Ran wrong = weft("topology ../torus.json --out pictures --set scale_up.fabric.edges=pair.csv");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("pair.csv:3: scale_up.fabric.edges.1.between: expected at least one switch"),
            std::string::npos)
      << wrong.err;
  const Ran ran = weft("topology ../torus.json --json --out pictures --set fabric.dimensions.1.link.rate=200Gbps");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json networks = json::parse(ran.out)["networks"];
  ASSERT_EQ(networks.size(), 2U);
  EXPECT_EQ(networks[0]["ends"], 24);
  EXPECT_EQ(networks[0]["switches"], 24 + 12);
  EXPECT_EQ(networks[0]["diameter"], 2 + 2 + 1 + 2);
  EXPECT_EQ(networks[0]["lanes_needed"], 2);
  EXPECT_EQ(networks[0]["deadlock_checked"], true);
  EXPECT_EQ(networks[0]["bisection_gbps"], 12 * 400);
  EXPECT_EQ(networks[1]["network"], "scale_up.fabric");
  EXPECT_EQ(networks[1]["bisection_gbps"], 100);
  EXPECT_EQ(read_file(folder_ / "work/pictures/fabric.dot").substr(0, 5), "graph");
  EXPECT_EQ(read_file(folder_ / "work/pictures/fabric.svg").substr(0, 4), "<svg");

  // Hubs of a dimension beyond the second are drawn as one; a folder with the name of a platform does not hide it.
  EXPECT_NE(read_file(folder_ / "work/pictures/fabric.svg").find("12 × switch"), std::string::npos);
  fs::create_directories(folder_ / "work/dgx-h100");
  EXPECT_EQ(weft("topology dgx-h100 --out pictures").code, 0);

  // What runs on it is told of the same mistakes.
  const Ran bad = weft("topology ../torus.json --set fabric.link.lanes=1 --out bad");
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.err.find("fabric.link.lanes: expected at least 2, got 1"), std::string::npos) << bad.err;
  EXPECT_FALSE(fs::exists(folder_ / "work/bad"));
}

TEST_F(CliTest, ValidateJudges) {
  const std::string head = "suite,platform,arguments,metric,published,unit,tolerance,source\n";
  const std::string good = "s,h100-sxm,\"kernel --burst --gemm 4096,4096,4096\",rows[0].tflops,780,TFLOPS,5%,x\n";
  write("good.csv", head + good);
  write("far.csv", head + good + "s,h100-sxm,\"kernel --gemm 4096,4096,4096\",rows[0].tflops,80,TFLOPS,5%,x\n");
  write("broken.csv", head + "s,no-such-part,\"kernel --gemm 4096,4096,4096\",rows[0].tflops,780,TFLOPS,-,x\n");

  write("less.csv", head +
                        "s,h100-sxm,\"kernel --burst --gemm 64,64,64 less kernel --burst --gemm 128,64,64\","
                        "rows[0].m + rows[0].n,-64,,0,x\n");

  EXPECT_EQ(weft("validate ../good.csv").code, 0);
  EXPECT_EQ(weft("validate ../less.csv").code, 0);
  // In the row's unit, whatever the metric's is; a table without a row says nothing.
  write("unit.csv", head + "s,h100-sxm,\"kernel --burst --gemm 4096,4096,4096\",rows[0].tflops,0.78,PFLOPS,5%,x\n");
  EXPECT_EQ(weft("validate ../unit.csv").code, 0);
  write("empty.csv", head);
  EXPECT_EQ(weft("validate ../empty.csv").code, 2);
  const Ran far = weft("validate ../far.csv --json");
  EXPECT_EQ(far.code, 1);
  EXPECT_EQ(json::parse(far.out)["rows"].size(), 2U);
  EXPECT_TRUE(nothing_written());
  const Ran broken = weft("validate ../broken.csv");
  EXPECT_EQ(broken.code, 1);
  EXPECT_NE(broken.out.find("no-such-part: "), std::string::npos);
}

TEST_F(CliTest, BenchMeasures) {
  const json bench = json::parse(
      weft("bench --quick --json --only packets-128 --only machine-64 --only memory-random --only joined-256").out);
  ASSERT_EQ(bench["rows"].size(), 4U);
  EXPECT_GT(bench["rows"][2]["value"], 0);
#ifndef __SANITIZE_ADDRESS__
  // 65,536 ports, so that with queue pairs from all to all a run stays below 200 MB.
  EXPECT_LT(bench["rows"][3]["resident_bytes"], 110'000'000);
#endif
  EXPECT_GT(bench["rows"][0]["hops"], 100'000);
  EXPECT_GT(bench["rows"][0]["value"], 0);
  EXPECT_GT(bench["rows"][1]["value"], 0);
}

}  // namespace
}  // namespace weft
