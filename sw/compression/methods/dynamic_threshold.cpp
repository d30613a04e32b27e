// SPDX-License-Identifier: Apache-2.0
// Dynamic communication thresholding of gradients (Gupta et al., arXiv 2010.08899): elements above a threshold, which
// is renewed from the largest elements once in many messages and holds until then, with error feedback.
#include <algorithm>
#include <cmath>

#include "sw/compression/pairs.h"
#include "sw/compression/selection.h"

namespace weft::compression {
namespace {

struct DynamicThresholdConfig {
  std::int64_t interval = 1000;
  double most = 2;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("interval", interval, "Messages from one renewal of the threshold to the next", Range{1, 1'000'000});
    visit("most", most, "What is sent at most, as a multiple of the ratio; the rest stays behind", Range{1});
  }
};

constexpr const char* kDynamicThreshold = "dynamic-threshold";
/// Of a radix select, as top-k's.
constexpr std::int64_t kRenewalPasses = 5;

const DynamicThresholdConfig& own_of(const CompressionConfig& config) {
  return config.own.of(kDynamicThreshold).as<DynamicThresholdConfig>();
}

std::int64_t most_sent(const Message& message, const CompressionConfig& config) {
  const double most = std::ceil(own_of(config).most * static_cast<double>(target_of(message, config)));
  return std::min(static_cast<std::int64_t>(most), message.elements);
}

class DynamicThreshold final : public PairsCodec {
 public:
  explicit DynamicThreshold(const Site& site)
      : PairsCodec(most_sent(site.message, site.config), true),
        target_(static_cast<std::size_t>(target_of(site.message, site.config))),
        interval_(own_of(site.config).interval) {}

  [[nodiscard]] std::vector<std::uint32_t> choose(std::span<const float> values, std::size_t most) override {
    if (sent_++ % interval_ != 0) return above(values, threshold_, most);
    std::vector<std::uint32_t> chosen = largest(values, target_);
    // What exceeds it is what was chosen, but for equals of the least.
    threshold_ = HUGE_VAL;
    for (const std::uint32_t at : chosen) threshold_ = std::min(threshold_, std::fabs(double{values[at]}));
    threshold_ = std::nextafter(threshold_, 0.0);
    return chosen;
  }

 private:
  std::size_t target_;
  std::int64_t interval_;
  std::int64_t sent_ = 0;
  double threshold_ = 0;
};

/// A pass that compares and counts, and of the renewal each message's share.
Plan dynamic_threshold_plan(const Message& message, const CompressionConfig& config) {
  const std::int64_t interval = own_of(config).interval;
  const std::int64_t share = (message.elements * kRenewalPasses + interval - 1) / interval;
  return pairs_plan(message, config,
                    {.choose = {pass("compress.count", message.elements, kElement * message.elements, 0, 1),
                                pass("compress.renew", share, kElement * share, 0, 2)},
                     .estimates = true,
                     .most = most_sent(message, config)});
}

}  // namespace

Compressor dynamic_threshold_compressor() {
  return {.name = kDynamicThreshold,
          .doc = "those above a magnitude that is renewed now and then from the largest",
          .config = DynamicThresholdConfig(),
          .config_doc = "A threshold that is renewed now and then",
          .plan = dynamic_threshold_plan,
          .make = [](const Site& site) { return std::make_unique<DynamicThreshold>(site); }};
}

}  // namespace weft::compression
