// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

#include "platforms/config/text.h"
#include "platforms/jobs/job_kind.h"
#include "platforms/jobs/kernel_digest.h"
#include "platforms/jobs/several/apart.h"
#include "platforms/jobs/several/places.h"
#include "platforms/results/format.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

struct JobsConfig {
  Spot placement = Spot::kPacked;
  bool alone = true;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("placement", placement, "Which of the free accelerators a job gets that does not say so itself");
    visit(
        "alone", alone,
        "Each job is simulated without the others as well, to tell by how much they slow it down; in a process of its "
        "own, beside the run");
  }
};

/// An element of `jobs`, beside its workload.
struct JobConfig {
  std::string name;
  int accelerators = 0;
  std::vector<int> places;
  Spot placement = Spot::kPacked;
  Time start;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("name", name, "");
    visit("accelerators", accelerators, "", Range{0, 1 << 20});
    visit("places", places, "", Range{0, (1 << 20) - 1});
    visit("placement", placement, "");
    visit("start", start, "", Range{0, 1'000'000'000'000'000});
  }
};

const char* const kWorkload = "workload";

std::vector<WorkloadMember> members_of_jobs() {
  const ordered_json text = {{"type", "string"}};
  ordered_json spots = ordered_json::array();
  for (const auto& [name, spot] : enum_names(Spot{})) spots.push_back(name);
  const ordered_json job = {{"type", "object"},
                            {"properties",
                             {{"name", text},
                              {"accelerators", {{"type", "integer"}, {"minimum", 1}}},
                              {"places", {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}}}}},
                              {"placement", {{"enum", spots}}},
                              {"start", text},
                              {kWorkload, {{"type", "object"}, {"required", {"kind"}}}}}},
                            {"required", {kWorkload}},
                            {"additionalProperties", false}};
  return {{"jobs",
           "array",
           "Each with a workload of its own, of any other kind; so many accelerators, or the places of those that it "
           "has; a placement where it is not that of all; a start, such as 5ms; and a name",
           {{"type", "array"}, {"minItems", 1}, {"items", job}},
           true}};
}

/// Several jobs on one machine, each on accelerators of its own.
class JobsJob final : public Job {
 public:
  JobsJob(Platform& platform, const JobsConfig& config) : config_(config) {
    const Node list = platform.workload().child("jobs");
    // A misspelt key may be why something is not there, and says more.
    if (!list.exists()) platform.document().check_unused();
    if (list.elements().empty()) list.fail("at least one job, such as {\"accelerators\": 8, \"workload\": {...}}");
    // Those that say where they are come first.
    std::vector<Node> nodes = list.elements();
    for (const Node& node : nodes) read(node, platform);
    FreePlaces free(platform.machine().accelerators, platform.machine().per_node, platform.machine().seed);
    for (std::size_t i = 0; i < nodes.size(); ++i) take_places(nodes[i], jobs_[i].config, free);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      find_places(nodes[i], jobs_[i].config, free);
      make(platform, nodes[i], jobs_[i]);
    }
    idle_accelerators_ = free.count();
  }

  [[nodiscard]] std::vector<std::filesystem::path> inputs() const override {
    return of_all([](const Job& job) { return job.inputs(); });
  }
  [[nodiscard]] bool follows_algorithm() const override {
    return std::all_of(jobs_.begin(), jobs_.end(), [](const One& one) { return one.job->follows_algorithm(); });
  }
  [[nodiscard]] bool takes_others() const override { return true; }
  void build(Share& share) override {
    machine_ = &share.machine();
    for (One& one : jobs_) {
      one.share = std::make_unique<Share>(*machine_, one.config.places, one.config.name);
      one.platform->checked([&one] { one.job->build_on(*one.share); });
      one.job->set_begins([&one](Time at) { one.began = at; });
    }
  }
  void prepare_run() override {
    if (!config_.alone || jobs_.size() < 2) return;
    apart_ = std::make_unique<Apart>(jobs_.size(), [this](std::size_t i) {
      start(jobs_[i]);
      machine_->run();
      return time_of(jobs_[i]);
    });
  }
  void record(Probe& probe, int ranks) override {
    for (const One& one : jobs_) {
      // A job draws its first ranks: up to the last of those at places that the machine draws.
      const auto behind = std::find_if(one.config.places.rbegin(), one.config.places.rend(),
                                       [ranks](int place) { return place < ranks; });
      one.job->record(probe, static_cast<int>(one.config.places.rend() - behind));
    }
  }
  void start() override {
    for (One& one : jobs_) start(one);
  }
  [[nodiscard]] double progress() const override {
    double sum = 0;
    for (const One& one : jobs_) sum += one.began ? one.job->progress() : 0;
    return sum / static_cast<double>(jobs_.size());
  }
  [[nodiscard]] double received_bytes() const override {
    double sum = 0;
    for (const One& one : jobs_) sum += one.job->received_bytes();
    return sum;
  }
  void check() const override {
    for (const One& one : jobs_) one.job->check();
  }
  [[nodiscard]] std::vector<std::string> unfinished() const override {
    return of_all([](const Job& job) { return job.unfinished(); }, true);
  }
  [[nodiscard]] std::vector<std::string> remarks() const override {
    return of_all([](const Job& job) { return job.remarks(); }, true);
  }
  [[nodiscard]] std::function<std::uint64_t(const accelerator::ComputeConfig&)> kernels_on() const override {
    std::vector<std::function<std::uint64_t(const accelerator::ComputeConfig&)>> each;
    for (const One& one : jobs_) {
      each.push_back(one.job->kernels_on());
      if (!each.back()) return {};
    }
    return [each](const accelerator::ComputeConfig& compute) {
      KernelDigest digest;
      for (const auto& of_one : each) digest.add(of_one(compute));
      return digest.value();
    };
  }
  [[nodiscard]] std::vector<IdleFields> idle() const override {
    std::vector<IdleFields> all;
    for (const One& one : jobs_) {
      for (IdleFields& fields : one.job->idle()) {
        fields.path = one.platform->path_of(fields.path);
        all.push_back(std::move(fields));
      }
    }
    if (jobs_.size() < 2) all.push_back({"workload.alone", {}, "there is one job", false, {}});
    if (std::none_of(jobs_.begin(), jobs_.end(), [](const One& one) { return one.follows_placement; }))
      all.push_back({"workload.placement", {}, "each job has places, or a placement of its own", false, {}});
    return all;
  }
  [[nodiscard]] std::string title() const override {
    return fmt::format("{} on {}{}", counted(jobs_.size(), "job"),
                       counted(machine_->size() - idle_accelerators_, "accelerator"),
                       idle_accelerators_ > 0 ? fmt::format(", {} idle", idle_accelerators_) : "");
  }
  [[nodiscard]] ordered_json workload() const override {
    ordered_json each = ordered_json::array();
    for (const One& one : jobs_) each.push_back(one.job->workload());
    return {{"kind", "jobs"}, {"jobs", each}};
  }
  [[nodiscard]] ordered_json summary() const override {
    const std::vector<std::optional<Time>> alone = times_alone();
    ordered_json all = ordered_json::array();
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      const One& one = jobs_[i];
      ordered_json& json = all.emplace_back(about(one));
      json["time_us"] = to_us(time_of(one));
      json["alone_us"] = alone[i] ? ordered_json(to_us(*alone[i])) : ordered_json();
      json["slow_down"] = alone[i] ? ordered_json(slow_down(one, *alone[i])) : ordered_json();
      json["workload"] = one.job->workload();
      json["result"] = one.job->summary();
    }
    return {{"jobs", all}};
  }
  [[nodiscard]] ordered_json finished() const override {
    ordered_json all = ordered_json::array();
    for (const One& one : jobs_) {
      all.push_back(about(one));
      all.back()["result"] = one.began ? one.job->finished() : ordered_json::object();
    }
    return {{"jobs", all}};
  }
  [[nodiscard]] std::string text() const override {
    const std::vector<std::optional<Time>> alone = times_alone();
    std::vector<std::vector<std::string>> lines = {
        {"job", "workload", "accelerators", "nodes", "start", "time", "alone", "slow-down"}};
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      const One& one = jobs_[i];
      lines.push_back({one.config.name, one.job->workload()["kind"].get<std::string>(),
                       std::to_string(one.share->size()), std::to_string(nodes_of(one)), short_time(one.config.start),
                       short_time(time_of(one)), alone[i] ? short_time(*alone[i]) : "-",
                       alone[i] ? fmt::format("{:.3f}", slow_down(one, *alone[i])) : "-"});
    }
    std::string text = in_columns(lines, 2);
    for (const One& one : jobs_)
      text += fmt::format("\n{}: {}\n{}", one.config.name, one.job->title(), one.job->text());
    return text;
  }
  [[nodiscard]] std::int64_t wrong() const override {
    std::int64_t sum = -1;
    for (const One& one : jobs_) {
      if (const std::int64_t wrong = one.job->wrong(); wrong >= 0) sum = std::max<std::int64_t>(sum, 0) + wrong;
    }
    return sum;
  }

 private:
  struct One {
    JobConfig config;
    std::unique_ptr<Platform> platform;
    std::unique_ptr<Job> job;
    std::unique_ptr<Share> share;
    std::optional<Time> began;
    bool follows_placement = false;  ///< that of all jobs
  };

  void read(const Node& node, Platform& platform) {
    const MachineConfig& machine = platform.machine();
    One& one = jobs_.emplace_back();
    one.config.name = "job " + std::to_string(jobs_.size());
    one.config.placement = config_.placement;
    if (!node.is_object()) node.fail("an object, such as {\"accelerators\": 8, \"workload\": {...}}");
    node.read(one.config);
    for (const One& other : jobs_) {
      if (&other != &one && other.config.name == one.config.name)
        node.child("name").fail("a name that no other job has");
    }
    const int wanted = one.config.accelerators;
    const bool lists = !one.config.places.empty();
    one.follows_placement = !lists && !node.child("placement").exists();
    const bool is_complete = node.child(kWorkload).exists() && (wanted != 0 || lists);
    if (!is_complete) check_keys(node, platform);
    if (wanted == 0 && !lists) node.child("accelerators").fail("how many of them it has, or places");
    if (wanted > machine.accelerators) {
      node.child("accelerators").fail(fmt::format("at most the {} of the machine", machine.accelerators));
    }
    if (lists && node.child("placement").exists()) {
      node.child("placement").fail("places or a placement, which chooses them, and not both");
    }
    if (lists && wanted != 0 && one.config.places.size() != static_cast<std::size_t>(wanted)) {
      node.child("places").fail(fmt::format("as many as accelerators, {}", wanted));
    }
  }
  /// Of this job alone: others, and what workloads have, are not read yet.
  static void check_keys(const Node& node, Platform& platform) {
    for (const Node& each : platform.workload().child("jobs").elements()) {
      static_cast<void>(each.path() == node.path() ? each.child(kWorkload).raw() : each.raw());
    }
    platform.document().check_unused();
  }
  static void take_places(const Node& node, JobConfig& config, FreePlaces& free) {
    for (const int place : config.places) {
      if (!free.has(place)) node.child("places").fail("places of the machine", std::to_string(place));
      if (!free.is_free(place)) {
        node.child("places").fail("places that no job has yet, each once", std::to_string(place));
      }
      free.take(place);
    }
  }
  static void find_places(const Node& node, JobConfig& config, FreePlaces& free) {
    if (!config.places.empty()) return;
    std::optional<std::vector<int>> found = free.take(config.accelerators, config.placement);
    if (!found) node.child("accelerators").fail(fmt::format("at most the {} that are left", free.count()));
    config.places = std::move(*found);
  }
  void make(const Platform& platform, const Node& node, One& one) {
    const Node workload = node.child(kWorkload);
    if (!workload.exists()) workload.fail("what it runs, such as {\"kind\": \"fsdp\", \"model\": \"llama3-8b\"}");
    if (workload.is_object() && workload.get<std::string>("kind", "") == "jobs") {
      workload.child("kind").fail("another kind than jobs");
    }
    one.platform =
        std::make_unique<Platform>(platform, workload, config_of_share(platform.machine(), one.config.places));
    one.platform->checked([&one] { one.job = make_job(*one.platform); });
  }

  template <typename What>
  [[nodiscard]] std::invoke_result_t<What, const Job&> of_all(const What& what, bool named = false) const {
    std::invoke_result_t<What, const Job&> all;
    for (const One& one : jobs_) {
      for (auto& each : what(*one.job)) {
        if constexpr (std::is_same_v<std::decay_t<decltype(each)>, std::string>) {
          if (named) each.insert(0, one.config.name + ": ");
        }
        all.push_back(std::move(each));
      }
    }
    return all;
  }

  void start(One& one) {
    if (one.config.start > Time()) {
      firmware::Processor& processor = *one.share->rank(0).processor;
      processor.spawn("start", 0, start_later(one, processor));
      return;
    }
    one.began = Time();
    one.job->start();
  }
  static firmware::Task start_later(One& one, firmware::Processor& processor) {
    co_await processor.delay(one.config.start);
    one.began = processor.now();
    for (int i = 0; i < one.share->size(); ++i) one.share->accelerator(i).expect_kernels(*one.began);
    one.job->start();
  }
  /// From its start, or what it takes for it, to the end of its last thread.
  [[nodiscard]] static Time time_of(const One& one) {
    Time end;
    for (const firmware::Rank* rank : one.share->ranks()) end = std::max(end, rank->processor->last_end());
    return end - one.began.value_or(end);
  }
  [[nodiscard]] static double slow_down(const One& one, Time alone) {
    return alone > Time() ? static_cast<double>(time_of(one).count()) / static_cast<double>(alone.count()) : 1;
  }
  [[nodiscard]] std::vector<std::optional<Time>> times_alone() const {
    return apart_ ? apart_->times() : std::vector<std::optional<Time>>(jobs_.size());
  }
  [[nodiscard]] int nodes_of(const One& one) const {
    std::set<int> nodes;
    for (const firmware::Rank* rank : one.share->ranks()) nodes.insert(rank->node);
    return static_cast<int>(nodes.size());
  }
  [[nodiscard]] static ordered_json about(const One& one) {
    return {{"name", one.config.name},
            {"accelerators", one.config.places.size()},
            {"places", one.config.places},
            {"start_us", to_us(one.config.start)}};
  }

  JobsConfig config_;
  std::vector<One> jobs_;
  int idle_accelerators_ = 0;
  Machine* machine_ = nullptr;
  std::unique_ptr<Apart> apart_;
};

}  // namespace

JobKind jobs_job() {
  return job_kind(
      "jobs", "Several jobs at once, each with a workload and accelerators of its own.", JobsConfig(),
      [](Platform& platform, const JobsConfig& config) { return std::make_unique<JobsJob>(platform, config); },
      members_of_jobs());
}

}  // namespace weft::platforms
