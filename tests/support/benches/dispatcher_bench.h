// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/dispatcher.h"
#include "tests/support/benches/sockets.h"
#include "tests/support/kernel.h"

/// A dispatcher whose targets write down what they see.
namespace weft::test_dispatcher {

constexpr std::int64_t kSlot = 1024;            // ps
constexpr std::int64_t kWindow = 8192 * kSlot;  // what the wheel reaches

struct Seen {
  std::int64_t time;
  std::string target;
  std::uint32_t tag;
  std::uint64_t data;
  auto operator<=>(const Seen&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  return out << seen.time << " ps " << seen.target << '/' << seen.tag << '/' << seen.data;
}

class Recorder final : public EventTarget {
 public:
  Recorder(Dispatcher& dispatcher, std::string name, std::vector<Seen>& log) : name_(std::move(name)), log_(log) {
    dispatcher.attach(*this, name_);
  }
  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override {
    log_.push_back({now.count(), name_, tag, data});
    if (reaction) reaction(now, tag, data);
  }
  std::function<void(Time, std::uint32_t, std::uint64_t)> reaction;

 private:
  std::string name_;
  std::vector<Seen>& log_;
};

/// A dispatcher with recorders that are attached in the order of `names`, and a place to post from.
class Bench {
 public:
  explicit Bench(const std::vector<std::string>& names) : dispatcher("dispatcher"), script("script", dispatcher) {
    for (const std::string& name : names) targets.push_back(std::make_unique<Recorder>(dispatcher, name, log));
  }
  std::vector<Seen> log;
  Dispatcher dispatcher;
  test::Script script;
  std::vector<std::unique_ptr<Recorder>> targets;
};

/// A stream of events of which each posts others, as a pure function of an event's number.
struct Stream {
  std::uint64_t seed;
  std::uint64_t limit;

  struct Child {
    std::int64_t delay;
    std::size_t target;
    std::uint32_t tag;
  };
  static std::uint64_t mix(std::uint64_t z) {
    z = (z + 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
    return (z ^ (z >> 31)) * 0x94d049bb133111ebULL >> 7;
  }
  [[nodiscard]] std::size_t children(std::uint64_t event) const { return mix(seed ^ event) % 3; }
  [[nodiscard]] Child child(std::uint64_t event, std::size_t i) const {
    const std::uint64_t r = mix(mix(seed + event) + i);
    static constexpr std::int64_t kRanges[] = {1, 3, 256, 1000, 100'000, kWindow, 3 * kWindow, 1'000'000'000'000};
    const std::int64_t range = kRanges[r % 8];
    return {static_cast<std::int64_t>(mix(r) % static_cast<std::uint64_t>(range)), r / 8 % 5,
            static_cast<std::uint32_t>(r / 64 % 3)};
  }
};

inline const std::vector<std::string> kFive = {"e", "d", "c", "b", "a"};

}  // namespace weft::test_dispatcher
