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
  void set(Time at, Pin pin, std::uint64_t value) override { tell({at.count(), pin.index, What::kSet, 0, value}); }
  void add(Time at, Pin pin, std::int64_t difference) override {
    tell({at.count(), pin.index, What::kAdd, 0, static_cast<std::uint64_t>(difference)});
  }
  void set_bytes(Time at, Pin bus, const std::byte* bytes, std::size_t count) override;
  void run(Clock clock, Time from, Time to) override;
  void hold(Clock clock, Time from) override;
  void release(Clock clock, Time to) override;

  /// The scope that chose nothing; empty if each chose something. After modules were asked to record.
  [[nodiscard]] std::string unused() const;
  /// What could be recorded, numbers written as *: "network.leaf*.reduction (2)".
  [[nodiscard]] std::vector<std::string> offered() const;

  /// Writes the rest and completes the file; without it, there is none. Free clocks run until `end` at least.
  void close(Time end = Time());

 private:
  enum class What : std::uint8_t { kSet, kAdd, kBytes, kUnknown };
  struct Change {
    std::int64_t time;
    std::uint32_t pin;
    What what;
    std::uint32_t count;  ///< of bytes
    std::uint64_t value;  ///< or where the bytes are
    std::uint64_t order = 0;
  };
  struct Net {
    vcd::Writer::Id id;
    std::uint64_t value = 0;
  };
  struct Span {
    std::int64_t from;
    std::int64_t to;
  };
  struct Oscillator {
    Frequency frequency;
    ClockEdges edges;
    vcd::Writer::Id id;
    std::vector<Span> spans = {};  ///< in which it runs, and of which nothing is written yet
    int holders = 0;
    std::int64_t held_from = 0;
    std::int64_t next = 1;  ///< the first edge that is not written; a file begins with a clock that is low
    bool high = false;
    std::size_t at = 0;            ///< of the spans
    std::int64_t due = INT64_MAX;  ///< when it changes next
  };

  void tell(Change change);
  void drain(std::int64_t until);
  void write(const Change& change);
  void write_clocks(std::int64_t until);
  static void schedule(Oscillator& clock);
  void prepare(Oscillator& clock, std::int64_t until) const;

  vcd::Writer writer_;
  std::vector<std::string> scopes_;
  std::set<std::size_t> used_;
  std::map<std::string, int> offered_;
  const Dispatcher& dispatcher_;
  bool free_clocks_;
  std::vector<Net> nets_;
  std::vector<Oscillator> clocks_;
  std::vector<Change> changes_;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> kept_bytes_;
  std::uint64_t order_ = 0;
  std::size_t limit_ = kLeast;
  static constexpr std::size_t kLeast = 1U << 14;
};

}  // namespace weft::platforms
