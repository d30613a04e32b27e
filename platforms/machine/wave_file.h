// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/waves.h"
#include "platforms/machine/wave_clocks.h"
#include "traces/vcd/writer.h"

namespace weft::platforms {

/// Writes what modules tell Waves as a value change dump, with a time unit of 1 ps. Changes wait until the dispatcher's
/// time has passed theirs, and are written in the order of their times; of several changes of one pin at a time the
/// last one told counts.
///
///     WaveFile waves("leaf0.vcd", {"network.leaf0"}, machine.dispatcher());
///     machine.record(waves);
///     machine.run();
///     waves.close();
///
/// Clocks of one frequency are one net under several names, which keeps files small. By default a clock stands still
/// while nothing is told that needs it, so that a long run with gaps makes a small file; its edges are at whole cycles
/// all the same.
class WaveFile final : public Waves {
 public:
  /// `scopes` are patterns in which * stands for any characters; one that fits a module stands for all that it holds.
  /// Throws std::system_error if the file cannot be written.
  WaveFile(std::filesystem::path file, std::vector<std::string> scopes, const Dispatcher& dispatcher,
           bool free_clocks = false);

  bool wants(const std::string& scope) override;
  Pin pin(const std::string& name, int width = 1) override;
  Pin bus(const std::string& name, std::size_t bytes) override;
  Clock clock(const std::string& name, Frequency frequency) override;
  void set(Time at, Pin pin, std::uint64_t value) override {
    tell(Change{at.count(), value, pin.index, 0, What::kSet});
  }
  void add(Time at, Pin pin, std::int64_t difference) override {
    tell(Change{at.count(), static_cast<std::uint64_t>(difference), pin.index, 0, What::kAdd});
  }
  void set_bytes(Time at, Pin bus, const std::byte* bytes, std::size_t count) override;
  void run(Clock clock, Time from, Time to) override { clocks_.run(clock, from, to); }
  void hold(Clock clock, Time from) override { clocks_.hold(clock, from); }
  void release(Clock clock, Time to) override { clocks_.release(clock, to); }

  /// The scope that chose nothing; empty if each chose something. After modules were asked to record.
  [[nodiscard]] std::string unused() const;
  /// What could be recorded, numbers written as *: "network.leaf*.reduction (2)".
  [[nodiscard]] std::vector<std::string> offered() const;

  /// Writes the rest and completes the file; without it, there is none. Free clocks run until `end` at least.
  void close(Time end = Time());

 private:
  enum class What : std::uint32_t { kSet, kAdd, kBytes, kUnknown };
  struct Change {
    std::int64_t time;
    std::uint64_t value;  ///< or where the bytes are
    std::uint32_t pin;
    std::uint32_t count : 30;  ///< of bytes
    What what : 2;
  };
  struct Net {
    vcd::Writer::Id id;
    std::uint64_t value = 0;
  };

  void tell(const Change& change) {
    changes_.push_back(change);
    if (changes_.size() >= limit_) [[unlikely]]
      drain(dispatcher_.now());
  }
  void drain(Time until);
  void take_due(std::int64_t until);
  void sort_due();
  void write(const Change& change);
  void keep_bytes();

  vcd::Writer writer_;
  std::vector<std::string> scopes_;
  std::set<std::size_t> used_;
  std::map<std::string, int> offered_;
  const Dispatcher& dispatcher_;
  bool free_clocks_;
  std::vector<Net> nets_;
  WaveClocks clocks_{writer_};
  std::vector<Change> changes_;  ///< in the order in which they were told
  std::vector<Change> due_;      ///< those that are being written
  std::vector<Change> sorted_;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> kept_bytes_;
  std::size_t limit_ = kLeast;
  static constexpr std::size_t kLeast = 1U << 11;
};

}  // namespace weft::platforms
