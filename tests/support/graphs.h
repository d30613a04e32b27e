// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "platforms/machine/machine.h"
#include "sw/schedules/graph/graph.h"
#include "tests/support/chakra.h"
#include "tests/support/kernel.h"
#include "tests/support/reports.h"

namespace weft::test {

inline chakra::Node kernel_node(std::uint64_t id, std::uint64_t nanos, std::vector<std::uint64_t> after = {}) {
  chakra::Node node = chakra_node(id, std::move(after));
  node.set_duration_nanos(nanos);
  return node;
}

inline chakra::Node after(chakra::Node node, std::vector<std::uint64_t> dependencies) {
  node.data_dependencies = std::move(dependencies);
  return node;
}

inline chakra::Node of_group(chakra::Node node, const std::string& group) {
  node.attributes.push_back(chakra::Attribute::text("pg_name", group));
  return node;
}

/// Execution graphs on six accelerators, with real data.
class Graphs : public ChakraTest {
 protected:
  Graphs() {
    machine_.accelerators = 6;
    machine_.per_node = 1;
    machine_.data = true;
    machine_.fabric.topology = fabric::Shape::kSwitch;
    workload_.prefix = folder_ / "w";
  }

  void trace(int rank, const std::vector<chakra::Node>& nodes) { write(nodes, "w." + std::to_string(rank) + ".et"); }
  /// What is true of all ranks.
  void traces(const std::vector<chakra::Node>& nodes) {
    for (int r = 0; r < machine_.accelerators; ++r) trace(r, nodes);
  }

  schedules::GraphResult run() {
    fresh_kernel();
    platforms::Machine machine(machine_);
    schedules::GraphEngine engine(machine.ranks(), config_, machine_.collectives, machine_.accelerator.array.compute,
                                  workload_);
    engine.start();
    const ExpectReports reports;  // SystemC's own of what comes out of run()
    try {
      machine.run();
    } catch (const platforms::DeadlockError&) {
      unfinished_ = engine.unfinished();
      throw;
    }
    EXPECT_TRUE(reports.messages().empty());
    schedules::GraphResult result = engine.result();
    EXPECT_EQ(result.wrong, machine_.data ? 0 : -1);
    return result;
  }

  [[nodiscard]] std::string error() {
    return refused([this] { run(); });
  }

  platforms::MachineConfig machine_;
  schedules::GraphConfig config_;
  dimensions::Workload workload_;
  std::vector<std::string> unfinished_;
};

}  // namespace weft::test
