// SPDX-License-Identifier: Apache-2.0
// Compressed AllReduces of weft collective, with real numbers: what is left of them, what is sent, and by whom. Runs
// the binary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::BadInput;

constexpr double kBytes = 64 << 10;

class CompressionCli : public test::CliTest {
 protected:
  json row(const std::string& method, const std::string& more = "") {
    const json result =
        weft_json("collective ../small.json --op all_reduce --bytes 64KiB --compression " + method + " " + more);
    return result.is_null() ? json() : result["rows"][0];
  }
};

// What is sent whole comes whole: float32 rounds each of three additions to 2^-24 of its size.
TEST_F(CompressionCli, WhatIsSentWholeComesWhole) {
  for (const char* method : {"top-k", "random-k", "exponential", "threshold"}) {
    const json whole = row(method,
                           "--data --set collectives.compression.ratio=1 "
                           "--set collectives.compression.threshold.value=0 --set collectives.compression.stages=1");
    EXPECT_LT(whole["compression"]["error"], method == std::string("exponential") ? 0.2 : 1e-6) << method;
    EXPECT_EQ(whole["wrong"], 0) << method;
  }
}

// Numbers of integers, compared with the reference: nothing is lost. They have few bits, and leave many words of zeros.
TEST_F(CompressionCli, LosslessIsLossless) {
  const json exact = row("lossless", "--data");
  EXPECT_EQ(exact["wrong"], 0);
  EXPECT_EQ(exact["compression"]["error"], nullptr);
  EXPECT_GT(exact["compression"]["ratio"], 1.5);
  // Without data the share that is given is what is left.
  const json assumed = row("lossless", "--set collectives.compression.lossless.share=0.5");
  EXPECT_NEAR(assumed["compression"]["ratio"].get<double>(), 2, 0.01);
}

// A ratio of what was not sent would be none.
TEST_F(CompressionCli, NothingSentHasNoRatio) {
  const json nothing = row("threshold", "--data --set collectives.compression.threshold.value=1e30");
  EXPECT_EQ(nothing["compression"]["sent_bytes"], 0);
  EXPECT_EQ(nothing["compression"]["ratio"], nullptr);
  EXPECT_EQ(nothing["compression"]["error"], 1);
  EXPECT_EQ(nothing["wrong"], 0);
}

// The sum of four ranks' exponential numbers is off by what stays behind.
TEST_F(CompressionCli, ErrorsAreThoseOfTheAlgorithms) {
  struct Case {
    const char* method;
    const char* more;
    double least;
    double most;
    double sent;  ///< bytes of a rank
  };
  const double pairs = 8 * 164;  // of 1 % of 16,384
  for (const Case& c : std::vector<Case>{
           // A share p of exponential magnitudes holds p (1 + (1 - ln p)^2) / 2 of the sum of squares: 0.16 of 1 %.
           {"top-k", "", 0.88, 0.95, pairs},
           {"random-k", "", 0.97, 1, 4 * 164},
           {"dgc", "", 0.85, 0.96, pairs},
           {"gamma", "", 0.85, 0.96, pairs},
           // A level is the norm by 127, that of 16,384 numbers 181 with a root of the mean square of 1.41.
           {"qsgd", "", 0.3, 0.8, 16'384 + 4},
           {"qsgd", "--set collectives.compression.qsgd.levels=32767 --set collectives.compression.qsgd.bits=16", 0,
            0.01, 2 * 16'384 + 4},
           {"scaled-sign", "", 0.5, 0.9, 16'384 / 8 + 4},
           {"power-sgd", "", 0.9, 1, 2 * 4 * 128 * 4},
           // 23 bits for four values are 5 planes and 3 values of the 6th, of 31: a value is off by up to 2^-4 of the
           // block's scale, twice that after the transform back, in each of four compressions.
           {"fixed-rate", "", 0.05, 0.35, 2 * 3 * 16'384 / 4.0},
           {"fixed-rate", "--set collectives.compression.fixed_rate.bits=24", 0, 1e-4, 2 * 3 * 16'384 / 4.0 * 3},
       }) {
    SCOPED_TRACE(std::string(c.method) + " " + c.more);
    const json is = row(c.method, std::string("--data ") + c.more);
    ASSERT_FALSE(is.is_null());
    EXPECT_EQ(is["wrong"], 0);
    EXPECT_GE(is["compression"]["error"], c.least);
    EXPECT_LE(is["compression"]["error"], c.most);
    const bool varies = c.method == std::string("dgc") || c.method == std::string("gamma");
    EXPECT_NEAR(is["compression"]["sent_bytes"].get<double>(), c.sent, varies ? 0.3 * c.sent : 0);
    EXPECT_GT(is["compression"]["kernels_us"], 0);
    const json timed = row(c.method, c.more);
    EXPECT_EQ(timed["compression"]["error"], nullptr);
    if (varies) continue;
    EXPECT_EQ(timed["time_us"], is["time_us"]) << "with data nothing takes longer";
  }
}

// Fewer bytes are worth it on a slow network and not on a fast one.
TEST_F(CompressionCli, AFasterNetworkNeedsNoCompression) {
  const auto time = [&](const std::string& method, const std::string& rate) {
    const json result =
        weft_json("collective ../small.json --op all_reduce --bytes 64MiB --set per_node=1 --compression " + method +
                  " --set fabric.link.rate=" + rate);
    return result["rows"][0]["time_us"].get<double>();
  };
  EXPECT_LT(time("top-k", "1Gbps"), 0.1 * time("none", "1Gbps"));
  EXPECT_GT(time("qsgd", "400Gbps"), 0.5 * time("none", "400Gbps"));
  EXPECT_LT(time("fixed-rate", "10Gbps"), 0.4 * time("none", "10Gbps"));
}

TEST_F(CompressionCli, TheTableSaysWhatWasSent) {
  const test::Ran table = weft("collective ../small.json --op all_reduce --bytes 64KiB --compression top-k --data");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_NE(table.out.find("# compressed, of a rank:\n"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find(" 1312 "), std::string::npos) << table.out;
}

TEST_F(CompressionCli, WhatACompressorDoesNotReadIsNamed) {
  const auto idle = [&](const std::string& more) {
    std::string fields;
    const json result = weft_json("collective ../small.json --op all_reduce --bytes 4KiB " + more);
    for (const json& each : result["without_effect"]) fields += each["field"].get<std::string>() + " ";
    return fields;
  };
  EXPECT_EQ(idle("--compression top-k --set collectives.compression.ratio=0.1"), "");
  EXPECT_EQ(idle("--compression qsgd --set collectives.compression.ratio=0.1"), "collectives.compression.ratio ");
  EXPECT_EQ(idle("--compression none --set collectives.compression.qsgd.bits=9"), "collectives.compression.qsgd.bits ");
  EXPECT_NE(idle("--compression lossless --set collectives.compression.kernels=framework")
                .find("collectives.compression.kernels"),
            std::string::npos);
}

// Gradients between copies of FSDP's shards, and the AllReduces of all workloads: losslessly with what they compare.
TEST_F(CompressionCli, TrainingSendsCompressedSums) {
  const std::string copies = "../small.json --set workload.shards=2 --set fabric.link.rate=10Gbps ";
  const json plain = run_json(copies);
  const json compressed = run_json(copies + "--set collectives.compression.method=fixed-rate");
  EXPECT_LT(compressed["step_time_us"], plain["step_time_us"]);
  const json exact =
      run_json(copies + "--data --set workload.model=nano --set collectives.compression.method=lossless");
  EXPECT_EQ(exact["wrong"], 0);
}

TEST_F(CompressionCli, MistakesAreNamed) {
  for (const BadInput& bad : std::vector<BadInput>{
           {"unknown", "collective ../small.json --op all_reduce --compression topk", {"--compression", "top-k"}},
           {"another operation",
            "collective ../small.json --op all_gather --compression top-k",
            {"--compression: expected none but for all_reduce of fp32, got all_gather of fp32"}},
           {"another type",
            "collective ../small.json --op all_reduce --type bf16 --compression top-k",
            {"--compression: expected none but for all_reduce of fp32, got all_reduce of bf16"}},
           {"ratio",
            "collective ../small.json --op all_reduce --compression top-k --set collectives.compression.ratio=2",
            {"collectives.compression.ratio: expected more than 0 and at most 1, got 2"}},
           {"levels",
            "collective ../small.json --op all_reduce --compression qsgd --set collectives.compression.qsgd.levels=128",
            {"collectives.compression.qsgd.levels: expected fewer levels than 7 bits tell apart, got 128"}},
           {"share",
            "collective ../small.json --op all_reduce --compression lossless "
            "--set collectives.compression.lossless.share=0",
            {"collectives.compression.lossless.share: expected more than 0 and at most 1, got 0"}},
           {"check of copies",
            "run ../small.json --data --set collectives.compression.method=top-k",
            {"collectives.compression.method: expected none or lossless with data on"}},
       }) {
    expect_refused(bad);
  }
}

}  // namespace
}  // namespace weft
