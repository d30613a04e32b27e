// SPDX-License-Identifier: Apache-2.0
// Any bytes as a Chakra trace of the first of two ranks, repaired: what a check finds nothing in is run, by ASTRA-sim's
// arithmetic or on a machine, to its end or to an error that says why not. The first byte says on which.
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

#include "platforms/machine/deadlock.h"
#include "platforms/machine/machine.h"
#include "sw/analytical/config.h"
#include "sw/analytical/replay.h"
#include "sw/firmware/memory_map.h"
#include "sw/schedules/graph/graph.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/twin.h"
#include "traces/chakra/check.h"
#include "traces/chakra/reader.h"
#include "traces/chakra/repair.h"
#include "traces/chakra/writer.h"

using namespace weft;  // NOLINT(google-build-using-namespace)

namespace {

namespace fs = std::filesystem;

/// Of a message on a machine, whose packets take longer than a fuzzer has for more.
constexpr std::uint64_t kMostBytes = 1 << 16;

/// A SystemC kernel at time zero; the one before is gone, and its modules must be.
void fresh_kernel() {
  static std::unique_ptr<sc_core::sc_simcontext> kernel;
  auto next = std::make_unique<sc_core::sc_simcontext>();
  sc_core::sc_curr_simcontext = sc_core::sc_default_global_context = next.get();
  kernel = std::move(next);
}

void shorten(chakra::Node& node) {
  for (chakra::Attribute& attribute : node.attributes) {
    if (attribute.name != "comm_size" && attribute.name != "tensor_size") continue;
    if (auto* natural = std::get_if<std::uint64_t>(&attribute.value)) *natural %= kMostBytes;
    if (auto* integer = std::get_if<std::int64_t>(&attribute.value)) *integer %= static_cast<std::int64_t>(kMostBytes);
  }
}

void write_both(const fs::path& file, const fs::path& prefix, bool are_short) {
  chakra::TraceReader reader(file);
  chakra::TraceWriter own(chakra::rank_file(prefix, 0), reader.metadata());
  chakra::TraceWriter other(chakra::rank_file(prefix, 1), reader.metadata());
  for (chakra::Node node; reader.next(node);) {
    if (are_short) shorten(node);
    own.write(node);
    other.write(fuzz::twin(node));
  }
  own.close();
  other.close();
}

/// As dimensions::Workload is made for a run; null where a check finds something.
std::unique_ptr<dimensions::Workload> checked(const fs::path& prefix, bool roofline, bool on_machine) {
  chakra::CheckOptions options;
  options.ranks = 2;
  options.groups = {{"1", {0, 1}}, {"2", {1, 0}}};
  options.roofline = roofline;
  options.order = on_machine;
  const chakra::CheckReport report = chakra::check(chakra::find_trace(prefix), options);
  if (report.found > 0) return nullptr;
  auto workload = std::make_unique<dimensions::Workload>();
  workload->prefix = workload->source = prefix;
  workload->groups = options.groups;
  workload->groups.insert(report.groups.begin(), report.groups.end());
  workload->keys = report.keys;
  workload->roots = report.roots;
  workload->order = report.order;
  return workload;
}

void run_arithmetic(const dimensions::Workload& workload, unsigned choice, bool roofline) {
  analytical::DimensionConfig dimension;
  dimension.size = 2;
  dimension.bandwidth_GiBps = 50;
  dimension.latency_ns = 500;
  constexpr analytical::Block kBlocks[] = {analytical::Block::kRing, analytical::Block::kSwitch,
                                           analytical::Block::kFullyConnected};
  dimension.block = kBlocks[choice / 4 % 3];
  analytical::AnalyticalConfig config;
  config.dimensions = {dimension};
  config.congestion = choice % 4 < 2 ? analytical::Congestion::kUnaware : analytical::Congestion::kAware;
  config.rendezvous = choice % 2 == 1;
  config.end.roofline = roofline;
  config.end.peak_tflops = 100;
  config.end.remote_memory = analytical::RemoteMemory::kPool;
  Dispatcher dispatcher("dispatcher");
  analytical::Network network(dispatcher, config.network(), config.congestion, "analytical", config.rendezvous,
                              config.segment);
  analytical::Replay replay("replay", dispatcher, network, config.whole_collectives(), config.end, workload);
  dispatcher.run_to_end();
  try {
    replay.check_finished();
  } catch (const analytical::ReplayError&) {
    return;  // ranks whose orders differ, where ASTRA-sim stops as well
  }
  for (const std::uint32_t end : {0U, 1U}) {
    fuzz::expect(replay.finished_at(end) >= Time());
    static_cast<void>(replay.report(end, dispatcher.now()));
  }
  static_cast<void>(replay.remarks());
}

void run_on_machine(const dimensions::Workload& workload, unsigned choice) {
  platforms::MachineConfig config;
  config.accelerators = 2;
  config.per_node = choice % 2 == 0 ? 1 : 2;
  config.collectives.algorithm = "dimensions";
  schedules::GraphConfig graph;
  graph.library = choice % 4 < 2 ? schedules::Library::kDimensions : schedules::Library::kCommunicators;
  if (graph.library == schedules::Library::kCommunicators) {
    config.collectives.algorithm = "ring";
  }
  graph.kernels = 1 + static_cast<int>(choice / 4 % 2);
  platforms::Machine machine(config);
  schedules::GraphEngine engine(machine.ranks(), graph, config.collectives, config.accelerator.array.compute, workload);
  engine.start();
  try {
    machine.run();
  } catch (const platforms::DeadlockError& error) {
    static_cast<void>(error.text(engine.unfinished()));
  } catch (const firmware::OutOfMemory&) {
    return;
  }
  static_cast<void>(engine.result());
  static_cast<void>(engine.remarks());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return -1;
  const bool on_machine = data[0] % 2 == 1;
  const bool roofline = data[0] / 2 % 2 == 1;
  const unsigned choice = data[0] / 4U;
  const fs::path file = fuzz::file_of(data + 1, size - 1, "w.0.et");
  const fs::path prefix = fuzz::folder() / "two";
  const fs::path mended = fuzz::folder() / "out";
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    fs::remove(chakra::rank_file(prefix, rank));
    fs::remove(chakra::rank_file(mended, rank));
  }
  fuzz::accepted([&] {
    write_both(file, prefix, on_machine);
    chakra::CheckOptions options;
    options.ranks = 2;
    options.groups = {{"1", {0, 1}}, {"2", {1, 0}}};
    chakra::repair(chakra::find_trace(prefix), mended, options);
    const auto workload = checked(mended, roofline, on_machine);
    if (workload == nullptr) return;
    fresh_kernel();
    if (on_machine) {
      run_on_machine(*workload, choice);
    } else {
      run_arithmetic(*workload, choice, roofline);
    }
  });
  return 0;
}
