// SPDX-License-Identifier: Apache-2.0
// Models of memory by name: Weft's own, and one of a user's.
#include "hw/memory/memory_model.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "hw/memory/bank_hbm.h"
#include "hw/memory/hbm.h"
#include "tests/support/kernel.h"

namespace weft::memory {
namespace {

using namespace weft::literals;

struct OwnConfig {
  Time latency = 100_ns;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("latency", latency, "Of each request");
  }
};

/// Remembers what it was made with.
class OwnMemory final : public Memory {
 public:
  OwnMemory(sc_core::sc_module_name name, const MemorySite& site)
      : Memory(name), latency(site.own<OwnConfig>().latency), names_(site.masters) {}

  Socket& socket(std::size_t /*master*/) override { throw std::logic_error("nobody is bound to it"); }
  [[nodiscard]] std::size_t masters() const override { return names_.size(); }
  [[nodiscard]] const std::string& master_name(std::size_t master) const override { return names_[master]; }
  [[nodiscard]] Traffic traffic(std::size_t /*master*/) const override { return {}; }
  BackingStore& store() override { return store_; }

  Time latency;

 private:
  std::vector<std::string> names_;
  BackingStore store_;
};

void provide_once() {
  if (memory_models().find("own-memory") != nullptr) return;
  provide(
      {.name = "own-memory",
       .doc = "for tests",
       .config = OwnConfig(),
       .check =
           [](const HbmConfig& config, const std::string& path) {
             if (config.sections.of<OwnConfig>().latency <= 1_ms) return;
             throw ConfigError(path + ".own_memory.latency", "expected at most 1ms");
           },
       .warnings = [](const HbmConfig&,
                      const std::string& path) { return std::vector<std::string>{path + ".own_memory is for tests"}; },
       .sustained = [](const HbmConfig&, Bytes read, Bytes written) { return read > 2 * written ? 2_GBps : 1_GBps; },
       .read_time = [](const HbmConfig& config) { return config.sections.of<OwnConfig>().latency; },
       .make = [](const MemorySite& site) { return std::make_unique<OwnMemory>(site.name.c_str(), site); }});
}

template <typename Error>
std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::unique_ptr<Memory> make(const HbmConfig& config, Dispatcher& dispatcher) {
  return model_of(config).make({.name = "memory",
                                .config = config,
                                .dispatcher = dispatcher,
                                .masters = {"compute", "nic"},
                                .data = false,
                                .stall = {},
                                .stacks = config.model().get()});
}

TEST(MemoryModel, OfAUserIsMadeWithItsFields) {
  test::fresh_kernel();
  provide_once();
  Dispatcher dispatcher("dispatcher");
  HbmConfig config;
  config.detail = "own-memory";
  config.sections.of<OwnConfig>().latency = 7_ns;
  const std::unique_ptr<Memory> memory = make(config, dispatcher);
  EXPECT_STREQ(memory->name(), "memory");
  EXPECT_EQ(dynamic_cast<OwnMemory&>(*memory).latency, 7_ns);
  EXPECT_EQ(memory->master_name(1), "nic");
  EXPECT_EQ(memory->command_energy(0), std::nullopt);
  EXPECT_TRUE(memory->own_counts().empty());
}

TEST(MemoryModel, OfAUserSaysWhatOthersCountOn) {
  provide_once();
  HbmConfig config;
  config.detail = "own-memory";
  EXPECT_EQ(config.sustained(), 2_GBps);
  EXPECT_EQ(config.sustained(1_MiB, 1_MiB), 1_GBps);
  EXPECT_EQ(config.sustained(Bytes(), Bytes()), config.sustained());
  EXPECT_EQ(config.read_time(), 100_ns);
  config.check("accelerator.hbm");
  EXPECT_EQ(config.warnings("accelerator.hbm"), std::vector<std::string>{"accelerator.hbm.own_memory is for tests"});
  config.sections.of<OwnConfig>().latency = 2_ms;
  EXPECT_EQ(message_of<ConfigError>([&] { config.check("accelerator.hbm"); }),
            "accelerator.hbm.own_memory.latency: expected at most 1ms");
  // With Weft's own, the fields of hbm say it.
  EXPECT_EQ(HbmConfig().read_time(), HbmConfig().latency);
  EXPECT_EQ(HbmConfig().sustained(), HbmConfig().Hbm::Config::sustained());
}

TEST(MemoryModel, WeftsOwnAreEntriesLikeOthers) {
  test::fresh_kernel();
  Dispatcher dispatcher("dispatcher");
  EXPECT_EQ(HbmConfig().detail, "stream");
  EXPECT_NE(dynamic_cast<Hbm*>(make(HbmConfig(), dispatcher).get()), nullptr);
  HbmConfig banks;
  banks.stacks.count = 1;
  banks.detail = "bank";
  EXPECT_TRUE(model_of(banks).phases);
  EXPECT_NE(dynamic_cast<BankHbm*>(make(banks, dispatcher).get()), nullptr);
}

TEST(MemoryModel, IsRefusedByAnUnknownNameAndByOneThatIsTaken) {
  provide_once();
  HbmConfig config;
  config.detail = "own-memry";
  EXPECT_EQ(message_of<ConfigError>([&] { static_cast<void>(model_of(config)); }),
            "accelerator.hbm.detail: expected one of stream, bank, own-memory, got \"own-memry\"; did you mean "
            "\"own-memory\"?");
  EXPECT_EQ(message_of<std::invalid_argument>([&] {
              MemoryModel field;
              field.name = "core-rate";
              field.config = OwnConfig();
              provide(field);
            }),
            "model of memory: expected a name that no field of accelerator.hbm has, got \"core-rate\"");
  for (const char* name : {"stream", "own-memory"}) {
    EXPECT_EQ(message_of<std::invalid_argument>([&] {
                const MemoryModel again = *memory_models().find(name);
                provide(again);
              }),
              std::string("model of memory: expected a name that no other has, got \"") + name + "\"");
  }
}

}  // namespace
}  // namespace weft::memory
