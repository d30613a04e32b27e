// SPDX-License-Identifier: Apache-2.0
// Compressed AllReduces of weft collective, with real numbers: what is left of them, what is sent, and by whom. Runs
// the binary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
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

// Blocks travel in whatever collective, in elements of any size: what is lossless comes to the bit, and what is not is
// off by little. A rank sends three quarters of a message of four ranks, twice of an AllReduce.
TEST_F(CompressionCli, AllCollectivesTravelAsBlocks) {
  for (const std::string op : {"all_gather", "reduce_scatter", "all_to_all", "all_reduce"}) {
    for (const std::string type : {"fp32", "bf16", "fp16"}) {
      SCOPED_TRACE(op + " of " + type);
      const auto row_of = [&](const std::string& more) {
        const json result = weft_json("collective ../small.json --op " + op + " --algorithm nccl --type " + type +
                                      " --bytes 64KiB --data --compression " + more);
        return result.is_null() ? json() : result["rows"][0];
      };
      const double share = (op == "all_reduce" ? 2 : 1) * 0.75;
      const double element = type == "fp32" ? 4 : 2;
      const json exact = row_of("lossless");
      EXPECT_EQ(exact["wrong"], 0);
      EXPECT_LT(exact["compression"]["sent_bytes"], share * kBytes);
      const json rounded = row_of("fixed-rate --set collectives.compression.fixed_rate.bits=12");
      EXPECT_EQ(rounded["wrong"], 0);
      EXPECT_GT(rounded["compression"]["error"], 1e-4);
      EXPECT_LT(rounded["compression"]["error"], 0.02);
      EXPECT_NEAR(rounded["compression"]["sent_bytes"].get<double>(), share * kBytes / element * 1.5, 16);
      if (op == "all_reduce") continue;
      // Blocks of a quarter have a quarter of a message's norm squared: a level is half as wide as for qsgd as a whole.
      const json quantised = row_of("qsgd");
      EXPECT_EQ(quantised["wrong"], 0);
      EXPECT_GT(quantised["compression"]["error"], 0.05);
      EXPECT_LT(quantised["compression"]["error"], 0.6);
    }
  }
  const json integers =
      weft_json("collective ../small.json --op all_gather --type int32 --bytes 64KiB --data --compression lossless");
  EXPECT_EQ(integers["rows"][0]["wrong"], 0);
  EXPECT_GT(integers["rows"][0]["compression"]["ratio"], 1);
}

// A few bits lose as much up as down: what hops lose does not add up.
TEST_F(CompressionCli, AFixedRateIsOffEvenly) {
  const auto error = [&](int bits) {
    const json is = row("fixed-rate", "--data --set collectives.compression.fixed_rate.bits=" + std::to_string(bits));
    return is["compression"]["error"].get<double>();
  };
  EXPECT_LT(error(6), 0.8);
  EXPECT_LT(error(8), 0.2);
}

// Of little, too, a block has its bitmap and a ring the length of each block, with data as without.
TEST_F(CompressionCli, TinyMessagesHaveTheirOverhead) {
  for (const std::string more : {"", " --data"}) {
    const json result =
        weft_json("collective ../small.json --op all_reduce --bytes 4B,128B,4KiB --compression lossless" + more);
    const auto sent = [&](int r) { return result["rows"][r]["compression"]["sent_bytes"].get<double>(); };
    // Of one element, one rank has a block: in each of six hops it is at one rank.
    EXPECT_GE(sent(0), 6 * (4 + 4 + 4) / 4.0) << more;
    EXPECT_GT(sent(0), 4) << more;
    // A block of 8 elements is padded to 32.
    EXPECT_GE(sent(1), 6 * (4 + 4 + 4)) << more;
    EXPECT_LT(sent(2), 1.5 * 4096) << more;
  }
}

TEST_F(CompressionCli, AnAlgorithmThatIsNotFollowedIsNamed) {
  const auto remark = [&](const std::string& more) {
    return weft_json("collective ../small.json --op all_reduce --bytes 4KiB " + more)["remark"].get<std::string>();
  };
  EXPECT_EQ(remark("--algorithm tree --compression fixed-rate"),
            "all_reduce by collectives of fixed-rate's own, which sends compressed blocks, and not by tree");
  EXPECT_EQ(remark("--algorithm ring --compression fixed-rate"), "");
  EXPECT_EQ(remark("--algorithm tree").find("fixed-rate"), std::string::npos);
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

// Of FSDP, gradients and parameters by themselves. A slow network pays for what is saved.
TEST_F(CompressionCli, TrafficIsCompressedByWhatItIsFor) {
  const std::string slow = "../small.json --set fabric.link.rate=10Gbps --set accelerator.shared_cores=false ";
  const auto sent = [&](const std::string& more) {
    const json result = run_json(slow + more);
    return result["counters"]["nic"]["bytes_sent"].get<double>();
  };
  const double plain = sent("");
  const double gradients = sent("--set collectives.compression.gradients.method=fixed-rate");
  const double parameters = sent("--set collectives.compression.parameters.method=fixed-rate");
  const double both =
      sent("--set collectives.compression.method=fixed-rate --set collectives.compression.parameters.method=same");
  EXPECT_LT(gradients, 0.9 * plain);
  EXPECT_LT(parameters, 0.95 * plain);
  EXPECT_NEAR(both, gradients + parameters - plain, 0.1 * plain);
  const double but =
      sent("--set collectives.compression.method=fixed-rate --set collectives.compression.parameters.method=none");
  EXPECT_NEAR(but, gradients, 0.001 * plain);
}

// Stages of a pipeline send blocks, and unpack what was packed. In 16 bits it comes to the bit as well.
TEST_F(CompressionCli, SendsOfAPipelineAreCompressed) {
  write("steps.json", R"({
    "name": "steps", "accelerators": 8, "per_node": 2, "accelerator": "h100-sxm", "nic": "connectx-7",
    "fabric": { "topology": "fat-tree", "radix": 8, "hosts_per_leaf": 4, "segment": "64KiB" },
    "workload": { "kind": "transformer", "model": "nano", "parallel": "tp=2,pp=2,dp=2", "sequence": 128,
                  "library": "communicators" }
  })");
  const auto run = [&](const std::string& more) { return run_json("../steps.json " + more); };
  const json plain = run("--data");
  for (const std::string scope : {"pipeline", "tensor", "gradients"}) {
    const json exact = run("--data --set collectives.compression." + scope + ".method=lossless");
    EXPECT_EQ(exact["wrong"], 0) << scope;
    EXPECT_EQ(exact["without_effect"], json::array()) << scope;
    EXPECT_NE(exact["simulator"]["digest"], plain["simulator"]["digest"]) << scope;
  }
  const json halves = run("--data --set workload.type=bf16 --set collectives.compression.method=lossless");
  EXPECT_EQ(halves["wrong"], 0);
  // With the dimensions as the library sends alone are compressed.
  const json dimensions =
      run("--set workload.library=dimensions --set collectives.compression.pipeline.method=lossless");
  EXPECT_EQ(dimensions["without_effect"].dump().find("compression"), std::string::npos);
  const json unused = run("--set workload.library=dimensions --set collectives.compression.tensor.method=lossless");
  EXPECT_NE(unused["without_effect"].dump().find("collectives.compression.tensor.method"), std::string::npos);
}

// A run that could compress nothing says so.
TEST_F(CompressionCli, WhatCompressesNothingIsNamed) {
  const json fsdp = run_json("../small.json --set collectives.compression.method=top-k");
  ASSERT_EQ(fsdp["without_effect"].size(), 1U);
  EXPECT_EQ(fsdp["without_effect"][0]["field"], "collectives.compression.method");
  EXPECT_EQ(fsdp["without_effect"][0]["because"], "no message of this run travels compressed by top-k");
  const json scope = run_json("../small.json --set collectives.compression.pipeline.method=lossless");
  EXPECT_EQ(scope["without_effect"][0]["field"], "collectives.compression.pipeline.method");
  const json one = weft_json(
      "collective dgx-h100 --op all_reduce --bytes 64KiB --compression fixed-rate --set collectives.channels=4");
  EXPECT_NE(one["without_effect"].dump().find("compressed blocks go round one ring"), std::string::npos);
  const json unread = run_json("../small.json --set collectives.compression.gradients.qsgd.bits=9");
  EXPECT_EQ(unread["without_effect"][0]["because"], "collectives.compression.gradients.method is same");
}

// Fields that stand for each other, and a run that sends nothing.
TEST_F(CompressionCli, FieldsWithoutEffectAreNamed) {
  const auto without_effect = [this](const std::string& options) {
    std::string all;
    const json ran = run_json("resnet50-dp-8xv100-topk --set workload.network=nano-conv " + options);
    for (const json& each : ran["without_effect"]) {
      all += each["field"].get<std::string>() + " ";
    }
    return all;
  };
  const std::string method = "--set workload.compression.method=threshold ";
  const std::string value = "--set workload.compression.threshold.value=0.5 ";
  const std::string ratio = "--set workload.compression.ratio=0.5 ";
  const std::string train = "--data --set workload.training.on=true ";
  EXPECT_NE(without_effect(method + value).find("workload.compression.threshold.value"), std::string::npos);
  EXPECT_EQ(without_effect(method + ratio).find("workload.compression.ratio"), std::string::npos);
  EXPECT_EQ(without_effect(method + train + value).find("workload.compression.threshold"), std::string::npos);
  EXPECT_NE(without_effect(method + train + ratio).find("workload.compression.ratio"), std::string::npos);
  EXPECT_NE(without_effect("--set accelerators=1 " + ratio).find("workload.compression"), std::string::npos);
  const std::string coda =
      "--set workload.compression.method=none --set workload.algorithm=coda "
      "--set workload.coda.positive=0.25 ";
  EXPECT_NE(without_effect(coda).find("workload.coda.positive"), std::string::npos);
  EXPECT_EQ(without_effect(coda + train).find("workload.coda.positive"), std::string::npos);
  const json muon = run_json(
      "../small.json --set collectives.algorithm=nccl --set workload.optimizer=muon --set "
      "workload.muon.tensor_parallel=blockwise");
  EXPECT_EQ(muon["without_effect"][0]["field"], "workload.muon.tensor_parallel");
}

// Two collectives at once: what both send and compute.
TEST_F(CompressionCli, BothPartsOfATableAreCounted) {
  const auto compressed = [this](const std::string& op) {
    return weft_json("collective ../small.json --bytes 256KiB --compression qsgd --no-warmup --algorithm nccl --op " +
                     op)["rows"][0]["compression"];
  };
  const json both = compressed("all_gather+reduce_scatter");
  const json gather = compressed("all_gather");
  const json scatter = compressed("reduce_scatter");
  EXPECT_EQ(both["sent_bytes"].get<double>(), gather["sent_bytes"].get<double>() + scatter["sent_bytes"].get<double>());
  EXPECT_NEAR(both["ratio"].get<double>(), gather["ratio"].get<double>(), 1e-3);
  const auto kernels = [](const json& of) { return of["kernels_us"].get<double>(); };
  EXPECT_NEAR(kernels(both), kernels(gather) + kernels(scatter), 0.2 * (kernels(gather) + kernels(scatter)));
}

// One array runs kernels of both collectives, and for no longer than these take.
TEST_F(CompressionCli, KernelsOfBothPartsTakeNoLongerThanTheRun) {
  for (const char* method : {"qsgd", "fixed-rate"}) {
    for (const char* bytes : {"64KiB", "64MiB"}) {
      const json row = weft_json(std::string("collective ../small.json --no-warmup --algorithm nccl --op ") +
                                 "all_gather+reduce_scatter --compression " + method + " --bytes " + bytes)["rows"][0];
      EXPECT_LE(row["compression"]["kernels_us"], row["time_us"]) << method << " " << bytes;
    }
  }
}

// Rings side by side cross nodes by different interfaces, each with its part of every block: all send as much.
TEST_F(CompressionCli, RingsCrossNodesByAllInterfaces) {
  for (const std::string op : {"all_reduce", "reduce_scatter", "all_gather"}) {
    SCOPED_TRACE(op);
    ASSERT_EQ(
        weft("collective ../small.json --no-warmup --bytes 1MiB --compression fixed-rate --out out --op " + op).code,
        0);
    std::istringstream table(test::read_file(folder_ / "work" / "out" / "links.csv"));
    std::vector<double> sent;
    for (std::string line; std::getline(table, line);) {
      if (!line.starts_with("nic") || line.find(" out,") == std::string::npos) continue;
      std::istringstream cells(line);
      std::string cell;
      for (int i = 0; i < 4; ++i) std::getline(cells, cell, ',');
      sent.push_back(std::stod(cell));
    }
    ASSERT_EQ(sent.size(), 4U);
    // A ring of four has three steps for a block, of an AllReduce twice; half of them cross nodes.
    const double messages = (op == "all_reduce" ? 2 : 1) * 3 * (1 << 20) / 4.0 / 4 / 2;
    for (const double bytes : sent) {
      EXPECT_GT(bytes, messages);
      EXPECT_LT(bytes, 1.1 * messages);
    }
  }
  // As they all do, numbers come where they belong, of short messages as of long ones.
  for (const char* bytes : {"4B", "100B", "40004B", "1MiB"}) {
    for (const char* op : {"all_reduce", "reduce_scatter", "all_gather"}) {
      const json row = weft_json(std::string("collective ../small.json --data --compression lossless --op ") + op +
                                 " --bytes " + bytes)["rows"][0];
      EXPECT_EQ(row["wrong"], 0) << op << " " << bytes;
    }
  }
  const auto time = [&](const std::string& method) {
    return weft_json(
               "collective ../small.json --no-warmup --bytes 64MiB --op all_reduce --set fabric.link.rate=10Gbps "
               "--compression " +
               method)["rows"][0]["time_us"]
        .get<double>();
  };
  EXPECT_LT(time("fixed-rate"), 0.6 * time("none"));
}

// What is said of a run's compressed collectives: by whom they run, how much was sent, and what grew.
TEST_F(CompressionCli, RunsSayWhatTheySentCompressed) {
  write("steps.json", R"({
    "name": "steps", "accelerators": 8, "per_node": 2, "accelerator": "h100-sxm", "nic": "connectx-7",
    "fabric": { "topology": "fat-tree", "radix": 8, "hosts_per_leaf": 4, "segment": "64KiB" },
    "collectives": { "algorithm": "nccl" },
    "workload": { "kind": "transformer", "model": "nano", "parallel": "tp=2,dp=4", "sequence": 128,
                  "library": "communicators" }
  })");
  const std::string nccl = "../small.json --set collectives.algorithm=nccl";
  for (const std::string& platform :
       {nccl, std::string("../steps.json"), std::string("dlrm-16xv100 --set accelerators=4")}) {
    SCOPED_TRACE(platform);
    const std::string run = "run " + platform + " --timeline-ranks 0";
    const std::string by = " --set collectives.compression.method=fixed-rate";
    const json whole = json::parse(weft(run + by + " --json").out);
    EXPECT_NE(whole["remarks"].dump().find("collectives of fixed-rate's own"), std::string::npos);
    EXPECT_EQ(whole["warnings"].dump().find("collectives of fixed-rate's own"), std::string::npos);
    const json& sent = whole["compressed"];
    EXPECT_GT(sent["sent_bytes"], 0);
    EXPECT_LT(sent["sent_bytes"], sent["plain_bytes"]);
    EXPECT_TRUE(json::parse(weft(run + " --json").out)["compressed"].is_null());
    const std::string table = weft(run + by).out;
    const std::size_t line = table.find("\nsent compressed ");
    ASSERT_NE(line, std::string::npos) << table;
    EXPECT_LT(table.find(", by a rank in all that was simulated\n", line), table.find("\nkernels ")) << table;
    EXPECT_EQ(weft(run).out.find("sent compressed"), std::string::npos);
  }
  const auto remark = [&](const std::string& more) {
    return weft_json(
               "collective ../small.json --op all_reduce --bytes 4KiB --compression fixed-rate --algorithm ring " +
               more)["remark"]
        .get<std::string>();
  };
  EXPECT_EQ(remark("--type fp16 --set collectives.compression.fixed_rate.bits=20"),
            "elements of 2 bytes travel in more bytes by fixed-rate than uncompressed");
  EXPECT_EQ(remark("--set collectives.compression.fixed_rate.bits=20"), "");
}

// Vectors of a recommender are float32, which compressors by blocks take. Pairs of index and value travel as they are.
TEST_F(CompressionCli, ARecommendersVectorsAreCompressed) {
  const std::string small = "dlrm-16xv100 --set accelerators=4 ";
  const json plain = run_json(small);
  const json compressed = run_json(small + "--set collectives.compression.method=fixed-rate");
  EXPECT_EQ(compressed["exchange_bytes"], plain["exchange_bytes"]);
  EXPECT_EQ(plain["exchange_sent_bytes"].get<double>(), 0.75 * plain["exchange_bytes"].get<double>());
  EXPECT_EQ(compressed["exchange_sent_bytes"].get<double>(), 0.25 * plain["exchange_sent_bytes"].get<double>());
  const json pairs = run_json(small + "--set workload.exchanged=0.1 --set collectives.compression.method=fixed-rate");
  EXPECT_EQ(pairs["exchange_sent_bytes"].get<double>(), 0.75 * pairs["exchange_bytes"].get<double>());
}

// Levels follow from the bits unless they are set.
TEST_F(CompressionCli, MoreBitsAreMoreLevels) {
  const auto error = [&](const std::string& more) {
    return row("qsgd", "--data " + more)["compression"]["error"].get<double>();
  };
  const std::string field = "--set collectives.compression.qsgd.";
  EXPECT_EQ(error(""), error(field + "levels=127"));
  EXPECT_LT(error(field + "bits=16"), 0.02 * error(""));
  EXPECT_GT(error(field + "bits=2"), 2 * error(""));
}

TEST_F(CompressionCli, MistakesAreNamed) {
  for (const BadInput& bad : std::vector<BadInput>{
           {"unknown", "collective ../small.json --op all_reduce --compression topk", {"--compression", "top-k"}},
           {"a broadcast",
            "collective ../small.json --op broadcast --compression lossless",
            {"--compression: lossless cannot compress broadcast of fp32; it compresses all_reduce, reduce_scatter, "
             "all_gather, all_gather+reduce_scatter or all_to_all of fp32, bf16, fp16 or int32"}},
           {"a quantiser's sum",
            "collective ../small.json --op all_reduce --type bf16 --compression qsgd",
            {"--compression: qsgd cannot compress all_reduce of bf16; it compresses all_reduce of fp32, or "
             "reduce_scatter, "
             "all_gather, all_gather+reduce_scatter or all_to_all of fp32, bf16 or fp16"}},
           {"integers with a loss",
            "collective ../small.json --op all_gather --type int32 --compression fixed-rate",
            {"--compression: fixed-rate cannot compress all_gather of int32; it compresses all_reduce, reduce_scatter, "
             "all_gather, all_gather+reduce_scatter or all_to_all of fp32, bf16 or fp16"}},
           {"scope of sends",
            "run ../small.json --set collectives.compression.pipeline.method=top-k",
            {"collectives.compression.pipeline.method: expected one of same, none, qsgd, terngrad, fixed-rate, "
             "lossless, because this traffic has messages that are not summed, got top-k"}},
           {"scope of a ReduceScatter",
            "run ../small.json --set collectives.compression.gradients.method=top-k",
            {"collectives.compression.gradients.method: expected none, same or one of qsgd, terngrad, fixed-rate, "
             "lossless for a ReduceScatter of fp32, got top-k"}},
           {"check of K-FAC",
            "run resnet50-kfac-64xh100 --set accelerators=2 --set per_node=2 --data "
            "--set collectives.compression.method=fixed-rate",
            {"collectives.compression.method: expected none or lossless with data on"}},
           {"scope with data",
            "run ../small.json --data --set collectives.compression.parameters.method=fixed-rate",
            {"collectives.compression.parameters.method: expected none or lossless with data on"}},
           {"another operation",
            "collective ../small.json --op all_gather --compression top-k",
            {"--compression: top-k cannot compress all_gather of fp32; it compresses all_reduce of fp32"}},
           {"another type",
            "collective ../small.json --op all_reduce --type bf16 --compression top-k",
            {"--compression: top-k cannot compress all_reduce of bf16; it compresses all_reduce of fp32"}},
           {"ratio",
            "collective ../small.json --op all_reduce --compression top-k --set collectives.compression.ratio=-1",
            {"collectives.compression.ratio: expected a number, more than 0 and at most 1, got -1"}},
           {"levels",
            "collective ../small.json --op all_reduce --compression qsgd --set collectives.compression.qsgd.levels=128",
            {"collectives.compression.qsgd.levels: expected at most 127, as many levels as "
             "collectives.compression.qsgd.bits of 8 tell apart beside the sign, or more bits, got 128"}},
           {"share",
            "collective ../small.json --op all_reduce --compression lossless "
            "--set collectives.compression.lossless.share=0",
            {"collectives.compression.lossless.share: expected a number, more than 0 and at most 1, got 0"}},
           {"check of copies",
            "run ../small.json --data --set collectives.compression.method=top-k",
            {"collectives.compression.method: expected none or lossless with data on"}},
       }) {
    expect_refused(bad);
  }
}

}  // namespace
}  // namespace weft
