// SPDX-License-Identifier: Apache-2.0
// Few bits for each element, gathered: QSGD (Alistarh et al., NeurIPS 2017), TernGrad (Wen et al., NeurIPS 2017),
// signSGD by majority vote (Bernstein et al., ICML 2018) and with scales and error feedback (Karimireddy et al., ICML
// 2019).
#include <algorithm>
#include <cmath>

#include "sw/compression/compressor.h"
#include "sw/compression/framework.h"
#include "sw/compression/random.h"
#include "sw/compression/words.h"

namespace weft::compression {
namespace {

/// A scale, then so many bits for each element.
struct Quantised {
  std::int64_t elements = 0;
  std::int64_t element_bytes = kElement;
  int bits = 1;
  bool scaled = true;
  double statistics = 0;  ///< operations of the pass that finds the scale; 0: none
  double operations = 1;  ///< of the one that rounds
  bool error_feedback = false;
  bool by_framework = false;
  Operations compress = {};    ///< in a framework
  Operations decompress = {};  ///< of a message
  Operations finish = {};
};

Plan framework_plan_of(const Quantised& of) {
  Plan::Round round;
  if (of.error_feedback) append_compensation(round.kernels, of.elements);
  append(round.kernels, "compress", of.elements, of.compress);
  if (of.error_feedback) {
    append(round.kernels, "decompress", of.elements, of.decompress);
    append_residual(round.kernels, of.elements);
  }
  round.bytes = static_cast<std::uint64_t>(packed_bytes(of.elements, of.bits) + (of.scaled ? kElement : 0));
  return {.wire = Wire::kGathered, .rounds = {std::move(round)}, .after = [=](int messages) {
            Kernels kernels;
            for (int i = 0; i < messages; ++i) append(kernels, "decompress", of.elements, of.decompress);
            append_aggregation(kernels, of.elements, messages);
            append(kernels, "decompress.finish", of.elements, of.finish);
            return kernels;
          }};
}

/// One rank's message after the other is added up by a pass of its own.
Plan quantised_plan(const Quantised& of) {
  if (of.by_framework) return framework_plan_of(of);
  const std::int64_t values = of.element_bytes * of.elements;
  const std::int64_t packed = packed_bytes(of.elements, of.bits);
  Plan::Round round;
  if (of.error_feedback) round.kernels.push_back(accumulate(of.elements));
  if (of.statistics > 0) round.kernels.push_back(pass("compress.scale", of.elements, values, 0, of.statistics));
  round.kernels.push_back(
      pass("compress.round", of.elements, values, packed + (of.error_feedback ? values : 0), of.operations));
  round.bytes = static_cast<std::uint64_t>(packed + (of.scaled ? kElement : 0));
  return {.wire = Wire::kGathered, .rounds = {std::move(round)}, .after = [=](int messages) {
            Kernels kernels = {pass("decompress.clear", of.elements, 0, values, 0)};
            for (int i = 0; i < messages; ++i) {
              kernels.push_back(pass("decompress.add", of.elements, packed + values, values, 2));
            }
            return kernels;
          }};
}

// ---- QSGD

struct QsgdConfig {
  int levels = 0;
  int bits = 8;

  static constexpr int kMostLevels = 1 << 23;  ///< as many as a float32 tells apart
  /// That its bits tell apart beside the sign.
  [[nodiscard]] std::int64_t most() const { return (std::int64_t{1} << (bits - 1)) - 1; }
  [[nodiscard]] int count() const {
    return levels > 0 ? levels : static_cast<int>(std::min<std::int64_t>(most(), kMostLevels));
  }

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("levels", levels, "Levels between 0 and the norm of a message; 0: as many as `bits` tell apart",
          Range{0, kMostLevels});
    visit("bits", bits, "Bits that a level travels in, with its sign", Range{2, 32});
  }
};

constexpr const char* kQsgd = "qsgd";

class Qsgd final : public Codec {
 public:
  explicit Qsgd(const Site& site) : config_(site.own<QsgdConfig>(kQsgd)), random_(own_random(site)) {}

  [[nodiscard]] Sent compress(std::span<const float> values, std::size_t /*round*/,
                              std::span<const std::byte> /*came*/) override {
    double squares = 0;
    for (const float value : values) squares += static_cast<double>(value) * value;
    const double norm = std::sqrt(squares);
    BitWriter sent;
    sent.put(static_cast<float>(norm));
    for (const float value : values) {
      const double level = norm > 0 ? config_.count() * std::abs(static_cast<double>(value)) / norm : 0;
      const double down = std::floor(level);
      const auto chosen = static_cast<std::uint64_t>(down + (random_.share() < level - down ? 1 : 0));
      sent.put(value < 0 ? 1 : 0, 1);
      sent.put(std::min<std::uint64_t>(chosen, (std::uint64_t{1} << (config_.bits - 1)) - 1), config_.bits - 1);
    }
    return sent.take();
  }

  void add(std::span<const std::byte> message, std::span<float> values) const override {
    BitReader came(message);
    const float unit = came.real() / static_cast<float>(config_.count());
    for (float& value : values) {
      const float sign = came.get(1) != 0 ? -1.0F : 1.0F;
      value += sign * unit * static_cast<float>(came.get(config_.bits - 1));
    }
  }

 private:
  QsgdConfig config_;
  Random random_;
};

// ---- TernGrad

struct TernGradConfig {
  double clip = 2.5;
  int bits = 2;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("clip", clip, "Standard deviations at which elements are clipped; 0: nowhere");
    visit("bits", bits, "Bits that each of -1, 0 and 1 travels in; 8 where a library does not pack them", Range{2, 32});
  }
};

constexpr const char* kTernGrad = "terngrad";

class TernGrad final : public Codec {
 public:
  explicit TernGrad(const Site& site) : config_(site.own<TernGradConfig>(kTernGrad)), random_(own_random(site)) {}

  [[nodiscard]] Sent compress(std::span<const float> values, std::size_t /*round*/,
                              std::span<const std::byte> /*came*/) override {
    double mean = 0;
    double squares = 0;
    for (const float value : values) mean += value;
    mean /= std::max<double>(1, static_cast<double>(values.size()));
    for (const float value : values) squares += (value - mean) * (value - mean);
    const double most = config_.clip * std::sqrt(squares / std::max<double>(1, static_cast<double>(values.size())));
    const auto clipped = [&](float value) {
      const double magnitude = std::abs(static_cast<double>(value));
      return config_.clip > 0 ? std::min(magnitude, most) : magnitude;
    };
    double scale = 0;
    for (const float value : values) scale = std::max(scale, clipped(value));
    BitWriter sent;
    sent.put(static_cast<float>(scale));
    for (const float value : values) {
      const bool kept = random_.share() * scale < clipped(value);
      sent.put(!kept ? 0 : value < 0 ? 2 : 1, config_.bits);
    }
    return sent.take();
  }

  void add(std::span<const std::byte> message, std::span<float> values) const override {
    BitReader came(message);
    const float scale = came.real();
    for (float& value : values) {
      const std::uint64_t what = came.get(config_.bits);
      if (what != 0) value += what == 2 ? -scale : scale;
    }
  }

 private:
  TernGradConfig config_;
  Random random_;
};

// ---- Signs

struct SignConfig {
  int bits = 1;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("bits", bits, "Bits that a sign travels in; 8 where a library does not pack them", Range{1, 32});
  }
};

constexpr const char* kSign = "sign";
constexpr const char* kScaledSign = "scaled-sign";

class Sign final : public Codec {
 public:
  Sign(const Site& site, const char* name, bool scaled) : bits_(site.own<SignConfig>(name).bits), scaled_(scaled) {}

  [[nodiscard]] Sent compress(std::span<const float> values, std::size_t /*round*/,
                              std::span<const std::byte> /*came*/) override {
    BitWriter sent;
    if (scaled_) {
      double sum = 0;
      for (const float value : values) sum += std::abs(static_cast<double>(value));
      sent.put(static_cast<float>(sum / std::max<double>(1, static_cast<double>(values.size()))));
    }
    for (const float value : values) sent.put(value < 0 ? 1 : 0, bits_);
    return sent.take();
  }

  void add(std::span<const std::byte> message, std::span<float> values) const override {
    BitReader came(message);
    const float scale = scaled_ ? came.real() : 1.0F;
    for (float& value : values) value += came.get(bits_) != 0 ? -scale : scale;
  }

  /// What most say, as often as there are ranks: their mean is a sign.
  void finish(std::span<float> sum, int ranks) const override {
    if (scaled_) return;
    for (float& value : sum) value = static_cast<float>(value < 0 ? -ranks : ranks);
  }

 private:
  int bits_;
  bool scaled_;
};

}  // namespace

Compressor qsgd_compressor() {
  return {.name = kQsgd,
          .doc = "levels of the norm, rounded at random",
          .config = QsgdConfig(),
          .config_doc = "QSGD",
          .follows_ratio = false,
          .dense = true,
          .check =
              [](const CompressionConfig& config, const std::string& path) {
                const auto& own = config.own.of(kQsgd).as<QsgdConfig>();
                expect(own.levels <= own.most(), path + ".levels",
                       "at most " + std::to_string(own.most()) + ", as many levels as " + path + ".bits of " +
                           std::to_string(own.bits) + " tell apart beside the sign, or more bits",
                       own.levels);
              },
          .plan =
              [](const Message& message, const CompressionConfig& config) {
                return quantised_plan({.elements = message.elements,
                                       .element_bytes = message.element_bytes,
                                       .bits = config.own.of(kQsgd).as<QsgdConfig>().bits,
                                       .statistics = 2,
                                       .operations = 30,  // a random number of a counter among them
                                       .error_feedback = config.error_feedback,
                                       .by_framework = config.by_framework(),
                                       .compress = {.unary = 9, .binary = 4, .reductions = 1},
                                       .decompress = {.unary = 2}});
              },
          .make = [](const Site& site) { return std::make_unique<Qsgd>(site); }};
}

Compressor terngrad_compressor() {
  return {.name = kTernGrad,
          .doc = "-1, 0 or 1 times the largest, at random",
          .config = TernGradConfig(),
          .config_doc = "TernGrad",
          .follows_ratio = false,
          .dense = true,
          .plan =
              [](const Message& message, const CompressionConfig& config) {
                return quantised_plan({.elements = message.elements,
                                       .element_bytes = message.element_bytes,
                                       .bits = config.own.of(kTernGrad).as<TernGradConfig>().bits,
                                       .statistics = 4,
                                       .operations = 30,
                                       .error_feedback = config.error_feedback,
                                       .by_framework = config.by_framework(),
                                       .compress = {.unary = 12, .binary = 2, .reductions = 3},
                                       .decompress = {.unary = 2}});
              },
          .make = [](const Site& site) { return std::make_unique<TernGrad>(site); }};
}

namespace {

Compressor signs(const char* name, const char* doc, const char* config_doc, bool scaled) {
  return {.name = name,
          .doc = doc,
          .config = SignConfig(),
          .config_doc = config_doc,
          .follows_ratio = false,
          .plan =
              [name, scaled](const Message& message, const CompressionConfig& config) {
                Plan plan = quantised_plan({.elements = message.elements,
                                            .bits = config.own.of(name).as<SignConfig>().bits,
                                            .scaled = scaled,
                                            .statistics = scaled ? 2.0 : 0.0,
                                            .error_feedback = config.error_feedback,
                                            .by_framework = config.by_framework(),
                                            .compress = {.unary = scaled ? 2 : 1, .reductions = scaled ? 1 : 0},
                                            .decompress = {.unary = scaled ? 4 : 3},
                                            .finish = {.unary = scaled ? 1 : 4}});
                if (scaled || config.by_framework()) return plan;
                plan.after = [elements = message.elements, add = plan.after](int messages) {
                  Kernels kernels = add(messages);
                  kernels.push_back(pass("decompress.vote", elements, kElement * elements, kElement * elements, 1));
                  return kernels;
                };
                return plan;
              },
          .make = [name, scaled](const Site& site) { return std::make_unique<Sign>(site, name, scaled); }};
}

}  // namespace

Compressor sign_compressor() {
  return signs(kSign, "signs alone, and what most of them say (signSGD)", "signSGD by majority vote", false);
}

Compressor scaled_sign_compressor() {
  return signs(kScaledSign, "signs times the mean magnitude (EF-signSGD)", "signSGD with a scale", true);
}

}  // namespace weft::compression
