// SPDX-License-Identifier: Apache-2.0
// A program of our own with a platform's machine: rounds of a fixed time of computing and an AllReduce each, and the
// results that `weft run` leaves.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <systemc>  // declares sc_main

#include "platforms/machine/machine.h"
#include "platforms/machine/platform.h"
#include "platforms/results/energy_summary.h"
#include "platforms/results/format.h"
#include "platforms/results/link_summary.h"
#include "platforms/results/summary.h"
#include "platforms/results/version.h"
#include "platforms/results/write_file.h"
#include "sw/collectives/communicator.h"

using namespace weft;
using namespace weft::platforms;

constexpr int kRounds = 3;
constexpr Time kCompute = Time(20'000'000);  // ps
constexpr std::uint64_t kBytes = 1 << 20;

// The firmware of a rank.
firmware::Task rounds(firmware::Processor& processor, collectives::Communicator& all, int rank, std::uint64_t buffer) {
  for (int i = 0; i < kRounds; ++i) {
    co_await processor.delay(kCompute);
    co_await all.all_reduce(rank, buffer, kBytes, ElementType::kFp32);
  }
}

void run(const std::string& name, const std::filesystem::path& out) {
  PlatformOptions options;
  options.platform = name;  // of the catalogue, or a file
  Platform platform(options);
  platform.ignore_workload();          // we bring our own
  platform.document().check_unused();  // a misspelt key is an error

  // What the machine finds wrong in the configuration is told as an error of the platform's file.
  Machine& machine = platform.checked([&]() -> Machine& { return build_machine(platform.machine()); });
  collectives::Communicator all(machine.ranks(), machine.config().collectives, "all");
  const std::uint64_t buffer = firmware::allocate_together(machine.ranks(), "buffer", kBytes);
  for (int r = 0; r < machine.size(); ++r) {
    firmware::Processor& processor = *machine.rank(r).processor;
    processor.spawn("rounds", /*place=*/0, rounds(processor, all, r, buffer));
  }
  const Stopwatch running;
  platform.checked([&] { machine.run(); });  // throws if anything is left unfinished

  const Time end = machine.end();
  const EnergyAccount energy = account_energy(machine, end);
  std::filesystem::create_directories(out);
  write_file(out / "summary.json", nlohmann::ordered_json{{"weft", version_json()},
                                                          {"platform", platform.name()},
                                                          {"simulated_us", to_us(end)},
                                                          {"links", link_summary(machine, end)},
                                                          {"memory", memory_summary(machine, end)},
                                                          {"counters", counter_summary(machine, end)},
                                                          {"energy", energy_summary(energy)},
                                                          {"simulator", simulator_summary(machine, 0, running)},
                                                          {"warnings", machine.warnings()}});
  write_file(out / "links.csv", link_table(machine, end));
  write_file(out / "config.json", configuration(platform.document()));  // which runs again
  std::printf("%s: %d rounds in %s\n%s", platform.name().c_str(), kRounds, short_time(end).c_str(),
              energy_text(energy).c_str());
}

int sc_main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "my-rounds PLATFORM FOLDER\n");
    return 2;
  }
  try {
    run(argv[1], argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "my-rounds: %s\n", error.what());
    return 1;
  }
}
