// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/vcd/header.h"
#include "traces/vcd/input.h"
#include "traces/vcd/join_parts.h"

namespace weft::vcd {

/// What a change was written in. Only in kNone did something change in the simulation: the others repeat values, and
/// $dumpoff says x of everything until $dumpon.
enum class Section : std::uint8_t { kNone, kDumpvars, kDumpall, kDumpoff, kDumpon };

struct Change {
  std::uint64_t time = 0;  ///< in units of the file's timescale
  std::uint32_t net = 0;   ///< index of Header::all_nets
  /// What the value is written as, which need not be the net's kind: MyHDL has strings of reals, others reals of
  /// parameters.
  SignalKind kind = SignalKind::kBits;
  Section section = Section::kNone;
  bool cut = false;  ///< the file has more bits than the net, and they were not only its extension
  /// Bits as 0, 1, x and z, as short as the file has them (extend_bits); the text of a string; "1" of an event. Lasts
  /// until the next call of the reader.
  std::string_view value;
  double real = 0;
};

/// Reads a file as it is consumed, whatever its size, in blocks; only declarations stay in memory. It may be in gzip or
/// FST (Input).
///
///     Reader reader("dump.vcd");
///     const Names names(reader.header(), reader.file());
///     const Signal& valid = *names.get("top.valid").signal;
///     for (Change change; reader.next(change);) ...
///
/// Takes what Icarus, Verilator, GTKWave's converters, GHDL, SystemC, MyHDL, PyMTL3, migen and commercial simulators
/// write: values of std_logic (u, w and - are x, l is 0, h is 1), strings (`s`), $comment anywhere; other sections of a
/// vendor's own are skipped. A variable without a width, or with one that is no number, is there without a value that
/// could be asked for. Extended VCD ($dumpports) is refused. A file that ends within a $dumpvars or similar section, as
/// of a simulator that was killed, is read as far as it goes.
///
/// Throws traces::FormatError that names the line.
class Reader {
 public:
  /// Reads the declarations. "-" is standard input.
  explicit Reader(std::string file);

  [[nodiscard]] const Header& header() const { return header_; }
  [[nodiscard]] const std::string& file() const { return file_; }

  /// False at the end.
  bool next(Change& change);
  /// The latest that was read: at the end that of the file's last `#`.
  [[nodiscard]] std::uint64_t time() const { return time_; }
  /// Of what was read last. Lines beyond 2^31 - 1 are all called that.
  [[nodiscard]] int line() const;
  /// Bytes consumed so far.
  [[nodiscard]] std::uint64_t bytes() const { return before_ + from_; }
  /// What was read in another way than it is written, counted; complete at the end.
  [[nodiscard]] std::vector<std::string> remarks() const;

 private:
  bool fill();
  /// The next word, which lasts until the next call; empty at the end of the file.
  std::string_view word();
  std::string_view expect_word(const char* expected);
  /// The word that was read last comes again.
  void put_back(std::string_view word) { from_ -= word.size(); }
  [[noreturn]] void fail(const std::string& expected, std::string_view got) const;

  void read_header();
  /// The text up to $end.
  std::string section(std::string_view keyword);
  void skip_section(std::string_view keyword);
  void read_timescale();
  void read_scope();
  void read_variable();
  /// The words of a $var behind its identifier code.
  std::vector<std::string> name_words();
  Piece set_name(Signal& signal, std::vector<std::string> words) const;

  void read_keyword(std::string_view keyword);
  void read_time(std::string_view digits);
  /// A value of more than one character, and its code; false if no $var declares that.
  bool read_value(Change& change, std::string_view got);
  void read_bits(Change& change, std::string_view bits, std::uint32_t net);
  void read_real(Change& change, std::string_view digits, std::uint32_t net) const;
  /// kNoNet, counted, for a code that no $var declares.
  [[nodiscard]] std::uint32_t find_net(std::string_view code) const;
  std::uint32_t net_of(std::string_view code);
  /// The net of a code, made if there is none yet.
  std::uint32_t declare(std::string_view code);

  std::string file_;
  Input input_;
  std::vector<char> buffer_;
  std::size_t from_ = 0;  ///< what is read and not consumed
  std::size_t to_ = 0;
  std::uint64_t before_ = 0;  ///< bytes of the file before the buffer's first
  std::uint64_t line_ = 1;
  bool at_end_ = false;

  Header header_;
  struct Scope {
    std::string path;      ///< with a dot behind it, or nothing
    std::uint32_t id = 0;  ///< equal where a scope is opened again; scopes without a name are all different
  };
  std::vector<Scope> scopes_;
  std::unordered_map<std::string, std::uint32_t> scope_ids_;
  std::uint32_t last_scope_ = 0;
  std::vector<Piece> pieces_;                                  ///< of each signal, until the declarations end
  std::vector<std::uint32_t> short_codes_;                     ///< 1 + net, by the code as a number
  std::unordered_map<std::string, std::uint32_t> long_codes_;  ///< of which the number would be too large a place

  std::uint64_t time_ = 0;
  bool timed_ = false;
  Section section_ = Section::kNone;
  std::string held_;  ///< a word that must outlive the next

  /// What remarks() counts, and where it was first.
  struct Count {
    std::uint64_t times = 0;
    int line = 0;
    std::string first;
  };
  void count(Count& what, const std::string& text) const;
  static constexpr std::uint32_t kNoNet = UINT32_MAX;
  bool behind_ = false;  ///< the time ran back and has not caught up
  Count back_;
  Count fractions_;
  Count undeclared_;
  Count upscopes_;
};

}  // namespace weft::vcd
