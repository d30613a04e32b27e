// SPDX-License-Identifier: Apache-2.0
// The command of a user who makes mistakes: with the environment variable MISTAKE one in what is registered, by a field
// of the platform one in what it does.
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <systemc>
#include <vector>

#include "hw/fabric/switch/switch_model.h"
#include "hw/memory/memory_model.h"
#include "hw/memory/remote/remote_model.h"
#include "hw/nic/congestion/congestion_control.h"
#include "hw/nic/nic_model.h"
#include "platforms/commands/command_line.h"
#include "platforms/jobs/job_kind.h"
#include "platforms/machine/machine.h"
#include "sw/collectives/algorithm.h"
#include "sw/collectives/mesh.h"
#include "sw/compression/compressor.h"
#include "sw/compression/pairs.h"
#include "sw/optimizers/optimizer.h"
#include "sw/schedules/kfac/methods/second_order.h"
#include "sw/schedules/kfac/step_builder.h"

namespace weft {
namespace {

struct None {
  template <typename Visitor>
  void fields(Visitor&& /*visit*/) {}
};

struct Named {
  int one = 1;
  int other = 2;
  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("turn", one, "A field");
    visit("turn", other, "Another one of that name");
  }
};

struct Kind {
  int kind = 1;
  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("kind", kind, "What the workload's kind has");
  }
};

struct Outside {
  int steps = 0;
  Time pause = Time(2'000'000);
  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("steps", steps, "Steps", Range{0, 10});
    visit("pause", pause, "A pause", Range{0, 1'000'000});
  }
};

/// A field of that name.
template <const char* kName>
struct Called {
  int value = 1;
  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit(kName, value, "A field");
  }
};
constexpr char kPartName[] = "part";
constexpr char kSpacedName[] = "my field";

struct Faults {
  std::string fault = "none";
  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("fault", fault, "What it does wrong");
  }
};

/// A schedule of which each fault is one call.
class Faulty final : public schedules::SecondOrderTrainer {
 public:
  using SecondOrderTrainer::SecondOrderTrainer;

  [[nodiscard]] std::vector<schedules::Subgroups> subgroups(int ranks) const override {
    if (is("twice")) return {{{0, 0}}};
    if (is("beyond")) return {{{0, ranks}}};
    return {};
  }
  [[nodiscard]] kfac::Placement place(std::span<const std::int64_t> sides, int ranks) const override {
    kfac::Placement placement{ranks, std::vector<int>(sides.size(), 0)};
    if (is("owner")) placement.owner.back() = ranks;
    if (is("owners")) placement.owner.pop_back();
    return placement;
  }
  [[nodiscard]] std::vector<schedules::OwnBuffer> buffers(const models::Network& /*network*/,
                                                          int /*ranks*/) const override {
    if (is("buffer")) return {{"moments", {4, 4}, {0, 99}}};
    return {};
  }
  void step(schedules::StepBuilder& step, const schedules::KfacUpdates& /*updates*/) const override {
    if (is("layer")) step.forward(999);
    for (std::size_t l = 0; l < step.layers(); ++l) step.forward(l);
    for (std::size_t l = step.layers(); l-- > 0;) step.backward(l);
    if (is("throws")) throw std::runtime_error("I quit");
    if (is("within")) return step.send_gradients(2);
    if (is("slot")) return step.start_average(3);
    if (is("root")) {
      step.send({.traffic = schedules::KfacTraffic::kGradients,
                 .collective = schedules::KfacCollective::kBroadcast,
                 .name = "weights",
                 .root = 77,
                 .address = step.layout().weights[0],
                 .bytes = 64});
    }
    step.send_gradients();
    step.await_gradients();
  }

 private:
  [[nodiscard]] bool is(const char* fault) const { return own<Faults>().fault == fault; }
};

/// A compressor of which each fault is an answer that means nothing.
class FaultyCodec final : public compression::Codec {
 public:
  explicit FaultyCodec(std::string fault) : fault_(std::move(fault)) {}

  [[nodiscard]] Sent compress(std::span<const float> values, std::size_t /*round*/,
                              std::span<const std::byte> /*came*/) override {
    if (fault_ == "throws") throw std::runtime_error("codec exploded");
    return Sent((fault_ == "short" ? 2 : 4) * values.size());
  }
  void add(std::span<const std::byte> /*message*/, std::span<float> /*values*/) const override {
    if (fault_ == "add") throw std::runtime_error("sum exploded");
  }

 private:
  std::string fault_;
};

class Unsorted final : public compression::PairsCodec {
 public:
  Unsorted() : PairsCodec(2, false) {}
  [[nodiscard]] std::vector<std::uint32_t> choose(std::span<const float> /*values*/, std::size_t /*most*/) override {
    return {1, 1};
  }
};

std::string fault_of(const compression::CompressionConfig& config) {
  return config.own.of("faulty").as<Faults>().fault;
}

compression::Plan faulty_plan(const compression::Message& message, const compression::CompressionConfig& config) {
  const std::string fault = fault_of(config);
  if (fault == "plan") throw std::runtime_error("plan exploded");
  const std::uint64_t bytes = fault == "pairs" ? 16 : 4 * static_cast<std::uint64_t>(message.elements);
  const auto kernels = [](std::int64_t) { return compression::Kernels(); };
  compression::Plan plan{.rounds = {{.kernels = {}, .bytes = bytes}},
                         .after = [](int) { return compression::Kernels(); }};
  if (fault == "rounds") plan.rounds.clear();
  if (fault == "summed") plan = {.wire = compression::Wire::kSummed, .after = plan.after};
  if (fault == "after") plan.after = {};
  if (fault == "hops") plan = {.wire = compression::Wire::kHops, .after = {}, .first = kernels, .hop = kernels};
  return plan;
}

/// An optimizer of which each fault is an answer that means nothing.
class FaultyOptimizer final : public optimizers::Optimizer {
 public:
  explicit FaultyOptimizer(std::string fault) : fault_(std::move(fault)) {}

  [[nodiscard]] std::vector<optimizers::Task> update(const optimizers::Problem& /*problem*/,
                                                     std::int64_t /*step*/) const override {
    if (fault_ == "throws") throw std::runtime_error("optimizer exploded");
    optimizers::Exchange exchange{.bytes = fault_ == "bytes" ? -4 : 4096, .holding = fault_ == "holding" ? 99U : 0U};
    std::vector<optimizers::Piece> pieces{{"pack", {}, exchange}};
    if (fault_ != "last") pieces.push_back({"unpack", {}, {}});
    return {{std::move(pieces)}};
  }
  [[nodiscard]] std::int64_t period() const override { return fault_ == "period" ? 0 : 1; }
  [[nodiscard]] optimizers::Kept kept(const optimizers::Problem& /*problem*/) const override {
    return {0, {{"moments", fault_ == "state" ? -8 : 8}}};
  }

 private:
  std::string fault_;
};

void provide_faulty() {
  compression::provide({.name = "faulty",
                        .doc = "makes mistakes",
                        .config = Faults(),
                        .dense = true,
                        .plan = faulty_plan,
                        .make = [](const compression::Site& site) -> std::unique_ptr<compression::Codec> {
                          const std::string fault = fault_of(site.config);
                          if (fault == "null") return nullptr;
                          if (fault == "pairs") return std::make_unique<Unsorted>();
                          return std::make_unique<FaultyCodec>(fault);
                        }});
  optimizers::provide({.name = "faulty", .doc = "makes mistakes", .config = Faults(), .make = [](const AnyConfig& own) {
                         const std::string fault = own.as<Faults>().fault;
                         return fault == "null" ? nullptr : std::make_unique<FaultyOptimizer>(fault);
                       }});
}

/// An Allgather whose members send a message that none of them receives.
class Forgetful final : public collectives::Group {
 public:
  explicit Forgetful(const collectives::GroupSite& site) : mesh_(site.ranks, site.name + " forgetful") {}

  int size() const override { return mesh_.size(); }
  firmware::Task allgather(int member, std::uint64_t buffer, collectives::BlockMap blocks,
                           std::uint64_t /*granule*/) override {
    collectives::Mesh::Member& here = mesh_[member];
    const int peer = (member + 1) % size();
    here.invite((member + size() - 1) % size());
    co_await here.invited(peer);
    here.write(peer, buffer + blocks(member).offset, blocks(member).bytes);
    co_await here.acknowledged();
  }

 private:
  collectives::Mesh mesh_;
};

/// An Allgather that throws on the way.
class Quitting final : public collectives::Group {
 public:
  explicit Quitting(const collectives::GroupSite& site) : ranks_(site.ranks) {}

  int size() const override { return static_cast<int>(ranks_.size()); }
  firmware::Task allgather(int member, std::uint64_t /*buffer*/, collectives::BlockMap /*blocks*/,
                           std::uint64_t /*granule*/) override {
    co_await ranks_[static_cast<std::size_t>(member)]->processor->delay(Time(12'300'000));
    throw std::runtime_error("I quit");
  }

 private:
  std::vector<firmware::Rank*> ranks_;
};

/// Answers what means nothing.
class Senseless final : public nic::CongestionControl {
 public:
  Senseless(std::optional<Rate> rate, std::int64_t window) : rate_(rate), window_(window) {}
  void sent(Time /*now*/, std::int64_t /*wire_bytes*/) override {}
  void congested(Time /*now*/) override {}
  std::optional<Rate> rate(Time /*now*/) override { return rate_; }
  std::int64_t window(Time /*now*/) override { return window_; }

 private:
  std::optional<Rate> rate_;
  std::int64_t window_;
};

/// Finds so many elements wrong.
class Checking final : public platforms::Job {
 public:
  void build(platforms::Share& share) override { share_ = &share; }
  void start() override { share_->rank(0).processor->spawn("checking", 0, run()); }
  [[nodiscard]] double progress() const override { return 1; }
  [[nodiscard]] std::string title() const override { return "a check"; }
  [[nodiscard]] nlohmann::ordered_json workload() const override { return {{"kind", "checking"}}; }
  [[nodiscard]] nlohmann::ordered_json summary() const override { return nlohmann::ordered_json::object(); }
  [[nodiscard]] std::string text() const override { return ""; }
  [[nodiscard]] std::int64_t wrong() const override { return share_->config().data ? 7 : -1; }

 private:
  firmware::Task run() { co_await share_->rank(0).processor->delay(Time(1'000'000)); }

  platforms::Share* share_ = nullptr;
};

collectives::Algorithm algorithm(const std::string& name, AnyConfig config = None()) {
  return {.name = name,
          .doc = "sends",
          .operations = {dimensions::Operation::kAllgather},
          .rooted = {},
          .config = std::move(config),
          .make = [](collectives::GroupSite& site) -> std::unique_ptr<collectives::Group> {
            return std::make_unique<Forgetful>(site);
          }};
}

template <typename Entry>
Entry unmade() {
  Entry entry;
  entry.name = "unmade";
  return entry;
}

/// What is registered with MISTAKE.
const std::map<std::string, std::function<void()>>& mistakes() {
  static const std::map<std::string, std::function<void()>> all = {
      {"algorithm", [] { collectives::provide(unmade<collectives::Algorithm>()); }},
      {"nic", [] { nic::provide(unmade<nic::NicModel>()); }},
      {"congestion", [] { nic::provide(unmade<nic::CongestionScheme>()); }},
      {"switch", [] { fabric::provide(unmade<fabric::SwitchModel>()); }},
      {"memory", [] { memory::provide(unmade<memory::MemoryModel>()); }},
      {"remote", [] { memory::provide(unmade<memory::RemoteModel>()); }},
      {"schedule", [] { schedules::provide(unmade<schedules::Schedule>()); }},
      {"compressor", [] { compression::provide(unmade<compression::Compressor>()); }},
      {"job", [] { platforms::provide(unmade<platforms::JobKind>()); }},
      {"twice", [] { collectives::provide(algorithm("ring")); }},
      {"characters", [] { collectives::provide(algorithm("my ring")); }},
      {"field", [] { collectives::provide(algorithm("chunk")); }},
      {"named", [] { collectives::provide(algorithm("my-ring", Named())); }},
      {"part", [] { collectives::provide(algorithm("my-ring", Called<kPartName>())); }},
      {"spaced", [] { collectives::provide(algorithm("my-ring", Called<kSpacedName>())); }},
      {"outside", [] { collectives::provide(algorithm("my-ring", Outside())); }},
      {"kind",
       [] {
         platforms::provide_job("my-kind", "x", Kind(),
                                [](platforms::Platform&, const Kind&) { return std::make_unique<Checking>(); });
       }},
  };
  return all;
}

/// Makers that return nothing.
void provide_nothing() {
  fabric::provide({.name = "nothing", .doc = "returns nothing", .make = [](const fabric::SwitchSite&) {
                     return std::unique_ptr<fabric::AnySwitch>();
                   }});
  nic::provide(nic::NicModel{.name = "nothing", .doc = "returns nothing", .make = [](const nic::NicSite&) {
                               return std::unique_ptr<nic::AnyNic>();
                             }});
  nic::provide(
      nic::CongestionScheme{.name = "nothing", .doc = "returns nothing", .make = [](const nic::CongestionSite&) {
                              return std::unique_ptr<nic::CongestionControl>();
                            }});
  memory::provide(
      memory::MemoryModel{.name = "nothing", .doc = "returns nothing", .make = [](const memory::MemorySite&) {
                            return std::unique_ptr<memory::Memory>();
                          }});
  memory::provide(
      memory::RemoteModel{.name = "nothing", .doc = "returns nothing", .make = [](const memory::RemoteSite&) {
                            return std::unique_ptr<memory::RemoteTarget>();
                          }});
  schedules::provide(
      schedules::Schedule{.name = "nothing", .doc = "returns nothing", .make = [](const schedules::KfacConfig&) {
                            return std::unique_ptr<schedules::Trainer>();
                          }});
  platforms::provide_job("nothing", "x", None(),
                         [](platforms::Platform&, const None&) { return std::unique_ptr<platforms::Job>(); });
}

}  // namespace
}  // namespace weft

int sc_main(int argc, char** argv) {
  using namespace weft;
  if (const char* mistake = std::getenv("MISTAKE")) mistakes().at(mistake)();
  provide_nothing();
  provide_faulty();
  collectives::provide(algorithm("forgetful"));
  collectives::provide({.name = "picky",
                        .doc = "refuses",
                        .operations = {dimensions::Operation::kAllgather},
                        .make = [](collectives::GroupSite& site) {
                          site.remark = "picky takes other ranks";
                          return std::unique_ptr<collectives::Group>();
                        }});
  collectives::provide({.name = "quitting",
                        .doc = "throws",
                        .operations = {dimensions::Operation::kAllgather},
                        .make = [](collectives::GroupSite& site) -> std::unique_ptr<collectives::Group> {
                          return std::make_unique<Quitting>(site);
                        }});
  nic::provide(nic::CongestionScheme{.name = "halted", .doc = "rate 0", .make = [](const nic::CongestionSite&) {
                                       return std::make_unique<Senseless>(Rate(), INT64_MAX);
                                     }});
  nic::provide(nic::CongestionScheme{
      .name = "negative", .doc = "window -1", .acknowledges = true, .make = [](const nic::CongestionSite&) {
        return std::make_unique<Senseless>(std::nullopt, -1);
      }});
  schedules::provide({.name = "faulty",
                      .doc = "makes mistakes",
                      .config = Faults(),
                      .second_order = schedules::SecondOrder{},
                      .make = [](const schedules::KfacConfig& config) { return std::make_unique<Faulty>(config); }});
  platforms::provide_job("checking", "Finds what is wrong.", None(),
                         [](platforms::Platform&, const None&) { return std::make_unique<Checking>(); });
  return platforms::command_line(argc, argv);
}
