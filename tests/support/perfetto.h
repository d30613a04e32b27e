// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Reads what trace_processor reads of a Perfetto trace, by the numbers of Perfetto's documentation and without the
/// code that writes it: slices by row with their nesting, flows and counters.
namespace weft::test {

/// A field of a message in protobuf's encoding.
struct WireField {
  std::uint32_t number = 0;
  std::uint64_t value = 0;  ///< of a varint or fixed64
  std::string_view bytes;   ///< of a text or message
};

inline std::uint64_t read_varint(std::string_view& from) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    if (from.empty() || shift > 63) throw std::runtime_error("a number without an end");
    const auto byte = static_cast<unsigned char>(from.front());
    from.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
}

inline std::vector<WireField> wire_fields(std::string_view message) {
  std::vector<WireField> fields;
  while (!message.empty()) {
    const std::uint64_t key = read_varint(message);
    WireField field{static_cast<std::uint32_t>(key >> 3), 0, {}};
    std::size_t length = 0;
    switch (key & 7) {
      case 0:
        field.value = read_varint(message);
        break;
      case 1:
        length = sizeof field.value;
        if (message.size() < length) throw std::runtime_error("a field that is cut short");
        std::memcpy(&field.value, message.data(), length);
        break;
      case 2:
        length = read_varint(message);
        if (message.size() < length) throw std::runtime_error("a field that is cut short");
        field.bytes = message.substr(0, length);
        break;
      default:
        throw std::runtime_error("a wire type that Perfetto's traces do not have");
    }
    message.remove_prefix(length);
    fields.push_back(field);
  }
  return fields;
}

struct PerfettoSlice {
  std::string process;
  std::string row;
  std::string name;
  std::string category;
  std::int64_t from = 0;  ///< ns
  std::int64_t to = -1;   ///< -1: it did not end
  int depth = 0;
  std::string within;  ///< the name of the slice that it is in
  std::map<std::string, std::int64_t> numbers;
  std::map<std::string, std::string> texts;
  std::vector<std::uint64_t> flows;

  [[nodiscard]] std::int64_t length() const { return to - from; }
};

struct PerfettoFlow {
  const PerfettoSlice* from;
  const PerfettoSlice* to;
};

/// Of a file that may be in gzip.
inline std::string read_packed(const std::filesystem::path& file) {
  const gzFile stream = gzopen(file.c_str(), "rb");
  if (stream == nullptr) throw std::runtime_error("no " + file.string());
  std::string bytes;
  std::vector<char> buffer(1 << 16);
  int count = 0;
  while ((count = gzread(stream, buffer.data(), static_cast<unsigned>(buffer.size()))) > 0)
    bytes.append(buffer.data(), static_cast<std::size_t>(count));
  if (gzclose(stream) != Z_OK || count < 0) throw std::runtime_error("a damaged " + file.string());
  return bytes;
}

class PerfettoTrace {
 public:
  /// Throws std::runtime_error for what is no trace.
  explicit PerfettoTrace(const std::string& bytes) {
    for (const WireField& field : wire_fields(bytes)) {
      if (field.number != 1) throw std::runtime_error("something beside packets");
      take_packet(field.bytes);
    }
    // As trace_processor does: by time, and at a time in the order of the file.
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) { return a.at < b.at; });
    for (const Event& event : events_) play(event);
    join_flows();
  }

  [[nodiscard]] const std::vector<PerfettoSlice>& slices() const { return slices_; }
  [[nodiscard]] std::vector<PerfettoSlice> slices(const std::string& process, const std::string& row) const {
    std::vector<PerfettoSlice> some;
    for (const PerfettoSlice& slice : slices_) {
      if (slice.process == process && slice.row == row) some.push_back(slice);
    }
    return some;
  }
  /// Rows that have something, in the order in which they are shown.
  [[nodiscard]] std::vector<std::string> rows(const std::string& process) const {
    std::vector<std::pair<std::int64_t, std::string>> found;
    for (const auto& [id, track] : tracks_) {
      if (track.used && track.parent != 0 && tracks_.at(track.parent).name == process)
        found.emplace_back(track.rank, track.name);
    }
    std::sort(found.begin(), found.end());
    std::vector<std::string> names;
    for (auto& [rank, name] : found) names.push_back(std::move(name));
    return names;
  }
  [[nodiscard]] std::vector<std::string> processes() const {
    std::vector<std::string> names;
    for (const auto& [id, track] : tracks_) {
      if (track.parent == 0) names.push_back(track.name);
    }
    return names;
  }
  /// Pairs of slices that an arrow joins.
  [[nodiscard]] const std::vector<PerfettoFlow>& flows() const { return flows_; }
  /// Counters by "process/row", as time in ns and value.
  using Values = std::vector<std::pair<std::int64_t, double>>;
  [[nodiscard]] const std::map<std::string, Values>& counters() const { return counters_; }
  [[nodiscard]] std::size_t events() const { return events_.size(); }

 private:
  struct Track {
    std::string name;
    std::uint64_t parent = 0;
    std::int64_t rank = 0;
    bool counts = false;
    bool used = false;
    std::vector<std::size_t> open;  ///< slices
  };
  struct Event {
    std::int64_t at = 0;
    std::uint64_t type = 0;
    std::uint64_t track = 0;
    PerfettoSlice slice;
    double value = 0;
  };
  using Texts = std::map<std::uint64_t, std::string>;

  void take_packet(std::string_view packet) {
    std::int64_t at = -1;
    std::uint64_t sequence = 0;
    std::uint64_t flags = 0;
    std::string_view event;
    for (const WireField& field : wire_fields(packet)) {
      if (field.number == 8) at = static_cast<std::int64_t>(field.value);
      if (field.number == 10) sequence = field.value;
      if (field.number == 11) event = field.bytes;
      if (field.number == 12) intern(field.bytes);
      if (field.number == 13) flags = field.value;
      if (field.number == 60) describe(field.bytes);
    }
    if ((flags & 1) != 0) has_state_ = true;
    if (event.empty()) return;
    if (sequence == 0) throw std::runtime_error("an event of no sequence");
    if (at < 0) throw std::runtime_error("an event without a time");
    if ((flags & 2) != 0 && !has_state_) throw std::runtime_error("an event whose names nobody has begun");
    take_event(at, event);
  }

  void intern(std::string_view data) {
    for (const WireField& list : wire_fields(data)) {
      if (list.number < 1 || list.number > 3) continue;
      std::uint64_t id = 0;
      std::string text;
      for (const WireField& field : wire_fields(list.bytes)) {
        if (field.number == 1) id = field.value;
        if (field.number == 2) text = field.bytes;
      }
      texts_[list.number][id] = text;
    }
  }

  void describe(std::string_view descriptor) {
    Track track;
    std::uint64_t id = 0;
    for (const WireField& field : wire_fields(descriptor)) {
      if (field.number == 1) id = field.value;
      if (field.number == 2) track.name = field.bytes;
      if (field.number == 5) track.parent = field.value;
      if (field.number == 8) track.counts = true;
      if (field.number == 12) track.rank = static_cast<std::int64_t>(field.value);
    }
    if (track.parent != 0 && !tracks_.contains(track.parent)) throw std::runtime_error("a row of nobody");
    if (!tracks_.emplace(id, track).second) throw std::runtime_error("a row that is described twice");
  }

  void take_event(std::int64_t at, std::string_view bytes) {
    Event event;
    event.at = at;
    PerfettoSlice& slice = event.slice;
    for (const WireField& field : wire_fields(bytes)) {
      if (field.number == 3) slice.category = texts_[1].at(field.value);
      if (field.number == 4) annotate(slice, field.bytes);
      if (field.number == 9) event.type = field.value;
      if (field.number == 10 && field.value != 0) slice.name = texts_[2].at(field.value);
      if (field.number == 11) event.track = field.value;
      if (field.number == 44) event.value = std::bit_cast<double>(field.value);
      if (field.number == 47) slice.flows.push_back(field.value);
    }
    events_.push_back(std::move(event));
  }

  void annotate(PerfettoSlice& slice, std::string_view bytes) {
    std::string name;
    for (const WireField& field : wire_fields(bytes)) {
      if (field.number == 1) name = texts_[3].at(field.value);
      if (field.number == 4) slice.numbers[name] = static_cast<std::int64_t>(field.value);
      if (field.number == 6) slice.texts[name] = field.bytes;
    }
  }

  void play(const Event& event) {
    constexpr std::uint64_t kBegin = 1;
    constexpr std::uint64_t kEnd = 2;
    constexpr std::uint64_t kCounter = 4;
    Track& track = tracks_.at(event.track);
    track.used = true;
    const std::string process = tracks_.at(track.parent).name;
    if (track.counts != (event.type == kCounter)) throw std::runtime_error("a counter among slices");
    if (event.type == kCounter) {
      counters_[process + "/" + track.name].emplace_back(event.at, event.value);
    } else if (event.type == kBegin) {
      PerfettoSlice slice = event.slice;
      slice.process = process;
      slice.row = track.name;
      slice.from = event.at;
      slice.depth = static_cast<int>(track.open.size());
      if (!track.open.empty()) slice.within = slices_[track.open.back()].name;
      track.open.push_back(slices_.size());
      note_flows(slice.flows, slices_.size());
      slices_.push_back(std::move(slice));
    } else if (event.type == kEnd) {
      if (track.open.empty()) throw std::runtime_error("the end of a slice that has not begun");
      const std::size_t which = track.open.back();
      track.open.pop_back();
      slices_[which].to = event.at;
      note_flows(event.slice.flows, which);
    } else {
      throw std::runtime_error("an event of another type");
    }
  }

  void note_flows(const std::vector<std::uint64_t>& flows, std::size_t slice) {
    for (const std::uint64_t flow : flows) ends_[flow].push_back(slice);
  }

  void join_flows() {
    for (const auto& [flow, ends] : ends_) {
      for (std::size_t i = 1; i < ends.size(); ++i) flows_.push_back({&slices_[ends[i - 1]], &slices_[ends[i]]});
    }
  }

  bool has_state_ = false;
  std::map<std::uint32_t, Texts> texts_;  ///< by the field of InternedData
  std::map<std::uint64_t, Track> tracks_;
  std::vector<Event> events_;
  std::vector<PerfettoSlice> slices_;
  std::map<std::uint64_t, std::vector<std::size_t>> ends_;
  std::vector<PerfettoFlow> flows_;
  std::map<std::string, Values> counters_;
};

}  // namespace weft::test
