// SPDX-License-Identifier: Apache-2.0
// Golden results of the catalogue: each platform against what it gave when it was last looked at, cut to a size that
// runs in seconds, and some jobs on all of their accelerators, in the build that is fast enough for it. When a model
// changes on purpose, look at the difference and put the new values into data/golden.json. Runs the binary.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/support/cli.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::CliTest;
using test::Ran;
using test::read_file;

class Golden : public CliTest {
 protected:
  void expect(const std::string& group) {
    const json golden = json::parse(read_file(fs::path(WEFT_TEST_DATA) / "golden.json")).at(group);
    ASSERT_FALSE(golden.empty());
    for (const json& row : golden) {
#ifdef __SANITIZE_ADDRESS__
      if (!row.value("sanitized", true)) continue;  // for its length; others run the same code
#endif
      const auto arguments = row.at("arguments").get<std::string>();
      const bool writes = arguments.rfind("run ", 0) == 0;
      const Ran ran = weft(arguments + " --json" + (writes ? " --out golden --timeline-ranks 0" : ""));
      ASSERT_EQ(ran.code, 0) << arguments << "\n" << ran.err;
      const json result = json::parse(ran.out);
      for (const auto& [pointer, expected] : row.at("expected").items()) {
        const json& actual = result.at(json::json_pointer(pointer));
        if (expected.is_number()) {
          EXPECT_NEAR(actual.get<double>(), expected.get<double>(), 1e-6 * expected.get<double>())
              << arguments << pointer;
        } else {
          EXPECT_EQ(actual, expected) << arguments << pointer;
        }
      }
    }
  }
};

TEST_F(Golden, EveryPlatformHasOne) {
  const json golden = json::parse(read_file(fs::path(WEFT_TEST_DATA) / "golden.json"));
  std::set<std::string> has;
  for (const json& group : golden) {
    for (const json& row : group) {
      const auto arguments = row.at("arguments").get<std::string>();
      const std::size_t name = arguments.find(' ') + 1;
      has.insert(arguments.substr(name, arguments.find(' ', name) - name));
    }
  }
  for (const auto& entry : fs::directory_iterator(WEFT_SOURCE_DIR "/platforms")) {
    if (entry.path().extension() != ".json") continue;
    EXPECT_TRUE(has.contains(entry.path().stem().string())) << entry.path();
  }
}

TEST_F(Golden, CatalogueCutToSize) {
  expect("cut");
}

// Verilator is in the one list of packages that ./weft installs from, so that CI runs this; a build by hand can be
// without it, and has then no RTL that could be run.
TEST_F(Golden, RtlInASwitch) {
#ifndef WEFT_HAS_RTL
  GTEST_SKIP() << "this build is without Verilator, and so without the RTL that this runs; ./weft installs it";
#endif
  expect("rtl");
}

// On all of their accelerators: 100 million events, 15 s in the release build. ResNet-152 on all of its own is in `weft
// validate --suite kfac`. Sanitizers leave it out (LARGE), and without optimisation it would take minutes; both see the
// code of these jobs in CatalogueCutToSize.
TEST_F(Golden, JobsOnAllAccelerators) {
#ifndef NDEBUG
  GTEST_SKIP() << "takes minutes without optimisation: the release build runs it, and Golden.CatalogueCutToSize "
                  "the same platforms with fewer accelerators";
#endif
  expect("whole");
}

}  // namespace
}  // namespace weft
