// SPDX-License-Identifier: Apache-2.0
// A comparison for people and for programs.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "traces/vcd/compare.h"

namespace weft::vcd {
namespace {

using nlohmann::ordered_json;

/// Wide values as hexadecimal where all of their bits are known.
std::string digits_of(const std::string& value) {
  if (value.size() < 8 || value.find_first_not_of("01") != std::string::npos) return value;
  std::string digits;
  for (std::size_t end = value.size(); end > 0; end = end > 4 ? end - 4 : 0) {
    int digit = 0;
    for (std::size_t i = end > 4 ? end - 4 : 0; i < end; ++i) digit = 2 * digit + (value[i] - '0');
    digits += "0123456789abcdef"[digit];
  }
  std::reverse(digits.begin(), digits.end());
  return "0x" + digits;
}

/// So many characters of a value around those that matter: the leftmost bit that differs, counted from the right.
std::string shown(const std::string& value, std::optional<std::size_t> bit) {
  constexpr std::size_t kShown = 40;
  std::string digits = digits_of(value);
  if (digits.size() <= kShown) return digits;
  const bool is_hex = digits.size() < value.size();
  const std::size_t from_right = bit ? *bit / (is_hex ? 4 : 1) + 1 : digits.size();
  const std::size_t at = digits.size() - std::min(digits.size(), from_right);
  const std::size_t from = std::min(at > kShown / 4 ? at - kShown / 4 : 0, digits.size() - kShown);
  std::string part = digits.substr(from, kShown);
  if (from > 0) part = "..." + part;
  return from + kShown < digits.size() ? part + "..." : part;
}

/// What of the signals a context shows.
struct Shown {
  struct Column {
    std::size_t signal;
    std::string name;
    std::optional<std::size_t> bit;
  };
  std::vector<Column> columns;

  explicit Shown(const Comparison& of) {
    const Divergence& first = *of.first;
    std::vector<std::size_t> signals;
    if (of.names.size() <= of.context_signals || first.signals.empty()) {
      for (std::size_t i = 0; i < of.names.size(); ++i) signals.push_back(i);
    } else {
      signals = first.signals;
    }
    signals.resize(std::min(signals.size(), of.context_signals));
    std::map<std::string, int> leaves;
    for (const std::size_t i : signals) ++leaves[leaf_of(of.names[i])];
    for (const std::size_t i : signals) {
      const std::string leaf = leaf_of(of.names[i]);
      columns.push_back({i, leaves[leaf] > 1 ? of.names[i] : leaf, differing_bit(first, i)});
    }
  }

 private:
  static std::string leaf_of(const std::string& name) { return name.substr(name.rfind('.') + 1); }

  static std::optional<std::size_t> differing_bit(const Divergence& first, std::size_t signal) {
    if (!first.expected || !first.found) return std::nullopt;
    const std::string& a = first.expected->values[signal];
    const std::string& b = first.found->values[signal];
    if (a.size() != b.size()) return std::nullopt;
    const auto at = std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin();
    if (static_cast<std::size_t>(at) == a.size()) return std::nullopt;
    return a.size() - 1 - static_cast<std::size_t>(at);
  }
};

std::string line(const Shown& shows, const Item& item, Timescale timescale) {
  std::string text = fmt::format("cycle {}, time {} x {}", item.cycle, item.time, timescale.text());
  for (const Shown::Column& column : shows.columns) {
    text += fmt::format(", {} {}", column.name, shown(item.values[column.signal], column.bit));
  }
  if (item.latency) text += fmt::format(", latency {}", *item.latency);
  return text;
}

void add_context(std::string& text, const Comparison& of, const Shown& shows, const std::vector<Item>& items,
                 const std::string& file, Timescale timescale) {
  text += "  " + file + "\n";
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::uint64_t index = of.first->context_from + i;
    text +=
        fmt::format("  {} {:>6}  {}\n", index == of.first->index ? '>' : ' ', index, line(shows, items[i], timescale));
  }
  if (items.size() <= of.first->index - of.first->context_from) text += "  >         nothing more\n";
}

/// Signals by the items in which they differ, most first.
std::vector<std::size_t> by_difference(const Comparison& of) {
  std::vector<std::size_t> signals;
  for (std::size_t i = 0; i < of.different_of.size(); ++i) {
    if (of.different_of[i] > 0) signals.push_back(i);
  }
  std::stable_sort(signals.begin(), signals.end(),
                   [&](std::size_t a, std::size_t b) { return of.different_of[a] > of.different_of[b]; });
  return signals;
}

std::string difference_text(const Comparison& of) {
  constexpr std::size_t kShown = 8;
  const std::vector<std::size_t> signals = by_difference(of);
  if (of.names.size() < 2 || signals.empty()) return "";
  std::string text = fmt::format("  {} of {} signals differ:", signals.size(), of.names.size());
  for (std::size_t i = 0; i < std::min(kShown, signals.size()); ++i) {
    text += fmt::format("{} {} ({})", i == 0 ? "" : ",", of.names[signals[i]], of.different_of[signals[i]]);
  }
  if (signals.size() > kShown) text += fmt::format(" and {} more", signals.size() - kShown);
  return text + "\n";
}

ordered_json to_json(const Spread& spread) {
  if (spread.count == 0) return nullptr;
  return {{"count", spread.count}, {"min", spread.least}, {"mean", spread.mean()}, {"max", spread.most}};
}

ordered_json to_json(const Comparison& of, const Item& item) {
  ordered_json values = ordered_json::object();
  for (std::size_t i = 0; i < item.values.size(); ++i) values[of.names[i]] = item.values[i];
  ordered_json json = {{"cycle", item.cycle}, {"time", item.time}, {"values", std::move(values)}};
  if (item.latency) json["latency"] = *item.latency;
  return json;
}

ordered_json to_json(const Comparison& of, const std::vector<Item>& items) {
  ordered_json json = ordered_json::array();
  for (const Item& item : items) json.push_back(to_json(of, item));
  return json;
}

std::string spread_text(const Spread& spread) {
  return fmt::format("{} to {}, mean {:.3f}", spread.least, spread.most, spread.mean());
}

}  // namespace

std::string Comparison::text() const {
  const char* const items = signals ? "edges" : "transactions";
  std::string text;
  if (same()) {
    text = fmt::format("same: {} {}\n", std::min(reference_items, subject_items), items);
  } else if (different == 0) {
    text = fmt::format("nothing to compare: no {}\n", items);
  } else {
    text = fmt::format("different: {} of {} {}\n", different, std::max(reference_items, subject_items), items);
  }
  text += fmt::format("  {}: {} {} in {} cycles\n", reference, reference_items, items, reference_cycles);
  text += fmt::format("  {}: {} {} in {} cycles\n", subject, subject_items, items, subject_cycles);
  if (reference_unknown + subject_unknown > 0) {
    text += fmt::format("  edges with an unknown handshake: {} and {}\n", reference_unknown, subject_unknown);
  }
  if (ended_early) {
    const bool second = ended_early->subject;
    text += fmt::format("  {} ends at time {} x {}, {} edges before {}\n", second ? subject : reference,
                        ended_early->time, (second ? subject_timescale : reference_timescale).text(),
                        ended_early->edges, second ? reference : subject);
  }
  if (shift.count > 0) text += "  cycles later than expected: " + spread_text(shift) + "\n";
  if (reference_latency.count > 0) text += "  latency in the first: " + spread_text(reference_latency) + "\n";
  if (subject_latency.count > 0) text += "  latency in the second: " + spread_text(subject_latency) + "\n";
  text += difference_text(*this);
  if (!first) return text;
  text += fmt::format("first divergence, {}: {}\n", first->index, first->what);
  const Shown shows(*this);
  add_context(text, *this, shows, first->expected_context, reference, reference_timescale);
  add_context(text, *this, shows, first->found_context, subject, subject_timescale);
  if (shows.columns.size() < names.size()) {
    text += fmt::format("  {} of {} signals shown: --context-signals {} shows more, --json all\n", shows.columns.size(),
                        names.size(), names.size());
  }
  return text;
}

ordered_json Comparison::json() const {
  const auto file = [](const std::string& name, Timescale timescale, std::uint64_t items, std::uint64_t cycles,
                       std::uint64_t unknown, const Spread& latency) {
    return ordered_json{{"file", name},     {"timescale", timescale.text()}, {"items", items},
                        {"cycles", cycles}, {"unknown_handshakes", unknown}, {"latency", to_json(latency)}};
  };
  ordered_json json = {
      {"same", same()},
      {"compared_as", signals ? "signals" : "transactions"},
      {"different", different},
      {"reference",
       file(reference, reference_timescale, reference_items, reference_cycles, reference_unknown, reference_latency)},
      {"subject", file(subject, subject_timescale, subject_items, subject_cycles, subject_unknown, subject_latency)},
      {"different_signals", ordered_json::object()},
      {"remarks", remarks},
      {"shift", to_json(shift)},
      {"ended_early", nullptr},
      {"first", nullptr}};
  for (const std::size_t i : by_difference(*this)) json["different_signals"][names[i]] = different_of[i];
  if (ended_early) {
    json["ended_early"] = {{"file", ended_early->subject ? subject : reference},
                           {"time", ended_early->time},
                           {"edges", ended_early->edges}};
  }
  if (first) {
    json["first"] = {{"index", first->index},
                     {"what", first->what},
                     {"expected", first->expected ? to_json(*this, *first->expected) : ordered_json(nullptr)},
                     {"found", first->found ? to_json(*this, *first->found) : ordered_json(nullptr)},
                     {"context_from", first->context_from},
                     {"expected_context", to_json(*this, first->expected_context)},
                     {"found_context", to_json(*this, first->found_context)}};
  }
  return json;
}

}  // namespace weft::vcd
