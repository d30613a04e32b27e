// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "platforms/config/text.h"
#include "platforms/jobs/job_kind.h"
#include "platforms/results/format.h"
#include "sw/schedules/flows/flows.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;
using schedules::Flow;
using schedules::FlowsConfig;
using schedules::FlowsResult;

std::string name_of_pattern(const FlowsConfig& config) {
  for (const auto& [name, pattern] : enum_names(schedules::FlowPattern{})) {
    if (pattern == config.pattern) return std::string(name);
  }
  return "";
}

/// Of all messages.
struct CompletionTimes {
  std::vector<Time> sorted;
  std::size_t slowest = 0;  ///< the flow with the longest

  explicit CompletionTimes(const FlowsResult& result) {
    Time most;
    for (std::size_t i = 0; i < result.times.size(); ++i) {
      for (const Time time : result.times[i]) {
        sorted.push_back(time);
        if (time > most) slowest = i;
        most = std::max(most, time);
      }
    }
    std::sort(sorted.begin(), sorted.end());
  }
  /// The shortest that is not below so many in a hundred.
  [[nodiscard]] Time percentile(std::size_t percent) const {
    return sorted[(sorted.size() * percent + 99) / 100 - (percent == 0 ? 0 : 1)];
  }
  [[nodiscard]] Time mean() const {
    return Time(std::accumulate(sorted.begin(), sorted.end(), Time()).count() /
                static_cast<std::int64_t>(sorted.size()));
  }
};

class FlowsJob final : public Job {
 public:
  FlowsJob(const Platform& platform, const FlowsConfig& config) : config_(config), seed_(platform.machine().seed) {}

  /// It has no collectives.
  [[nodiscard]] bool follows_algorithm() const override { return false; }
  [[nodiscard]] bool takes_others() const override { return true; }
  void build(Share& share) override {
    share_ = &share;
    flows_ = std::make_unique<schedules::Flows>(share.ranks(), config_, seed_);
  }
  void start() override { flows_->start(); }
  [[nodiscard]] double progress() const override { return flows_->progress(); }
  [[nodiscard]] double received_bytes() const override { return bytes(); }
  [[nodiscard]] std::string title() const override {
    return fmt::format("{} of {} on {}", name_of_pattern(config_),
                       short_bytes(static_cast<double>(config_.bytes.count())), counted(share_->size(), "accelerator"));
  }
  [[nodiscard]] ordered_json workload() const override {
    return {{"kind", "flows"}, {"pattern", name_of_pattern(config_)}, {"bytes", config_.bytes.count()}};
  }
  [[nodiscard]] ordered_json summary() const override {
    const FlowsResult result = flows_->result();
    const CompletionTimes times(result);
    const Flow& slowest = flows_->flows()[times.slowest];
    ordered_json json = {{"flows", result.times.size()},
                         {"messages", times.sorted.size()},
                         {"last_us", to_us(result.last)},
                         {"completion_us",
                          {{"min", to_us(times.sorted.front())},
                           {"mean", to_us(times.mean())},
                           {"median", to_us(times.percentile(50))},
                           {"p99", to_us(times.percentile(99))},
                           {"max", to_us(times.sorted.back())}}},
                         {"slowest", {{"from", slowest.from}, {"to", slowest.to}}},
                         {"goodput_gbps", goodput(result) * 1e-9}};
    json["wrong"] = nullptr;
    if (result.wrong >= 0) json["wrong"] = result.wrong;
    return json;
  }
  [[nodiscard]] std::string text() const override {
    const FlowsResult result = flows_->result();
    const CompletionTimes times(result);
    const Flow& slowest = flows_->flows()[times.slowest];
    std::string text;
    const auto row = [&text](const char* what, const std::string& value) {
      text += fmt::format("{:<24}{:>10}\n", what, value);
    };
    row("flows", std::to_string(result.times.size()));
    row("messages", std::to_string(times.sorted.size()));
    row("last ends", short_time(result.last));
    row("completion, shortest", short_time(times.sorted.front()));
    row("  mean", short_time(times.mean()));
    row("  median", short_time(times.percentile(50)));
    row("  99 of 100", short_time(times.percentile(99)));
    text += fmt::format("{:<24}{:>10}  from rank {} to {}\n", "  longest", short_time(times.sorted.back()),
                        slowest.from, slowest.to);
    const auto [again, timeouts] = repeats();
    if (again > 0) row("packets sent again", std::to_string(again));
    if (timeouts > 0) row("timeouts", std::to_string(timeouts));
    row("all together", fmt::format("{:.1f} Gb/s", goodput(result) * 1e-9));
    if (result.wrong >= 0) row("wrong elements", std::to_string(result.wrong));
    return text;
  }
  [[nodiscard]] std::int64_t wrong() const override { return flows_->result().wrong; }
  [[nodiscard]] std::vector<IdleFields> idle() const override {
    std::vector<IdleFields> idle;
    if (!config_.has_servers()) {
      idle.push_back({"workload.servers", {}, "workload.pattern is " + name_of_pattern(config_), false, {}});
    }
    if (config_.messages == 1) idle.push_back({"workload.every", {}, "workload.messages is 1", false, {}});
    return idle;
  }

 private:
  [[nodiscard]] double bytes() const {
    return static_cast<double>(flows_->flows().size()) * config_.messages * static_cast<double>(config_.bytes.count());
  }
  /// Packets that interfaces of its accelerators have sent again, and their timeouts.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> repeats() const {
    std::int64_t again = 0;
    std::int64_t timeouts = 0;
    const auto add = [&](const nic::AnyNic& nic) {
      again += nic.counters().retransmitted_packets;
      timeouts += nic.counters().timeouts;
    };
    for (const firmware::Rank* rank : share_->ranks()) {
      add(share_->machine().nic(rank->place));
      if (const nic::AnyNic* port = share_->machine().scale_up_port(rank->place)) add(*port);
    }
    return {again, timeouts};
  }
  /// In b/s, of all flows together.
  [[nodiscard]] double goodput(const FlowsResult& result) const {
    return result.last > Time() ? 8 * bytes() / to_seconds(result.last) : 0;
  }

  FlowsConfig config_;
  std::int64_t seed_;
  Share* share_ = nullptr;
  std::unique_ptr<schedules::Flows> flows_;
};

}  // namespace

JobKind flows_job() {
  return job_kind("flows", "Messages between accelerators: the patterns by which networks are compared, and storage.",
                  FlowsConfig(), [](Platform& platform, const FlowsConfig& config) {
                    return std::make_unique<FlowsJob>(platform, config);
                  });
}

}  // namespace weft::platforms
