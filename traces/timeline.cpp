// SPDX-License-Identifier: Apache-2.0
#include "traces/timeline.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/files/gzip_file.h"

namespace weft::traces {
namespace {

constexpr std::uint64_t kPicosecondsPerMicrosecond = 1'000'000;

std::string json_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      escaped += '\\';
      escaped += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      escaped += "\\u00";
      escaped += kDigits[static_cast<unsigned char>(c) >> 4];
      escaped += kDigits[static_cast<unsigned char>(c) & 15];
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace

class Timeline::Writer {
 public:
  explicit Writer(const std::filesystem::path& file) : file_(file) {
    buffer_.reserve(kBuffer + kSlack);
    names_.emplace_back();
    name_ids_.emplace("", 0);
    tracks_.emplace_back();
    text("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
  }

  Name name(std::string_view text) {
    const auto [entry, is_new] = name_ids_.try_emplace(std::string(text), static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(json_escaped(text));
    return {entry->second};
  }

  Track track(std::string_view process, std::string_view thread) {
    const std::uint32_t process_name = name(process).id;
    const std::uint32_t thread_name = name(thread).id;
    const auto [entry, is_new] =
        track_ids_.try_emplace({process_name, thread_name}, static_cast<std::uint32_t>(tracks_.size()));
    if (!is_new) return {entry->second};
    const auto next_process = static_cast<std::uint32_t>(threads_of_process_.size() + 1);
    const auto [known, is_new_process] = process_ids_.try_emplace(process_name, next_process);
    const std::uint32_t pid = known->second;
    if (is_new_process) {
      threads_of_process_.push_back(0);
      describe({pid, 0, 0}, "process", names_[process_name]);
    }
    const std::uint32_t tid = ++threads_of_process_[pid - 1];
    tracks_.push_back({pid, tid, thread_name});
    describe(tracks_.back(), "thread", names_[thread_name]);
    return {entry->second};
  }

  /// {"ph":"X","pid":1,"tid":2,"name":"..."   and the category if there is one
  void begin(char phase, Track track, Name name, Name category = {}) {
    begin(phase, tracks_[track.id]);
    text(",\"name\":\"");
    text(names_[name.id]);
    text("\"");
    if (category.id == 0) return;
    text(",\"cat\":\"");
    text(names_[category.id]);
    text("\"");
  }

  void begin_counter(Track track, Name name) {
    const Thread& thread = tracks_[track.id];
    begin('C', thread);
    // The viewers tell the counters of a process apart by their names alone.
    text(",\"name\":\"");
    text(names_[thread.name]);
    if (thread.name != 0) text(" ");
    text(names_[name.id]);
    text("\"");
  }

  void time(std::string_view key, std::int64_t picoseconds) {
    text(key);
    auto magnitude = static_cast<std::uint64_t>(picoseconds);
    if (picoseconds < 0) {
      text("-");
      magnitude = -magnitude;
    }
    number(magnitude / kPicosecondsPerMicrosecond);
    std::uint64_t fraction = magnitude % kPicosecondsPerMicrosecond;
    if (fraction == 0) return;
    std::array<char, 7> digits{'.'};
    std::size_t used = 1;
    for (std::size_t i = 6; i > 0; --i, fraction /= 10) {
      digits[i] = static_cast<char>('0' + fraction % 10);
      if (used == 1 && digits[i] != '0') used = i + 1;
    }
    text({digits.data(), used});
  }

  void argument(Argument argument) {
    if (argument.name.id == 0) return;
    text(",\"args\":{\"");
    text(names_[argument.name.id]);
    text("\":");
    number(argument.value);
    text("}");
  }

  template <typename Integer>
  void number(Integer value) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    text({digits.data(), static_cast<std::size_t>(end - digits.data())});
  }

  void text(std::string_view text) { buffer_ += text; }

  void end() {
    text("}");
    if (buffer_.size() >= kBuffer) flush();
  }

  std::uint64_t next_flow() { return ++flows_; }

  void close() {
    text("\n]}\n");
    flush();
    file_.close();
  }

 private:
  static constexpr std::size_t kBuffer = 64 << 10;
  static constexpr std::size_t kSlack = 1 << 10;

  struct Thread {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint32_t name = 0;
  };

  void begin(char phase, const Thread& thread) {
    text(first_ ? "\n{\"ph\":\"" : ",\n{\"ph\":\"");
    first_ = false;
    buffer_ += phase;
    text("\",\"pid\":");
    number(thread.pid);
    text(",\"tid\":");
    number(thread.tid);
  }

  /// Names a process or thread and keeps it in the order of registration.
  void describe(const Thread& thread, std::string_view what, std::string_view title) {
    begin('M', thread);
    text(",\"name\":\"");
    text(what);
    text("_name\",\"args\":{\"name\":\"");
    text(title);
    text("\"}");
    end();
    begin('M', thread);
    text(",\"name\":\"");
    text(what);
    text("_sort_index\",\"args\":{\"sort_index\":");
    number(thread.tid == 0 ? thread.pid : thread.tid);
    text("}");
    end();
  }

  void flush() {
    file_.write(buffer_);
    buffer_.clear();
  }

  GzipFile file_;
  std::string buffer_;
  bool first_ = true;
  std::uint64_t flows_ = 0;
  std::vector<std::string> names_;  // escaped for JSON
  std::unordered_map<std::string, std::uint32_t> name_ids_;
  std::vector<Thread> tracks_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> track_ids_;
  std::unordered_map<std::uint32_t, std::uint32_t> process_ids_;
  std::vector<std::uint32_t> threads_of_process_;
};

Timeline::Timeline() = default;
Timeline::Timeline(const std::filesystem::path& file) : writer_(std::make_unique<Writer>(file)) {}
Timeline::~Timeline() = default;
Timeline::Timeline(Timeline&&) noexcept = default;
Timeline& Timeline::operator=(Timeline&&) noexcept = default;

Timeline::Track Timeline::track(std::string_view process, std::string_view thread) {
  return writer_ != nullptr ? writer_->track(process, thread) : Track{};
}

Timeline::Name Timeline::name(std::string_view text) {
  return writer_ != nullptr ? writer_->name(text) : Name{};
}

void Timeline::write_slice(Track track, Name name, std::int64_t start, std::int64_t end, Name category,
                           Argument argument) {
  writer_->begin('X', track, name, category);
  writer_->time(",\"ts\":", start);
  writer_->time(",\"dur\":", end - start);
  writer_->argument(argument);
  writer_->end();
}

void Timeline::write_instant(Track track, Name name, std::int64_t time, Name category, Argument argument) {
  writer_->begin('i', track, name, category);
  writer_->text(",\"s\":\"t\"");  // drawn on its thread only
  writer_->time(",\"ts\":", time);
  writer_->argument(argument);
  writer_->end();
}

void Timeline::write_counter(Track track, Name name, std::int64_t time, std::int64_t value) {
  writer_->begin_counter(track, name);
  writer_->time(",\"ts\":", time);
  writer_->text(",\"args\":{\"value\":");
  writer_->number(value);
  writer_->text("}");
  writer_->end();
}

Timeline::Flow Timeline::write_flow_begin(Track track, Name name, std::int64_t time) {
  const Flow flow{writer_->next_flow()};
  writer_->begin('s', track, name);
  writer_->time(",\"cat\":\"flow\",\"ts\":", time);
  writer_->text(",\"id\":");
  writer_->number(flow.id);
  writer_->end();
  return flow;
}

void Timeline::write_flow_end(Flow flow, Track track, Name name, std::int64_t time) {
  writer_->begin('f', track, name);
  // Without "bp":"e" the arrow would end at the next slice instead of the enclosing one.
  writer_->time(",\"cat\":\"flow\",\"bp\":\"e\",\"ts\":", time);
  writer_->text(",\"id\":");
  writer_->number(flow.id);
  writer_->end();
}

void Timeline::close() {
  if (writer_ == nullptr) return;
  // Whether it succeeds or not, there is nothing to record to afterwards.
  const std::unique_ptr<Writer> writer = std::move(writer_);
  writer->close();
}

}  // namespace weft::traces
