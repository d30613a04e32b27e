// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/vcd/header.h"

namespace weft::vcd {

/// A signal, or some of its bits.
struct Selection {
  const Signal* signal = nullptr;
  std::size_t from = 0;  ///< of the bits as text, the leftmost that is taken
  std::size_t length = 0;
  bool all = true;        ///< all of the signal
  bool reversed = false;  ///< of a vector in bits, from right to left
};

/// What names of a file stand for. A name is one of
///
/// - a full name, "tb.dut.data", with or without the range that the file gives;
/// - bits of a signal by the numbers of its declaration, "tb.dut.data[15:8]" or "tb.dut.valid[2]";
/// - the n-th signal of a name that several have, "tb.dut.data#2", which a range may follow as well.
///
/// Signals that share a name and a net are one. The header must outlive this.
class Names {
 public:
  Names(const Header& header, std::string file);

  /// Throws traces::FormatError, with the nearest names, if there is none, if several are meant, or if the file has no
  /// values for it.
  [[nodiscard]] Selection get(std::string_view name) const;
  /// The same but for a name that no signal has, which gives nothing.
  [[nodiscard]] std::optional<Selection> find(std::string_view name) const;
  /// Of one of the header's signals: the shortest name that stands for it alone.
  [[nodiscard]] std::string name_of(const Signal& signal) const;
  /// Whether anybody can ask for its values.
  [[nodiscard]] static bool has_values(const Signal& signal) {
    return signal.fault == SignalFault::kNone && signal.kind != SignalKind::kEvent &&
           (signal.kind != SignalKind::kBits || signal.width > 0);
  }

 private:
  using Candidates = std::vector<const Signal*>;

  /// Signals of one name, in the order of the file; those of one net once.
  struct Several {
    std::vector<std::uint32_t> signals;
    std::vector<bool> has_own_range;  ///< of each of them: no other one has its range
  };

  /// Of this name; those of one net once.
  [[nodiscard]] Candidates named(std::string_view name) const;
  /// The one of this number, from 1, among those of the name; none if there is none.
  [[nodiscard]] Candidates numbered(std::string_view name, std::size_t number) const;
  /// Of this name, or of one with its number.
  [[nodiscard]] Candidates meant(std::string_view name) const;
  [[nodiscard]] std::optional<Selection> bits_of(std::string_view name) const;
  [[nodiscard]] const Signal* only_bit(std::string_view name) const;
  [[nodiscard]] Selection whole(const Candidates& signals, std::string_view name) const;
  [[noreturn]] void fail(const std::string& message) const;

  const Header& header_;
  std::string file_;
  std::unordered_map<std::string_view, std::uint32_t> first_;  ///< signal of a name
  std::vector<Several> several_;
  /// Of each signal whose name others have: 1 + the index of these, or 0, and its place among them.
  std::vector<std::uint32_t> of_several_;
  std::vector<std::uint32_t> place_;
};

}  // namespace weft::vcd
