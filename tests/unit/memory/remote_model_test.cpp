// SPDX-License-Identifier: Apache-2.0
// Kinds of remote memory by name: Weft's own, and one of a user's.
#include "hw/memory/remote/remote_model.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "hw/memory/remote/cxl_pool.h"
#include "hw/memory/remote/remote_memory.h"
#include "tests/support/kernel.h"

namespace weft::memory {
namespace {

using namespace weft::literals;

struct OwnRemoteConfig {
  Time access = 2_us;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("access", access, "Of each request");
  }
};

/// Remembers what it was made with.
class OwnRemote final : public RemoteTarget {
 public:
  OwnRemote(sc_core::sc_module_name name, const RemoteSite& site)
      : RemoteTarget(name),
        access(site.own<OwnRemoteConfig>().access),
        accelerators(site.accelerators),
        per_node(site.per_node),
        capacity_(site.config.capacity) {}

  Socket& socket(std::size_t /*accelerator*/) override { throw std::logic_error("nobody is bound to it"); }
  [[nodiscard]] std::size_t spaces() const override { return 1; }
  [[nodiscard]] std::size_t space_of(std::size_t /*accelerator*/) const override { return 0; }
  [[nodiscard]] Bytes capacity() const override { return capacity_; }
  BackingStore& store(std::size_t /*space*/) override { return store_; }

  Time access;
  int accelerators;
  int per_node;

 private:
  Bytes capacity_;
  BackingStore store_;
};

void provide_own_remote() {
  if (remote_models().find("own-remote") != nullptr) return;
  provide({.name = "own-remote",
           .doc = "for tests",
           .config = OwnRemoteConfig(),
           .check =
               [](const RemoteConfig& config, const std::string& path) {
                 if (config.sections.of<OwnRemoteConfig>().access <= 1_ms) return;
                 throw ConfigError(path + ".own_remote.access", "expected at most 1ms");
               },
           .make = [](const RemoteSite& site) { return std::make_unique<OwnRemote>(site.name.c_str(), site); }});
}

template <typename Error>
std::string what_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::unique_ptr<RemoteTarget> make_remote(const RemoteConfig& config, Dispatcher& dispatcher) {
  return model_of(config).make({.name = "remote",
                                .config = config,
                                .accelerators = 8,
                                .per_node = 4,
                                .dispatcher = dispatcher,
                                .data = false,
                                .stall = {}});
}

TEST(RemoteModel, OfAUserIsMadeWithItsFields) {
  test::fresh_kernel();
  provide_own_remote();
  Dispatcher dispatcher("dispatcher");
  RemoteConfig config;
  config.kind = "own-remote";
  config.capacity = 3_GiB;
  config.sections.of<OwnRemoteConfig>().access = 7_ns;
  EXPECT_TRUE(config.exists());
  const std::unique_ptr<RemoteTarget> memory = make_remote(config, dispatcher);
  EXPECT_STREQ(memory->name(), "remote");
  const auto& own = dynamic_cast<OwnRemote&>(*memory);
  EXPECT_EQ(own.access, 7_ns);
  EXPECT_EQ(own.accelerators, 8);
  EXPECT_EQ(own.per_node, 4);
  EXPECT_EQ(memory->capacity(), 3_GiB);
  // What it says nothing of.
  EXPECT_EQ(memory->capacity_path(), "remote_memory.capacity");
  EXPECT_EQ(memory->ways(), 1U);
  EXPECT_FALSE(memory->runs_collectives());
  EXPECT_THROW(memory->create_group({0, 1}), ConfigError);
  EXPECT_TRUE(memory->left_over().empty());
  EXPECT_TRUE(memory->own_counts().empty());
}

TEST(RemoteModel, OfAUserChecksItsFields) {
  provide_own_remote();
  RemoteConfig config;
  config.sections.of<OwnRemoteConfig>().access = 2_ms;
  config.check("remote_memory");  // of kind none
  config.kind = "own-remote";
  EXPECT_EQ(what_of<ConfigError>([&] { config.check("remote_memory"); }),
            "remote_memory.own_remote.access: expected at most 1ms");
}

TEST(RemoteModel, WeftsOwnAreEntriesLikeOthers) {
  test::fresh_kernel();
  Dispatcher dispatcher("dispatcher");
  EXPECT_EQ(RemoteConfig().kind, "none");
  EXPECT_FALSE(RemoteConfig().exists());
  struct Own {
    const char* kind;
    std::size_t spaces;
    std::uint64_t ways;
  };
  for (const Own& own : {Own{"per-accelerator", 8, 1}, Own{"per-node", 2, 1}, Own{"pool", 1, 1},
                         Own{"hierarchical", 1, 256}, Own{"cxl", 4, 1}}) {
    RemoteConfig config;
    config.kind = own.kind;
    config.chunk = 16_KiB;
    config.sections.of<CxlPool::Config>().sharers = 2;
    EXPECT_TRUE(config.exists());
    const std::unique_ptr<RemoteTarget> memory = make_remote(config, dispatcher);
    EXPECT_EQ(memory->spaces(), own.spaces) << own.kind;
    EXPECT_EQ(memory->ways(), own.ways) << own.kind;
  }
}

TEST(RemoteModel, IsRefusedByAnUnknownNameAndByOneThatIsTaken) {
  provide_own_remote();
  RemoteConfig config;
  config.kind = "own-remot";
  EXPECT_EQ(what_of<ConfigError>([&] { static_cast<void>(model_of(config)); }),
            "remote_memory.kind: expected one of none, per-accelerator, per-node, pool, hierarchical, cxl, own-remote, "
            "got \"own-remot\"; did you mean \"own-remote\"?");
  EXPECT_EQ(what_of<std::invalid_argument>([&] {
              RemoteModel field;
              field.name = "dma";
              field.config = OwnRemoteConfig();
              provide(field);
            }),
            "kind of remote memory: expected a name that no field of remote_memory has, got \"dma\"");
  for (const char* name : {"cxl", "own-remote"}) {
    EXPECT_EQ(what_of<std::invalid_argument>([&] {
                const RemoteModel again = *remote_models().find(name);
                provide(again);
              }),
              std::string("kind of remote memory: expected a name that no other has, got \"") + name + "\"");
  }
}

}  // namespace
}  // namespace weft::memory
