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

// Every accelerator of the catalogue runs every kernel, says where each of its figures comes from, and draws about what
// its board may when it computes.
TEST_F(CliTest, KernelsOnEveryPart) {
  const std::vector<std::string> kernels = {"gemm --m 8192 --n 8192 --k 8192",
                                            "attention --heads 16 --seq 2048 --causal --backward",
                                            "conv --batch 8 --in 64 --out 64 --size 56 --kernel 3 --pad 1",
                                            "norm --rows 8192 --columns 4096",
                                            "elementwise --elements 1048576",
                                            "embedding --tokens 4096 --rows 32000 --columns 4096",
                                            "cholesky --n 1000",
                                            "inverse --n 1000",
                                            "optimizer --parameters 1000000 --type bf16",
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
    const auto source = part["source"].get<std::string>();
    for (const auto& [field, value] : part["fields"]["compute"].items()) {
      const bool peak = field.starts_with("tensor_") || field.starts_with("vector_");
      EXPECT_TRUE(source.find(field) != std::string::npos || (peak && source.find("peaks") != std::string::npos))
          << "no source of " << field;
    }
    for (const std::string& kernel : kernels) {
      const Ran ran = weft(std::string("kernel ").append(kernel).append(" --json --part ").append(name));
      ASSERT_EQ(ran.code, 0) << kernel << ran.err;
      const json row = json::parse(ran.out)["rows"][0];
      EXPECT_GT(row["time_us"], 0) << kernel;
      EXPECT_LE(row["tflops"], row["peak_tflops"]) << kernel;
      if (kernel.starts_with("gemm")) {
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
