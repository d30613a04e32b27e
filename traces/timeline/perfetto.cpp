// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/io/coded_stream.h>

#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "perfetto.pb.h"
#include "traces/timeline/output.h"
#include "traces/timeline/timeline.h"

namespace weft::traces {
namespace {

using perfetto::InternedText;
using perfetto::TracePacket;
using perfetto::TrackDescriptor;
using perfetto::TrackEvent;

constexpr std::uint32_t kSequence = 1;
constexpr std::uint32_t kCleared = 1;
constexpr std::uint32_t kUsesNames = 2;

/// Annotations of slices, in the order of their numbers, which begin at 1.
enum Annotation : std::uint8_t { kBytes = 1, kRanks, kPeer, kQueued, kOperation, kAnnotations };
constexpr std::array<const char*, kAnnotations - 1> kAnnotationNames = {"bytes", "ranks", "peer", "queued_ns",
                                                                        "operation"};
/// Categories by kind, from 1 on too; the last is the mark of Weft's timelines.
constexpr std::array<const char*, 9> kCategories = {"other", "kernel", "collective", "send",         "receive",
                                                    "load",  "store",  "host",       "Weft timeline"};

void append(std::string& bytes, const TracePacket& packet) {
  std::array<std::uint8_t, 16> head{};
  constexpr std::uint8_t kPacket = 1 << 3 | 2;  // of Trace, with a length
  head[0] = kPacket;
  const std::uint8_t* end = google::protobuf::io::CodedOutputStream::WriteVarint32ToArray(
      static_cast<std::uint32_t>(packet.ByteSizeLong()), head.data() + 1);
  bytes.append(reinterpret_cast<const char*>(head.data()), static_cast<std::size_t>(end - head.data()));
  packet.AppendToString(&bytes);
}

void set(InternedText& text, std::uint64_t number, std::string_view name) {
  text.set_iid(number);
  text.set_name(name.data(), name.size());
}

std::string first_packet() {
  TracePacket packet;
  packet.set_trusted_packet_sequence_id(kSequence);
  packet.set_sequence_flags(kCleared);
  for (std::size_t i = kCategories.size(); i > 0; --i)
    set(*packet.mutable_interned_data()->add_event_categories(), i, kCategories[i - 1]);
  for (std::size_t i = 0; i < kAnnotationNames.size(); ++i)
    set(*packet.mutable_interned_data()->add_debug_annotation_names(), i + 1, kAnnotationNames[i]);
  std::string bytes;
  append(bytes, packet);
  return bytes;
}

class PerfettoTimeline final : public Timeline {
 public:
  explicit PerfettoTimeline(const std::filesystem::path& file) : output_(file) {
    output_.text += perfetto_beginning();
    packet_.set_trusted_packet_sequence_id(kSequence);
    packet_.set_sequence_flags(kUsesNames);
    packet_.mutable_track_event();
  }

  Track track(std::string_view process, std::string_view name) override { return row(process, name, nullptr); }

  Track counter_track(std::string_view process, std::string_view name, std::string_view unit) override {
    return row(process, name, &unit);
  }

  Name name(std::string_view text) override {
    if (text.empty()) return {};
    const auto [entry, is_new] = names_.try_emplace(std::string(text), static_cast<std::uint32_t>(names_.size() + 1));
    if (is_new) {
      TracePacket packet;
      packet.set_trusted_packet_sequence_id(kSequence);
      packet.set_sequence_flags(kUsesNames);
      set(*packet.mutable_interned_data()->add_event_names(), entry->second, text);
      write(packet);
    }
    return {entry->second};
  }

  void slice(Track track, const TimelineSlice& slice) override {
    TrackEvent& event = start(track, slice.start, TrackEvent::TYPE_SLICE_BEGIN);
    event.set_name_iid(slice.name.id);
    if (slice.kind != TimelineKind::kOther) event.add_category_iids(static_cast<std::uint64_t>(slice.kind) + 1);
    if (slice.bytes >= 0) annotate(event, kBytes, slice.bytes);
    if (slice.ranks > 0) annotate(event, kRanks, slice.ranks);
    if (slice.peer >= 0) annotate(event, kPeer, slice.peer);
    if (slice.asked >= 0) annotate(event, kQueued, (slice.start - slice.asked) / kPicosecondsPerNanosecond);
    if (!slice.operation.empty()) {
      auto& annotation = *event.add_debug_annotations();
      annotation.set_name_iid(kOperation);
      annotation.set_string_value(slice.operation.data(), slice.operation.size());
    }
    if (slice.leads != 0) event.add_flow_ids(slice.leads);
    write(packet_);
    // Of a message, the arrow's head is where it has come: its receive may have begun before it was sent.
    TrackEvent& last = start(track, slice.end, TrackEvent::TYPE_SLICE_END);
    if (slice.follows != 0) last.add_flow_ids(slice.follows);
    write(packet_);
  }

  void begin(Track track, Name name, std::int64_t time) override {
    start(track, time, TrackEvent::TYPE_SLICE_BEGIN).set_name_iid(name.id);
    write(packet_);
  }

  void end(Track track, std::int64_t time) override {
    start(track, time, TrackEvent::TYPE_SLICE_END);
    write(packet_);
  }

  void counter(Track track, std::int64_t time, double value) override {
    start(track, time, TrackEvent::TYPE_COUNTER).set_double_counter_value(value);
    write(packet_);
  }

  void close() override { output_.close(); }

 private:
  Track row(std::string_view process, std::string_view name, const std::string_view* unit) {
    const auto [group, is_new_group] = groups_.try_emplace(std::string(process), Group{tracks_ + 1, 0});
    if (is_new_group) describe(++tracks_, process, static_cast<std::int32_t>(groups_.size()), nullptr, nullptr);
    Group& of = group->second;
    const auto [entry, is_new] = rows_.try_emplace({of.id, std::string(name)}, tracks_ + 1);
    if (is_new) describe(++tracks_, name, ++of.rows, &of.id, unit);
    return {entry->second};
  }

  void describe(std::uint32_t id, std::string_view name, std::int32_t rank, const std::uint32_t* parent,
                const std::string_view* unit) {
    TracePacket packet;
    TrackDescriptor& track = *packet.mutable_track_descriptor();
    track.set_uuid(id);
    track.set_name(name.data(), name.size());
    track.set_sibling_order_rank(rank);
    if (parent != nullptr) {
      track.set_parent_uuid(*parent);
    } else {
      track.set_child_ordering(TrackDescriptor::EXPLICIT);
    }
    if (unit != nullptr) track.mutable_counter()->set_unit_name(unit->data(), unit->size());
    write(packet);
  }

  /// The packet that is used for all events, which keeps what they have in common.
  TrackEvent& start(Track track, std::int64_t time, TrackEvent::Type type) {
    packet_.set_timestamp(static_cast<std::uint64_t>(time / kPicosecondsPerNanosecond));
    TrackEvent& event = *packet_.mutable_track_event();
    event.Clear();
    event.set_track_uuid(track.id);
    event.set_type(type);
    return event;
  }

  static void annotate(TrackEvent& event, Annotation which, std::int64_t value) {
    auto& annotation = *event.add_debug_annotations();
    annotation.set_name_iid(which);
    annotation.set_int_value(value);
  }

  void write(const TracePacket& packet) {
    append(output_.text, packet);
    output_.written();
  }

  struct Group {
    std::uint32_t id;
    std::int32_t rows;
  };

  TimelineOutput output_;
  TracePacket packet_;
  std::unordered_map<std::string, std::uint32_t> names_;
  std::unordered_map<std::string, Group> groups_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> rows_;
  std::uint32_t tracks_ = 0;
};

}  // namespace

std::unique_ptr<Timeline> perfetto_timeline(const std::filesystem::path& file) {
  return std::make_unique<PerfettoTimeline>(file);
}

std::string_view perfetto_beginning() {
  static const std::string kBeginning = first_packet();
  return kBeginning;
}

}  // namespace weft::traces
