// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hw/core/quantity.h"

namespace weft {

/// Where modules tell what they were doing when, for pictures. A module keeps a pointer that is null when nobody
/// records, so that not recording costs a test. Times may lie ahead of now().
class Probe {
 public:
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  virtual ~Probe() = default;

  /// Declares a row of the picture: `process` groups rows, for example "accelerator 3" and "compute".
  virtual int add_track(const std::string& process, const std::string& thread) = 0;
  virtual void slice(int track, std::string_view what, Time from, Time to) = 0;
  /// A value that holds from `at` on.
  virtual void counter(int track, std::string_view name, Time at, double value) = 0;
  /// What is told from now on and begins at `at` or later stands `span` later: in between is what is not simulated.
  virtual void leave_out(Time at, Time span) = 0;

 protected:
  Probe() = default;
};

}  // namespace weft
