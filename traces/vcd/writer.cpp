// SPDX-License-Identifier: Apache-2.0
#include "traces/vcd/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <stdexcept>
#include <utility>

namespace weft::vcd {
namespace {

constexpr std::size_t kFlushAt = 1U << 18;

/// Each byte as its eight bits.
const std::array<std::string_view, 256> kBitsOfByte = [] {
  static std::array<char, 8 * 256> all;
  std::array<std::string_view, 256> bytes;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    for (std::size_t bit = 0; bit < 8; ++bit) all[8 * byte + bit] = (byte >> (7 - bit) & 1) != 0 ? '1' : '0';
    bytes[byte] = std::string_view(all.data() + 8 * byte, 8);
  }
  return bytes;
}();

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

Writer::Writer(std::filesystem::path file, Options options) : file_(std::move(file)), options_(std::move(options)) {
  if (!parse_timescale(options_.timescale.text())) {
    throw std::invalid_argument("a VCD file: expected a timescale of 1, 10 or 100 and s to fs, got " +
                                options_.timescale.text());
  }
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
  nets_.push_back({kind, width, code_of(index),
                   kind == SignalKind::kReal     ? "r0"
                   : kind == SignalKind::kString ? ""
                                                 : "x"});
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
  if (!options_.date.empty()) buffer_ += "$date " + options_.date + " $end\n";
  if (!options_.version.empty()) buffer_ += "$version " + options_.version + " $end\n";
  buffer_ += "$timescale " + options_.timescale.text() + " $end\n";
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
  buffer_ += "$enddefinitions $end\n#0\n$dumpvars\n";
  for (const Net& net : nets_) {
    if (net.kind != SignalKind::kEvent) put_value(net);
  }
  buffer_ += "$end\n";
}

void Writer::write_scope(const Scope& scope, const std::string& name) {
  if (!name.empty()) buffer_ += "$scope module " + name + " $end\n";
  for (const auto& [leaf, declared] : scope.signals) {
    const Net& net = nets_[declared->net];
    const std::string range =
        net.kind == SignalKind::kBits && net.width > 1 ? fmt::format(" [{}:0]", net.width - 1) : std::string();
    buffer_ += fmt::format("$var {} {} {} {}{} $end\n", declared->type, net.width, net.code, leaf, range);
  }
  for (const auto& [leaf, inner] : scope.scopes) write_scope(*inner, leaf);
  if (!name.empty()) buffer_ += "$upscope $end\n";
}

void Writer::put_value(const Net& net) {
  if (net.value.empty()) return;
  const bool scalar = net.kind == SignalKind::kEvent || (net.kind == SignalKind::kBits && net.width == 1);
  if (net.kind == SignalKind::kBits && !scalar) buffer_ += 'b';
  buffer_ += net.value;
  if (!scalar) buffer_ += ' ';
  buffer_ += net.code;
  buffer_ += '\n';
  flush_if_full();
}

void Writer::put_time(std::uint64_t time) {
  if (time < time_) {
    throw std::invalid_argument(fmt::format("a change in a VCD file: expected a time from {} on, got {}", time_, time));
  }
  if (!started_) write_header();
  if (time == time_) return;
  time_ = time;
  char line[24] = {'#'};
  char* const end = std::to_chars(line + 1, line + sizeof line - 1, time).ptr;
  *end = '\n';
  buffer_.append(line, end + 1);
}

/// Most of a file are the edges of clocks.
void Writer::put_bit(std::uint64_t time, Net& net, bool value) {
  const char digit = value ? '1' : '0';
  if (net.value.front() == digit && started_ && time >= time_) return;
  put_time(time);
  net.value.front() = digit;
  if (!off_) put_value(net);
}

void Writer::put(std::uint64_t time, Id id, SignalKind kind, std::string_view value) {
  if (id.index >= nets_.size() || nets_[id.index].kind != kind) {
    throw std::invalid_argument("a change in a VCD file: expected the id of a signal of the value's kind");
  }
  Net& net = nets_[id.index];
  if (net.value == value && kind != SignalKind::kEvent && started_ && time >= time_) return;
  put_time(time);
  net.value = value;
  if (!off_) put_value(net);
}

void Writer::change(std::uint64_t time, Id id, std::uint64_t value) {
  const int width = id.index < nets_.size() ? nets_[id.index].width : 64;
  if (width < 64 && value >> width != 0) {
    throw std::invalid_argument(
        fmt::format("a change in a VCD file: expected a value of {} bits, got {}", width, value));
  }
  if (width == 1 && nets_[id.index].kind == SignalKind::kBits) return put_bit(time, nets_[id.index], value != 0);
  char text[64];
  std::size_t from = 64;
  do {
    text[--from] = static_cast<char>('0' + (value & 1));
    value >>= 1;
  } while (value != 0);
  put(time, id, SignalKind::kBits, std::string_view(text + from, 64 - from));
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
  const auto width = id.index < nets_.size() ? static_cast<std::size_t>(nets_[id.index].width) : 8 * bytes.size();
  if (8 * bytes.size() > width) {
    throw std::invalid_argument(
        fmt::format("a change in a VCD file: expected at most {} bits, got {} bytes", width, bytes.size()));
  }
  bits_.clear();
  std::size_t top = bytes.size();
  while (top > 0 && bytes[top - 1] == std::byte{}) --top;
  if (top == 0) return put(time, id, SignalKind::kBits, "0");
  for (std::size_t i = top; i-- > 0;) bits_ += kBitsOfByte[static_cast<std::size_t>(bytes[i])];
  put(time, id, SignalKind::kBits, std::string_view(bits_).substr(bits_.find('1')));
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
  buffer_ += "$dumpoff\n";
  for (const Net& net : nets_) {
    if (net.kind != SignalKind::kBits) continue;
    Net unknown = net;
    unknown.value = "x";
    put_value(unknown);
  }
  buffer_ += "$end\n";
}

void Writer::on(std::uint64_t time) {
  put_time(time);
  if (!off_) return;
  off_ = false;
  buffer_ += "$dumpon\n";
  for (const Net& net : nets_) {
    if (net.kind != SignalKind::kEvent) put_value(net);
  }
  buffer_ += "$end\n";
}

void Writer::advance(std::uint64_t time) {
  put_time(time);
}

void Writer::flush_if_full() {
  if (buffer_.size() < kFlushAt) return;
  file_.write(buffer_);
  buffer_.clear();
}

void Writer::close() {
  if (!started_) write_header();
  file_.write(buffer_);
  buffer_.clear();
  file_.close();
}

}  // namespace weft::vcd
