// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/cli.h"

/// weft import astra-sim of a network, a system and traces for 8 ranks.
namespace weft::test {

inline constexpr const char* kNetwork =
    "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]  # GB/s\nlatency: [ 500.0 ]\n";

inline nlohmann::json system_file() {
  return {{"scheduling-policy", "LIFO"},
          {"endpoint-delay", 10},
          {"active-chunks-per-dimension", 1},
          {"preferred-dataset-splits", 4},
          {"all-reduce-implementation", {"ring"}},
          {"collective-optimization", "localBWAware"},
          {"local-mem-bw", 1600},
          {"boost-mode", 0}};
}

/// An AllReduce of 1 MiB after 5 us of computing, on each of 8 ranks.
inline nlohmann::json trace() {
  return nlohmann::json::parse(R"({"metadata": {"version": "0.0.4"}, "nodes": [
    {"id": 0, "name": "work", "type": "COMP_NODE", "duration_micros": 5},
    {"id": 1, "name": "sum", "type": "COMM_COLL_NODE", "data_deps": [0],
     "attr": [{"name": "comm_type", "int64_val": 0}, {"name": "comm_size", "int64_val": 1048576}]}]})");
}

class ImportCli : public CliTest {
 protected:
  ImportCli() {
    write("network.yml", kNetwork);
    write("system.json", system_file().dump());
    traces(trace());
  }

  void traces(const nlohmann::json& each) {
    for (int r = 0; r < 8; ++r) {
      write("t.json", each.dump());
      const std::string rank = std::to_string(r);
      EXPECT_EQ(weft("trace convert ../t.json w." + rank + ".et").code, 0);
    }
  }
  Ran import(const std::string& more = "--analytical unaware") {
    return weft("import astra-sim --network ../network.yml --system ../system.json --workload w --out p.json " + more);
  }
  /// Of the last end, in ns, by ASTRA-sim's arithmetic.
  std::int64_t finish() {
    const Ran imported = import();
    EXPECT_EQ(imported.code, 0) << imported.err;
    const Ran ran = weft("run p.json --json");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return nlohmann::json::parse(ran.out)["last_finish_ns"];
  }
  static constexpr int kAllReduce = 64'440;  // ns, in ASTRA-sim
};

}  // namespace weft::test
