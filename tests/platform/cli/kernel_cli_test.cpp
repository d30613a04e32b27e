// SPDX-License-Identifier: Apache-2.0
// weft kernel. Runs the binary.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/support/cli.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::CliTest;
using test::Ran;
using test::read_file;

TEST_F(CliTest, KernelOfPartAndOfPlatform) {
  const json part = json::parse(weft("kernel h100-sxm --gemm 4096,4096,4096 --gemm 64,64,64 --json").out);
  ASSERT_EQ(part["rows"].size(), 2U);
  EXPECT_EQ(part["rows"][0]["bound"], "tensor cores");
  EXPECT_EQ(part["rows"][1]["bound"], "launch");
  const json platform = json::parse(weft("kernel ../small.json --gemm 4096,4096,4096 --json").out);
  EXPECT_EQ(platform["rows"][0], part["rows"][0]);
  const json slower = json::parse(weft("kernel h100-sxm --gemm 4096,4096,4096 --json --set compute.sms=66").out);
  EXPECT_GT(slower["rows"][0]["time_us"], part["rows"][0]["time_us"]);
}

TEST_F(CliTest, KernelByName) {
  const json swept = json::parse(weft("kernel gemm --m 512:4096:x8 --n m --k 64,128 --json").out);
  ASSERT_EQ(swept["rows"].size(), 4U);
  EXPECT_EQ(swept["accelerator"], "h100-sxm");
  EXPECT_EQ(swept["rows"][3]["n"], 4096);
  EXPECT_EQ(swept["rows"][3]["k"], 128);
  const json listed = json::parse(weft("kernel h100-sxm --gemm 4096,4096,128 --json").out);
  EXPECT_EQ(swept["rows"][3], listed["rows"][0]);
  for (const json& row : swept["rows"]) {
    double sum = 0;
    for (const auto& [cost, us] : row["breakdown_us"].items()) sum += us.get<double>();
    EXPECT_NEAR(sum, row["time_us"].get<double>(), 1e-6);
    EXPECT_NEAR(row["energy_j"].get<double>(), row["power_w"].get<double>() * row["time_us"].get<double>() * 1e-6,
                1e-9);
  }
  const Ran page = weft("kernel gemm --m 4096 --n m --k m");
  for (const char* text : {"bound by tensor cores", "wave quantisation", "% of the peak", "ridge", "W on average"}) {
    EXPECT_NE(page.out.find(text), std::string::npos) << text << "\n" << page.out;
  }
  const json before = json::parse(weft("kernel a100-80g --json gemm --m 4096 --n m --k m").out);
  EXPECT_EQ(before["accelerator"], "a100-80g");
}

TEST_F(CliTest, KernelOfABurstOfAPartitionAndInFull) {
  const auto time = [this](const std::string& more) {
    return json::parse(weft("kernel gemm --m 8192 --n m --k m --json " + more).out)["rows"][0]["time_us"].get<double>();
  };
  const double burst = time("--burst");
  EXPECT_GT(time("--sms 66 --burst"), 1.8 * burst);
  EXPECT_GT(time(""), 1.1 * burst);
  EXPECT_EQ(time("--set compute.power.cap=0W"), burst);
  EXPECT_GT(time("--type fp8 --full-accumulation --burst"), 1.1 * time("--type fp8 --burst"));
  const Ran held = weft("kernel gemm --m 8192 --n m --k m --type fp8 --full-accumulation");
  for (const char* text : {"fp8 full accumulation on h100-sxm", "which the power cap of 700W leaves"}) {
    EXPECT_NE(held.out.find(text), std::string::npos) << text << "\n" << held.out;
  }
}

TEST_F(CliTest, KernelSaysItsClockAndWhatHoldsIt) {
  const std::string gemm = "kernel gemm --m 8192 --n m --k m ";
  const auto says = [&](const std::string& command, const std::string& text) {
    const Ran ran = weft(command);
    EXPECT_NE(ran.out.find(text), std::string::npos) << text << "\n" << ran.out << ran.err;
  };
  says(gemm + "--burst", "clock       1830MHz\n");
  says(gemm + "--set compute.clock_cap=915MHz",
       "clock       915MHz, 50.0 % of 1830MHz, which the clock cap of 915MHz leaves\n");
  says(gemm + "--set compute.clock_cap=1700MHz --set compute.power.cap=500W", "which the power cap of 500W leaves\n");
  says("kernel copy --bytes 1GiB --part tpu-v4 --set compute.power.cap=100W",
       "MHz, which the power cap of 100W leaves; pauses for ");
  says("kernel copy --bytes 1GiB --set hbm.interconnect_rate=1000GB/s", "bound by interconnect\n");
  const json row = json::parse(weft(gemm + "--set compute.clock_cap=915MHz --json").out)["rows"][0];
  EXPECT_EQ(row["clock"], 0.5);
  EXPECT_EQ(row["clock_mhz"], 915);
  EXPECT_EQ(row["bound"], "clock cap");
}

TEST_F(CliTest, KernelRefusesCapsThatNoBoardTakes) {
  const auto refusal = [this](const std::string& setting) {
    const Ran ran = weft("kernel copy --bytes 1GiB --set " + setting);
    EXPECT_EQ(ran.code, 2) << ran.out;
    return ran.err;
  };
  EXPECT_NE(refusal("compute.power.cap=100W")
                .find("compute.power.cap: expected 0 or at least what the board takes, 200W, got 100W"),
            std::string::npos);
  EXPECT_NE(refusal("compute.clock_cap=100MHz")
                .find("compute.clock_cap: expected 0 or at least the lowest clock, 345MHz, got 100MHz"),
            std::string::npos);
  EXPECT_NE(refusal("compute.lacks=bf8").find("compute.lacks: expected types such as \"fp8, tf32\", got \"bf8\""),
            std::string::npos);
}

TEST_F(CliTest, KernelNotesUnitsThatThePartLacks) {
  const auto note = [this](const std::string& kernel) {
    const json row = json::parse(weft("kernel " + kernel + " --json").out)["rows"][0];
    return row.value("note", "none");
  };
  const std::string gemm = "gemm --m 4096 --n m --k m --type ";
  EXPECT_EQ(note(gemm + "fp8 --part a100-80g"),
            "a100-80g has no units for fp8: taken are 312 TFLOPS, the peak of bf16");
  EXPECT_EQ(note(gemm + "bf16 --part v100-sxm2"),
            "v100-sxm2 has no units for bf16: taken are 125 TFLOPS, the peak of fp16");
  EXPECT_EQ(note(gemm + "tf32 --part tpu-v4"), "tpu-v4 has no units for tf32: taken are 91.7 TFLOPS");
  EXPECT_EQ(note(gemm + "fp4 --part h100-sxm"),
            "h100-sxm has no units for fp4: taken are 1979 TFLOPS, the peak of fp8");
  EXPECT_EQ(note("attention --heads 8 --seq 1024 --part rtx-2080-ti"),
            "rtx-2080-ti has no units for bf16: taken are 56.9 TFLOPS, the peak of fp16");
  for (const char* type : {"int8", "fp64", "fp4"}) EXPECT_EQ(note(gemm + type + " --part b200-sxm"), "none") << type;
  EXPECT_EQ(note("norm --rows 1024 --columns 1024 --part v100-sxm2"), "none");
  const Ran page = weft("kernel " + gemm + "fp8 --part a100-80g");
  EXPECT_NE(page.out.find("note        a100-80g has no units for fp8"), std::string::npos) << page.out;
  const Ran table = weft("kernel a100-80g --gemm 4096,4096,4096 --gemm 512,512,512 --type fp8");
  EXPECT_NE(table.out.find("\nnote: a100-80g has no units for fp8"), std::string::npos) << table.out;
}

TEST_F(CliTest, KernelOfDecodingAndOfTypes) {
  const json row =
      json::parse(weft("kernel attention --heads 32 --kv-heads 8 --seq 1 --keys 4096,8192 --causal --type fp8 --json")
                      .out)["rows"][1];
  EXPECT_EQ(row["keys"], 8192);
  EXPECT_EQ(row["type"], "fp8");
  EXPECT_EQ(row["flops"], 4.0 * 32 * 8192 * 128);
  const json adam = json::parse(weft("kernel optimizer --parameters 1000000 --kind adam --json").out)["rows"][0];
  const json adamw = json::parse(weft("kernel optimizer --parameters 1000000 --kind adamw --json").out)["rows"][0];
  EXPECT_EQ(adamw["optimizer"], "adamw");
  EXPECT_EQ(adamw["time_us"], adam["time_us"]);
}

TEST_F(CliTest, KernelSaysWhatIsWrongWithAShape) {
  const auto refused = [this](const std::string& kernel, const std::string& text) {
    const Ran ran = weft("kernel " + kernel);
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_NE(ran.err.find(text), std::string::npos) << ran.err;
  };
  // The part comes before a dimension that is missing.
  refused("gemm --part h100", "--part: expected an accelerator of the catalogue (weft parts), got \"h100\"");
  refused("attention --heads 8 --seq 128 --keys 64 --causal",
          "--keys: expected at least the 128 causal queries, else the first would see no keys, got 64");
  refused("attention --heads 8 --seq 128 --type fp32", "--type: expected one of bf16, fp16, fp8, got \"fp32\"");
  refused("attention --heads 8 --seq 128 --type fp8 --backward",
          "--type: expected bf16 or fp16 with --backward, got \"fp8\"");
  refused("norm --rows 8 --columns 8 --type fp4", "--type: expected one of bf16, fp16, fp8, tf32, fp32, got \"fp4\"");
  refused("gemm --m 64 --n m --k m --type fp64 --sparse", "gemm: tensor cores multiply fp64 only dense");
}

// Alone on nearly all SMs of the simulated accelerator a stream takes what the closed form says, whatever its share of
// writes.
TEST_F(CliTest, KernelStreamsAtTheRateOfTheSimulatedMemory) {
  double copy = 0;
  for (const char* kernel :
       {"copy --bytes 1GiB", "optimizer --parameters 100000000", "elementwise --elements 500000000 --writes 0",
        "elementwise --elements 500000000 --reads 2"}) {
    const Ran ran = weft(std::string("kernel ") + kernel + " --sms 128 --with \"copy --bytes 64KiB\" --json");
    ASSERT_EQ(ran.code, 0) << ran.err;
    const json first = json::parse(ran.out)["kernels"][0];
    const auto closed = first["whole_array_us"].get<double>();
    EXPECT_NEAR(first["alone_us"].get<double>(), closed, 0.02 * closed) << kernel;
    if (copy == 0) copy = closed;
  }
  // Half written, HBM loses more at turning round than STREAM, a third of it written, which reaches 90 to 93 % of the
  // pins' 3,350 GB/s.
  const double rate = 2.0 * (1 << 30) / copy * 1e-3;
  EXPECT_LT(rate, 0.93 * 3350);
  EXPECT_GT(rate, 0.8 * 3350);
}

TEST_F(CliTest, KernelsSideBySideShareHbmAndTheClock) {
  const auto pair = [this](const std::string& command) {
    const Ran ran = weft("kernel " + command + " --json");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(ran.out);
  };
  const json copies = pair("copy --bytes 256MiB --with \"copy --bytes 256MiB\"");
  for (const json& kernel : copies["kernels"]) {
    EXPECT_EQ(kernel["sms"], 66);
    EXPECT_NEAR(kernel["beside_us"].get<double>(), 2 * kernel["alone_us"].get<double>(),
                0.05 * kernel["beside_us"].get<double>());
  }
  EXPECT_NEAR(copies["together_us"].get<double>(), copies["one_after_the_other_us"].get<double>(),
              0.05 * copies["together_us"].get<double>());
  // Products that HBM does not bound do not meet, but have one power to share.
  const std::string gemm = "gemm --m 8192 --n m --k m";
  const json products = pair(gemm + " --with \"" + gemm + "\"");
  const json& first = products["kernels"][0];
  EXPECT_NEAR(first["beside_us"].get<double>(), first["alone_us"].get<double>(),
              0.03 * first["alone_us"].get<double>());
  EXPECT_LT(first["clock"], 0.95);
  const json burst = pair(gemm + " --burst --with-sms 32 --with \"" + gemm + "\"");
  EXPECT_EQ(burst["kernels"][0]["sms"], 100);
  EXPECT_EQ(burst["kernels"][0]["clock"], 1);
  const Ran page = weft("kernel " + gemm + " --sms 100 --with \"copy --bytes 1GiB\"");
  for (const char* text : {"beside the other", "copy 1GiB", "one after the other on all 132 SMs"}) {
    EXPECT_NE(page.out.find(text), std::string::npos) << text << "\n" << page.out << page.err;
  }
}

TEST_F(CliTest, KernelRefusesPairsThatCannotBe) {
  const auto refused = [this](const std::string& more, const std::string& text) {
    const Ran ran = weft("kernel copy --bytes 1MiB " + more);
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_NE(ran.err.find(text), std::string::npos) << ran.err;
  };
  const std::string with = " --with \"copy --bytes 1MiB\"";
  refused("--with \"copy --byts 1\"", "--with: expected a kernel such as \"copy --bytes 1GiB\", got \"copy --byts 1\"");
  refused("--with \"copy --bytes 1MiB,2MiB\"", "--with: expected one kernel on each side, no list or range");
  refused("--sms 100 --with-sms 33" + with,
          "--with-sms: expected at most the 132 of h100-sxm for both kernels and one for each, got 100 and 33");
  refused("--with-sms 3", "--with-sms: expected --with, which names the other kernel");
  refused("--warm" + with, "--warm: expected no --with beside it");
  refused("--set hbm.detail=bank" + with, "--with: expected a memory of detail stream, got bank");
}

// Nothing of another product stands in a part, or in an accelerator of one's own, without being said.
TEST_F(CliTest, KernelSaysWhoseValuesAnAcceleratorTakes) {
  const std::string kernel = "kernel ../own.json --gemm 512,512,512";
  for (const auto& entry : fs::directory_iterator(WEFT_SOURCE_DIR "/platforms/parts")) {
    if (entry.path().extension() != ".json") continue;
    const json part = json::parse(read_file(entry.path()));
    if (part["kind"] != "accelerator") continue;
    write("own.json", json{{"accelerators", 1}, {"per_node", 1}, {"accelerator", entry.path().stem()}}.dump());
    const Ran ran = weft(kernel);
    EXPECT_EQ(ran.code, 0) << entry.path() << ran.err;
    EXPECT_EQ(ran.err.find("nothing sets"), std::string::npos) << entry.path() << ran.err;
  }
  write("own.json", R"({"accelerators": 1, "per_node": 1, "accelerator": {"compute": {"sms": 100}}})");
  const Ran ran = weft(kernel);
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.err.find("accelerator.compute: nothing sets clock, full_accumulation, l2_rate, l2_size, launch and "),
            std::string::npos)
      << ran.err;
  EXPECT_NE(ran.err.find(R"(so that they are an H100's; a part beneath, such as {"part": "h100-sxm"}, says so)"),
            std::string::npos)
      << ran.err;
}

TEST_F(CliTest, KernelsOnEveryPart) {
  const std::vector<std::string> kernels = {
      "gemm --m 8192 --n 8192 --k 8192",
      "attention --heads 16 --seq 2048 --causal --backward",
      "conv --batch 8 --in 64 --out 64 --size 56 --kernel 3 --pad 1",
      "norm --rows 8192 --columns 4096",
      "elementwise --elements 1048576",
      "embedding --tokens 4096 --rows 32000 --columns 4096",
      "cholesky --n 1000",
      "inverse --n 1000",
      "eigen --n 1000",
      "optimizer --parameters 1000000 --type bf16",
      "gemm --m 16384 --n 16384 --k 16384 --type tf32",
      "elementwise --elements 100000000 --flops 1000",
      "conv --batch 32 --in 256 --out 256 --size 56 --kernel 3 --pad 1 --groups 256",
      "copy --bytes 64MiB"};
  const std::set<std::string> expected = {"v100-sxm2", "a100-80g",    "h100-sxm", "h200-sxm", "b200-sxm",
                                          "mi300x",    "rtx-2080-ti", "tpu-v3",   "tpu-v4",   "tpu-v5p"};
  std::size_t found = 0;
  for (const auto& entry : fs::directory_iterator(WEFT_SOURCE_DIR "/platforms/parts")) {
    if (entry.path().extension() != ".json") continue;
    const json part = json::parse(read_file(entry.path()));
    const std::string name = entry.path().stem().string();
    if (!expected.contains(name)) continue;
    SCOPED_TRACE(name);
    ++found;
    for (const std::string& kernel : kernels) {
      const Ran ran = weft(std::string("kernel ").append(kernel).append(" --json --part ").append(name));
      ASSERT_EQ(ran.code, 0) << kernel << ran.err;
      const json row = json::parse(ran.out)["rows"][0];
      EXPECT_GT(row["time_us"], 0) << kernel;
      EXPECT_LE(row["tflops"], row["peak_tflops"]) << kernel;
      const json power = part["fields"]["compute"].value("power", json::object());
      if (power.contains("cap")) {
        EXPECT_LE(row["power_w"], 1.01 * std::stod(power["cap"].get<std::string>())) << kernel;
      }
      if (kernel.starts_with("gemm --m 8192")) {
        EXPECT_EQ(row["bound"], "tensor cores");
      }
      if (kernel.starts_with("copy")) {
        EXPECT_EQ(row["bound"], "HBM");
      }
    }
  }
  EXPECT_EQ(found, expected.size());
}

}  // namespace
}  // namespace weft
