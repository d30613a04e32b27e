// SPDX-License-Identifier: Apache-2.0
// ASTRA-sim's own inputs with the results that it gives: all that it finishes must be the same to the nanosecond, and
// what it fails at must end in a result or in a message that says what is wrong.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "platforms/config/input_error.h"
#include "platforms/import/astra_groups.h"
#include "platforms/import/astra_sim.h"
#include "tests/support/kernel.h"
#include "tests/support/programs.h"
#include "tests/support/reports.h"
#include "tests/support/shared.h"
#include "traces/csv.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;

struct Input {
  fs::path network;
  fs::path system;
  fs::path memory;
  fs::path groups;  ///< may be empty
  fs::path workload;
  bool aware = false;
  bool rendezvous = false;
};

struct Outcome {
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  std::string error;
  bool remarked = false;
};

Outcome run(const Input& input) {
  Outcome outcome;
  test::fresh_kernel();
  const test::ExpectReports reports;  // SystemC's own of what comes out of run_to_end()
  try {
    astra::System system = astra::read_system(input.network, input.system);
    astra::read_memory(input.memory, system, astra::ends_of(system, input.network));
    const auto congestion = input.aware ? analytical::Congestion::kAware : analytical::Congestion::kUnaware;
    Dispatcher dispatcher("dispatcher");
    analytical::Network network(dispatcher, system.config.network(), congestion, "congestion", input.rendezvous);
    dimensions::Workload traces;
    traces.prefix = input.workload;
    traces.custom = system.custom;
    if (!input.groups.empty()) traces.groups = astra::read_groups(input.groups, network.ends());
    const analytical::Replay replay("replay", dispatcher, network, system.config.whole_collectives(), system.config.end,
                                    traces);
    dispatcher.run_to_end();
    replay.check_finished();
    outcome.remarked = !replay.remarks().empty();
    outcome.first_ns = INT64_MAX;
    for (std::uint32_t e = 0; e < network.ends(); ++e) {
      outcome.first_ns = std::min(outcome.first_ns, replay.finished_at(e).count() / 1000);
      outcome.last_ns = std::max(outcome.last_ns, replay.finished_at(e).count() / 1000);
    }
  } catch (const std::exception& error) {
    outcome.error = error.what();
  }
  return outcome;
}

TEST(AstraSim, ItsInputsGiveItsResults) {
  if (test::skips_without_shared("astra", "analytical_test and import_cli_test check the same arithmetic")) return;
  const fs::path root = test::shared("astra");
  // Where it fails or hangs, and why Weft refuses the same input; the others must end.
  const std::map<std::string, std::string> refused = {
      {"inputs_hgx_h100_16gpu_ar1MB_a", "expected one dimension where links are shared"},
      {"nosplit", "preferred-dataset-splits: expected 1 or more, got nothing"},
      {"reduce8", "is a REDUCE: "},
      {"cycle8", "these can never be ready"},
  };
  int equal = 0;
  for (const traces::CsvTable::Row row : traces::CsvTable::read(root / "expected.csv")) {
    const std::string& name = row.text("case");
    SCOPED_TRACE(name);
    const auto file = [&](const char* column) {
      return row.text(column).empty() ? fs::path() : root / row.text(column);
    };
    const Outcome outcome = run({file("network"), file("system"), file("memory"), file("groups"),
                                 root / row.text("workload_prefix"), row.text("congestion") == "aware",
                                 row.text("extra_options").find("rendezvous-protocol=true") != std::string::npos});
    const auto expected = std::find_if(refused.begin(), refused.end(),
                                       [&](const auto& each) { return name.find(each.first) != name.npos; });
    if (expected != refused.end()) {
      EXPECT_NE(outcome.error.find(expected->second), std::string::npos) << outcome.error;
      continue;
    }
    EXPECT_EQ(outcome.error, "");
    if (row.text("first_finish_ns").empty()) {
      EXPECT_GT(outcome.last_ns, 0);
      continue;
    }
    EXPECT_EQ(std::to_string(outcome.first_ns), row.text("first_finish_ns"));
    EXPECT_EQ(std::to_string(outcome.last_ns), row.text("last_finish_ns"));
    ++equal;
  }
  EXPECT_GE(equal, 157);
}

/// Random inputs: all that it ends are the same, and what it stops at, or does not end, is not passed over in silence.
TEST(AstraSim, RandomInputsGiveItsResults) {
  if (test::skips_without_shared("astra/fuzz", "analytical_mechanisms_test has a case of each mechanism")) return;
  const fs::path root = test::shared("astra/fuzz");
  if (test::skips_without("python3")) return;
  const fs::path folder = fs::temp_directory_path() / ("weft-fuzz-" + std::to_string(getpid()));
  fs::create_directories(folder);
  const traces::CsvTable expected = traces::CsvTable::read(root / "expected.csv");
  const std::string script =
      "import sys; sys.path.insert(0, '" + root.string() + "'); sys.dont_write_bytecode = True; import make_case\n" +
      "for seed in range(400): sys.argv = ['', str(seed), '" + folder.string() + "/%d' % seed]; make_case.main()\n";
  std::ofstream(folder / "make.py") << script;
  ASSERT_EQ(std::system(("python3 " + (folder / "make.py").string() + " > /dev/null").c_str()), 0);
  int equal = 0;
  for (const traces::CsvTable::Row row : expected) {
    SCOPED_TRACE("seed " + row.text("seed"));
    const fs::path at = folder / row.text("seed");
    const fs::path groups = fs::exists(at / "groups.json") ? at / "groups.json" : fs::path();
    const Outcome outcome = run({at / "net.yml", at / "sys.json", at / "mem.json", groups, at / "w",
                                 row.text("mode") == "aware", row.text("rendezvous") == "1"});
    if (row.text("result") == "ends") {
      EXPECT_EQ(outcome.error, "");
      EXPECT_EQ(std::to_string(outcome.first_ns), row.text("first_ns"));
      EXPECT_EQ(std::to_string(outcome.last_ns), row.text("last_ns"));
      ++equal;
    } else {
      EXPECT_TRUE(outcome.remarked || !outcome.error.empty());
    }
  }
  EXPECT_GT(equal, 250);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace weft::platforms
