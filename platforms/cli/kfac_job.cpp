// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "platforms/cli/job.h"
#include "platforms/cli/output.h"
#include "platforms/cli/summary.h"
#include "sw/schedules/kfac.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using schedules::Kfac;
using schedules::KfacAlgorithm;
using schedules::KfacConfig;
using schedules::KfacMessage;
using schedules::KfacPart;
using schedules::KfacResult;

struct PartName {
  KfacPart part;
  const char* key;
  const char* text;
};
/// As the columns of SPD-KFAC's figures, and what these leave out.
constexpr PartName kKfacPartNames[] = {{KfacPart::kForwardBackward, "ff_bp", "FF&BP"},
                                       {KfacPart::kGradientComm, "grad_comm", "GradComm"},
                                       {KfacPart::kFactorComp, "factor_comp", "FactorComp"},
                                       {KfacPart::kFactorComm, "factor_comm", "FactorComm"},
                                       {KfacPart::kInverseComp, "inverse_comp", "InverseComp"},
                                       {KfacPart::kInverseComm, "inverse_comm", "InverseComm"},
                                       {KfacPart::kPrecondition, "precondition", "precondition"},
                                       {KfacPart::kCompression, "compression", "compression"}};

Time kfac_part(const KfacResult& result, KfacPart part) {
  return result.parts[static_cast<std::size_t>(part)];
}

ordered_json kfac_profile(const KfacResult& result) {
  if (!result.profiled) return nullptr;
  const auto line = [](const kfac::LinearCost& cost) {
    return ordered_json{{"alpha_us", cost.alpha * 1e6}, {"beta_ns_per_element", cost.beta * 1e9}};
  };
  ordered_json inverses = ordered_json::array();
  for (const kfac::Sample& sample : result.profile.inverses) {
    inverses.push_back({{"side", sample.size}, {"time_us", sample.seconds * 1e6}});
  }
  return {{"all_reduce", line(result.profile.all_reduce)},
          {"broadcast", line(result.profile.broadcast)},
          {"forward_backward_us", result.profile.forward_backward * 1e6},
          {"factors_us", result.profile.factors * 1e6},
          {"inverses", inverses}};
}

class KfacJob final : public Job {
 public:
  explicit KfacJob(Platform& platform) {
    platform.workload().read(config_);
    const fs::path beside = fs::path(platform.document().file()).parent_path() / config_.network;
    if (models::is_network_file(config_.network) && !fs::exists(config_.network) && fs::exists(beside)) {
      config_.network = beside.string();
    }
  }

  void build(Machine& machine) override {
    machine_ = &machine;
    const MachineConfig& config = machine.config();
    kfac_ = std::make_unique<Kfac>(machine.ranks(), config_, config.collectives, config.accelerator.array.compute);
  }
  void record(Probe& probe, int ranks) override { kfac_->record(probe, ranks); }
  void start() override { kfac_->start(); }
  [[nodiscard]] double progress() const override { return kfac_->progress(); }
  [[nodiscard]] std::string title() const override {
    return fmt::format("{} by {} on {} accelerators, {} samples each, step {} of {}", kfac_->plan().network().name,
                       algorithm(), machine_->size(), kfac_->plan().network().batch, kfac_->result().steps.size(),
                       config_.steps);
  }
  [[nodiscard]] ordered_json workload() const override {
    return {{"kind", "kfac"}, {"algorithm", algorithm()}, {"network", kfac_->plan().network().name}};
  }
  [[nodiscard]] ordered_json summary() const override;
  [[nodiscard]] std::string text() const override;
  [[nodiscard]] std::int64_t wrong() const override { return -1; }

 private:
  [[nodiscard]] std::string algorithm() const { return std::string(name_of(config_.algorithm)); }

  /// Of compression there is nothing without it.
  [[nodiscard]] bool shows(KfacPart part) const {
    return part != KfacPart::kCompression || config_.compression.on() || config_.activations.on();
  }

  KfacConfig config_;
  Machine* machine_ = nullptr;
  std::unique_ptr<Kfac> kfac_;
};

ordered_json KfacJob::summary() const {
  const KfacResult result = kfac_->result();
  ordered_json steps = ordered_json::array();
  for (const Time step : result.steps) steps.push_back(to_us(step));
  ordered_json parts;
  for (const PartName& name : kKfacPartNames) {
    if (shows(name.part)) parts[name.key] = to_us(kfac_part(result, name.part));
  }
  parts["total"] = to_us(result.measured);
  ordered_json messages = ordered_json::array();
  for (const KfacMessage& message : kfac_->fullest().messages) {
    messages.push_back(
        {{"name", message.name},
         {"bytes", message.bytes},
         {"root", message.root == kfac::kEveryone ? ordered_json(nullptr) : ordered_json(message.root)}});
  }
  return {{"step_time_us", result.steps.empty() ? ordered_json(0) : ordered_json(to_us(result.measured))},
          {"steps_us", steps},
          {"samples_per_s", static_cast<double>(result.samples_per_step) / to_seconds(result.measured)},
          {"breakdown_us", parts},
          {"factors", result.factors},
          {"gradient_messages", result.gradient_messages},
          {"factor_messages", result.factor_messages},
          {"communicated_tensors", result.inverse_messages},
          {"delayed_messages", result.delayed_messages},
          {"rest_us", to_us(result.rest)},
          {"density", config_.compression.on() ? ordered_json(result.density) : ordered_json(nullptr)},
          {"activation_bytes", result.activation_bytes},
          {"allocated_activation_bytes", result.allocated_activation_bytes},
          {"profile", kfac_profile(result)},
          {"messages", messages},
          {"remarks", kfac_->remarks()}};
}

std::string KfacJob::text() const {
  const KfacResult result = kfac_->result();
  std::string text = fmt::format("step time               {:>10}\n", short_time(result.measured));
  for (const PartName& name : kKfacPartNames) {
    if (!shows(name.part)) continue;
    const Time part = kfac_part(result, name.part);
    text += fmt::format("  {:<22}{:>10}  {:5.1f} %\n", name.text, short_time(part),
                        100 * to_seconds(part) / to_seconds(result.measured));
  }
  text += fmt::format("samples/s               {:>10.0f}\n",
                      static_cast<double>(result.samples_per_step) / to_seconds(result.measured));
  text += fmt::format("messages of gradients   {:>10}\n", result.gradient_messages);
  if (config_.algorithm == KfacAlgorithm::kDear) {
    text += fmt::format("gathered behind the last step {}\n", short_time(result.rest));
  }
  if (config_.averages()) text += fmt::format("messages of weights     {:>10}\n", result.delayed_messages);
  if (config_.compression.on()) {
    text += fmt::format("sent of gradients       {:>10.3g} %\n", 100 * result.density);
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
  for (const std::string& remark : kfac_->remarks()) text += "\n" + remark + "\n";
  return text;
}

}  // namespace

std::unique_ptr<Job> make_kfac_job(Platform& platform) {
  return std::make_unique<KfacJob>(platform);
}

}  // namespace weft::platforms
