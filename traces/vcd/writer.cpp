// SPDX-License-Identifier: Apache-2.0
#include "traces/vcd/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

#include "traces/files/whole_file.h"

namespace weft::vcd {
namespace {

constexpr std::size_t kBuffer = 4 * traces::WholeFile::kBlock;
constexpr std::size_t kLongestTime = 24;
constexpr std::size_t kMostAtOnce = 1U << 15;

constexpr std::uint32_t kFourDigits = 10'000;
constexpr std::uint64_t kEightDigits = 100'000'000;

/// Each byte as its eight bits, and eight characters more, so that eight can be copied from any place.
constexpr std::array<char, 8 * 257> kBitsOfByte = [] {
  std::array<char, 8 * 257> all{};
  for (std::size_t i = 0; i < 8 * 256; ++i) all[i] = (i / 8 >> (7 - i % 8) & 1) != 0 ? '1' : '0';
  return all;
}();

char* put_eight_bits(char* to, unsigned byte) {
  std::memcpy(to, &kBitsOfByte[8 * std::size_t{byte}], 8);
  return to + 8;
}

/// Without zeros before the first 1. Writes up to seven characters beyond.
char* put_top_bits(char* to, unsigned byte) {
  const auto zeros = static_cast<std::size_t>(std::countl_zero(static_cast<std::uint8_t>(byte)));
  std::memcpy(to, &kBitsOfByte[8 * std::size_t{byte} + zeros], 8);
  return to + 8 - zeros;
}

/// From its first 1 on. Writes up to seven characters beyond.
char* put_number(char* to, std::uint64_t number) {
  const int bits = std::max(1, static_cast<int>(std::bit_width(number)));
  number <<= 64 - bits;
  for (int at = 0; at < bits; at += 8, number <<= 8) put_eight_bits(to + at, static_cast<unsigned>(number >> 56));
  return to + bits;
}

/// Each number of four digits, with zeros before it.
constexpr std::array<char, 4 * kFourDigits> kDigits = [] {
  std::array<char, 4 * kFourDigits> all{};
  for (std::size_t i = 0; i < kFourDigits; ++i) {
    std::size_t rest = i;
    for (std::size_t digit = 4; digit-- > 0; rest /= 10) all[4 * i + digit] = static_cast<char>('0' + rest % 10);
  }
  return all;
}();

void put_eight_digits(char* to, std::uint32_t number) {
  std::memcpy(to, &kDigits[4 * std::size_t{number / kFourDigits}], 4);
  std::memcpy(to + 4, &kDigits[4 * std::size_t{number % kFourDigits}], 4);
}

/// Bijective numbers of base 94, in the characters ! to ~, the first of which changes fastest.
std::string code_of(std::size_t index) {
  std::string code;
  for (++index; index > 0; index = (index - 1) / 94) code += static_cast<char>('!' + (index - 1) % 94);
  return code;
}

std::string without_blanks(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c > ' ' && c <= '~' && c != '\\') {
      escaped += c;
    } else {
      escaped += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return escaped;
}

bool is_printed(char c) {
  return c > ' ' && c <= '~';
}

}  // namespace

/// Of the tree of names, in the order of first mention.
struct Writer::Scope {
  std::vector<std::pair<std::string, const Declared*>> signals;
  std::vector<std::pair<std::string, std::unique_ptr<Scope>>> scopes;
  std::map<std::string, Scope*, std::less<>> by_name;

  Scope& at(const std::string& name) {
    Scope*& known = by_name[name];
    if (known == nullptr) {
      scopes.emplace_back(name, std::make_unique<Scope>());
      known = scopes.back().second.get();
    }
    return *known;
  }
};

Writer::Writer(std::filesystem::path file, Options options) : file_(Output::open(file)), options_(std::move(options)) {
  const int magnitude = options_.timescale.magnitude;
  if ((magnitude != 1 && magnitude != 10 && magnitude != 100) || !parse_timescale(options_.timescale.text())) {
    throw std::invalid_argument("a VCD file: expected a timescale of 1, 10 or 100 and s to fs, got " +
                                options_.timescale.text());
  }
  buffer_.resize(kBuffer + kMostAtOnce);
}

Writer::Id Writer::bits(std::string_view name, int width, std::string_view type) {
  if (width < 1) {
    throw std::invalid_argument(
        fmt::format("signal {} of a VCD file: expected a width of at least 1, got {}", name, width));
  }
  return declare(name, SignalKind::kBits, width, type);
}

Writer::Id Writer::real(std::string_view name) {
  return declare(name, SignalKind::kReal, 64, "real");
}

Writer::Id Writer::string(std::string_view name) {
  return declare(name, SignalKind::kString, 1, "string");
}

Writer::Id Writer::event(std::string_view name) {
  return declare(name, SignalKind::kEvent, 1, "event");
}

void Writer::alias(std::string_view name, Id id) {
  const std::uint32_t net = id.index;
  const auto first = std::find_if(declared_.begin(), declared_.end(), [&](const Declared& d) { return d.net == net; });
  if (first == declared_.end()) throw std::invalid_argument(fmt::format("alias {}: expected a signal's id", name));
  add_name(name, std::string(first->type), net);
}

Writer::Id Writer::declare(std::string_view name, SignalKind kind, int width, std::string_view type) {
  const auto index = static_cast<std::uint32_t>(nets_.size());
  add_name(name, type, index);
  Net net{.kind = kind, .width = width, .code = code_of(index)};
  net.value = kind == SignalKind::kReal ? "r0" : kind == SignalKind::kString ? "" : "x";
  const bool bit = kind == SignalKind::kEvent || (kind == SignalKind::kBits && width == 1);
  const std::string end = (bit ? "" : " ") + net.code + '\n';
  net.end_size = static_cast<std::uint8_t>(end.copy(net.end.data(), net.end.size()));
  nets_.push_back(std::move(net));
  return {index};
}

void Writer::add_name(std::string_view name, std::string_view type, std::uint32_t net) {
  const auto refuse = [&](const char* expected) {
    throw std::invalid_argument(fmt::format("signal \"{}\" of a VCD file: expected {}", name, expected));
  };
  if (started_) refuse("declarations before the first change");
  if (name.empty() || name.front() == '.' || name.back() == '.' || name.find("..") != std::string_view::npos ||
      !std::all_of(name.begin(), name.end(), is_printed)) {
    refuse("levels of printable characters without blanks, joined by dots");
  }
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
    if (!taken_.try_emplace(std::string(name.substr(0, dot)), true).first->second)
      refuse("no signal by the name of its scope");
  }
  if (!taken_.try_emplace(std::string(name), false).second) refuse("a name that is not taken");
  declared_.push_back({std::string(name), std::string(type), net});
}

void Writer::write_header() {
  started_ = true;
  if (!options_.date.empty()) put_line("$date " + options_.date + " $end");
  if (!options_.version.empty()) put_line("$version " + options_.version + " $end");
  put_line("$timescale " + options_.timescale.text() + " $end");
  Scope top;
  for (const Declared& declared : declared_) {
    Scope* scope = &top;
    std::size_t from = 0;
    for (std::size_t dot = 0; (dot = declared.name.find('.', from)) != std::string::npos; from = dot + 1) {
      scope = &scope->at(declared.name.substr(from, dot - from));
    }
    scope->signals.emplace_back(declared.name.substr(from), &declared);
  }
  write_scope(top, "");
  put_line("$enddefinitions $end\n#0\n$dumpvars");
  for (const Net& net : nets_) {
    if (net.kind != SignalKind::kEvent) put_value(net);
  }
  put_line("$end");
}

void Writer::write_scope(const Scope& scope, const std::string& name) {
  if (!name.empty()) put_line("$scope module " + name + " $end");
  for (const auto& [leaf, declared] : scope.signals) {
    const Net& net = nets_[declared->net];
    const std::string range =
        net.kind == SignalKind::kBits && net.width > 1 ? fmt::format(" [{}:0]", net.width - 1) : std::string();
    put_line(fmt::format("$var {} {} {} {}{} $end", declared->type, net.width, net.code, leaf, range));
  }
  for (const auto& [leaf, inner] : scope.scopes) write_scope(*inner, leaf);
  if (!name.empty()) put_line("$upscope $end");
}

/// Hands over whole blocks, which cost least, and keeps what began another one.
void Writer::make_room(std::size_t size) {
  const std::size_t whole = used_ - used_ % traces::WholeFile::kBlock;
  const std::vector<char> begun(buffer_.begin() + static_cast<std::ptrdiff_t>(whole),
                                buffer_.begin() + static_cast<std::ptrdiff_t>(used_));
  Full full{std::exchange(buffer_, {}), std::exchange(used_, 0) - begun.size()};
  background_.give(full);  // or throws what the disk said, again and again
  buffer_ = std::move(full.buffer);
  buffer_.resize(std::max(kBuffer + kMostAtOnce, begun.size() + size));
  std::copy(begun.begin(), begun.end(), buffer_.begin());
  used_ = begun.size();
}

void Writer::put_line(std::string_view text) {
  char* const to = room(text.size() + 1);
  std::memcpy(to, text.data(), text.size());
  to[text.size()] = '\n';
  used_ += text.size() + 1;
}

/// A net's value, without what begins and ends its line. Writes up to seven characters beyond.
char* Writer::put_text(const Net& net, char* to) {
  if (net.form == Form::kText) {
    return std::copy(net.value.begin(), net.value.end(), to);
  }
  if (net.form == Form::kNumber) return put_number(to, net.number);
  std::size_t top = net.value.size();
  const auto* const bytes = reinterpret_cast<const unsigned char*>(net.value.data());
  if (top == 0) {
    *to = '0';
    return to + 1;
  }
  to = put_top_bits(to, bytes[--top]);
  while (top-- > 0) to = put_eight_bits(to, bytes[top]);
  return to;
}

std::string Writer::text_of(const Net& net) {
  std::string text(std::max(net.value.size(), static_cast<std::size_t>(net.width) + 8), ' ');
  text.resize(static_cast<std::size_t>(put_text(net, text.data()) - text.data()));
  return text;
}

void Writer::put_value(const Net& net) {
  if (net.form == Form::kText && net.value.empty()) return;
  char* const start = room(std::max(net.value.size(), static_cast<std::size_t>(net.width)) + 24);
  char* to = start;
  if (net.width == 1 && net.form == Form::kNumber) {
    *to++ = net.number == 0 ? '0' : '1';
  } else {
    if (net.kind == SignalKind::kBits && net.width > 1) *to++ = 'b';
    to = put_text(net, to);
  }
  std::memcpy(to, net.end.data(), net.end.size());
  used_ += static_cast<std::size_t>(to - start) + net.end_size;
}

char* Writer::put_whole_time(std::uint64_t time, char* to) {
  *to = '#';
  char* const end = std::to_chars(to + 1, to + kLongestTime, time).ptr;
  if (time >= kEightDigits) {
    time_base_ = time - time % kEightDigits;
    time_start_size_ = static_cast<std::size_t>(end - to) - 8;
    std::memcpy(time_start_.data(), to, time_start_size_);
  }
  *end = '\n';
  return end + 1;
}

/// Its line, of up to kLongestTime characters. What it begins with is mostly that of the line before.
inline char* Writer::put_later_time(std::uint64_t time, char* to) {
  time_ = time;
  if (time_base_ == 0 || time - time_base_ >= kEightDigits) return put_whole_time(time, to);
  std::memcpy(to, time_start_.data(), time_start_.size());
  to += time_start_size_;
  put_eight_digits(to, static_cast<std::uint32_t>(time - time_base_));
  to[8] = '\n';
  return to + 9;
}

void Writer::put_time(std::uint64_t time) {
  if (time < time_) {
    throw std::invalid_argument(fmt::format("a change in a VCD file: expected a time from {} on, got {}", time_, time));
  }
  if (!started_) write_header();
  if (time == time_) return;
  char* const start = room(kLongestTime);
  used_ += static_cast<std::size_t>(put_later_time(time, start) - start);
}

void Writer::refuse_kind() {
  throw std::invalid_argument("a change in a VCD file: expected the id of a signal of the value's kind");
}

void Writer::put(std::uint64_t time, Id id, SignalKind kind, std::string_view text) {
  if (id.index >= nets_.size() || nets_[id.index].kind != kind) refuse_kind();
  Net& net = nets_[id.index];
  if (kind != SignalKind::kEvent && follows(time)) {
    if (net.form == Form::kText ? net.value == text : text_of(net) == text) return;
  }
  put_time(time);
  net.form = Form::kText;
  net.value = text;
  if (!off_) put_value(net);
}

void Writer::change(std::uint64_t time, Id id, std::uint64_t value) {
  Net& net = bits_of(id);
  if (net.width < 64 && value >> net.width != 0) {
    throw std::invalid_argument(
        fmt::format("a change in a VCD file: expected a value of {} bits, got {}", net.width, value));
  }
  if (net.form == Form::kNumber && net.number == value && follows(time)) return;
  if (net.form != Form::kNumber && follows(time)) {
    const Net told{.form = Form::kNumber, .width = net.width, .number = value};
    if (text_of(net) == text_of(told)) return;
  }
  put_time(time);
  // A byte that was just written would hold up what is read together with it.
  if (net.form != Form::kNumber) net.form = Form::kNumber;
  net.number = value;
  if (!off_) put_value(net);
}

void Writer::toggle(Id id, const Edges& edges) {
  Net& net = bits_of(id);
  std::uint64_t time = edges.from;
  for (std::uint64_t edge = 0; edge < edges.count; ++edge) {
    const std::size_t turn = edge % 2;
    if (net.form == Form::kNumber && net.width == 1 && follows(time) && !off_) {
      return put_edges({time, edges.count - edge, {edges.gaps[turn], edges.gaps[1 - turn]}}, net);
    }
    // The first value, one while the writer is off, and wrong use.
    const bool is_one = net.form == Form::kNumber ? net.number == 1 : net.value == "1";
    change(time, id, is_one ? 0 : 1);
    time += edges.gaps[turn];
  }
}

/// Lines of times that differ in the last eight digits alone are copies but for these.
void Writer::put_edges(const Edges& edges, Net& net) {
  static_assert(kLongestTime + sizeof(net.end) <= kLine);
  std::uint64_t time = edges.from;
  std::uint64_t gap = edges.gaps[0];
  std::uint64_t next_gap = edges.gaps[1];
  std::uint64_t left = edges.count;
  const std::size_t end_size = net.end_size;
  std::size_t value = net.number;
  while (left > 0) {
    char* const start = room(kMostAtOnce);
    char* to = time == time_ ? start : put_later_time(time, start);
    const std::uint64_t later = left - std::min(left, kMostAtOnce / kLine);
    const auto step = [&] {
      value ^= 1;
      time_ = time;
      time += gap;
      std::swap(gap, next_gap);
      --left;
    };
    step();
    *to++ = static_cast<char>('0' + value);
    std::memcpy(to, net.end.data(), net.end.size());
    to += end_size;
    if (time_base_ != 0 && (edge_lines_.base != time_base_ || edge_lines_.net != &net)) prepare_edges(net);
    const std::size_t digits = time_start_size_;
    while (left > later && time - time_base_ < kEightDigits && time_base_ != 0 && time > time_) {
      std::memcpy(to, &edge_lines_.lines[kLine * (value ^ 1)], kLine);
      to += digits;
      put_eight_digits(to, static_cast<std::uint32_t>(time - time_base_));
      to += 10 + end_size;
      step();
    }
    used_ += static_cast<std::size_t>(to - start);
  }
  net.number = value;
}

void Writer::prepare_edges(const Net& net) {
  edge_lines_.base = time_base_;
  edge_lines_.net = &net;
  for (std::size_t digit = 0; digit < 2; ++digit) {
    char* line = &edge_lines_.lines[kLine * digit];
    std::memcpy(line, time_start_.data(), time_start_.size());
    line += time_start_size_ + 8;
    *line++ = '\n';
    *line++ = static_cast<char>('0' + digit);
    std::memcpy(line, net.end.data(), net.end.size());
  }
}

void Writer::change_bits(std::uint64_t time, Id id, std::string_view bits) {
  const auto width = id.index < nets_.size() ? static_cast<std::size_t>(nets_[id.index].width) : bits.size();
  if (bits.empty() || bits.size() > width || bits.find_first_not_of("01xz") != std::string_view::npos) {
    throw std::invalid_argument(
        fmt::format("a change in a VCD file: expected 1 to {} bits of 0, 1, x and z, got \"{}\"", width, bits));
  }
  extend_bits(bits, static_cast<int>(width), bits_);
  put(time, id, SignalKind::kBits, shorten_bits(bits_));
}

void Writer::change_bytes(std::uint64_t time, Id id, std::span<const std::byte> bytes) {
  Net& net = bits_of(id);
  if (8 * bytes.size() > static_cast<std::size_t>(net.width)) {
    throw std::invalid_argument(
        fmt::format("a change in a VCD file: expected at most {} bits, got {} bytes", net.width, bytes.size()));
  }
  std::size_t size = bytes.size();
  while (size > 0 && bytes[size - 1] == std::byte{}) --size;
  const std::string_view value(reinterpret_cast<const char*>(bytes.data()), size);
  if (net.form == Form::kBytes && net.value == value && follows(time)) return;
  if (net.form != Form::kBytes && follows(time)) {
    const Net told{.form = Form::kBytes, .width = net.width, .value = std::string(value)};
    if (text_of(net) == text_of(told)) return;
  }
  put_time(time);
  net.form = Form::kBytes;
  net.value = value;
  if (!off_) put_value(net);
}

void Writer::change_real(std::uint64_t time, Id id, double value) {
  put(time, id, SignalKind::kReal, fmt::format("r{}", value));
}

void Writer::change_string(std::uint64_t time, Id id, std::string_view text) {
  put(time, id, SignalKind::kString, "s" + without_blanks(text));
}

void Writer::trigger(std::uint64_t time, Id id) {
  put(time, id, SignalKind::kEvent, "1");
}

void Writer::off(std::uint64_t time) {
  put_time(time);
  if (off_) return;
  off_ = true;
  put_line("$dumpoff");
  for (const Net& net : nets_) {
    if (net.kind != SignalKind::kBits) continue;
    Net unknown = net;
    unknown.form = Form::kText;
    unknown.value = "x";
    put_value(unknown);
  }
  put_line("$end");
}

void Writer::on(std::uint64_t time) {
  put_time(time);
  if (!off_) return;
  off_ = false;
  put_line("$dumpon");
  for (const Net& net : nets_) {
    if (net.kind != SignalKind::kEvent) put_value(net);
  }
  put_line("$end");
}

void Writer::advance(std::uint64_t time) {
  put_time(time);
}

void Writer::close() {
  if (!started_) write_header();
  background_.wait();
  file_->write({buffer_.data(), used_});
  used_ = 0;
  file_->close();
}

}  // namespace weft::vcd
