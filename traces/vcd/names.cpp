// SPDX-License-Identifier: Apache-2.0
#include "traces/vcd/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "traces/files/format_error.h"
#include "traces/nearest_names.h"

namespace weft::vcd {
namespace {

bool is_one(const Signal& a, const Signal& b) {
  if (a.parts.size() != b.parts.size()) return false;
  return a.net == b.net && std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(),
                                      [](const auto& x, const auto& y) { return x.net == y.net; });
}

std::string description(const Signal& signal) {
  if (signal.kind != SignalKind::kBits || signal.width == 1) return signal.type;
  return signal.type + " " + (signal.range.empty() ? fmt::format("of {} bits", signal.width) : signal.range);
}

}  // namespace

Names::Names(const Header& header, std::string file)
    : header_(header), file_(std::move(file)), of_several_(header.signals.size()), place_(header.signals.size()) {
  first_.reserve(header.signals.size());
  // By name and net, of names that several have: a file can have many thousand of one, such as in scopes without a
  // name.
  std::unordered_multimap<std::uint64_t, std::uint32_t> known;
  const auto key = [&](std::uint32_t first, std::uint32_t signal) {
    return std::uint64_t{first} << 32 | header.signals[signal].net;
  };
  for (std::uint32_t i = 0; i < header.signals.size(); ++i) {
    const auto [named, is_new] = first_.try_emplace(header.signals[i].name, i);
    if (is_new) continue;
    const std::uint32_t first = named->second;
    if (of_several_[first] == 0) {
      several_.push_back({{first}, {}});
      of_several_[first] = static_cast<std::uint32_t>(several_.size());
      known.emplace(key(first, first), first);
    }
    of_several_[i] = of_several_[first];
    const auto [begin, end] = known.equal_range(key(first, i));
    const auto same = std::find_if(
        begin, end, [&](const auto& entry) { return is_one(header.signals[entry.second], header.signals[i]); });
    if (same != end) {
      place_[i] = place_[same->second];
      continue;
    }
    std::vector<std::uint32_t>& signals = several_[of_several_[first] - 1].signals;
    place_[i] = static_cast<std::uint32_t>(signals.size());
    signals.push_back(i);
    known.emplace(key(first, i), i);
  }
  for (Several& several : several_) {
    std::unordered_map<std::string_view, std::size_t> ranges;
    for (const std::uint32_t signal : several.signals) ++ranges[header.signals[signal].range];
    for (const std::uint32_t signal : several.signals) {
      const std::string& range = header.signals[signal].range;
      several.has_own_range.push_back(!range.empty() && ranges[range] == 1);
    }
  }
}

void Names::fail(const std::string& message) const {
  throw traces::FormatError(file_, 0, message);
}

Names::Candidates Names::named(std::string_view name) const {
  const auto known = first_.find(name);
  if (known == first_.end()) return {};
  const std::uint32_t group = of_several_[known->second];
  if (group == 0) return {&header_.signals[known->second]};
  Candidates all;
  for (const std::uint32_t signal : several_[group - 1].signals) all.push_back(&header_.signals[signal]);
  return all;
}

Names::Candidates Names::numbered(std::string_view name, std::size_t number) const {
  const auto known = first_.find(name);
  if (known == first_.end() || number == 0) return {};
  const std::uint32_t group = of_several_[known->second];
  const std::size_t count = group == 0 ? 1 : several_[group - 1].signals.size();
  if (number > count) return {};
  return {&header_.signals[group == 0 ? known->second : several_[group - 1].signals[number - 1]]};
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
  return numbered(name.substr(0, mark), number);
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
  // As VHDL writes ranges.
  if (const std::optional<PlainRange> plain = plain_range(name); plain && name.ends_with(')')) {
    return find(std::string(name.substr(0, plain->begin)) + plain->range);
  }
  // As the file has escaped names.
  if (name.find('\\') == std::string_view::npos) return std::nullopt;
  std::string plain(name);
  plain.erase(std::remove(plain.begin(), plain.end(), '\\'), plain.end());
  plain.erase(plain.find_last_not_of(' ') + 1);
  return find(plain);
}

Selection Names::get(std::string_view name) const {
  if (std::optional<Selection> found = find(name)) return *found;
  traces::NearestNames nearest(name);
  std::vector<std::string_view> elements;
  for (const Signal& signal : header_.signals) {
    nearest.look_at(signal.name);
    if (signal.name.starts_with(name) && parse_range(std::string_view(signal.name).substr(name.size()))) {
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
  const auto index = static_cast<std::size_t>(&signal - header_.signals.data());
  const std::uint32_t group = of_several_[index];
  if (group == 0 || several_[group - 1].signals.size() == 1) return signal.name;
  const Several& several = several_[group - 1];
  const std::size_t place = place_[index];
  // Of its net, which may be there with other ranges. A bit that is there twice is in the vector once, and bears its
  // number in its name the other time.
  const std::string name = signal.name + header_.signals[several.signals[place]].range;
  if (several.has_own_range[place] && !first_.contains(name)) return name;
  return fmt::format("{}#{}", signal.name, place + 1);
}

}  // namespace weft::vcd
