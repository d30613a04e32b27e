// SPDX-License-Identifier: Apache-2.0
// What a K-FAC schedule tells of its run.
#include <algorithm>
#include <set>

#include "sw/models/named_model.h"
#include "sw/schedules/kfac/kfac_member.h"
#include "sw/schedules/step_ends.h"

namespace weft::schedules {

using collectives::Communicator;

namespace {

/// A layer for which no layer before it gives as many values: a line, unless there is none.
std::string unfed_layer(const models::Network& network) {
  std::set<std::int64_t> given;
  for (const models::Layer& layer : network.layers) {
    const std::int64_t taken = layer.channels_in * layer.height * layer.width;
    for (const models::Move& move : layer.before) given.insert(move.elements_out);
    if (!given.empty() && !given.contains(taken)) {
      return layer.name + " takes " + std::to_string(taken) + " values of a sample, which no layer before it gives";
    }
    given.insert(taken);
    given.insert(layer.channels_out * layer.positions());
  }
  return "";
}

}  // namespace

StepSpan steps_shown(const Trainer& trainer, int steps) {
  const std::int64_t steady = steps - trainer.lag();
  const std::int64_t whole = steady / trainer.period() * trainer.period();
  const auto count = static_cast<int>(whole > 0 ? whole : steady);
  return {steps - count, count};
}

StepSpan steps_shown(const KfacConfig& config) {
  return steps_shown(*trainer_of(config), config.steps);
}

std::vector<Kfac::Unused> Kfac::unused() const {
  const KfacConfig& config = config_;
  const bool places = config.second_order() && !config.local_factors();
  const bool broadcasts =
      config.second_order() && (!places || config.inverse_placement() != InversePlacement::kEverywhere);
  const std::string algorithm = "workload.algorithm is " + std::string(name_of(config.algorithm));
  std::vector<Unused> fields;
  const auto add = [&fields](bool is_unused, const char* field, const std::string& why) {
    if (is_unused) fields.push_back({std::string("workload.") + field, why});
  };
  for (const char* field : {"factor_type", "inverse", "kl_clip"}) add(!config.second_order(), field, algorithm);
  add(!places, "sending", "no inverses are balanced over ranks: " + algorithm);
  add(places && config.inverse_placement() != InversePlacement::kBalanced, "sending",
      "inverses are placed " + std::string(name_of(config.inverse_placement())));
  add(!places, "packing", "no matrices are sent: " + algorithm);
  for (const std::string& field : config.schedule().ignores) add(true, field.c_str(), algorithm);
  for (const Section& section : config.own)
    add(section.name != config.algorithm.text(), section.key.c_str(), algorithm);
  add(config.metrics == 0, "cycle", "workload.metrics is 0");
  for (const char* field : {"overlap_inverses", "broadcasts"}) add(!broadcasts, field, "no inverses are broadcast");
  const bool real = ranks_.front()->store != nullptr;
  for (const compression::Unfollowed& field :
       compression::unfollowed(config.compression, real, "workload.compression")) {
    fields.push_back({field.field, field.why});
  }
  add(config.compression.on() && ranks_.size() == 1, "compression", "one accelerator sends no gradients");
  add(!config.activations.on(), "activations.ratio", "workload.activations.method is none");
  const bool replaced = !config.all_reduces.is_platform() && (!broadcasts || !config.broadcasts.is_platform());
  if (replaced) {
    fields.push_back({"collectives.algorithm", broadcasts ? "workload.all_reduces and broadcasts stand in its place"
                                                          : "workload.all_reduces stands in its place"});
  }
  return fields;
}

std::vector<std::string> Kfac::remarks() const {
  std::vector<std::string> lines;
  // Those of the catalogue are known; a file's may be misspelt.
  if (models::is_layers_file(config_.network)) {
    if (const std::string line = unfed_layer(plan_.network()); !line.empty()) lines.push_back(line);
  }
  for (const Communicator* group : {all_reduce_group_.get(), broadcast_group_.get()}) {
    if (group != nullptr && !group->remark().empty()) lines.push_back(group->remark());
  }
  for (const auto& subgroups : subgroups_) {
    for (const auto& [within, groups] : subgroups) {
      // Groups are alike but for their sizes.
      for (const auto& group : groups.all()) {
        const std::string remark = group->remark();
        if (!remark.empty() && std::find(lines.begin(), lines.end(), remark) == lines.end()) lines.push_back(remark);
      }
    }
  }
  return lines;
}

double Kfac::progress() const {
  if (steps_.empty()) return 0;
  std::uint64_t all = 0;
  for (int number = 0; number < config_.steps; ++number) all += step(number).stages.size();
  all += rest_.stages.size();
  return static_cast<double>(members_.front()->stages.value() + left_out_stages_) / static_cast<double>(all);
}

std::vector<Time> Kfac::step_ends() const {
  return ends_of_all(members_, [](const auto& member) -> const std::vector<Time>& { return member->simulated; });
}

KfacResult Kfac::result() const {
  KfacResult result;
  std::vector<Time> begins;
  Time previous;
  for (const auto& member : members_) previous = std::max(previous, member->began);
  const auto ended =
      static_cast<int>((*std::min_element(members_.begin(), members_.end(), [](const auto& a, const auto& b) {
                         return a->ends.size() < b->ends.size();
                       }))->ends.size());
  for (int number = 0; number < ended; ++number) {
    Time end;
    for (const auto& member : members_) end = std::max(end, member->ends[static_cast<std::size_t>(number)]);
    result.steps.push_back(end - previous);
    previous = end;
  }
  result.shown = shown_;
  result.shown.count = std::max(0, std::min(result.shown.count, ended - result.shown.first));
  const std::int64_t shown = std::max(1, result.shown.count);
  for (int number = 0; number < ended; ++number) {
    if (result.shown.has(number)) result.step_time += result.steps[static_cast<std::size_t>(number)];
  }
  result.step_time = result.step_time / shown;
  const auto ranks = static_cast<std::int64_t>(members_.size());
  constexpr auto kInverting = static_cast<std::size_t>(KfacPart::kInverseComp);
  constexpr auto kSending = static_cast<std::size_t>(KfacPart::kInverseComm);
  Time longest;
  result.profile_time = members_.front()->began;
  std::uint64_t dense = 0;
  for (const auto& member : members_) {
    for (std::size_t p = 0; p < kKfacParts; ++p) result.parts[p] += member->kept[p];
    if (config_.second_order()) result.inverting.push_back(member->kept[kInverting] / shown);
    longest = std::max(longest, member->kept[kInverting] / shown);
    result.profile_time = std::min(result.profile_time, member->began);
    if (ended == config_.steps) result.rest = std::max(result.rest, member->rest_end - previous);
    if (!member->compressed) continue;
    result.compressed_bytes += member->compressed->sent;
    dense += member->compressed->dense;
  }
  result.profile_time -= started_;
  result.uncompressed_bytes = kKfacElement * dense;
  if (dense > 0) {
    result.sent_share = static_cast<double>(result.compressed_bytes) / static_cast<double>(result.uncompressed_bytes);
  }
  for (Time& part : result.parts) {
    part = part / (ranks * shown);
    result.measured += part;
  }
  const Time waited = std::min(longest - result.parts[kInverting], result.parts[kSending]);
  result.parts[kSending] = result.parts[kSending] - waited;
  result.parts[kInverting] += waited;
  result.activation_bytes = layout_.activation_bytes;
  result.allocated_activation_bytes = layout_.allocated_activation_bytes;
  result.profiled = profiles();
  result.profile = profile_;
  result.factors = plan_.sides().size();
  if (!steps_.empty()) {
    for (const KfacMessage& message : fullest().messages) {
      result.delayed_messages += message.traffic == KfacTraffic::kDelayed ? 1 : 0;
      result.gradient_messages += message.traffic == KfacTraffic::kGradients ? 1 : 0;
      result.factor_messages += message.traffic == KfacTraffic::kFactors ? 1 : 0;
      result.inverse_messages += message.traffic == KfacTraffic::kInverses ? 1 : 0;
    }
  }
  if (detailed_began_) {
    result.messages = message_times_;
    for (KfacMessageTimes& times : result.messages) {
      times.from = times.from - *detailed_began_;
      times.to = times.to - *detailed_began_;
    }
  }
  result.has_rest = has_rest();
  result.left_out = left_out_;
  if (steady_) result.intervals_left_out = steady_->rows().left_out();
  result.samples_per_step = plan_.network().batch * ranks;
  return result;
}

}  // namespace weft::schedules
