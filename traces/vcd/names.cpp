// SPDX-License-Identifier: Apache-2.0
#include "traces/vcd/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "traces/format_error.h"
#include "traces/nearest_names.h"

namespace weft::vcd {
namespace {

bool is_one(const Signal& a, const Signal& b) {
  if (a.parts.size() != b.parts.size()) return false;
  return a.net == b.net && std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(),
                                      [](const auto& x, const auto& y) { return x.net == y.net; });
}

/// Where the file does not say the range it is that of most tools.
BitRange range_of(const Signal& signal) {
  const std::optional<BitRange> range = parse_range(signal.range);
  return range && range->width() == signal.width ? *range : BitRange{signal.width - 1, 0};
}

std::string description(const Signal& signal) {
  if (signal.kind != SignalKind::kBits || signal.width == 1) return signal.type;
  return signal.type + " " + (signal.range.empty() ? fmt::format("of {} bits", signal.width) : signal.range);
}

}  // namespace

Names::Names(const Header& header, std::string file)
    : header_(header), file_(std::move(file)), next_(header.signals.size()) {
  first_.reserve(header.signals.size());
  // From the last to the first, so that each comes before those behind it.
  for (auto i = static_cast<std::uint32_t>(header.signals.size()); i-- > 0;) {
    const auto [known, is_new] = first_.try_emplace(header.signals[i].name, i);
    if (is_new) continue;
    next_[i] = known->second + 1;
    known->second = i;
  }
}

void Names::fail(const std::string& message) const {
  throw traces::FormatError(file_, 0, message);
}

Names::Candidates Names::named(std::string_view name) const {
  Candidates all;
  const auto known = first_.find(name);
  if (known == first_.end()) return all;
  for (std::uint32_t i = known->second + 1; i != 0; i = next_[i - 1]) {
    const Signal& signal = header_.signals[i - 1];
    const auto same = [&](const Signal* other) { return is_one(*other, signal); };
    if (std::none_of(all.begin(), all.end(), same)) all.push_back(&signal);
  }
  return all;
}

Names::Candidates Names::meant(std::string_view name) const {
  Candidates all = named(name);
  if (!all.empty()) return all;
  if (const std::size_t bracket = name.rfind('['); bracket != std::string_view::npos && name.ends_with(']')) {
    all = named(name.substr(0, bracket));
    std::erase_if(all, [&](const Signal* signal) { return signal->range != name.substr(bracket); });
    return all;
  }
  const std::size_t mark = name.rfind('#');
  if (mark == std::string_view::npos) return all;
  std::size_t number = 0;
  const char* const last = name.data() + name.size();
  const auto [end, error] = std::from_chars(name.data() + mark + 1, last, number);
  if (error != std::errc() || end != last) return all;
  all = named(name.substr(0, mark));
  if (number == 0 || number > all.size()) return {};
  return {all[number - 1]};
}

Selection Names::whole(const Candidates& signals, std::string_view name) const {
  if (signals.size() > 1) {
    constexpr std::size_t kShown = 4;
    std::string text = fmt::format("expected one of the {} signals \"{}\":", signals.size(), name);
    for (std::size_t i = 0; i < std::min(kShown, signals.size()); ++i) {
      text += fmt::format("{} \"{}\" ({})", i == 0 ? "" : ",", name_of(*signals[i]), description(*signals[i]));
    }
    if (signals.size() > kShown) text += fmt::format(" and {} more", signals.size() - kShown);
    fail(text);
  }
  const Signal& signal = *signals.front();
  if (signal.fault == SignalFault::kShared) {
    fail(
        fmt::format("expected a signal of its own for \"{}\", which has the identifier code of \"{}\" with another "
                    "kind or width",
                    name, header_.name_of(signal.net)));
  }
  if (signal.kind == SignalKind::kBits && (signal.fault == SignalFault::kWidth || signal.width == 0)) {
    fail(fmt::format("expected a signal with bits, and \"{}\" is declared without a width{}", name,
                     signal.fault == SignalFault::kWidth ? " of 1 to 67108864" : ""));
  }
  return {&signal, 0, static_cast<std::size_t>(signal.kind == SignalKind::kBits ? signal.width : 0), true, false};
}

std::optional<Selection> Names::bits_of(std::string_view name) const {
  const std::size_t bracket = name.rfind('[');
  if (bracket == std::string_view::npos || bracket == 0) return std::nullopt;
  const std::string_view range = name.substr(bracket);
  const std::optional<BitRange> asked = parse_range(range);
  const std::string_view base = name.substr(0, bracket);
  const Candidates all = asked ? meant(base) : Candidates{};
  if (all.empty()) return std::nullopt;
  Candidates fitting;
  for (const Signal* const signal : all) {
    if (signal->range == range) fitting.push_back(signal);
  }
  if (!fitting.empty()) return whole(fitting, name);
  for (const Signal* const signal : all) {
    const BitRange has = range_of(*signal);
    if (signal->kind == SignalKind::kBits && asked->low() >= has.low() && asked->high() <= has.high()) {
      fitting.push_back(signal);
    }
  }
  const Signal& signal = fitting.empty() ? *all.front() : *whole(fitting, base).signal;
  const BitRange has = range_of(signal);
  // The order of bits that a file has one by one is theirs who name it.
  const bool free = !signal.parts.empty() &&
                    std::all_of(signal.parts.begin(), signal.parts.end(), [](const auto& p) { return p.width == 1; });
  const bool turned = asked->width() > 1 && asked->falls() != has.falls();
  if (fitting.empty() || (turned && !free)) {
    std::string ranges = signal.kind != SignalKind::kBits ? "no bits" : signal.width == 1 ? "one bit" : "";
    for (std::size_t i = 0; ranges.empty() && i < all.size(); ++i) ranges = range_of(*all[i]).text();
    if (all.size() > 1) {
      ranges.clear();
      for (const Signal* const other : all) ranges += (ranges.empty() ? "" : " and ") + range_of(*other).text();
    }
    fail(fmt::format("expected bits of {}, which has {}, not \"{}\"", signal.name, ranges, name));
  }
  Selection bits = whole({&signal}, name);
  const int left = turned ? asked->right : asked->left;
  bits.from = static_cast<std::size_t>(has.falls() ? has.left - left : left - has.left);
  bits.length = static_cast<std::size_t>(asked->width());
  bits.all = false;
  bits.reversed = turned;
  return bits;
}

/// Of a vector that has one bit, declared as `data [0]`.
const Signal* Names::only_bit(std::string_view name) const {
  const Signal* found = nullptr;
  for (const Signal& signal : header_.signals) {
    if (signal.width != 1 || signal.name.size() <= name.size() || !signal.name.starts_with(name)) continue;
    if (!parse_range(std::string_view(signal.name).substr(name.size()))) continue;
    if (found != nullptr && !is_one(*found, signal)) return nullptr;
    found = &signal;
  }
  return found;
}

std::optional<Selection> Names::find(std::string_view name) const {
  if (const Candidates all = meant(name); !all.empty()) return whole(all, name);
  if (std::optional<Selection> bits = bits_of(name)) return bits;
  if (const Signal* const bit = only_bit(name)) return whole({bit}, name);
  // As the file has escaped names.
  if (name.find('\\') == std::string_view::npos) return std::nullopt;
  std::string plain(name);
  plain.erase(std::remove(plain.begin(), plain.end(), '\\'), plain.end());
  plain.erase(plain.find_last_not_of(' ') + 1);
  return find(plain);
}

Selection Names::get(std::string_view name) const {
  if (std::optional<Selection> found = find(name)) return *found;
  const std::size_t bracket = name.rfind('[');
  const bool has_range = bracket != std::string_view::npos && parse_range(name.substr(bracket));
  traces::NearestNames nearest(has_range ? name.substr(0, bracket) : name);
  std::vector<std::string_view> elements;
  for (const Signal& signal : header_.signals) {
    nearest.look_at(signal.name);
    if (signal.name.starts_with(name) && signal.name.substr(name.size()).starts_with('[')) {
      elements.push_back(signal.name);
    }
  }
  const std::string hint = elements.empty() ? nearest.question()
                                            : fmt::format("; it is an array, of which there {} {}, \"{}\" to \"{}\"",
                                                          elements.size() == 1 ? "is" : "are", elements.size(),
                                                          elements.front(), elements.back());
  fail(fmt::format("expected a signal \"{}\"{}", name, hint));
}

std::string Names::name_of(const Signal& signal) const {
  const Candidates all = named(signal.name);
  if (all.size() < 2) return signal.name;
  const auto same_range = [&](const Signal* other) { return other->range == signal.range; };
  if (!signal.range.empty() && std::count_if(all.begin(), all.end(), same_range) == 1)
    return signal.name + signal.range;
  const auto at = std::find_if(all.begin(), all.end(), [&](const Signal* other) { return is_one(*other, signal); });
  return fmt::format("{}#{}", signal.name, at - all.begin() + 1);
}

}  // namespace weft::vcd
