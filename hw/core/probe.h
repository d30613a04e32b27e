// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hw/core/quantity.h"

namespace weft {

/// What a slice is, for pictures that tell these apart.
enum class SliceKind : std::uint8_t { kOther, kKernel, kCollective, kSend, kReceive, kLoad, kStore, kHost };

/// Something that lasted, and what is known of it.
struct ProbeSlice {
  std::string_view what;
  Time from;
  Time to;
  SliceKind kind = SliceKind::kOther;
  std::string_view operation = {};  ///< of a collective, as NCCL's kernels call it: AllGather
  Time asked = kNever;              ///< when it was handed over, or a rank called for it
  std::int64_t bytes = -1;          ///< of a rank's buffer, or of a message
  int ranks = 0;                    ///< that take part in it
  int peer = -1;                    ///< of a message
  std::uint64_t leads = 0;          ///< the arrow that comes from it (arrow_id)
  std::uint64_t follows = 0;        ///< the arrow that goes to it
};

/// A number for an arrow between two slices that both sides can tell: what happens on a row's process, and two numbers
/// that are of this arrow alone there. An arrow with one end is not drawn.
constexpr std::uint64_t arrow_id(std::string_view process, std::uint64_t what, std::uint64_t number) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
  std::uint64_t id = kOdd;
  for (const char c : process) id = (id ^ static_cast<unsigned char>(c)) * kOdd;
  id = (id ^ id >> 29 ^ what) * kOdd;
  return (id ^ id >> 32 ^ number) * kOdd | 1;
}

/// Where modules tell what they were doing when, for pictures. A module keeps a pointer that is null when nobody
/// records, so that not recording costs a test. Times may lie ahead of now().
class Probe {
 public:
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  virtual ~Probe() = default;

  /// Declares a row of the picture: `process` groups rows, for example "accelerator 3" and "compute".
  virtual int add_track(const std::string& process, const std::string& thread) = 0;
  /// Declares a row for the values of one of very many of a kind: those with the highest are drawn.
  virtual int add_rival(const std::string& process, const std::string& thread) = 0;
  /// Declares a row for what is gone through, in phases of phases; the outermost are steps of training.
  virtual int add_phases(const std::string& process, const std::string& thread) = 0;
  virtual void slice(int track, const ProbeSlice& slice) = 0;
  /// A phase, within those that have begun and have not ended. In the order of times.
  virtual void begin(int track, std::string_view what, Time at) = 0;
  /// The end of the latest that began.
  virtual void end(int track, Time at) = 0;
  /// A value that holds from `at` on.
  virtual void counter(int track, std::string_view name, Time at, double value) = 0;
  /// What is told from now on and begins at `at` or later stands `span` later: in between is what is not simulated.
  virtual void leave_out(Time at, Time span) = 0;

 protected:
  Probe() = default;
};

}  // namespace weft
