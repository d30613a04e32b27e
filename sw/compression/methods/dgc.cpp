// SPDX-License-Identifier: Apache-2.0
// Deep gradient compression (Lin et al., ICLR 2018): a threshold from the largest of a sample of the elements, mended
// until it lets about as many through as are wanted; momentum is corrected and masked.
#include <algorithm>
#include <cmath>

#include "sw/compression/framework.h"
#include "sw/compression/pairs.h"
#include "sw/compression/random.h"
#include "sw/compression/selection.h"

namespace weft::compression {
namespace {

struct DgcConfig {
  double sample = 0.01;
  double momentum = 0;
  int corrections = 20;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("sample", sample, "Share of the elements that the threshold is taken from", kShareAboveZero);
    visit("momentum", momentum,
          "Share of the last step's velocity in this one's, where the optimizer has none of its own "
          "(momentum correction)",
          kShareBelowOne);
    visit("corrections", corrections, "Most times that the threshold is mended", Range{0, 100});
  }
};

constexpr const char* kDgc = "dgc";
/// What a threshold may let through of the target, and by what it is mended.
constexpr double kFewestThrough = 0.8;
constexpr double kMostThrough = 1.25;
constexpr double kLower = 0.9;
constexpr double kRaise = 1.25;
constexpr int kSamplePasses = 4;

std::int64_t dgc_most(const Message& message, const CompressionConfig& config) {
  const auto most =
      static_cast<std::int64_t>(std::ceil(kMostThrough * static_cast<double>(target_of(message, config))));
  return std::min(most, message.elements);
}

class Dgc final : public PairsCodec {
 public:
  explicit Dgc(const Site& site)
      : PairsCodec(dgc_most(site.message, site.config), true),
        config_(site.own<DgcConfig>(kDgc)),
        target_(static_cast<double>(target_of(site.message, site.config))),
        ratio_(site.config.ratio),
        random_(own_random(site)),
        velocity_(config_.momentum > 0 ? static_cast<std::size_t>(site.message.elements) : 0) {}

  void prepare(std::span<float> gradient) override {
    for (std::size_t i = 0; i < velocity_.size(); ++i) {
      velocity_[i] = static_cast<float>(config_.momentum) * velocity_[i] + gradient[i];
      gradient[i] = velocity_[i];
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> choose(std::span<const float> values, std::size_t most) override {
    if (values.empty()) return {};
    std::vector<float> sample(
        std::max<std::size_t>(1, static_cast<std::size_t>(config_.sample * static_cast<double>(values.size()))));
    for (float& each : sample) each = std::abs(values[random_.next() % values.size()]);
    const auto rank = std::max<std::size_t>(1, static_cast<std::size_t>(ratio_ * static_cast<double>(sample.size())));
    std::nth_element(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(rank - 1), sample.end(),
                     std::greater<>());
    double threshold = sample[rank - 1];
    std::size_t through = above(values, threshold, values.size()).size();
    for (int i = 0; i < config_.corrections; ++i) {
      const auto count = static_cast<double>(through);
      if (count >= kFewestThrough * target_ && count <= kMostThrough * target_) break;
      threshold *= count > kMostThrough * target_ ? kRaise : kLower;
      through = above(values, threshold, values.size()).size();
    }
    std::vector<std::uint32_t> chosen = above(values, threshold, most);
    for (const std::uint32_t i : chosen) {
      if (!velocity_.empty()) velocity_[i] = 0;  // factor masking
    }
    return chosen;
  }

 private:
  DgcConfig config_;
  double target_;
  double ratio_;
  Random random_;
  std::vector<float> velocity_;
};

Plan dgc_plan(const Message& message, const CompressionConfig& config) {
  const auto& own = config.own.of(kDgc).as<DgcConfig>();
  const std::int64_t elements = message.elements;
  const std::int64_t sample =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(own.sample * static_cast<double>(elements)));
  Kernels choose;
  if (own.momentum > 0) {
    choose.push_back(pass("compress.velocity", elements, 2 * kElement * elements, kElement * elements, 2));
  }
  if (config.by_framework()) {
    // Of the memory: velocity and sum assigned; of the sample: drawn, gathered, sorted; then magnitudes, those above,
    // and how many there are, twice; a mask of booleans is looked through again for its places; at last what was sent
    // is masked out of both.
    append(choose, "compress.velocity", elements, {.unary = 2, .binary = 1});
    append(choose, "compress.sample", sample, {.unary = 2});
    append_sort(choose, sample);
    for (int i = 0; i < 1 + std::min(own.corrections, 1); ++i) {
      append(choose, "compress.count", elements, {.unary = 3, .reductions = 1});
    }
    append(choose, "compress.where", elements, {.unary = 1, .reductions = 1});
    append(choose, "compress.mask", elements, {.unary = 2, .binary = 2});
    Plan plan = pairs_plan(message, config,
                           {.choose = std::move(choose), .estimates = true, .most = dgc_most(message, config)});
    if (own.momentum > 0) plan.state_bytes = kElement * elements;
    return plan;
  }
  choose.push_back(pass("compress.sample", sample, kSector * sample, kElement * sample, 1));
  for (int i = 0; i < kSamplePasses; ++i) {
    choose.push_back(pass("compress.select", sample, kElement * sample, 0, 2));
  }
  // A first threshold, and one that is mended: how often depends on the numbers.
  for (int i = 0; i < 1 + std::min(own.corrections, 1); ++i) {
    choose.push_back(pass("compress.count", elements, kElement * elements, 0, 2));
  }
  Plan plan =
      pairs_plan(message, config, {.choose = std::move(choose), .estimates = true, .most = dgc_most(message, config)});
  if (own.momentum > 0) plan.state_bytes = kElement * elements;
  return plan;
}

}  // namespace

Compressor dgc_compressor() {
  return {.name = kDgc,
          .doc = "those above a threshold from a sample (Deep Gradient Compression)",
          .config = DgcConfig(),
          .config_doc = "Deep Gradient Compression",
          .plan = dgc_plan,
          .make = [](const Site& site) { return std::make_unique<Dgc>(site); }};
}

}  // namespace weft::compression
