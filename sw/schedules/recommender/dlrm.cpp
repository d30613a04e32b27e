// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/recommender/dlrm.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "hw/core/config/number_limits.h"
#include "hw/core/random.h"
#include "sw/compression/selection.h"
#include "sw/kfac/arithmetic.h"

namespace weft::schedules {
namespace {

std::vector<models::Layer> perceptron(const std::string& name, std::int64_t inputs, const std::vector<int>& hidden,
                                      std::int64_t outputs) {
  std::vector<models::Layer> layers;
  const auto add = [&](std::int64_t width) {
    models::Layer layer;
    layer.name = name + std::to_string(layers.size());
    layer.channels_in = inputs;
    layer.channels_out = inputs = width;
    layer.bias = true;
    layers.push_back(layer);
  };
  for (const int width : hidden) add(width);
  add(outputs);
  return layers;
}

std::int64_t parameters_of(const std::vector<models::Layer>& layers) {
  std::int64_t sum = 0;
  for (const models::Layer& layer : layers) sum += models::parameters(layer);
  return sum;
}

Numbers drawn(std::int64_t seed, const std::string& what, std::int64_t elements, double scale) {
  Random random(static_cast<std::uint64_t>(seed), what);
  Numbers values(static_cast<std::size_t>(elements));
  for (float& value : values) value = static_cast<float>(scale * (2 * random.share() - 1));
  return values;
}

/// What came to each layer, and what left the last.
std::vector<Numbers> forward(const std::vector<models::Layer>& layers, std::int64_t batch,
                             std::span<const float> weights, Numbers input, bool rectifies_last) {
  std::vector<Numbers> kept{std::move(input)};
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const auto own = static_cast<std::size_t>(models::parameters(layers[l]));
    Numbers output(static_cast<std::size_t>(kfac::output_elements(layers[l], batch)));
    kfac::forward<float>(layers[l], batch, weights.first(own), kept.back(), rectifies_last || l + 1 < layers.size(),
                         output);
    weights = weights.subspan(own);
    kept.push_back(std::move(output));
  }
  return kept;
}

/// The gradient of what came to the first layer; those of weights go to `sums`.
Numbers backward(const std::vector<models::Layer>& layers, std::int64_t batch, std::span<const float> weights,
                 const std::vector<Numbers>& kept, Numbers gradient, std::span<float> sums) {
  std::size_t at = weights.size();
  for (std::size_t l = layers.size(); l-- > 0;) {
    const auto own = static_cast<std::size_t>(models::parameters(layers[l]));
    at -= own;
    Numbers of_input(kept[l].size());
    kfac::backward<float>(layers[l], batch, weights.subspan(at, own), kept[l], l > 0, gradient, sums.subspan(at, own),
                          of_input);
    gradient = std::move(of_input);
  }
  return gradient;
}

}  // namespace

DlrmShape::DlrmShape(const RecommenderConfig& of, int all)
    : config(of),
      ranks(all),
      own_tables(of.tables / all),
      vector_numbers(own_tables * of.width),
      kept(vector_numbers),
      vectors(of.tables + 1),
      interactions(vectors * (vectors - 1) / 2),
      bottom(perceptron("bottom", of.dense, of.bottom, of.width)),
      top(perceptron("top", of.width + interactions, of.top, 1)),
      parameters(parameters_of(bottom) + parameters_of(top)) {
  if (of.tables % all != 0) {
    throw ConfigError("workload.tables", "expected a multiple of the " + std::to_string(all) + " accelerators, got " +
                                             std::to_string(of.tables));
  }
  check_numbers(of, "workload");
  if (!whole()) {
    kept =
        std::clamp<std::int64_t>(std::llround(of.exchanged * static_cast<double>(vector_numbers)), 1, vector_numbers);
  }
}

std::uint64_t DlrmShape::sample_bytes() const {
  return static_cast<std::uint64_t>(kept) * (whole() ? sizeof(float) : sizeof(compression::Pair));
}

Numbers DlrmData::weights() const {
  Numbers all;
  for (const auto* layers : {&shape_.bottom, &shape_.top}) {
    for (const models::Layer& layer : *layers) {
      const double scale = std::sqrt(3.0 / static_cast<double>(layer.channels_in + 1));
      const Numbers own = drawn(seed_, layer.name, models::parameters(layer), scale);
      all.insert(all.end(), own.begin(), own.end());
    }
  }
  return all;
}

Numbers DlrmData::tables(std::int64_t rank) const {
  return drawn(seed_, "tables of " + std::to_string(rank), shape_.table_numbers(), 0.5);
}

Numbers DlrmData::dense(std::int64_t rank) const {
  return drawn(seed_, "inputs of " + std::to_string(rank), shape_.config.batch * shape_.config.dense, 1);
}

Numbers DlrmData::targets(std::int64_t rank) const {
  return drawn(seed_, "targets of " + std::to_string(rank), shape_.config.batch, 1);
}

std::int64_t DlrmData::row(std::int64_t table, std::int64_t sample, std::int64_t lookup) const {
  std::uint64_t z = mix(static_cast<std::uint64_t>(seed_) ^ mix(static_cast<std::uint64_t>(table)));
  z = mix(mix(z ^ static_cast<std::uint64_t>(sample)) ^ static_cast<std::uint64_t>(lookup));
  return static_cast<std::int64_t>(z % static_cast<std::uint64_t>(shape_.config.rows));
}

Numbers look_up(const DlrmShape& shape, const DlrmData& data, std::int64_t rank, std::span<const float> tables) {
  const auto width = static_cast<std::size_t>(shape.config.width);
  const std::int64_t samples = shape.config.batch * shape.ranks;
  Numbers vectors(static_cast<std::size_t>(samples * shape.vector_numbers));
  float* to = vectors.data();
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    for (std::int64_t table = 0; table < shape.own_tables; ++table, to += width) {
      for (std::int64_t lookup = 0; lookup < shape.config.lookups; ++lookup) {
        const std::int64_t row = table * shape.config.rows + data.row(rank * shape.own_tables + table, sample, lookup);
        const float* from = tables.data() + static_cast<std::size_t>(row) * width;
        for (std::size_t i = 0; i < width; ++i) to[i] += from[i];
      }
    }
  }
  return vectors;
}

void update_tables(const DlrmShape& shape, const DlrmData& data, std::int64_t rank, std::span<const float> gradients,
                   std::span<float> tables) {
  const auto width = static_cast<std::size_t>(shape.config.width);
  const auto rate = static_cast<float>(shape.config.rate);
  const float* from = gradients.data();
  for (std::int64_t sample = 0; sample < shape.config.batch * shape.ranks; ++sample) {
    for (std::int64_t table = 0; table < shape.own_tables; ++table, from += width) {
      for (std::int64_t lookup = 0; lookup < shape.config.lookups; ++lookup) {
        const std::int64_t row = table * shape.config.rows + data.row(rank * shape.own_tables + table, sample, lookup);
        float* to = tables.data() + static_cast<std::size_t>(row) * width;
        for (std::size_t i = 0; i < width; ++i) to[i] -= rate * from[i];
      }
    }
  }
}

std::vector<std::byte> exchanged(const DlrmShape& shape, std::span<const float> vectors) {
  if (shape.whole()) {
    std::vector<std::byte> all(vectors.size_bytes());
    std::memcpy(all.data(), vectors.data(), all.size());
    return all;
  }
  const auto numbers = static_cast<std::size_t>(shape.vector_numbers);
  std::vector<std::byte> all(vectors.size() / numbers * shape.sample_bytes());
  std::byte* to = all.data();
  for (std::size_t at = 0; at < vectors.size(); at += numbers) {
    const std::span<const float> sample = vectors.subspan(at, numbers);
    for (const std::uint32_t index : compression::largest(sample, static_cast<std::size_t>(shape.kept))) {
      const compression::Pair pair{index, sample[index]};
      std::memcpy(to, &pair, sizeof pair);
      to += sizeof pair;
    }
  }
  return all;
}

Numbers restored(const DlrmShape& shape, std::span<const std::byte> message) {
  if (shape.whole()) {
    Numbers all(message.size() / sizeof(float));
    std::memcpy(all.data(), message.data(), message.size());
    return all;
  }
  const auto numbers = static_cast<std::size_t>(shape.vector_numbers);
  Numbers all(message.size() / shape.sample_bytes() * numbers);
  for (std::size_t sample = 0; sample * shape.sample_bytes() < message.size(); ++sample) {
    for (std::uint64_t at = 0; at < shape.sample_bytes(); at += sizeof(compression::Pair)) {
      compression::Pair pair;
      std::memcpy(&pair, message.data() + sample * shape.sample_bytes() + at, sizeof pair);
      all[sample * numbers + pair.index] = pair.value;
    }
  }
  return all;
}

DlrmPass pass_through(const DlrmShape& shape, std::span<const float> weights, std::span<const float> dense,
                      std::span<const float> vectors, std::span<const float> targets) {
  const std::int64_t batch = shape.config.batch;
  const auto width = static_cast<std::size_t>(shape.config.width);
  const auto bottom_weights = static_cast<std::size_t>(parameters_of(shape.bottom));
  const std::vector<Numbers> low =
      forward(shape.bottom, batch, weights.first(bottom_weights), Numbers(dense.begin(), dense.end()), true);
  const auto count = static_cast<std::size_t>(shape.vectors);
  const auto inputs = static_cast<std::size_t>(shape.config.width + shape.interactions);
  // Of a sample: where its vectors lie, the bottom perceptron's first.
  const auto place = [&](std::size_t sample, std::size_t which) -> std::size_t {
    const auto own = static_cast<std::size_t>(shape.own_tables);
    const std::size_t owner = (which - 1) / own;
    return ((owner * static_cast<std::size_t>(batch) + sample) * own + (which - 1) % own) * width;
  };
  const auto vector = [&](std::size_t sample, std::size_t which) {
    return which == 0 ? std::span(low.back()).subspan(sample * width, width)
                      : vectors.subspan(place(sample, which), width);
  };
  Numbers joined(static_cast<std::size_t>(batch) * inputs);
  for (std::size_t b = 0; b < static_cast<std::size_t>(batch); ++b) {
    float* to = std::copy_n(vector(b, 0).begin(), width, joined.data() + b * inputs);
    for (std::size_t i = 1; i < count; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        float sum = 0;
        for (std::size_t k = 0; k < width; ++k) sum += vector(b, i)[k] * vector(b, j)[k];
        *to++ = sum / static_cast<float>(width);
      }
    }
  }
  const std::vector<Numbers> high = forward(shape.top, batch, weights.subspan(bottom_weights), joined, false);
  DlrmPass pass{Numbers(weights.size()), Numbers(vectors.size()), 0};
  Numbers gradient(static_cast<std::size_t>(batch));
  const auto all = static_cast<float>(batch * shape.ranks);
  for (std::size_t b = 0; b < gradient.size(); ++b) {
    const float away = high.back()[b] - targets[b];
    pass.loss += static_cast<double>(away) * static_cast<double>(away) / 2 / static_cast<double>(all);
    gradient[b] = away / all;
  }
  gradient = backward(shape.top, batch, weights.subspan(bottom_weights), high, gradient,
                      std::span(pass.weight_gradients).subspan(bottom_weights));
  // kfac::backward takes what came to the first layer as it is.
  Numbers of_bottom(static_cast<std::size_t>(batch) * width);
  for (std::size_t b = 0; b < static_cast<std::size_t>(batch); ++b) {
    const float* from = gradient.data() + b * inputs;
    const auto of = [&](std::size_t which) {
      return which == 0 ? std::span(of_bottom).subspan(b * width, width)
                        : std::span(pass.vector_gradients).subspan(place(b, which), width);
    };
    for (std::size_t k = 0; k < width; ++k) of(0)[k] = *from++;
    for (std::size_t i = 1; i < count; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const float share = *from++ / static_cast<float>(width);
        for (std::size_t k = 0; k < width; ++k) {
          of(i)[k] += share * vector(b, j)[k];
          of(j)[k] += share * vector(b, i)[k];
        }
      }
    }
  }
  for (std::size_t i = 0; i < of_bottom.size(); ++i) of_bottom[i] = low.back()[i] > 0 ? of_bottom[i] : 0;
  static_cast<void>(backward(shape.bottom, batch, weights.first(bottom_weights), low, of_bottom,
                             std::span(pass.weight_gradients).first(bottom_weights)));
  return pass;
}

}  // namespace weft::schedules
