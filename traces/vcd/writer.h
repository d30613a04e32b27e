// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/vcd/header.h"
#include "traces/whole_file.h"

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
/// already has is not written again. The file appears when it is closed (traces::WholeFile). Wrong use throws
/// std::invalid_argument, and what the disk refuses std::system_error.
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
  struct Net {
    SignalKind kind = SignalKind::kBits;
    int width = 1;
    std::string code;
    std::string value;  ///< as it is written, without its code; empty of a string that has none
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
  void put(std::uint64_t time, Id id, SignalKind kind, std::string_view value);
  void put_value(const Net& net);
  void put_time(std::uint64_t time);
  void put_bit(std::uint64_t time, Net& net, bool value);
  void flush_if_full();

  traces::WholeFile file_;
  Options options_;
  std::string buffer_;
  std::vector<Net> nets_;
  std::vector<Declared> declared_;
  std::map<std::string, bool, std::less<>> taken_;  ///< full names; true where it is a scope
  std::uint64_t time_ = 0;
  bool started_ = false;
  bool off_ = false;
  std::string bits_;
};

}  // namespace weft::vcd
