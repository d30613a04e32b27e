// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/files/background.h"
#include "traces/vcd/header.h"
#include "traces/vcd/output.h"

namespace weft::vcd {

/// Writes a dump as it is told of changes. Equal calls give equal bytes: identifier codes follow the order of
/// declaration, and the header has neither date nor machine unless they are given.
///
///     Writer writer("out.vcd", {.timescale = {1, -12}});
///     const auto valid = writer.bits("leaf0.up1.valid");
///     const auto data = writer.bits("leaf0.up1.data", 512);
///     writer.change(0, valid, 0);
///     writer.change(1'250, valid, 1);
///     writer.close();
///
/// Names are levels joined by dots; signals of one scope are gathered whatever the order of their declaration. All of
/// them are declared before the first change; a signal without a value is x, a real one 0. A value that a signal
/// already has is not written again. The file appears when it is closed, in the format that its name ends in (Output).
/// Wrong use throws std::invalid_argument. A thread of its own writes, and a later call or close() throws what Output
/// threw.
class Writer {
 public:
  struct Options {
    Timescale timescale{1, -12};
    std::string date;
    std::string version = "Weft";
  };
  /// Index of a signal of this writer.
  struct Id {
    std::uint32_t index = 0;
  };

  explicit Writer(std::filesystem::path file) : Writer(std::move(file), Options{}) {}
  Writer(std::filesystem::path file, Options options);

  Id bits(std::string_view name, int width = 1, std::string_view type = "wire");
  Id real(std::string_view name);
  /// GTKWave's extension; blanks and what cannot be printed are written as \x20.
  Id string(std::string_view name);
  Id event(std::string_view name);
  /// Another name for the same values.
  void alias(std::string_view name, Id id);

  /// Times must not run back. Bits beyond the width must be 0.
  void change(std::uint64_t time, Id id, std::uint64_t value);
  /// So many, from a time on; the gaps between them take turns.
  struct Edges {
    std::uint64_t from = 0;
    std::uint64_t count = 1;
    std::array<std::uint64_t, 2> gaps = {};
  };
  /// A signal of one bit takes the other value, what is no 1 becomes 1: for clocks, whose edges are most of many files.
  void toggle(Id id, const Edges& edges);
  /// Bits as 0, 1, x and z, extended on the left as a reader does.
  void change_bits(std::uint64_t time, Id id, std::string_view bits);
  /// Bytes of a signal of as many, the least significant first; those that are missing at the top are 0.
  void change_bytes(std::uint64_t time, Id id, std::span<const std::byte> bytes);
  void change_real(std::uint64_t time, Id id, double value);
  void change_string(std::uint64_t time, Id id, std::string_view text);
  /// An event happens: each call is written.
  void trigger(std::uint64_t time, Id id);
  /// From here on nothing is known, until `on` says all values again. Changes meanwhile are kept, not written.
  void off(std::uint64_t time);
  void on(std::uint64_t time);
  /// The last time of the file, where nothing needs to change.
  void advance(std::uint64_t time);

  void close();

 private:
  /// In which form a net's value is kept: as it was told, so that most changes make no text but that in the file.
  enum class Form : std::uint8_t { kText, kNumber, kBytes };
  struct Net {
    SignalKind kind = SignalKind::kBits;
    Form form = Form::kText;
    int width = 1;
    std::uint64_t number = 0;  ///< of kNumber
    std::string value = {};    ///< of kText as it is written, empty of a string that has none; of kBytes the bytes
    std::string code = {};
    std::array<char, 8> end = {};  ///< of its lines: a blank where the value is no bit, code and newline
    std::uint8_t end_size = 0;
  };
  struct Declared {
    std::string name;
    std::string type;
    std::uint32_t net = 0;
  };
  struct Scope;

  Id declare(std::string_view name, SignalKind kind, int width, std::string_view type);
  void add_name(std::string_view name, std::string_view type, std::uint32_t net);
  void write_header();
  void write_scope(const Scope& scope, const std::string& name);
  void put(std::uint64_t time, Id id, SignalKind kind, std::string_view text);
  Net& bits_of(Id id) {
    if (id.index >= nets_.size() || nets_[id.index].kind != SignalKind::kBits) refuse_kind();
    return nets_[id.index];
  }
  [[noreturn]] static void refuse_kind();
  /// Whether a value that is there already needs no line.
  [[nodiscard]] bool follows(std::uint64_t time) const { return started_ && time >= time_; }
  void put_time(std::uint64_t time);
  char* put_later_time(std::uint64_t time, char* to);
  char* put_whole_time(std::uint64_t time, char* to);
  void put_edges(const Edges& edges, Net& net);
  void prepare_edges(const Net& net);
  void put_value(const Net& net);
  static char* put_text(const Net& net, char* to);
  static std::string text_of(const Net& net);
  /// As much of the buffer as `size` characters take; `used_` is for the caller to move.
  char* room(std::size_t size) {
    if (buffer_.size() - used_ < size) [[unlikely]]
      make_room(size);
    return buffer_.data() + used_;
  }
  void make_room(std::size_t size);
  void put_line(std::string_view text);

  struct Full {
    std::vector<char> buffer;
    std::size_t used = 0;
  };

  std::unique_ptr<Output> file_;
  Options options_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;  ///< of the buffer
  std::vector<Net> nets_;
  std::vector<Declared> declared_;
  std::map<std::string, bool, std::less<>> taken_;  ///< full names; true where it is a scope
  std::uint64_t time_ = 0;
  std::uint64_t time_base_ = 0;           ///< time_ without its last eight digits,
  std::array<char, 16> time_start_ = {};  ///< and the begin of its line up to them
  std::size_t time_start_size_ = 0;
  static constexpr std::size_t kLine = 32;
  /// Of the two edges of a clock, but for the last eight digits of their times.
  struct EdgeLines {
    std::uint64_t base = 0;
    const Net* net = nullptr;
    std::array<char, 2 * kLine> lines = {};
  };
  EdgeLines edge_lines_;
  bool started_ = false;
  bool off_ = false;
  std::string bits_;

  traces::Background<Full> background_{[this](const Full& full) { file_->write({full.buffer.data(), full.used}); }};
};

}  // namespace weft::vcd
