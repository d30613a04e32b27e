// SPDX-License-Identifier: Apache-2.0
// All elements above a threshold that is given (Dryden et al., MLHPC 2016; Strom, Interspeech 2015).
#include "sw/compression/framework.h"
#include "sw/compression/pairs.h"
#include "sw/compression/selection.h"

namespace weft::compression {
namespace {

struct ThresholdConfig {
  double value = 0.001;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("value", value, "Magnitude above which an element is sent");
  }
};

constexpr const char* kThreshold = "threshold";

class HardThreshold final : public PairsCodec {
 public:
  explicit HardThreshold(const Site& site)
      : PairsCodec(site.message.elements, true), value_(site.own<ThresholdConfig>(kThreshold).value) {}

  [[nodiscard]] std::vector<std::uint32_t> choose(std::span<const float> values, std::size_t most) override {
    return above(values, value_, most);
  }

 private:
  double value_;
};

}  // namespace

Compressor threshold_compressor() {
  return {.name = kThreshold,
          .doc = "those above a magnitude; without data, the ratio of them",
          .config = ThresholdConfig(),
          .config_doc = "A threshold that is given",
          .ratio_stands_for_own = true,
          .plan =
              [](const Message& message, const CompressionConfig& config) {
                if (config.by_framework()) {
                  // Magnitudes, those above; places are looked for twice, for values and for indices.
                  Kernels choose;
                  append(choose, "compress.above", message.elements, {.unary = 2});
                  append(choose, "compress.where", message.elements, {.unary = 2, .reductions = 2});
                  return pairs_plan(message, config,
                                    {.choose = std::move(choose), .estimates = true, .most = message.elements});
                }
                // Which are above it is decided where they are packed: a pass that counts comes first.
                return pairs_plan(
                    message, config,
                    {.choose = {pass("compress.count", message.elements, kElement * message.elements, 0, 1)},
                     .estimates = true,
                     .most = message.elements});
              },
          .make = [](const Site& site) { return std::make_unique<HardThreshold>(site); }};
}

}  // namespace weft::compression
