// SPDX-License-Identifier: Apache-2.0
// Scale-up domains of the catalogue's protocols: UALink and scale-up Ethernet beside NVLink.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/config/document.h"
#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

struct Protocol {
  const char* part;
  double efficiency;  ///< what headers leave of 900 GB/s
};

struct DomainRun {
  std::int64_t wrong = 0;
  std::int64_t replayed = 0;
  double us = 0;
};

/// Of a domain of `size` accelerators.
DomainRun run_of(const std::string& part, int size, std::uint64_t bytes, CollectiveOp op,
                 std::vector<std::string> more = {}, bool data = false) {
  test::fresh_kernel();
  const std::string count = std::to_string(size);
  const std::string text = R"({"name": "domain", "accelerators": )" + count + R"(, "per_node": )" + count +
                           R"(, "accelerator": "gb200", "nic": "connectx-7", "fabric": {"topology": "switch"},
    "scale_up": {"part": ")" +
                           part + R"(", "fabric": {"segment": "64KiB"}}, "collectives": {"algorithm": "ring"}})";
  Document document = Document::from_text(text, "domain", more);
  MachineConfig config;
  document.root().read(config);
  config.data = data;
  Machine machine(config);
  DomainRun run;
  for (const CollectiveResult& result : run_collective(machine, op, {bytes}, ElementType::kFp32)) {
    run.wrong += result.wrong;
    run.us = static_cast<double>(result.time.count()) * 1e-6;
  }
  for (int i = 0; i < size; ++i) run.replayed += machine.scale_up_port(i)->transmitter().events().replayed;
  return run;
}

class ScaleUpProfiles : public testing::TestWithParam<Protocol> {};

TEST_P(ScaleUpProfiles, MoveRealBytesWithErrorsAndWithout) {
  for (const CollectiveOp op : {CollectiveOp::kAllgather, CollectiveOp::kReduceScatter, CollectiveOp::kAllReduce,
                                CollectiveOp::kBroadcast, CollectiveOp::kAllToAll}) {
    std::vector<std::string> fields = {"scale_up.fabric.link.replay=true"};
    if (op == CollectiveOp::kAllToAll) fields.emplace_back("collectives.algorithm=dimensions");
    const DomainRun clean = run_of(GetParam().part, 6, 768 << 10, op, fields, true);
    EXPECT_EQ(clean.wrong, 0);
    EXPECT_EQ(clean.replayed, 0);
    fields.emplace_back(R"(scale_up.fabric.faults=[{"link":"*","bit_errors":1e-6}])");
    const DomainRun damaged = run_of(GetParam().part, 6, 768 << 10, op, fields, true);
    EXPECT_EQ(damaged.wrong, 0);
    EXPECT_GT(damaged.replayed, 0);
  }
}

/// An AllToAll of n bytes sends 5/6 n over each link.
TEST_P(ScaleUpProfiles, ReachWhatTheirHeadersLeave) {
  const DomainRun run =
      run_of(GetParam().part, 6, 768 << 20, CollectiveOp::kAllToAll, {"collectives.algorithm=dimensions"});
  const double gb_per_s = 5.0 / 6 * (768 << 20) / run.us / 1e3;
  EXPECT_NEAR(gb_per_s / 900, GetParam().efficiency, 0.02);
}

TEST_P(ScaleUpProfiles, JoinDomainsOf1024) {
  const DomainRun run = run_of(GetParam().part, 1024, 64 << 10, CollectiveOp::kBroadcast,
                               {R"(scale_up.fabric.faults=[{"link":"plane0","down":true}])"}, true);
  EXPECT_EQ(run.wrong, 0);
  EXPECT_GT(run.us, 0);
}

INSTANTIATE_TEST_SUITE_P(Protocols, ScaleUpProfiles,
                         testing::Values(Protocol{"ualink-200g", 256.0 / 275},
                                         Protocol{"scale-up-ethernet-800g", 2048.0 / 2094},
                                         Protocol{"nvswitch-nvl72", 8.0 / 9}),
                         [](const auto& protocol) {
                           return std::string(protocol.param.part).substr(0, 6) == "ualink" ? std::string("UALink")
                                  : std::string(protocol.param.part).substr(0, 5) == "scale"
                                      ? std::string("ScaleUpEthernet")
                                      : std::string("NVLink");
                         });

}  // namespace
}  // namespace weft::platforms
