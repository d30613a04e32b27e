// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <variant>

#include "hw/core/config/blame.h"
#include "platforms/config/text.h"
#include "platforms/jobs/job_kind.h"
#include "platforms/jobs/kernel_digest.h"
#include "platforms/jobs/own_model.h"
#include "platforms/jobs/steps_shown.h"
#include "platforms/results/format.h"
#include "platforms/results/left_out_pieces.h"
#include "platforms/results/summary.h"
#include "sw/schedules/kfac/kfac.h"
#include "sw/schedules/kfac/kfac_check.h"
#include "sw/schedules/kfac/kfac_training.h"
#include "sw/schedules/kfac/schedule.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using schedules::Kfac;
using schedules::KfacConfig;
using schedules::KfacMessage;
using schedules::KfacPart;
using schedules::KfacResult;

struct PartName {
  KfacPart part;
  const char* key;
  const char* text;
};
/// As the columns of SPD-KFAC's figures, whose times of communication contain packing, and what these leave out.
constexpr PartName kKfacPartNames[] = {{KfacPart::kForwardBackward, "ff_bp", "FF&BP"},
                                       {KfacPart::kGradientComm, "grad_comm", "GradComm"},
                                       {KfacPart::kGradientPacking, "grad_packing", "GradPacking"},
                                       {KfacPart::kFactorComp, "factor_comp", "FactorComp"},
                                       {KfacPart::kFactorComm, "factor_comm", "FactorComm"},
                                       {KfacPart::kFactorPacking, "factor_packing", "FactorPacking"},
                                       {KfacPart::kInverseComp, "inverse_comp", "InverseComp"},
                                       {KfacPart::kInverseComm, "inverse_comm", "InverseComm"},
                                       {KfacPart::kInversePacking, "inverse_packing", "InversePacking"},
                                       {KfacPart::kPrecondition, "precondition", "precondition"},
                                       {KfacPart::kCompression, "compression", "compression"}};

Time kfac_part(const KfacResult& result, KfacPart part) {
  return result.parts[static_cast<std::size_t>(part)];
}

ordered_json samples_of(const std::vector<kfac::Sample>& samples, const char* size) {
  ordered_json list = ordered_json::array();
  for (const kfac::Sample& sample : samples) list.push_back({{size, sample.size}, {"time_us", sample.seconds * 1e6}});
  return list;
}

/// Factors A of the layers in their order, or G in the opposite one.
void add_ready(ordered_json& list, const std::vector<kfac::Ready>& ready, const models::Network& network, bool of_a) {
  for (std::size_t i = 0; i < ready.size(); ++i) {
    const std::size_t factor = of_a ? 2 * i : 2 * (ready.size() - i) - 1;
    list.push_back({{"factor", schedules::factor_name(network, factor)},
                    {"after_us", ready[i].compute * 1e6},
                    {"elements", ready[i].elements}});
  }
}

ordered_json kfac_profile(const KfacResult& result, const models::Network& network) {
  if (!result.profiled) return nullptr;
  const auto line = [](const kfac::LinearCost& cost) {
    return ordered_json{{"alpha_us", cost.alpha * 1e6}, {"beta_ns_per_element", cost.beta * 1e9}};
  };
  ordered_json ready = ordered_json::array();
  add_ready(ready, result.profile.a, network, true);
  add_ready(ready, result.profile.g, network, false);
  return {{"all_reduce", line(result.profile.all_reduce)},
          {"broadcast", line(result.profile.broadcast)},
          {"forward_backward_us", result.profile.forward_backward * 1e6},
          {"factors_us", result.profile.factors * 1e6},
          {"factors_ready", ready},
          {"inverses", samples_of(result.profile.inverses, "side")},
          {"packing", samples_of(result.profile.packing, "elements")}};
}

/// As many steps as a line holds: the first, the last and those between, doubling.
std::string losses_text(const std::vector<double>& losses) {
  std::string text = "loss before step        ";
  for (std::size_t step = 1; step < losses.size(); step *= 2)
    text += fmt::format("{} {:.4g}, ", step, losses[step - 1]);
  return text + fmt::format("{} {:.4g}\n", losses.size(), losses.back());
}

class KfacJob final : public Job {
 public:
  /// It names an algorithm of its own for some collectives.
  [[nodiscard]] bool follows_algorithm() const override { return false; }
  KfacJob(Platform& platform, const KfacConfig& config) : config_(config) {
    config_.network = find_model(platform, "network", config.network);
    remarks_ = remarks_of_model(config.network, config_.network);
  }

  [[nodiscard]] std::vector<fs::path> inputs() const override { return files_of_model(config_.network); }
  [[nodiscard]] std::vector<std::string> remarks() const override { return remarks_; }

  void build(Share& share) override {
    share_ = &share;
    const MachineConfig& config = share.config();
    kfac_ = blaming([this] { return "schedule " + config_.algorithm.text(); },
                    [&] {
                      return std::make_unique<Kfac>(share.ranks(), config_, config.collectives,
                                                    config.accelerator.array.compute);
                    });
    if (config_.training.on) {
      training_ = std::make_unique<schedules::KfacTraining>(*kfac_, share.ranks());
      training_->draw(config.seed);
      kfac_->set_arithmetic(training_->arithmetic());
      return;
    }
    if (!config.data) return;
    collectives::require_exact_sums(config.collectives, *share.ranks().front());
    check_ = std::make_unique<schedules::KfacCheck>(*kfac_, share.ranks());
    kfac_->set_arithmetic(check_->arithmetic());
  }
  void record(Probe& probe, int ranks) override { kfac_->record(probe, ranks); }
  void set_begins(std::function<void(Time)> begins) override { kfac_->set_after_profile(std::move(begins)); }
  void set_left_out(LeftOut& left_out) override {
    if (leaves_out_intervals()) {
      return kfac_->set_steady(share_->config().steady, {[&left_out](std::size_t mark) { left_out.mark(mark); },
                                                         [&left_out](std::size_t from, std::size_t to, int times) {
                                                           left_out.leave_out(from, to, times);
                                                         }});
    }
    if (!config_.skip_equal_steps || !repeats_itself(share_->config())) return;
    static_assert(LeftOut::kKept > schedules::KfacStepTimes::kMostSteps);
    kfac_->set_repeats(
        {[&left_out](std::size_t position) { left_out.mark(position); },
         [&left_out](std::size_t from, std::size_t to, int times) { left_out.leave_out(from, to, times); }});
  }
  [[nodiscard]] std::string simulates_all() const override {
    const MachineConfig& config = share_->config();
    if (config.data || config_.training.on) return "with real numbers all steps are calculated";
    if (config.has_changing_faults()) return "faults are not the same throughout";
    return kfac_->simulates_all();
  }
  [[nodiscard]] double simulated_share() const override {
    return leaves_out_intervals() && !share_->config().steady.verify ? kfac_->share_of_steady() : 1;
  }
  void start() override { kfac_->start(); }
  [[nodiscard]] double progress() const override { return kfac_->progress(); }
  [[nodiscard]] std::function<std::uint64_t(const accelerator::ComputeConfig&)> kernels_on() const override {
    return [this](const accelerator::ComputeConfig& compute) { return digest_on(compute); };
  }
  [[nodiscard]] std::vector<IdleFields> idle() const override;
  [[nodiscard]] std::vector<Time> step_ends() const override { return kfac_->step_ends(); }
  [[nodiscard]] std::string title() const override {
    return fmt::format("{} by {} on {}, {} each, {}", kfac_->plan().network().name, algorithm(),
                       counted(share_->size(), "accelerator"), counted(kfac_->plan().network().batch, "sample"),
                       steps_text(kfac_->result().shown, kfac_->config().steps, kfac_->plan().trainer().period()));
  }
  [[nodiscard]] ordered_json workload() const override {
    return {{"kind", "kfac"}, {"algorithm", algorithm()}, {"network", kfac_->plan().network().name}};
  }
  [[nodiscard]] ordered_json summary() const override;
  [[nodiscard]] ordered_json finished() const override;
  [[nodiscard]] std::string text() const override;
  [[nodiscard]] std::int64_t wrong() const override {
    if (compares_weights()) return training_->different_weights();
    return check_ ? check_->wrong() : -1;
  }

 private:
  [[nodiscard]] bool leaves_out_intervals() const { return share_->config().steady.is_on() && simulates_all().empty(); }
  /// Of every kernel of the run, profile included.
  [[nodiscard]] std::uint64_t digest_on(const accelerator::ComputeConfig& compute) const;
  [[nodiscard]] std::string algorithm() const { return std::string(name_of(config_.algorithm)); }
  /// Ranks end with the same weights.
  [[nodiscard]] bool compares_weights() const { return training_ && !config_.schedule().own_weights; }
  [[nodiscard]] std::int64_t compared() const {
    if (!training_) return check_->compared();
    return models::totals(kfac_->plan().network()).parameters * (share_->size() - 1);
  }
  /// There is nothing of compression without it, of factors where there are none, and of averages without them.
  [[nodiscard]] bool shows(KfacPart part) const;

  KfacConfig config_;
  std::vector<std::string> remarks_;
  Share* share_ = nullptr;
  std::unique_ptr<Kfac> kfac_;
  std::unique_ptr<schedules::KfacCheck> check_;        ///< null where data is off, and where the network is trained
  std::unique_ptr<schedules::KfacTraining> training_;  ///< null where it is not
};

std::uint64_t KfacJob::digest_on(const accelerator::ComputeConfig& compute) const {
  const schedules::KfacPlan plan(kfac_->plan().network(), kfac_->config(), compute, share_->size(), kfac_->layout());
  KernelDigest digest;
  const auto add = [&digest](const schedules::KfacStep& step) {
    for (const schedules::KfacStage& stage : step.stages) digest.add(stage.kernels);
  };
  std::set<schedules::KfacUpdates> kinds;
  for (int step = 0; step < kfac_->config().steps; ++step) kinds.insert(kfac_->updates(step));
  for (const schedules::KfacUpdates& updates : kinds) add(plan.step(kfac_->decisions(), updates));
  add(plan.rest(kfac_->decisions()));
  if (!kfac_->result().profiled) return digest.value();
  add(plan.profile());
  for (const std::int64_t side : plan.sides()) {
    digest.add(plan.inverse(side));
    digest.add(plan.packing(side));
  }
  return digest.value();
}

std::vector<IdleFields> KfacJob::idle() const {
  std::vector<IdleFields> idle;
  for (Kfac::Unused& each : kfac_->unused())
    idle.push_back({std::move(each.field), {}, std::move(each.why), false, {}});
  if (!config_.training.on) {
    const std::string off = "workload.training.on is false";
    idle.push_back({"workload.training", {"workload.training.on"}, off, false, {}});
    for (const char* algorithm : {"coda", "codasca"}) {
      if (config_.algorithm.text() == algorithm)
        idle.push_back({std::string("workload.") + algorithm + ".positive", {}, off, false, {}});
    }
  }
  return idle;
}

bool KfacJob::shows(KfacPart part) const {
  if (part == KfacPart::kForwardBackward || part == KfacPart::kGradientComm) return true;
  if (part == KfacPart::kGradientPacking) return kfac_->plan().trainer().averagings() > 0;
  if (part == KfacPart::kFactorPacking || part == KfacPart::kInversePacking || part == KfacPart::kFactorComm) {
    return config_.second_order() && !config_.local_factors();
  }
  if (part == KfacPart::kCompression) return config_.compression.on() || config_.activations.on();
  return config_.second_order();
}

ordered_json KfacJob::finished() const {
  const KfacResult result = kfac_->result();
  std::vector<double> losses = training_ ? training_->losses() : std::vector<double>();
  losses.resize(std::min(losses.size(), result.steps.size()));
  return {{"steps_us", to_us(result.steps)},
          {"steps_left_out", result.left_out},
          {"losses", training_ ? ordered_json(losses) : ordered_json(nullptr)}};
}

ordered_json KfacJob::summary() const {
  const KfacResult result = kfac_->result();
  const ordered_json steps = to_us(result.steps);
  ordered_json parts;
  for (const PartName& name : kKfacPartNames) {
    // Parts of 0 stay, as traces/published takes one algorithm's from another's.
    const bool optional = name.part == KfacPart::kCompression || name.part == KfacPart::kGradientPacking;
    if (optional && !shows(name.part)) continue;
    parts[name.key] = to_us(kfac_part(result, name.part));
  }
  parts["total"] = to_us(result.measured);
  ordered_json messages = ordered_json::array();
  const std::vector<KfacMessage>& sent = kfac_->fullest().messages;
  const auto owner_of = [](int rank) { return rank == kfac::kEveryone ? ordered_json(nullptr) : ordered_json(rank); };
  for (std::size_t i = 0; i < sent.size(); ++i) {
    ordered_json& message = messages.emplace_back(
        ordered_json{{"name", sent[i].name}, {"bytes", sent[i].bytes}, {"root", owner_of(sent[i].root)}});
    if (i >= result.messages.size()) continue;
    message["from_us"] = to_us(result.messages[i].from);
    message["to_us"] = to_us(result.messages[i].to);
    message["exposed_us"] = to_us(result.messages[i].exposed);
  }
  const std::vector<int>& owners = kfac_->decisions().placement.owner;
  const std::vector<std::int64_t>& sides = kfac_->plan().sides();
  ordered_json inversions = ordered_json::array();
  for (std::size_t f = 0; f < sides.size(); ++f) {
    inversions.push_back({{"factor", schedules::factor_name(kfac_->plan().network(), f)},
                          {"side", sides[f]},
                          {"rank", owner_of(owners[f])}});
  }
  const std::int64_t differ = wrong();
  return {{"step_time_us", to_us(result.step_time)},
          {"steps_us", steps},
          {"steps_shown", steps_json(result.shown)},
          {"steps_left_out", result.left_out},
          {"steady", steady_json(result.intervals_left_out, share_->config().steady)},
          {"samples_per_s", static_cast<double>(result.samples_per_step) / to_seconds(result.step_time)},
          {"breakdown_us", parts},
          {"factors", result.factors},
          {"gradient_messages", result.gradient_messages},
          {"factor_messages", result.factor_messages},
          {"communicated_tensors", result.inverse_messages},
          {"delayed_messages", result.delayed_messages},
          {"rest_us", to_us(result.rest)},
          {"sent_share",
           config_.compression.on() && share_->size() > 1 ? ordered_json(result.sent_share) : ordered_json(nullptr)},
          {"activation_bytes", result.activation_bytes},
          {"allocated_activation_bytes", result.allocated_activation_bytes},
          {"profile", kfac_profile(result, kfac_->plan().network())},
          {"inversions", inversions},
          {"inverting_us", to_us(result.inverting)},
          {"messages", messages},
          {"losses", training_ ? ordered_json(training_->losses()) : ordered_json(nullptr)},
          {"wrong", differ < 0 ? ordered_json(nullptr) : ordered_json(differ)},
          {"compared", differ < 0 ? ordered_json(nullptr) : ordered_json(compared())},
          {"remarks", kfac_->remarks()}};
}

std::string KfacJob::text() const {
  const KfacResult result = kfac_->result();
  std::string text = fmt::format("step time               {:>10}\n", short_time(result.step_time));
  const auto add_part = [&](const char* name, Time part) {
    text += fmt::format("  {:<22}{:>10}  {:5.1f} %\n", name, short_time(part),
                        100 * to_seconds(part) / to_seconds(result.step_time));
  };
  for (const PartName& name : kKfacPartNames) {
    if (shows(name.part)) add_part(name.text, kfac_part(result, name.part));
  }
  // Ranks do not wait for it in this step, but when they next send something.
  const Time apart = result.step_time - result.measured;
  if (1000 * to_seconds(apart) > to_seconds(result.step_time)) add_part("slowest rank", apart);
  text += fmt::format("samples/s               {:>10.0f}\n",
                      static_cast<double>(result.samples_per_step) / to_seconds(result.step_time));
  if (leaves_out_intervals()) {
    text += steady_text(result.intervals_left_out, share_->config().steady);
  } else if (result.left_out > 0) {
    text += fmt::format("steps not simulated     {:>10}, which repeat those before them{}\n", result.left_out,
                        config_.equal_within > 0 ? fmt::format(" within {:g}", config_.equal_within) : "");
  }
  text += fmt::format("messages of gradients   {:>10}\n", result.gradient_messages);
  if (result.has_rest) {
    text += fmt::format("gathered behind the last step {}\n", short_time(result.rest));
  }
  if (kfac_->plan().trainer().averagings() > 0)
    text += fmt::format("messages of weights     {:>10}\n", result.delayed_messages);
  if (config_.compression.on() && share_->size() > 1) {
    text += fmt::format("sent of gradients       {:>10.3g} %  of the bytes of the messages\n", 100 * result.sent_share);
  }
  if (config_.activations.on()) {
    text += fmt::format("activations             {:>10}, of {} without compression\n",
                        short_bytes(static_cast<double>(result.allocated_activation_bytes)),
                        short_bytes(static_cast<double>(result.activation_bytes)));
  }
  if (config_.second_order()) {
    text += fmt::format("factors                 {:>10}, sent in {} messages\ncommunicated tensors    {:>10}\n",
                        result.factors, result.factor_messages, result.inverse_messages);
  }
  if (result.profiled) {
    const auto line = [](const kfac::LinearCost& cost) {
      return fmt::format("{:.0f} us + {:.3f} ns an element", cost.alpha * 1e6, cost.beta * 1e9);
    };
    text += fmt::format("measured AllReduce      {}\nmeasured Broadcast      {}\n", line(result.profile.all_reduce),
                        line(result.profile.broadcast));
  }
  if (training_) text += losses_text(training_->losses());
  if (const std::int64_t differ = wrong(); differ >= 0) {
    text += fmt::format("wrong elements          {:>10}, of {} {}compared\n", differ, compared(),
                        training_ ? "weights " : "");
  }
  for (const std::string& remark : kfac_->remarks()) text += "\n" + remark + "\n";
  return text;
}

}  // namespace

JobKind kfac_job() {
  JobKind kind = job_kind(
      "kfac", "A network trained by second-order or sparse methods.", KfacConfig(),
      [](Platform& platform, const KfacConfig& config) { return std::make_unique<KfacJob>(platform, config); });
  // Layers, and transformers that are made of them.
  kind.takes_model = [](const models::AnyModel& model) {
    const auto* transformer = std::get_if<models::Transformer>(&model);
    return transformer == nullptr || (transformer->encoder == 0 && has_plain_blocks(*transformer));
  };
  return kind;
}

}  // namespace weft::platforms
