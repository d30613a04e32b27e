// SPDX-License-Identifier: Apache-2.0
// A comparison for people and for programs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "traces/vcd/compare.h"

namespace weft::vcd {
namespace {

using nlohmann::ordered_json;

/// Wide values as hexadecimal where all of their bits are known.
std::string shown(const std::string& value) {
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

std::string short_name(const std::string& name) {
  return name.substr(name.rfind('.') + 1);
}

std::string line(const Comparison& of, const Item& item, Timescale timescale) {
  std::string text = fmt::format("cycle {}, time {} x {}", item.cycle, item.time, timescale.text());
  for (std::size_t i = 0; i < item.values.size(); ++i) {
    text += fmt::format(", {} {}", short_name(of.names[i]), shown(item.values[i]));
  }
  if (item.latency) text += fmt::format(", latency {}", *item.latency);
  return text;
}

void add_context(std::string& text, const Comparison& of, const std::vector<Item>& items, const std::string& file,
                 Timescale timescale) {
  text += "  " + file + "\n";
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::uint64_t index = of.first->context_from + i;
    text += fmt::format("  {} {:>6}  {}\n", index == of.first->index ? '>' : ' ', index, line(of, items[i], timescale));
  }
  if (items.size() <= of.first->index - of.first->context_from) text += "  >         nothing more\n";
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
  if (!first) return text;
  text += fmt::format("first divergence, {}: {}\n", first->index, first->what);
  add_context(text, *this, first->expected_context, reference, reference_timescale);
  add_context(text, *this, first->found_context, subject, subject_timescale);
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
      {"shift", to_json(shift)},
      {"ended_early", nullptr},
      {"first", nullptr}};
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
