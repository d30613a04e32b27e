// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hw/core/config/named.h"
#include "hw/core/fields.h"
#include "hw/core/quantity.h"
#include "hw/memory/bank_hbm.h"
#include "hw/memory/hbm.h"

namespace weft::memory {

/// A model of the memory by its name, which is one of memory_models() (hw/memory/memory_model.h): Weft's own are
/// `stream`, in closed form (Hbm), and `bank` (BankHbm).
struct MemoryModel;
[[nodiscard]] const Names& registered(const MemoryModel* kind);
using MemoryName = NameOf<MemoryModel>;

/// What the stacks of an accelerator's memory are made of.
struct HbmStacks {
  int count = 0;
  int channels = 16;
  dram::Device device;
  Time clock;
  dram::ControllerConfig controller;
  std::string mapping = "128B";
  std::string hash = "off";
  Bytes interleave = Bytes(256);
  int outstanding = 0;

  /// A GPU's controllers, assumed: their writes come from a cache that holds them back, so that many are written
  /// together, and they refresh a bank at a time. With 256 writes a pseudo channel the stacks sustain 0.9 and more of
  /// their peak when a third is written, as STREAM does on GPUs; a queue of 32 would sustain 0.5 to 0.7.
  HbmStacks() {
    controller.write_queue = 256;
    controller.refresh = dram::RefreshPolicy::kPerBank;
  }
  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("count", count, "Number of stacks; 0: banks are not described, and efficiency and latency hold as given",
          Range{0, 64});
    visit("channels", channels, "Channels of a stack, in place of the device's", Range{1, 1024});
    visit("device", device, "The DRAM");
    visit("clock", clock, "tCK instead of the device's; other timings keep their nanoseconds; 0ps: the device's",
          Range{0, 100'000});
    visit("controller", controller, "How requests become commands");
    visit("mapping", mapping,
          "Which bits of an address within a stack choose what; hw/memory/dram/address_map.h describes the syntax");
    visit("hash", hash, "Fields into which bits of the row are mixed; the same header describes the syntax");
    visit("interleave", interleave, "Bytes in one stack before the next stack begins; a power of two",
          Range{64, 1 << 20});
    visit("outstanding", outstanding,
          "Bursts that each master has under way; 0: what the peak rate moves during the latencies, plus a write queue "
          "for each pseudo channel",
          Range{0, 1 << 20});
  }
  [[nodiscard]] dram::MemoryConfig memory() const {
    dram::MemoryConfig config;
    config.device = clock == Time() ? device : device.at_clock(clock);
    config.device.geometry.channels = channels;
    config.controller = controller;
    config.mapping = mapping;
    config.hash = hash;
    config.stacks = count;
    config.stack_interleave = interleave;
    return config;
  }
};

/// The memory of an accelerator, by the model that is asked for. With stacks described, `stream` takes its efficiency
/// and its latency from them (StreamModel), and `bank` everything but the capacity, of which inline ECC leaves a part.
/// What is one model's own stands in its section.
struct HbmConfig : Hbm::Config {
  static constexpr std::string_view kPartKind = "hbm";
  MemoryName detail;
  Time interconnect = Time(450'000);
  HbmStacks stacks;
  Sections sections{names_for<MemoryModel>()};

  template <typename Visitor>
  void fields(Visitor&& visit) {
    Hbm::Config::fields(visit);
    const std::string models = names_for<MemoryModel>().doc();
    visit("detail", detail, models);
    visit("interconnect", interconnect,
          "With stacks: time through caches and interconnect between masters and controllers, there and back",
          Range{0, 100'000'000});
    visit("stacks", stacks, "DRAM stacks of the memory");
    sections.fields(visit);
  }
  [[nodiscard]] bool has_stacks() const { return stacks.count > 0; }
  /// The capacity, or what inline ECC leaves of the stacks if that is less.
  [[nodiscard]] Bytes usable() const;
  /// Throws ConfigError; `path` is where this stands.
  void check(const std::string& path) const;
  /// What people should know of a run with it, a line each.
  [[nodiscard]] std::vector<std::string> warnings(const std::string& path) const;
  /// Null without stacks. Throws ConfigError.
  [[nodiscard]] std::shared_ptr<const StreamModel> model() const;
  /// What cores get of long reads, a quarter of writes among them.
  [[nodiscard]] Rate sustained() const;
  /// Of sequences that read and write so much in turn, as a kernel does.
  [[nodiscard]] Rate sustained(Bytes read, Bytes written) const;
  /// From a request to its data, if the memory is idle.
  [[nodiscard]] Time read_time() const;
  [[nodiscard]] BankHbm::Config banks() const;

 private:
  void check_stacks(const std::string& path) const;
  /// With stacks at another clock than the device's: throws in place of `error`, which is in clocks of the former,
  /// what is wrong with the device as it is written, or with the clock.
  void check_clock(const std::string& stacks_path, const ConfigError& error) const;
  [[nodiscard]] Rate of_cores(Rate memory) const { return core_rate == Rate() ? memory : std::min(memory, core_rate); }
};

}  // namespace weft::memory
