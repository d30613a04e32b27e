// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw/core/fields.h"
#include "hw/core/quantity.h"

namespace weft::schedules {

/// What of a training step lies in remote memory, and through what it passes.
struct OffloadConfig {
  bool activations = false;
  bool optimizer = false;
  int buffers = 2;
  Bytes piece = Bytes(256LL << 20);

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("activations", activations, "Activations of blocks go to remote memory after the forward pass");
    visit("optimizer", optimizer, "The moments of Adam lie in remote memory");
    visit("buffers", buffers, "Blocks whose activations have room in the accelerator's memory", Range{2, 1024});
    visit("piece", piece, "Bytes of moments that are loaded, updated and stored at a time", Range{256, 1LL << 40});
  }
};

}  // namespace weft::schedules
