// SPDX-License-Identifier: Apache-2.0
#include "traces/vcd/compare.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <stdexcept>
#include <unordered_set>

#include "traces/format_error.h"

namespace weft::vcd {
namespace {

bool is_unknown(char bit) {
  return bit == 'x' || bit == 'z';
}

bool agree(const std::string& expected, const std::string& found, Unknowns unknowns) {
  if (expected == found) return true;
  if (unknowns == Unknowns::kExact || expected.size() != found.size()) return false;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == found[i]) continue;
    if (is_unknown(expected[i])) continue;
    if (is_unknown(found[i]) && unknowns == Unknowns::kEither) continue;
    return false;
  }
  return true;
}

enum class Handshake : std::uint8_t { kNone, kDone, kUnknown };

/// Where an interface's signals are among those that are sampled.
struct Places {
  std::size_t valid = 0;
  std::optional<std::size_t> ready;
  std::optional<std::size_t> id;
  std::size_t first = 0;  ///< of data, last and id
  std::size_t end = 0;

  Places(const Interface& interface, std::vector<std::string>& signals) {
    const auto add = [&](const std::string& name) {
      signals.push_back(name);
      return signals.size() - 1;
    };
    valid = add(interface.valid);
    if (!interface.ready.empty()) ready = add(interface.ready);
    first = signals.size();
    for (const std::string& name : interface.data) add(name);
    if (!interface.last.empty()) add(interface.last);
    if (!interface.id.empty()) id = add(interface.id);
    end = signals.size();
  }

  [[nodiscard]] Handshake at(const Sampler& sampler) const {
    const char v = sampler.value(valid).back();
    const char r = ready ? sampler.value(*ready).back() : '1';
    if (v == '1' && r == '1') return Handshake::kDone;
    return v == '0' || r == '0' ? Handshake::kNone : Handshake::kUnknown;
  }
};

/// The items of one file, one after the other.
class Items {
 public:
  Items(const CompareOptions& options, const std::string& file, const std::vector<NameRule>& rules,
        const std::vector<std::string>& at_edges) {
    std::vector<std::string> signals = at_edges;
    if (at_edges.empty()) {
      output_.emplace(options.interface, signals);
      if (options.input) input_.emplace(*options.input, signals);
    }
    edge_signals_ = at_edges.size();
    const auto mapped = [&](const std::string& name) { return name.empty() ? name : map_name(rules, name); };
    std::transform(signals.begin(), signals.end(), signals.begin(), mapped);
    Sampling sampling = options.sampling;
    sampling.clock = mapped(sampling.clock);
    sampling.reset = mapped(sampling.reset);
    sampler_.emplace(file, sampling, signals);
  }

  bool next(Item& item) {
    while (sampler_->next()) {
      item.latency.reset();
      if (!output_) {
        take(item, 0, edge_signals_);
        return true;
      }
      if (input_) note_input();
      const Handshake handshake = output_->at(*sampler_);
      unknown_ += handshake == Handshake::kUnknown ? 1 : 0;
      if (handshake != Handshake::kDone) continue;
      take(item, output_->first, output_->end);
      if (input_) item.latency = take_input();
      return true;
    }
    return false;
  }

  [[nodiscard]] std::uint64_t unknown() const { return unknown_; }
  [[nodiscard]] const Sampler& sampler() const { return *sampler_; }

 private:
  void take(Item& item, std::size_t first, std::size_t end) const {
    item.time = sampler_->time();
    item.cycle = sampler_->cycle();
    item.values.resize(end - first);
    for (std::size_t i = first; i < end; ++i) item.values[i - first].assign(sampler_->value(i));
  }

  /// Of no id where one of the interfaces has none.
  [[nodiscard]] std::string id_of(const Places& places) const {
    return output_->id && input_->id ? std::string(sampler_->value(*places.id)) : std::string();
  }

  void note_input() {
    if (input_->at(*sampler_) == Handshake::kDone) waiting_[id_of(*input_)].push_back(sampler_->cycle());
  }

  std::optional<std::uint64_t> take_input() {
    const auto found = waiting_.find(id_of(*output_));
    if (found == waiting_.end()) return std::nullopt;
    const std::uint64_t latency = sampler_->cycle() - found->second.front();
    found->second.pop_front();
    if (found->second.empty()) waiting_.erase(found);
    return latency;
  }

  std::optional<Places> output_;
  std::optional<Places> input_;
  std::size_t edge_signals_ = 0;
  std::optional<Sampler> sampler_;
  std::map<std::string, std::deque<std::uint64_t>> waiting_;  ///< cycles of inputs, by id
  std::uint64_t unknown_ = 0;
};

void check(const CompareOptions& options) {
  const auto refuse = [](const std::string& text) { throw std::invalid_argument(text); };
  if (options.sampling.clock.empty()) refuse("compare: expected a clock");
  if (!options.signals.empty()) {
    if (!options.interface.valid.empty()) refuse("compare: expected either signals or an interface, not both");
    if (options.tolerance) refuse("compare: expected no tolerance with signals at every edge; an offset moves them");
    return;
  }
  if (options.interface.valid.empty()) refuse("compare: expected the valid of an interface, or signals");
  if (options.packet_times && (options.interface.last.empty() || !options.tolerance)) {
    refuse("compare: expected the last of an interface, and a tolerance, for the times of packets");
  }
  if (options.input && options.input->valid.empty()) refuse("compare: expected the valid of the input interface");
}

/// The reference's signals that patterns choose, without those of equal name.
std::vector<std::string> chosen_signals(const CompareOptions& options) {
  std::vector<std::string> names;
  if (options.signals.empty()) return names;
  std::unordered_set<std::string> taken;
  const Reader reader(options.reference);
  for (const std::string& pattern : options.signals) {
    const std::size_t before = names.size();
    for (const Signal& signal : reader.header().signals) {
      if (signal.kind == SignalKind::kEvent || !matches(pattern, signal.name)) continue;
      if (taken.insert(signal.name).second) names.push_back(signal.name);
    }
    if (names.size() == before) {
      throw traces::FormatError(options.reference, 0, "expected a signal that \"" + pattern + "\" chooses anew");
    }
  }
  return names;
}

class Comparer {
 public:
  explicit Comparer(const CompareOptions& options)
      : options_(options),
        at_edges_(chosen_signals(options)),
        reference_(options, options.reference, {}, at_edges_),
        subject_(options, options.subject, options.rules, at_edges_) {
    result_.signals = !at_edges_.empty();
    result_.names = at_edges_;
    if (at_edges_.empty()) {
      result_.names = options.interface.data;
      if (!options.interface.last.empty()) result_.names.push_back(options.interface.last);
      if (!options.interface.id.empty()) result_.names.push_back(options.interface.id);
    }
    result_.reference = options.reference;
    result_.subject = options.subject;
    result_.reference_timescale = reference_.sampler().reader().header().timescale();
    result_.subject_timescale = subject_.sampler().reader().header().timescale();
  }

  Comparison run() {
    if (result_.signals) skip();
    for (std::uint64_t index = 0;; ++index) {
      Item expected;
      Item found;
      const bool has_expected = reference_.next(expected);
      const bool has_found = subject_.next(found);
      if (!has_expected && !has_found) break;
      result_.reference_items += has_expected ? 1 : 0;
      result_.subject_items += has_found ? 1 : 0;
      const bool last = has_expected && has_found && is_last(expected);
      const bool timed = options_.tolerance && (!options_.packet_times || first_of_packet_ || last);
      first_of_packet_ = last;
      std::string what = has_expected && has_found ? difference(expected, found, timed)
                         : has_expected            ? "missing"
                                                   : "extra";
      if (has_expected && has_found) note(expected, found);
      if (result_.signals && !(has_expected && has_found)) {
        note_end(has_expected);
        if (options_.common_edges) what.clear();
      }
      remember(index, has_expected ? &expected : nullptr, has_found ? &found : nullptr, what);
    }
    result_.reference_unknown = reference_.unknown();
    result_.subject_unknown = subject_.unknown();
    result_.reference_cycles = reference_.sampler().cycles();
    result_.subject_cycles = subject_.sampler().cycles();
    return std::move(result_);
  }

 private:
  void skip() {
    Item item;
    for (std::int64_t i = 0; i < options_.offset && subject_.next(item); ++i) {
    }
    for (std::int64_t i = 0; i > options_.offset && reference_.next(item); --i) {
    }
  }

  [[nodiscard]] bool is_last(const Item& item) const {
    return !options_.interface.last.empty() && item.values[options_.interface.data.size()].back() == '1';
  }

  /// What differs; nothing if they agree.
  [[nodiscard]] std::string difference(const Item& expected, const Item& found, bool timed) const {
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      if (!agree(expected.values[i], found.values[i], options_.unknowns)) return result_.names[i];
    }
    if (!timed) return "";
    if (off(found.cycle, expected.cycle, options_.offset)) return "cycle";
    if (expected.latency.has_value() != found.latency.has_value()) return "latency";
    return expected.latency && off(*found.latency, *expected.latency, 0) ? "latency" : "";
  }

  [[nodiscard]] bool off(std::uint64_t found, std::uint64_t expected, std::int64_t offset) const {
    const auto by = static_cast<std::int64_t>(found) - static_cast<std::int64_t>(expected) - offset;
    return static_cast<std::uint64_t>(std::abs(by)) > *options_.tolerance;
  }

  void note(const Item& expected, const Item& found) {
    if (result_.signals) return;
    result_.shift.add(static_cast<std::int64_t>(found.cycle) - static_cast<std::int64_t>(expected.cycle) -
                      options_.offset);
    if (expected.latency) result_.reference_latency.add(static_cast<std::int64_t>(*expected.latency));
    if (found.latency) result_.subject_latency.add(static_cast<std::int64_t>(*found.latency));
  }

  void note_end(bool subject) {
    if (!result_.ended_early) {
      result_.ended_early = Comparison::End{subject, (subject ? subject_ : reference_).sampler().time(), 0};
    }
    ++result_.ended_early->edges;
  }

  void remember(std::uint64_t index, const Item* expected, const Item* found, const std::string& what) {
    result_.different += what.empty() ? 0 : 1;
    if (result_.first && index > result_.first->index + options_.context) return;
    if (expected != nullptr) recent_expected_.push_back(*expected);
    if (found != nullptr) recent_found_.push_back(*found);
    if (result_.first) {
      if (expected != nullptr) result_.first->expected_context.push_back(*expected);
      if (found != nullptr) result_.first->found_context.push_back(*found);
      return;
    }
    if (!what.empty()) {
      Divergence first;
      first.what = what;
      first.index = index;
      if (expected != nullptr) first.expected = *expected;
      if (found != nullptr) first.found = *found;
      first.context_from = from_;
      first.expected_context.assign(recent_expected_.begin(), recent_expected_.end());
      first.found_context.assign(recent_found_.begin(), recent_found_.end());
      result_.first = std::move(first);
      return;
    }
    if (index + 1 - from_ > options_.context) {
      ++from_;
      if (!recent_expected_.empty()) recent_expected_.pop_front();
      if (!recent_found_.empty()) recent_found_.pop_front();
    }
  }

  const CompareOptions& options_;
  std::vector<std::string> at_edges_;
  Items reference_;
  Items subject_;
  Comparison result_;
  std::deque<Item> recent_expected_;
  std::deque<Item> recent_found_;
  std::uint64_t from_ = 0;  ///< index of the first recent item
  bool first_of_packet_ = true;
};

}  // namespace

std::string map_name(const std::vector<NameRule>& rules, const std::string& name) {
  for (const NameRule& rule : rules) {
    const std::size_t star = rule.from.find('*');
    if (star == std::string::npos) {
      if (rule.from == name) return rule.to;
      continue;
    }
    const std::string_view before = std::string_view(rule.from).substr(0, star);
    const std::string_view after = std::string_view(rule.from).substr(star + 1);
    if (name.size() < before.size() + after.size() || !name.starts_with(before) || !name.ends_with(after)) continue;
    std::string mapped = rule.to;
    const std::size_t to_star = mapped.find('*');
    if (to_star == std::string::npos) return mapped;
    return mapped.replace(to_star, 1, name.substr(before.size(), name.size() - before.size() - after.size()));
  }
  return name;
}

void Spread::add(std::int64_t value) {
  least = count == 0 ? value : std::min(least, value);
  most = count == 0 ? value : std::max(most, value);
  sum += static_cast<double>(value);
  ++count;
}

Comparison compare(const CompareOptions& options) {
  check(options);
  return Comparer(options).run();
}

}  // namespace weft::vcd
