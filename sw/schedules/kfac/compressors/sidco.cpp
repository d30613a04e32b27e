// SPDX-License-Identifier: Apache-2.0
// SIDCo: the elements above a threshold that is estimated from the distribution of their magnitudes (Abdelmoniem et
// al., MLSys 2021; sw/compression/sidco.h).
#include "sw/compression/sidco.h"
#include "sw/compression/selection.h"
#include "sw/kfac/compression_kernels.h"
#include "sw/schedules/kfac/compressor.h"

namespace weft::schedules {
namespace {

using compression::Distribution;
using compression::ThresholdEstimator;

class Sidco final : public Selector {
 public:
  Sidco(Distribution distribution, const CompressionConfig& config)
      : estimator_(distribution, config.ratio, config.stages) {}

  [[nodiscard]] std::vector<std::uint32_t> choose(std::span<const float> values, std::size_t most) override {
    std::vector<std::uint32_t> chosen = compression::above(values, estimator_.threshold(values), most);
    estimator_.observe(chosen.size(), values.size());
    return chosen;
  }

 private:
  ThresholdEstimator estimator_;
};

Compressor sidco(const char* name, const char* doc, Distribution distribution) {
  return {.name = name,
          .doc = doc,
          .estimates = true,
          .kernels =
              [distribution](std::int64_t elements, std::int64_t target, const CompressionConfig& config) {
                return kfac::estimation_kernels(elements, target, distribution,
                                                ThresholdEstimator::first_stages(config.ratio, config.stages));
              },
          .make = [distribution](
                      const CompressionConfig& config) { return std::make_unique<Sidco>(distribution, config); }};
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

}  // namespace weft::schedules
