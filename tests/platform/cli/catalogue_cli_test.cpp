// SPDX-License-Identifier: Apache-2.0
// What there is to write into a platform: weft platforms, parts and describe. Runs the binary.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/support/cli.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::CliTest;
using test::Ran;
using test::read_file;

TEST_F(CliTest, PlatformsAreListedAndCommandsAndTheyAreFoundByNearNames) {
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(WEFT_SOURCE_DIR "/platforms")) {
    files += entry.path().extension() == ".json" ? 1 : 0;
  }
  const json all = json::parse(weft("platforms --json").out);
  EXPECT_EQ(all.size(), files);
  for (const json& platform : all) EXPECT_FALSE(platform["description"].get<std::string>().empty()) << platform["name"];
  const std::string list = weft("platforms").out;
  EXPECT_NE(list.find("dgx-h100  "), std::string::npos);
  EXPECT_EQ(std::count(list.begin(), list.end(), '\n'), static_cast<std::ptrdiff_t>(files) + 2) << "a line each";
  const std::string names = weft("platforms --names").out;
  EXPECT_EQ(std::count(names.begin(), names.end(), '\n'), static_cast<std::ptrdiff_t>(files));
  EXPECT_NE(names.find("\ndgx-h100\n"), std::string::npos);
  EXPECT_NE(weft("platforms dgx-h100").out.find("One node of 8 H100 joined by NVSwitch, for collectives and kernels\n"),
            std::string::npos);
  EXPECT_EQ(json::parse(weft("platforms dgx-h100 --json").out)["name"], "dgx-h100");
  const Ran absent = weft("platforms dgx-h10");
  EXPECT_EQ(absent.code, 2);
  EXPECT_EQ(absent.err,
            "weft: NAME: expected a platform of the catalogue (weft platforms), got \"dgx-h10\"; did you mean "
            "\"dgx-h100\"?\n");
  const Ran near = weft("collective dgx-h10 --op barrier");
  EXPECT_EQ(near.code, 2);
  EXPECT_NE(near.err.find(R"(a platform of the catalogue (weft platforms), got neither; did you mean "dgx-h100")"),
            std::string::npos)
      << near.err;
  const Ran command = weft("colective dgx-h100");
  EXPECT_EQ(command.code, 2);
  EXPECT_NE(command.err.find("weft: expected one of run, why, compare, report, collective, "), std::string::npos)
      << command.err;
  EXPECT_NE(command.err.find(R"(got "colective"; did you mean "collective"?)"), std::string::npos) << command.err;
  EXPECT_NE(weft("vcd waves x.vcd").err.find(R"(, got "waves". See weft vcd --help)"), std::string::npos);
}

/// Lines that a terminal holds.
TEST_F(CliTest, PartsFitATerminal) {
  const auto lines_of = [&](const std::string& arguments, std::size_t& longest) {
    const Ran ran = weft(arguments);
    EXPECT_EQ(ran.code, 0);
    std::istringstream stream(ran.out);
    std::size_t count = 0;
    for (std::string line; std::getline(stream, line); ++count) longest = std::max(longest, line.size());
    return count;
  };
  std::size_t longest = 0;
  const std::size_t all = json::parse(weft("parts --json").out).size();
  EXPECT_EQ(lines_of("parts", longest), all + 2) << "one a part, and what shows more";
  const std::size_t nics = json::parse(weft("parts --kind nic --json").out).size();
  EXPECT_GT(lines_of("parts --kind nic", longest), nics) << "whole texts";
  EXPECT_GT(lines_of("parts show h100-sxm", longest), 40U);
  const std::string names = weft("parts --kind nic --names").out;
  EXPECT_EQ(std::count(names.begin(), names.end(), '\n'), static_cast<std::ptrdiff_t>(nics));
  EXPECT_LE(longest, 120U);
  EXPECT_GT(longest, 100U);
}

TEST_F(CliTest, PartShowsItsFieldsAndTheirSources) {
  const json h200 = json::parse(weft("parts show h200-sxm --json").out);
  EXPECT_EQ(h200["kind"], "accelerator");
  std::map<std::string, json> fields;
  for (const json& field : h200["fields"]) fields[field["path"]] = field;
  EXPECT_EQ(fields.at("compute.clock"), (json{{"path", "compute.clock"},
                                              {"value", 1830},
                                              {"unit", "MHz"},
                                              {"grade", "published"},
                                              {"source", "NVIDIA H100 white paper"},
                                              {"part", "h100-sxm"}}));
  EXPECT_EQ(fields.at("hbm")["value"], "hbm3e-141g");
  EXPECT_EQ(fields.at("hbm")["part"], "h200-sxm");
  EXPECT_EQ(fields.at("compute.persistent_products")["value"], true);
  const std::string text = weft("parts show h200-sxm").out;
  EXPECT_TRUE(text.starts_with("h200-sxm, accelerator\n")) << text;
  EXPECT_NE(text.find("\ncompute.clock                 1830        MHz     published  [1]\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("h100-sxm: NVIDIA H100 white paper\n"), std::string::npos) << text;
  // One of the user's own, without sources.
  write("work/my-nic.json", R"({"kind": "nic", "source": "mine", "fields": {"dma_rate": "55GB/s"}})");
  EXPECT_NE(weft("parts show my-nic").out.find("\ndma_rate  55     GB/s  -      -\n"), std::string::npos);
  EXPECT_EQ(json::parse(weft("parts show my-nic --json").out)["fields"][0]["source"], nullptr);
  const Ran absent = weft("parts show h100-smx");
  EXPECT_EQ(absent.code, 2);
  EXPECT_EQ(absent.err,
            "weft: NAME: expected a part of the catalogue (weft parts), got \"h100-smx\"; did you mean "
            "\"h100-sxm\" or \"h100-sxm-500w\"?\n");
}

/// 128 lanes of each SM do two operations in a cycle: figures of different announcements do not fit each other.
TEST_F(CliTest, VectorPeaksFollowFromLanesAndClock) {
  const auto value = [this](const std::string& part, const std::string& path) {
    const json shown = json::parse(weft("parts show " + part + " --json").out);
    for (const json& field : shown["fields"]) {
      if (field["path"] == path) return field["value"].get<double>();
    }
    ADD_FAILURE() << part << " has no " << path;
    return 0.0;
  };
  for (const char* part : {"h100-sxm", "b200-sxm", "gb200", "b300-sxm"}) {
    const double lanes = 256 * value(part, "compute.sms") * value(part, "compute.vector_clock") * 1e6;
    EXPECT_NEAR(value(part, "compute.vector_fp32") * 1e12 / lanes, 1, 0.01) << part;
  }
  EXPECT_EQ(value("b200-sxm", "compute.vector_fp32"), value("b300-sxm", "compute.vector_fp32"));
  for (const char* part : {"h100-sxm", "b200-sxm", "gb200"})
    EXPECT_NEAR(value(part, "compute.vector_fp32") / value(part, "compute.vector_fp64"), 2, 0.05) << part;
}

TEST_F(CliTest, CatalogueReads) {
  const json parts = json::parse(weft("parts --json").out);
  EXPECT_GE(parts.size(), 10U);
  for (const json& part : parts) {
    EXPECT_FALSE(part["source"].get<std::string>().empty());
    if (part["kind"] == "accelerator") {
      EXPECT_EQ(weft("kernel " + part["name"].get<std::string>() + " --gemm 64,64,64").code, 0);
      continue;
    }
    if (part["kind"] == "dram") {
      write("one.trc", "R 0\n");
      EXPECT_EQ(weft("memory ../one.trc --device " + part["name"].get<std::string>()).code, 0);
      continue;
    }
    const std::map<std::string, std::string> places = {{"hbm", "accelerator.hbm"},
                                                       {"processor", "firmware"},
                                                       {"link", "fabric.link"},
                                                       {"switch", "fabric.switch"},
                                                       {"cxl_link", "remote_memory.cxl.link"},
                                                       {"cxl_switch", "remote_memory.cxl.switch"},
                                                       {"memory_expander", "remote_memory.cxl.device"}};
    const auto kind = part["kind"].get<std::string>();
    const std::string place = places.contains(kind) ? places.at(kind) : kind;
    const Ran ran = weft("collective ../small.json --op all_gather --bytes 1KiB --set " + place + "=" +
                         part["name"].get<std::string>());
    EXPECT_EQ(ran.code, 0) << ran.err;
  }
  for (const auto& entry : fs::directory_iterator(WEFT_SOURCE_DIR "/platforms")) {
    if (entry.path().extension() != ".json") continue;
    const std::string name = entry.path().stem().string();
    SCOPED_TRACE(name);
    // Those whose dimensions say how many they are have 1,024 ends: they take seconds each, as goldens do.
    const int accelerators = json::parse(test::read_file(entry.path())).value("accelerators", 0);
    if (accelerators == 0) continue;
    // By rings an Allgather takes the square of the ranks in messages.
    const bool is_large = accelerators > 128;
#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__)
    if (is_large) continue;  // a second in the release build, and many here; the smaller ones have the same fields
#endif
    const std::string op = is_large ? "broadcast" : "all_gather";
    const Ran ran = weft("collective " + name + " --bytes 1KiB --op " + op);
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.err, "");
  }
}

TEST_F(CliTest, DescribeListsEveryField) {
  const Ran page = weft("describe");
  EXPECT_EQ(page.code, 0);
  EXPECT_EQ(page.out, read_file(WEFT_SOURCE_DIR "/docs/reference/configuration.md"))
      << "the page is what weft describe prints";
  const std::string names = weft("describe --names").out;
  EXPECT_NE(names.find("\nfabric.link.rate\n"), std::string::npos);
  EXPECT_EQ(names.find("\nfabric.link\n"), std::string::npos);
  for (const char* field : {"`fabric.link.rate`", "`accelerator.hbm.capacity`", "`workload.model`"}) {
    EXPECT_NE(page.out.find(field), std::string::npos) << field;
  }
  // Fields that several objects have are listed once, and named by the others; all are among the names.
  for (const char* row : {"| `collectives.compression.gradients` | object", "| `fabric.edges.N.link` | object"}) {
    const std::size_t at = page.out.find(row);
    ASSERT_NE(at, std::string::npos) << row;
    const std::string line = page.out.substr(at, page.out.find('\n', at) - at);
    const bool is_scope = line.find("compression") != std::string::npos;
    const char* first =
        is_scope ? "Fields: as those of `collectives.compression.tensor` |" : "Fields: as those of `fabric.link` |";
    EXPECT_NE(line.find(first), std::string::npos) << line;
  }
  EXPECT_EQ(page.out.find("`collectives.compression.gradients.ratio`"), std::string::npos);
  EXPECT_NE(page.out.find("`collectives.compression.tensor.ratio`"), std::string::npos);
  EXPECT_NE(names.find("\ncollectives.compression.gradients.ratio\n"), std::string::npos);
}

TEST_F(CliTest, DescribeListsEveryCommand) {
  const Ran page = weft("describe --commands");
  EXPECT_EQ(page.code, 0);
  EXPECT_EQ(page.out, read_file(WEFT_SOURCE_DIR "/docs/reference/commands.md"))
      << "the page is what weft describe --commands prints";
  for (const char* words : {"\n## weft run\n", "\n## weft trace check\n", "\n    weft run platform [OPTIONS]\n",
                            "| `--set` | `PATH=VALUE ...` |", "`bash`, `zsh`, `fish` (required) |"}) {
    EXPECT_NE(page.out.find(words), std::string::npos) << words;
  }
}

TEST_F(CliTest, OwnPartsAreFound) {
  const auto nic = [](const char* rate) {
    return std::string(R"({"kind": "nic", "source": "mine", "fields": {"part": "connectx-6", "dma_rate": ")") + rate +
           "\"}}";
  };
  fs::create_directories(folder_ / "shelf");
  write("ring.json", R"({"name": "ring", "accelerators": 4, "per_node": 1, "accelerator": "h100-sxm", "nic": "my-nic",
                         "fabric": {"topology": "ring"}})");
  write("notes.json", "[1, 2");
  write("bad.json", R"({"kind": "nic", "note": 1})");
  write("my-nic.json", nic("100Gbps"));
  write("shelf/my-nic.json", nic("200Gbps"));
  write("shelf/their-nic.json", nic("50Gbps"));
  const std::string collective = "collective ../ring.json --op all_reduce --bytes 16MiB --json ";
  const auto time = [&](const std::string& arguments) {
    const Ran ran = weft(arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.code == 0 ? json::parse(ran.out)["rows"][0]["time_us"].get<double>() : 0;
  };
  const double beside = time(collective);
  EXPECT_GT(beside, 1.5 * time(collective + "--set nic.dma_rate=200Gbps"));
  // Beside the platform comes first, then WEFT_PATH, then the catalogue.
  const Ran absent = weft(collective + "--set nic=their-nic");
  EXPECT_NE(absent.err.find("nic: expected a part of kind nic, one of "), std::string::npos) << absent.err;
  EXPECT_NE(absent.err.find(", my-nic, "), std::string::npos) << absent.err;
  setenv("WEFT_PATH", (folder_ / "shelf").c_str(), 1);
  EXPECT_EQ(time(collective), beside);
  EXPECT_GT(time(collective + "--set nic=their-nic"), 1.5 * beside);
  EXPECT_NE(weft("parts --kind nic").out.find("\ntheir-nic "), std::string::npos);
  unsetenv("WEFT_PATH");
  // One that bears a name of the catalogue is told, but where the catalogue's itself is meant.
  write("connectx-7.json", R"({"kind": "nic", "source": "mine", "fields": {"part": "connectx-6"}})");
  const Ran hides = weft(collective + "--set nic=connectx-7");
  EXPECT_EQ(hides.code, 0) << hides.err;
  EXPECT_NE(hides.err.find("warning: connectx-7 is "), std::string::npos) << hides.err;
  EXPECT_NE(hides.err.find("connectx-7.json, not the part of that name in the catalogue"), std::string::npos)
      << hides.err;
  write("my-nic.json", R"({"kind": "nic", "fields": {}})");
  const Ran broken = weft(collective);
  EXPECT_EQ(broken.code, 2);
  EXPECT_NE(broken.err.find("my-nic.json: source: expected a string, got nothing"), std::string::npos) << broken.err;
  // A kernel is asked for where its accelerator lies.
  write("work/my-gpu.json", R"({"kind": "accelerator", "source": "mine", "fields": {"part": "h100-sxm"}})");
  EXPECT_EQ(weft("kernel copy --part my-gpu --bytes 1MiB").code, 0);
}

}  // namespace
}  // namespace weft
