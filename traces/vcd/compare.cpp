// SPDX-License-Identifier: Apache-2.0
#include "traces/vcd/compare.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <map>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "traces/files/format_error.h"
#include "traces/nearest_names.h"
#include "traces/vcd/names.h"

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
  std::optional<std::size_t> last;
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
    if (!interface.last.empty()) last = add(interface.last);
    if (!interface.id.empty()) id = add(interface.id);
    end = signals.size();
  }

  void check(const Sampler& sampler) const {
    sampler.require_bit(valid, "valid");
    if (ready) sampler.require_bit(*ready, "ready");
    if (last) sampler.require_bit(*last, "last");
  }

  [[nodiscard]] Handshake at(const Sampler& sampler) const {
    const char v = sampler.bit(valid);
    const char r = ready ? sampler.bit(*ready) : '1';
    if (v == '1' && r == '1') return Handshake::kDone;
    return v == '0' || r == '0' ? Handshake::kNone : Handshake::kUnknown;
  }
};

/// Which signals are followed, in both files by the same index.
struct Followed {
  std::vector<std::string> names;
  std::optional<Places> output;
  std::optional<Places> input;
  std::size_t first = 0;  ///< of those that are compared
  std::size_t end = 0;

  Followed(const CompareOptions& options, const std::vector<std::string>& at_edges) : names(at_edges) {
    end = names.size();
    if (!at_edges.empty()) return;
    output.emplace(options.interface, names);
    first = output->first;
    end = output->end;
    if (options.input) input.emplace(*options.input, names);
  }
};

/// The items of one file, one after the other.
class Items {
 public:
  Items(Reader reader, const Sampling& sampling, const Followed& followed, const std::vector<std::string>& names)
      : followed_(followed), sampler_(std::move(reader), sampling, names) {
    for (const std::optional<Places>& places : {followed.output, followed.input}) {
      if (places) places->check(sampler_);
    }
  }

  bool next(Item& item) {
    while (sampler_.next()) {
      item.latency.reset();
      if (!followed_.output) {
        take(item, 0, followed_.end);
        return true;
      }
      if (followed_.input) note_input();
      const Handshake handshake = followed_.output->at(sampler_);
      unknown_ += handshake == Handshake::kUnknown ? 1 : 0;
      if (handshake != Handshake::kDone) continue;
      take(item, followed_.first, followed_.end);
      if (followed_.input) item.latency = take_input();
      return true;
    }
    return false;
  }

  [[nodiscard]] std::uint64_t unknown() const { return unknown_; }
  [[nodiscard]] const Sampler& sampler() const { return sampler_; }

 private:
  void take(Item& item, std::size_t first, std::size_t end) const {
    item.time = sampler_.time();
    item.cycle = sampler_.cycle();
    item.values.resize(end - first);
    for (std::size_t i = first; i < end; ++i) item.values[i - first].assign(sampler_.value(i));
  }

  /// Of no id where one of the interfaces has none.
  [[nodiscard]] std::string id_of(const Places& places) const {
    return followed_.output->id && followed_.input->id ? std::string(sampler_.value(*places.id)) : std::string();
  }

  void note_input() {
    if (followed_.input->at(sampler_) == Handshake::kDone)
      waiting_[id_of(*followed_.input)].push_back(sampler_.cycle());
  }

  std::optional<std::uint64_t> take_input() {
    const auto found = waiting_.find(id_of(*followed_.output));
    if (found == waiting_.end()) return std::nullopt;
    const std::uint64_t latency = sampler_.cycle() - found->second.front();
    found->second.pop_front();
    if (found->second.empty()) waiting_.erase(found);
    return latency;
  }

  const Followed& followed_;
  Sampler sampler_;
  std::map<std::string, std::deque<std::uint64_t>> waiting_;  ///< cycles of inputs, by id
  std::uint64_t unknown_ = 0;
};

void check(const CompareOptions& options) {
  const auto refuse = [](const std::string& text) { throw std::invalid_argument(text); };
  if (options.sampling.clock.empty()) refuse("compare: expected a clock");
  if (options.reference == "-" && options.subject == "-") {
    refuse("compare: expected standard input for one of the files at the most");
  }
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

/// For a pattern of all that a scope has: which scopes there are.
std::string scopes_like(const std::string& pattern, const Reader& file) {
  if (!pattern.ends_with(".*")) return "";
  traces::NearestNames nearest(pattern);
  for (const Signal& signal : file.header().signals) {
    nearest.look_at(signal.name.substr(0, signal.name.rfind('.') + 1) + '*');
  }
  return nearest.question();
}

/// The reference's signals that patterns choose, each once.
std::vector<std::string> chosen_signals(const CompareOptions& options, const Reader& reference, const Names& known) {
  std::vector<std::string> chosen;
  std::unordered_set<std::string> taken;
  for (const std::string& pattern : options.signals) {
    const std::size_t before = chosen.size();
    for (const Signal& signal : reference.header().signals) {
      if (!Names::has_values(signal)) continue;
      if (!matches(pattern, signal.name) && !matches(pattern, signal.name + signal.range)) continue;
      std::string name = known.name_of(signal);
      if (taken.insert(name).second) chosen.push_back(std::move(name));
    }
    if (chosen.size() > before) continue;
    // Bits of a signal, or one of several of a name; or it says what there is.
    const bool is_name = pattern.find('*') == std::string::npos;
    if (is_name && known.get(pattern).signal != nullptr && taken.insert(pattern).second) {
      chosen.push_back(pattern);
    } else {
      throw traces::FormatError(
          options.reference, 0,
          "expected a signal that \"" + pattern + "\" names and nothing before it" + scopes_like(pattern, reference));
    }
  }
  return chosen;
}

bool is_in_bits(const Selection& selection) {
  const auto& parts = selection.signal->parts;
  return selection.all && !parts.empty() &&
         std::all_of(parts.begin(), parts.end(), [](const Signal::Part& part) { return part.width == 1; });
}

BitRange selected_range(const Selection& selection) {
  const int width = selection.signal->width;
  return parse_range(selection.signal->range).value_or(BitRange{width - 1, 0});
}

/// The names of what is followed, in each file. A vector that is there bit by bit does not say for certain which of its
/// ends is the left one: the other file does, whatever numbers it has.
class Aligned {
 public:
  Aligned(const CompareOptions& options, const Followed& followed, const Names& reference, const Names& subject)
      : names_{followed.names, followed.names}, samplings_{options.sampling, options.sampling} {
    const auto mapped = [&](const std::string& name) { return name.empty() ? name : map_name(options.rules, name); };
    std::transform(names_[1].begin(), names_[1].end(), names_[1].begin(), mapped);
    samplings_[1].clock = mapped(samplings_[1].clock);
    samplings_[1].reset = mapped(samplings_[1].reset);
    for (const bool second : {false, true}) {
      const Names& known = second ? subject : reference;
      static_cast<void>(known.get(samplings_[second ? 1 : 0].clock));
      if (const std::string& reset = samplings_[second ? 1 : 0].reset; !reset.empty())
        static_cast<void>(known.get(reset));
    }
    std::vector<Selection> expected;
    for (const std::string& name : names_[0]) expected.push_back(reference.get(name));
    for (std::size_t i = 0; i < names_[1].size(); ++i) {
      const Selection found = subject.get(names_[1][i]);
      align(i, expected[i], found);
      const bool is_compared = followed.output && i >= followed.first && i < followed.end;
      if (is_compared) check_width(options, i, expected[i], found);
    }
  }

  [[nodiscard]] const std::vector<std::string>& names(bool subject) const { return names_[subject ? 1 : 0]; }
  /// What is looked for in the reference.
  [[nodiscard]] std::vector<std::string> all_names() const {
    std::vector<std::string> all = names_[0];
    all.push_back(samplings_[0].clock);
    if (!samplings_[0].reset.empty()) all.push_back(samplings_[0].reset);
    return all;
  }
  [[nodiscard]] const Sampling& sampling(bool subject) const { return samplings_[subject ? 1 : 0]; }

 private:
  void align(std::size_t i, const Selection& expected, const Selection& found) {
    if (!expected.all || !found.all || !(is_in_bits(expected) || is_in_bits(found))) return;
    const BitRange a = selected_range(expected);
    const BitRange b = selected_range(found);
    if (a.width() != b.width() || a.falls() == b.falls()) return;
    const auto turned = [](const BitRange& range) { return BitRange{range.right, range.left}.text(); };
    if (is_in_bits(found)) {
      names_[1][i] += turned(b);
    } else {
      names_[0][i] += turned(a);
    }
  }

  void check_width(const CompareOptions& options, std::size_t i, const Selection& expected,
                   const Selection& found) const {
    if (expected.signal->kind != SignalKind::kBits || found.signal->kind != SignalKind::kBits) return;
    if (expected.length == found.length) return;
    const BitRange a = selected_range(expected);
    const BitRange b = selected_range(found);
    const BitRange common{std::min(a.high(), b.high()), std::max(a.low(), b.low())};
    const std::string& name = names_[0][i];
    const bool helps = expected.all && found.all && common.left >= common.right && !name.ends_with(']');
    std::string hint;
    for (const Selection* const each : {&expected, &found}) {
      const Signal& signal = *each->signal;
      const std::optional<BitRange> range = parse_range(signal.range);
      if (!hint.empty() || !range || range->width() == signal.width) continue;
      hint = ": the $var of " + signal.name + " in " + (each == &expected ? options.reference : options.subject) +
             " has a width of " + std::to_string(signal.width) + " and the range " + signal.range;
    }
    if (hint.empty() && helps) {
      hint = ": both have \"" + name + (a.falls() ? common : BitRange{common.right, common.left}).text() + '"';
    }
    throw traces::FormatError(options.subject, 0,
                              "expected " + std::to_string(expected.length) + " bits of \"" + names_[1][i] +
                                  "\", as \"" + name + "\" has in " + options.reference + ", got " +
                                  std::to_string(found.length) + hint);
  }

  std::array<std::vector<std::string>, 2> names_;
  std::array<Sampling, 2> samplings_;
};

class Comparer {
 public:
  Comparer(const CompareOptions& options, const std::vector<std::string>& at_edges, const Followed& followed,
           const Aligned& aligned, Reader reference, Reader subject)
      : options_(options),
        reference_(std::move(reference), aligned.sampling(false), followed, aligned.names(false)),
        subject_(std::move(subject), aligned.sampling(true), followed, aligned.names(true)) {
    result_.signals = !at_edges.empty();
    result_.names = at_edges;
    if (at_edges.empty()) {
      result_.names = options.interface.data;
      if (!options.interface.last.empty()) result_.names.push_back(options.interface.last);
      if (!options.interface.id.empty()) result_.names.push_back(options.interface.id);
    }
    result_.different_of.resize(result_.names.size());
    result_.context_signals = options.context_signals;
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
    for (const Items* const items : {&reference_, &subject_}) {
      for (std::string& remark : items->sampler().reader().remarks()) result_.remarks.push_back(std::move(remark));
      if (options_.reference == options_.subject) break;
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
  std::string difference(const Item& expected, const Item& found, bool timed) {
    differing_.clear();
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      if (agree(expected.values[i], found.values[i], options_.unknowns)) continue;
      differing_.push_back(i);
      ++result_.different_of[i];
    }
    if (!differing_.empty()) return result_.names[differing_.front()];
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
      if (expected != nullptr && found != nullptr) first.signals = differing_;
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
  Items reference_;
  Items subject_;
  Comparison result_;
  std::deque<Item> recent_expected_;
  std::deque<Item> recent_found_;
  std::uint64_t from_ = 0;  ///< index of the first recent item
  bool first_of_packet_ = true;
  std::vector<std::size_t> differing_;  ///< of the names, at the current items
};

}  // namespace

void Spread::add(std::int64_t value) {
  least = count == 0 ? value : std::min(least, value);
  most = count == 0 ? value : std::max(most, value);
  sum += static_cast<double>(value);
  ++count;
}

Comparison compare(const CompareOptions& options) {
  check(options);
  Reader reference(options.reference);
  Reader subject(options.subject);
  const Names reference_names(reference.header(), reference.file());
  const Names subject_names(subject.header(), subject.file());
  const std::vector<std::string> at_edges = chosen_signals(options, reference, reference_names);
  const Followed followed(options, at_edges);
  const Aligned aligned(options, followed, reference_names, subject_names);
  Comparison result = Comparer(options, at_edges, followed, aligned, std::move(reference), std::move(subject)).run();
  for (std::string& remark : remarks_of_idle(options.rules, aligned.all_names())) {
    result.remarks.push_back(std::move(remark));
  }
  return result;
}

}  // namespace weft::vcd
