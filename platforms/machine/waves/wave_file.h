// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/waves.h"
#include "platforms/machine/waves/wave_order.h"
#include "platforms/machine/waves/wave_writer.h"
#include "traces/files/background.h"
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
///
/// A thread of its own orders and writes, so that the models that tell go on meanwhile; when it falls behind, theirs
/// helps it. The file does not depend on that. What the disk refuses is thrown by what is told or declared later, or by
/// close().
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
    order_.tell(at, pin, WaveOrder::What::kSet, value);
    hand_over_if_full();
  }
  void add(Time at, Pin pin, std::int64_t difference) override {
    order_.tell(at, pin, WaveOrder::What::kAdd, static_cast<std::uint64_t>(difference));
    hand_over_if_full();
  }
  void set_bytes(Time at, Pin bus, const std::byte* bytes, std::size_t count) override {
    order_.tell(at, bus, bytes, count);
    hand_over_if_full();
  }
  void run(Clock clock, Time from, Time to) override {
    order_.tell(WaveOrder::Running{from, to, clock, WaveOrder::Running::What::kRun});
  }
  void hold(Clock clock, Time from) override {
    order_.tell(WaveOrder::Running{from, from, clock, WaveOrder::Running::What::kHold});
  }
  void release(Clock clock, Time to) override {
    order_.tell(WaveOrder::Running{to, to, clock, WaveOrder::Running::What::kRelease});
  }

  /// A scope that chose nothing; none if each chose something. After modules were asked to record.
  [[nodiscard]] std::optional<std::string> unused() const;
  /// What could be recorded, numbers written as *: "network.leaf*.reduction (2)".
  [[nodiscard]] std::vector<std::string> offered() const;
  /// "; did you mean "network.leaf*"?", or nothing: what was offered that is like a scope.
  [[nodiscard]] std::string nearest(const std::string& scope) const;

  /// Writes the rest and completes the file; without it, there is none. Free clocks run until `end` at least.
  void close(Time end = Time());

 private:
  Pin declare(vcd::Writer::Id id);
  void hand_over_if_full() {
    if (order_.full()) [[unlikely]]
      hand_over();
  }
  void hand_over();

  vcd::Writer writer_;
  std::vector<std::string> scopes_;
  std::set<std::size_t> used_;
  std::map<std::string, int> offered_;
  const Dispatcher& dispatcher_;
  bool free_clocks_;
  WaveOrder order_;
  WaveOrder::Part part_;
  WaveSort sort_;
  WaveWriter lines_{writer_};
  traces::Background<WaveOrder::Part> background_{[this](WaveOrder::Part& part) { lines_.write(part); }};
};

}  // namespace weft::platforms
