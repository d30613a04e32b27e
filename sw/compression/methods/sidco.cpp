// SPDX-License-Identifier: Apache-2.0
// SIDCo: the elements above a threshold that is estimated from the distribution of their magnitudes (Abdelmoniem et
// al., MLSys 2021; sw/compression/sidco.h).
#include "sw/compression/sidco.h"

#include <algorithm>
#include <cmath>

#include "sw/compression/pairs.h"
#include "sw/compression/selection.h"

namespace weft::compression {
namespace {

/// Of the target: what is sent at most. The rest stays behind.
constexpr std::int64_t kMostSent = 2;

std::int64_t sidco_most(const Message& message, const CompressionConfig& config) {
  return std::min(kMostSent * target_of(message, config), message.elements);
}

class Sidco final : public PairsCodec {
 public:
  Sidco(Distribution distribution, const Site& site)
      : PairsCodec(sidco_most(site.message, site.config), true),
        estimator_(distribution, site.config.ratio, site.config.stages) {}

  [[nodiscard]] std::vector<std::uint32_t> choose(std::span<const float> values, std::size_t most) override {
    std::vector<std::uint32_t> chosen = above(values, estimator_.threshold(values), most);
    estimator_.observe(chosen.size(), values.size());
    return chosen;
  }

 private:
  ThresholdEstimator estimator_;
};

/// A pass of statistics over all elements; for each later stage one that copies what exceeds the threshold, a
/// kFirstRatio of what was there, and one of statistics over the copy. Libraries' separate passes for magnitudes, means
/// and variances are taken as fused.
Plan sidco_plan(const Message& message, const CompressionConfig& config, Distribution distribution) {
  // A sum; a sum and one of squares; a sum and one of logarithms, taken as 8 operations.
  const double flops = distribution == Distribution::kExponential ? 2 : distribution == Distribution::kPareto ? 4 : 10;
  Kernels choose = {pass("compress.fit", message.elements, kElement * message.elements, 0, flops)};
  std::int64_t left = message.elements;
  for (int stage = 1; stage < ThresholdEstimator::first_stages(config.ratio, config.stages); ++stage) {
    const auto next = static_cast<std::int64_t>(std::ceil(ThresholdEstimator::kFirstRatio * static_cast<double>(left)));
    choose.push_back(pass("compress.exceed", left, kElement * left, kElement * next, 1));
    choose.push_back(pass("compress.fit", next, kElement * next, 0, 4));
    left = next;
  }
  return pairs_plan(message, config,
                    {.choose = std::move(choose), .estimates = true, .most = sidco_most(message, config)});
}

Compressor sidco(const char* name, const char* doc, Distribution distribution) {
  return {.name = name,
          .doc = doc,
          .follows_stages = true,
          .plan = [distribution](const Message& message,
                                 const CompressionConfig& config) { return sidco_plan(message, config, distribution); },
          .make = [distribution](const Site& site) { return std::make_unique<Sidco>(distribution, site); }};
}

}  // namespace

Compressor exponential_compressor() {
  return sidco("exponential", "those above SIDCo's threshold for that distribution", Distribution::kExponential);
}

Compressor gamma_compressor() {
  return sidco("gamma", "the same for a gamma distribution", Distribution::kGamma);
}

Compressor pareto_compressor() {
  return sidco("pareto", "the same for a generalized Pareto distribution", Distribution::kPareto);
}

}  // namespace weft::compression
