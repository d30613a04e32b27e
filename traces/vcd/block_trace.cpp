// SPDX-License-Identifier: Apache-2.0
#include "traces/vcd/block_trace.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

#include "traces/files/format_error.h"
#include "traces/vcd/names.h"

namespace weft::vcd {
namespace {

using Member = std::string StreamNames::*;
constexpr std::array<std::pair<std::string_view, Member>, 7> kMembers = {{{"valid", &StreamNames::valid},
                                                                          {"ready", &StreamNames::ready},
                                                                          {"data", &StreamNames::data},
                                                                          {"last", &StreamNames::last},
                                                                          {"id", &StreamNames::id},
                                                                          {"adds", &StreamNames::adds},
                                                                          {"kind", &StreamNames::kind}}};

StreamNames parse_pairs(const std::string& text) {
  StreamNames names;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const std::string pair = text.substr(from, comma - from);
    const std::size_t equals = pair.find('=');
    const auto* known = kMembers.begin();
    while (known != kMembers.end() && known->first != pair.substr(0, equals)) ++known;
    if (known == kMembers.end() || equals == std::string::npos || equals + 1 == pair.size()) {
      throw std::invalid_argument(
          "expected valid, ready, data, last, id, adds or kind, each as KEY=SIGNAL with commas between them, or what "
          "the names of all signals begin with, got \"" +
          pair + "\"");
    }
    names.*known->second = pair.substr(equals + 1);
    from = comma + 1;
  }
  if (names.valid.empty()) throw std::invalid_argument("expected valid=SIGNAL among \"" + text + "\"");
  return names;
}

/// Bits of part `index` of `count` of a vector, by the numbers of its declaration.
std::string part_of(const std::string& name, const Signal& signal, std::size_t index, std::size_t count,
                    const std::string& file) {
  const auto width = static_cast<std::size_t>(signal.width);
  if (width % count != 0) {
    throw traces::FormatError(file, 0,
                              fmt::format("expected {} with a whole number of bits for each of {} interfaces, got {}",
                                          signal.name, count, width));
  }
  const auto each = static_cast<int>(width / count);
  const BitRange range = range_of(signal);
  const int step = range.falls() ? 1 : -1;
  const int low = range.right + step * each * static_cast<int>(index);
  return each == 1 ? fmt::format("{}[{}]", name, low) : fmt::format("{}[{}:{}]", name, low + step * (each - 1), low);
}

/// The beats of one interface as its edges come.
class Port {
 public:
  Port(const StreamNames& names, std::vector<std::string>& signals) {
    const auto add = [&](const std::string& name) -> std::optional<std::size_t> {
      if (name.empty()) return std::nullopt;
      signals.push_back(name);
      return signals.size() - 1;
    };
    valid_ = *add(names.valid);
    ready_ = add(names.ready);
    data_ = add(names.data);
    last_ = add(names.last);
    id_ = add(names.id);
    adds_ = add(names.adds);
    kind_ = add(names.kind);
  }

  void check(const Sampler& sampler) const {
    sampler.require_bit(valid_, "valid");
    for (const auto& [signal, what] :
         {std::pair(ready_, "ready"), std::pair(last_, "last"), std::pair(adds_, "adds")}) {
      if (signal) sampler.require_bit(*signal, what);
    }
  }
  [[nodiscard]] bool ready(const Sampler& sampler) const { return !ready_ || sampler.bit(*ready_) == '1'; }
  [[nodiscard]] std::size_t data_bits(const Sampler& sampler) const { return data_ ? sampler.value(*data_).size() : 0; }

  void look(const Sampler& sampler, bool with_data, std::vector<Beat>& beats) {
    const bool valid = sampler.bit(valid_) == '1';
    if (!valid) offered_.reset();
    if (!valid) return;
    if (!offered_) offered_ = sampler.cycle();
    if (!ready(sampler)) return;
    const auto text = [&](const std::optional<std::size_t>& signal) {
      return signal ? std::string(sampler.value(*signal)) : std::string();
    };
    Beat beat;
    beat.offered = *offered_;
    beat.taken = sampler.cycle();
    beat.time = sampler.time();
    if (last_) beat.last = sampler.bit(*last_) == '1';
    if (adds_) beat.adds = sampler.bit(*adds_) == '1';
    beat.id = text(id_);
    beat.kind = text(kind_);
    if (with_data) beat.data = text(data_);
    beats.push_back(std::move(beat));
    offered_.reset();
  }

 private:
  std::size_t valid_ = 0;
  std::optional<std::size_t> ready_;
  std::optional<std::size_t> data_;
  std::optional<std::size_t> last_;
  std::optional<std::size_t> id_;
  std::optional<std::size_t> adds_;
  std::optional<std::size_t> kind_;
  std::optional<std::uint64_t> offered_;
};

}  // namespace

StreamNames parse_stream(const std::string& text, const Reader& file) {
  if (text.find('=') != std::string::npos) return parse_pairs(text);
  const Names known(file.header(), file.file());
  StreamNames whole;
  for (const auto& [name, member] : kMembers) {
    const std::string full = text + std::string(name);
    if (known.find(full)) whole.*member = full;
  }
  if (whole.valid.empty()) static_cast<void>(known.get(text + "valid"));  // says what there is
  return whole;
}

std::vector<StreamNames> split_stream(const StreamNames& whole, std::size_t split, const Reader& file) {
  if (split <= 1) return {whole};
  const Names known(file.header(), file.file());
  std::vector<StreamNames> parts(split);
  for (const auto& [name, member] : kMembers) {
    if ((whole.*member).empty()) continue;
    const Signal& signal = *known.get(whole.*member).signal;
    for (std::size_t i = 0; i < split; ++i) {
      parts[i].*member = part_of(known.name_of(signal), signal, i, split, file.file());
    }
  }
  return parts;
}

std::vector<StreamNames> parse_streams(const std::string& text, std::size_t split, const Reader& file) {
  return split_stream(parse_stream(text, file), split, file);
}

StreamNames map_names(const std::vector<NameRule>& rules, StreamNames names) {
  for (const auto& [name, member] : kMembers) {
    if (!(names.*member).empty()) names.*member = map_name(rules, names.*member);
  }
  return names;
}

std::vector<std::string> all_names(const StreamNames& names) {
  std::vector<std::string> all;
  for (const auto& [name, member] : kMembers) {
    if (!(names.*member).empty()) all.push_back(names.*member);
  }
  return all;
}

BlockTrace read_block(Reader reader, const Sampling& sampling, const std::vector<StreamNames>& inputs,
                      const StreamNames* output, bool with_data) {
  std::vector<std::string> signals;
  std::vector<Port> ports;
  for (const StreamNames& names : inputs) ports.emplace_back(names, signals);
  std::optional<Port> out;
  if (output != nullptr) out.emplace(*output, signals);
  Sampler sampler(std::move(reader), sampling, signals);
  for (const Port& port : ports) port.check(sampler);
  if (out) out->check(sampler);
  BlockTrace trace;
  trace.file = sampler.reader().file();
  trace.inputs.resize(inputs.size());
  trace.timescale = sampler.reader().header().timescale();
  std::uint64_t before = 0;
  std::uint64_t shortest = UINT64_MAX;
  double sum = 0;
  std::uint64_t count = 0;
  while (sampler.next()) {
    if (sampler.cycle() == 0 && !ports.empty()) trace.data_bits = ports.front().data_bits(sampler);
    if (sampler.cycle() > 0) {
      // A clock that stands still now and then, or a reset, leaves longer steps. A period that is no whole number of
      // the unit has steps of two lengths.
      const std::uint64_t step = sampler.time() - before;
      if (step + 1 < shortest) {
        sum = 0;
        count = 0;
      }
      shortest = std::min(shortest, step);
      if (step <= shortest + 1) {
        sum += static_cast<double>(step);
        ++count;
      }
    }
    before = sampler.time();
    for (std::size_t i = 0; i < ports.size(); ++i) ports[i].look(sampler, with_data, trace.inputs[i]);
    if (!out) continue;
    trace.ready.push_back(out->ready(sampler));
    out->look(sampler, with_data, trace.output);
  }
  if (count > 0) trace.period = sum / static_cast<double>(count);
  trace.remarks = sampler.reader().remarks();
  return trace;
}

}  // namespace weft::vcd
