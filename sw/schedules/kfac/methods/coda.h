// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw/core/fields.h"

namespace weft::schedules {

/// Fields of the schedule coda, and with CodascaConfig of codasca.
struct CodaConfig {
  int interval = 8;
  double positive = 0.5;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("interval", interval, "Local steps of a round", Range{1, 1000});
    visit("positive", positive, "Share of a rank's samples that are positive", Range{0, 1});
  }
};
struct CodascaConfig : CodaConfig {};

}  // namespace weft::schedules
