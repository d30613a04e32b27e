// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "platforms/machine/machine.h"
#include "sw/schedules/kfac/kfac_training.h"
#include "tests/support/kernel.h"
#include "tests/support/kfac_reference.h"

/// Small networks trained on simulated ranks.
namespace weft::test {

inline models::Network small_mlp() {
  return {"mlp",
          4,
          {{"in", models::LayerKind::kLinear, 6, 12, 1, 1, 1, 0, 0, 1, 1, true},
           {"middle", models::LayerKind::kLinear, 12, 9, 1, 1, 1, 0, 0, 1, 1, false},
           {"out", models::LayerKind::kLinear, 9, 3, 1, 1, 1, 0, 0, 1, 1, true}}};
}

inline models::Network small_convolutions() {
  return {"convolutions",
          3,
          {{"first", models::LayerKind::kConv, 2, 4, 3, 3, 1, 1, 1, 5, 5, true},
           {"second", models::LayerKind::kConv, 4, 3, 2, 2, 1, 0, 0, 5, 5, false},
           {"out", models::LayerKind::kLinear, 48, 2, 1, 1, 1, 0, 0, 1, 1, true}}};
}

inline platforms::MachineConfig training_machine(int ranks, int per_node) {
  platforms::MachineConfig machine;
  machine.accelerators = ranks;
  machine.per_node = per_node;
  machine.data = true;
  machine.collectives.channels = 1;
  machine.collectives.chunk = Bytes(1 << 10);
  return machine;
}

struct Trained {
  std::vector<std::vector<Reals<float>>> weights;  ///< by rank and layer
  std::vector<double> losses;
  std::vector<std::size_t> gradient_messages;  ///< in elements, dense
  std::vector<std::size_t> factor_messages;
  std::vector<std::size_t> average_messages;
  std::vector<int> owners;  ///< by factor
  schedules::KfacResult result;
};

inline Trained train(
    const platforms::MachineConfig& machine_config, const models::Network& network, schedules::KfacConfig config,
    const schedules::KfacTrainingConfig& how, const TrainingData& data,
    const std::function<void(const schedules::Kfac&, const std::vector<firmware::Rank*>&)>& look = {}) {
  fresh_kernel();
  config.training = how;
  config.training.on = true;
  platforms::Machine machine(machine_config);
  schedules::Kfac kfac(machine.ranks(), network, config, machine_config.collectives,
                       machine_config.accelerator.array.compute);
  schedules::KfacTraining training(kfac, machine.ranks());
  training.load(data.weights, data.inputs, data.targets);
  kfac.set_arithmetic(training.arithmetic());
  kfac.start();
  machine.run();
  if (look) look(kfac, machine.ranks());
  Trained trained;
  for (int r = 0; r < machine_config.accelerators; ++r) {
    auto& own = trained.weights.emplace_back();
    for (std::size_t l = 0; l < network.layers.size(); ++l) own.push_back(training.weights(r, l));
  }
  trained.losses = training.losses();
  trained.result = kfac.result();
  // In the order of their buffers.
  const auto messages = [&](schedules::KfacTraffic traffic) {
    std::map<std::uint64_t, std::size_t> by_address;
    for (const schedules::KfacMessage& message : kfac.fullest().messages) {
      if (message.traffic == traffic) by_address[message.address] = message.bytes / 4;
    }
    std::vector<std::size_t> elements;
    elements.reserve(by_address.size());
    for (const auto& [address, count] : by_address) elements.push_back(count);
    return elements;
  };
  trained.gradient_messages = messages(schedules::KfacTraffic::kGradients);
  trained.factor_messages = messages(schedules::KfacTraffic::kFactors);
  trained.average_messages = messages(schedules::KfacTraffic::kDelayed);
  if (config.compression.on()) {
    trained.gradient_messages.clear();
    for (const auto& message : kfac.layout().compressed) {
      trained.gradient_messages.push_back(static_cast<std::size_t>(message.message.elements));
    }
  }
  trained.owners = kfac.decisions().placement.owner;
  return trained;
}

inline ReferenceConfig reference_of(const schedules::KfacConfig& config, const schedules::KfacTrainingConfig& how) {
  ReferenceConfig reference;
  const auto rounded = [](double value) { return static_cast<double>(static_cast<float>(value)); };  // as ranks have it
  reference.second_order = config.second_order();
  reference.local_factors = config.local_factors();
  reference.compression = config.compression;
  if (config.activations.on()) reference.coefficients = compression::dct_coefficients(config.activations.ratio);
  reference.exact_a = config.pipelined();
  reference.factor_interval = config.factor_interval;
  reference.inverse_interval = config.inverse_interval;
  reference.rate = rounded(how.rate);
  reference.momentum = rounded(how.momentum);
  reference.damping = rounded(how.damping);
  schedules::KfacConfig with = config;
  with.training = how;
  reference.factored_damping = with.factored_damping();
  reference.damping_stays = how.damping_stays;
  reference.packing = config.packing;
  reference.inverse = config.inverse;
  reference.kl_clip = config.kl_clip;
  reference.decay = rounded(how.decay);
  return reference;
}

}  // namespace weft::test
