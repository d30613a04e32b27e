// SPDX-License-Identifier: Apache-2.0
#include "traces/timeline/kineto.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <utility>

#include "traces/timeline/output.h"

namespace weft::traces {
namespace {

constexpr std::int64_t kNanosecondsPerMicrosecond = 1000;
/// Of a rank's file: its accelerator, and its host with the only thread that is shown.
constexpr int kDevice = 0;
constexpr int kHost = 1;
constexpr int kThread = 1;
/// Readers take streams from 1 on for an accelerator's.
constexpr int kFirstStream = 1;

std::string microseconds(std::int64_t nanoseconds) {
  return fmt::format("{}.{:03}", nanoseconds / kNanosecondsPerMicrosecond, nanoseconds % kNanosecondsPerMicrosecond);
}

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The number that ends in "accelerator 3" or "end 3"; -1 for other processes.
int rank_of(std::string_view process) {
  for (const std::string_view kind : {"accelerator ", "end "}) {
    if (!process.starts_with(kind)) continue;
    const std::string_view number = process.substr(kind.size());
    int rank = -1;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), rank);
    return read.ptr == number.data() + number.size() ? rank : -1;
  }
  return -1;
}

class KinetoTimeline final : public Timeline {
 public:
  KinetoTimeline(const std::vector<std::filesystem::path>& files, int ranks) {
    for (const std::filesystem::path& file : files) ranks_.push_back(std::make_unique<Rank>(file));
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      ranks_[r]->output.text += fmt::format(
          "{}\"schemaVersion\":1,\"deviceProperties\":[],\"displayTimeUnit\":\"ms\",\"baseTimeNanoseconds\":0,"
          "\"distributedInfo\":{{\"backend\":\"nccl\",\"rank\":{},\"world_size\":{}}},\"traceEvents\":[\n",
          kKinetoBeginning, r, ranks);
      name(*ranks_[r], "process_name", kDevice, 0, fmt::format("rank {}", r));
      name(*ranks_[r], "process_name", kHost, 0, fmt::format("host of rank {}", r));
    }
  }

  Track track(std::string_view process, std::string_view row) override {
    const int rank = rank_of(process);
    if (rank < 0 || rank >= static_cast<int>(ranks_.size())) return {};
    Rank& of = *ranks_[static_cast<std::size_t>(rank)];
    const auto [entry, is_new] = of.rows.try_emplace(std::string(row), static_cast<std::uint32_t>(rows_.size()));
    if (is_new) rows_.push_back({&of, std::string(row), 0, {}});
    return {entry->second};
  }

  Track counter_track(std::string_view /*process*/, std::string_view /*name*/, std::string_view /*unit*/) override {
    return {};
  }

  Name name(std::string_view text) override {
    const auto [entry, is_new] = numbers_.try_emplace(std::string(text), static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.emplace_back(text);
    return {entry->second};
  }

  void slice(Track track, const TimelineSlice& slice) override {
    if (track.id == 0 || slice.kind == TimelineKind::kOther) return;
    Row& row = rows_[track.id];
    const std::string& what = names_[slice.name.id];
    if (slice.kind == TimelineKind::kHost) {
      event(*row.rank, "cpu_op", what, {kHost, kThread}, slice.start, slice.end, "");
      return;
    }
    if (row.stream == 0) {
      row.stream = kFirstStream + row.rank->streams++;
      name(*row.rank, "thread_name", kDevice, row.stream, fmt::format("stream {} {}", row.stream, row.name));
    }
    const std::int64_t correlation = ++row.rank->correlations;
    std::string more = fmt::format("\"device\":{},\"stream\":{},\"correlation\":{}", kDevice, row.stream, correlation);
    if (slice.bytes >= 0) more += fmt::format(",\"bytes\":{}", slice.bytes);
    if (slice.ranks > 0) more += fmt::format(",\"Group size\":{}", slice.ranks);
    if (slice.peer >= 0) more += fmt::format(",\"Peer\":{}", slice.peer);
    const auto [category, kernel] = kernel_of(slice, what);
    if (kernel != what) more += ",\"what\":" + json_text(what);
    if (slice.asked >= 0) {
      const bool copies = slice.kind == TimelineKind::kLoad || slice.kind == TimelineKind::kStore;
      event(*row.rank, "cuda_runtime", copies ? "cudaMemcpyAsync" : "cudaLaunchKernel", {kHost, kThread}, slice.asked,
            slice.asked, fmt::format("\"correlation\":{}", correlation));
    }
    event(*row.rank, category, kernel, {kDevice, row.stream}, slice.start, slice.end, more);
  }

  void begin(Track track, Name name, std::int64_t time) override {
    if (track.id != 0) rows_[track.id].open.emplace_back(name, time);
  }

  void end(Track track, std::int64_t time) override {
    if (track.id == 0) return;
    Row& row = rows_[track.id];
    const auto [name, from] = row.open.back();
    row.open.pop_back();
    std::string what = names_[name.id];
    constexpr std::string_view kStep = "step ";
    if (row.open.empty() && what.starts_with(kStep)) {
      what = "ProfilerStep#" +
             what.substr(kStep.size(), what.find_first_not_of("0123456789", kStep.size()) - kStep.size());
    }
    event(*row.rank, "user_annotation", what, {kHost, kThread}, from, time, "");
  }

  void counter(Track /*track*/, std::int64_t /*time*/, double /*value*/) override {}

  void close() override {
    for (const auto& rank : ranks_) {
      rank->output.text += "\n]}\n";
      rank->output.close();
    }
  }

 private:
  struct Rank {
    explicit Rank(const std::filesystem::path& file) : output(file) {}

    TimelineOutput output;
    bool has_events = false;
    int streams = 0;
    std::int64_t correlations = 0;
    std::map<std::string, std::uint32_t> rows;
  };
  struct Row {
    Rank* rank = nullptr;
    std::string name;
    int stream = 0;  ///< 0: none yet
    std::vector<std::pair<Name, std::int64_t>> open;
  };
  struct Place {
    int process;
    int thread;
  };

  /// The category and name of what runs on the accelerator.
  static std::pair<std::string_view, std::string> kernel_of(const TimelineSlice& slice, const std::string& what) {
    switch (slice.kind) {
      case TimelineKind::kCollective:
        return {"kernel", "ncclDevKernel_" + std::string(slice.operation.empty() ? "Generic" : slice.operation)};
      case TimelineKind::kSend:
      case TimelineKind::kReceive:
        return {"kernel", "ncclDevKernel_SendRecv"};
      case TimelineKind::kLoad:
        return {"gpu_memcpy", "Memcpy HtoD"};
      case TimelineKind::kStore:
        return {"gpu_memcpy", "Memcpy DtoH"};
      default:
        return {"kernel", what};
    }
  }

  static void separate(Rank& rank) {
    if (std::exchange(rank.has_events, true)) rank.output.text += ",\n";
  }

  static void name(Rank& rank, std::string_view what, int process, int thread, const std::string& text) {
    separate(rank);
    fmt::format_to(std::back_inserter(rank.output.text),
                   R"({{"ph":"M","name":"{}","pid":{},"tid":{},"ts":0,"args":{{"name":{}}}}})", what, process, thread,
                   json_text(text));
  }

  static void event(Rank& rank, std::string_view category, std::string_view what, const Place& place,
                    std::int64_t from_ps, std::int64_t to_ps, const std::string& arguments) {
    const std::int64_t from = from_ps / kPicosecondsPerNanosecond;
    separate(rank);
    fmt::format_to(std::back_inserter(rank.output.text),
                   R"({{"ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})", category,
                   json_text(what), place.process, place.thread, microseconds(from),
                   microseconds(to_ps / kPicosecondsPerNanosecond - from), arguments);
    rank.output.written();
  }

  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<Row> rows_ = std::vector<Row>(1);  ///< the first is nobody's
  std::vector<std::string> names_ = {""};
  std::unordered_map<std::string, std::uint32_t> numbers_ = {{"", 0}};
};

}  // namespace

std::unique_ptr<Timeline> kineto_timeline(const std::vector<std::filesystem::path>& files, int ranks) {
  return std::make_unique<KinetoTimeline>(files, ranks);
}

}  // namespace weft::traces
