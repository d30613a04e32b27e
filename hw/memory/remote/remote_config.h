// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "hw/core/config/named.h"
#include "hw/core/fields.h"
#include "hw/core/quantity.h"
#include "hw/memory/remote/remote_dma.h"

namespace weft::memory {

/// A kind of remote memory by its name, which is one of remote_models() (hw/memory/remote/remote_model.h).
struct RemoteModel;
[[nodiscard]] const Names& registered(const RemoteModel* kind);
using RemoteName = NameOf<RemoteModel>;

/// What is there for every kind.
struct RemoteFields {
  Bytes capacity = Bytes(1LL << 40);
  Rate rate = Rate(100LL * 8'000'000'000);
  Time latency = Time(1'000'000);
  Bytes chunk = Bytes(1LL << 20);
  int sharers = 0;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("capacity", capacity, "Size of the memory of one accelerator or node, or of the whole pool; not for kind cxl",
          Range{1, 1LL << 60});
    visit("rate", rate,
          "Rate of each memory, or of each memory group of a hierarchical pool; loads and stores share it",
          Range{1'000'000, 1LL << 60});
    visit("latency", latency, "First request to first data of an idle memory", Range{0, 1'000'000'000'000});
    visit("chunk", chunk, "Bytes that cross a link at a time and lie in one memory group", Range{64, 1 << 30});
    visit("sharers", sharers, "Accelerators that share a memory of kind per-node; 0: those of a node",
          Range{0, 1 << 20});
  }
};

/// Memory beyond the accelerators' own, with the engines that move it; of kind none there is nothing. What is one
/// kind's own stands in its section.
struct RemoteConfig : RemoteFields {
  static constexpr std::string_view kPartKind = "remote_memory";

  RemoteName kind;
  Sections sections{names_for<RemoteModel>()};
  RemoteDma::Config dma;

  [[nodiscard]] bool exists() const;
  /// Throws ConfigError; `path` is where this stands.
  void check(const std::string& path) const;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    const std::string kinds = names_for<RemoteModel>().doc();
    visit("kind", kind, kinds);
    RemoteFields::fields(visit);
    sections.fields(visit);
    visit("dma", dma, "Engine that moves data between remote memory and an accelerator's memory");
  }
};

}  // namespace weft::memory
