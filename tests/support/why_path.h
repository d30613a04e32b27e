// SPDX-License-Identifier: Apache-2.0
// A critical path made by hand, as why.json has it, and values of its platform.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace weft::test {

inline nlohmann::ordered_json piece(const char* about, const char* kind, const char* place, const char* network,
                                    std::int64_t ps) {
  const std::string what = kind;
  const bool is_kernel = what == "kernel" || what == "memory";
  const bool on_link = what == "queue" || what == "propagation" || what == "credit";
  return {{"of", is_kernel ? "kernel" : "thread"},
          {"about", about},
          {"kind", kind},
          {"place", place},
          {"on_link", on_link},
          {"network", network},
          {"ps", ps}};
}

/// 1 ms: 400 us of a kernel that computes, 300 us of one that waits for HBM, 300 us on a link.
inline nlohmann::ordered_json path() {
  return {{"from_ps", 0},
          {"until_ps", 1'000'000'000},
          {"pieces",
           {piece("product", "kernel", "accelerator3", "", 400'000'000),
            piece("norm", "memory", "accelerator3", "", 300'000'000),
            piece("all-gather thread", "queue", "network.b.port7 to nic7", "fabric", 300'000'000)}},
          {"collectives",
           {{{"group", "world"},
             {"operation", "all_gather"},
             {"bytes", 1024},
             {"members", 4},
             {"calls", 8},
             {"ps", 4'000'000'000},
             {"late_ps", 800'000'000},
             {"transfer", {piece("all-gather thread", "queue", "network.b.port7 to nic7", "fabric", 3'200'000'000)}},
             {"last", {{{"rank", 3}, {"times", 2}, {"ps", 500'000'000}}}},
             {"lateness", nlohmann::ordered_json::array()}}}}};
}
inline nlohmann::ordered_json values() {
  return {{"accelerator.hbm.rate", {{"value", "26800Gbps"}}},
          {"fabric.link.rate", {{"value", "400Gbps"}}},
          {"nic.pcie.lanes", {{"value", 16}}},
          {"nic.dma_rate", {{"value", "440Gbps"}}},
          {"nic.read_latency", {{"value", "350ns"}}},
          {"accelerator.compute.tensor_fp4", {{"value", "0FLOPS"}}},
          {"fabric.link.propagation", {{"value", "10ns"}}}};
}

}  // namespace weft::test
