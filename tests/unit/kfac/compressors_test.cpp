// SPDX-License-Identifier: Apache-2.0
// Compressors by their names: what is sent and what stays is what there was, sizes are as planned, and what rounds at
// random does so without bias. Several ranks exchange what they send without a machine.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/random.h"
#include "sw/compression/compressor.h"

namespace weft::compression {
namespace {

using Reals = std::vector<float>;

constexpr int kMembers = 3;

CompressionConfig with(const std::string& method, double ratio = 0.05) {
  CompressionConfig config;
  config.method = method;
  config.ratio = ratio;
  return config;
}

/// Both signs, of exponential magnitudes.
Reals drawn(const std::string& of, std::int64_t elements) {
  Random random(3, of);
  Reals values(static_cast<std::size_t>(elements));
  for (float& value : values) {
    value = static_cast<float>(-0.01 * std::log(1 - random.share()) * (random.share() < 0.5 ? -1 : 1));
  }
  return values;
}

/// What ranks do to a message in a step, as the machine has it.
class Ranks {
 public:
  Ranks(const Message& message, const CompressionConfig& config)
      : plan(plan_of(message, config)), feedback_(config.error_feedback) {
    for (int r = 0; r < kMembers; ++r) {
      codecs_.push_back(codec_of({message, config, 11, r}));
      left.emplace_back(static_cast<std::size_t>(message.elements));
    }
  }

  Reals step(const std::vector<Reals>& gradients) {
    std::vector<Codec::Sent> sent(kMembers);
    std::vector<Reals> values = gradients;
    Reals sum(gradients.front().size());
    for (std::size_t r = 0; r < kMembers; ++r) {
      codecs_[r]->prepare(values[r]);
      for (std::size_t i = 0; feedback_ && i < sum.size(); ++i) values[r][i] += left[r][i];
    }
    Codec::Sent came;
    for (std::size_t round = 0; round < plan.rounds.size(); ++round) {
      for (std::size_t r = 0; r < kMembers; ++r) {
        sent[r] = codecs_[r]->compress(values[r], round, came);
        EXPECT_EQ(sent[r].size() % plan.unit, 0U);
        if (plan.varies) {
          EXPECT_LE(sent[r].size(), plan.most(round));
        } else {
          EXPECT_EQ(sent[r].size(), plan.rounds[round].bytes);
        }
      }
      if (plan.wire == Wire::kSummed) came = sum_of(sent);
    }
    for (std::size_t r = 0; r < kMembers; ++r) {
      leave(*codecs_[r], sent[r], values[r]);
      left[r] = values[r];
    }
    if (plan.wire == Wire::kSummed) {
      codecs_.back()->add(came, sum);
      // Every rank has the same.
      Reals other(sum.size());
      codecs_.front()->add(came, other);
      EXPECT_EQ(sum, other);
    } else {
      for (const Codec::Sent& message : sent) codecs_.front()->add(message, sum);
    }
    bytes = sent.front().size();
    unfinished = sum;
    codecs_.front()->finish(sum, kMembers);
    return sum;
  }

  Plan plan;
  std::vector<Reals> left;  ///< by rank
  Reals unfinished;         ///< the sum before what the compressor makes of it
  std::size_t bytes = 0;    ///< of the last round, of rank 0

 private:
  static Codec::Sent sum_of(const std::vector<Codec::Sent>& sent) {
    Codec::Sent sum = sent.front();
    for (std::size_t r = 1; r < sent.size(); ++r) {
      for (std::size_t i = 0; i < sum.size(); i += sizeof(float)) {
        float a = 0;
        float b = 0;
        std::memcpy(&a, sum.data() + i, sizeof a);
        std::memcpy(&b, sent[r].data() + i, sizeof b);
        a += b;
        std::memcpy(sum.data() + i, &a, sizeof a);
      }
    }
    return sum;
  }

  bool feedback_;
  std::vector<std::unique_ptr<Codec>> codecs_;
};

std::vector<std::string> summing() {
  std::vector<std::string> names;
  for (const Compressor& compressor : compressors()) {
    if (compressor.plan({64}, with(compressor.name)).wire != Wire::kHops) names.push_back(compressor.name);
  }
  return names;
}

Message two_tensors() {
  return {60 * 50 + 40, {{60, 50}, {1, 40}}};
}

// What is sent and what stays behind is all there was, in every step, whoever sends what: float32 rounds each of a few
// additions of values below 1 to 2^-24 of it.
TEST(Compressors, LeaveWhatTheyDoNotSend) {
  for (const std::string& name : summing()) {
    for (const bool by_tensor : {false, true}) {
      SCOPED_TRACE(name + (by_tensor ? " by tensor" : ""));
      CompressionConfig config = with(name);
      config.by_tensor = by_tensor;
      Ranks ranks(two_tensors(), config);
      std::vector<double> behind(3040);
      for (int step = 0; step < 4; ++step) {
        std::vector<Reals> gradients;
        std::vector<double> there = behind;
        for (int r = 0; r < kMembers; ++r) {
          gradients.push_back(drawn(std::to_string(step) + " " + std::to_string(r), 3040));
          for (std::size_t i = 0; i < there.size(); ++i) there[i] += gradients.back()[i];
        }
        const Reals sum = ranks.step(gradients);
        behind.assign(3040, 0);
        double moved = 0;
        for (std::size_t i = 0; i < there.size(); ++i) {
          for (const Reals& left : ranks.left) behind[i] += left[i];
          // Signs are of size 1, so that what is left of small numbers is, too.
          EXPECT_NEAR(ranks.unfinished[i] + behind[i], there[i], name == "sign" ? 2e-5 : 2e-6) << i;
          moved += std::abs(sum[i]);
        }
        EXPECT_GT(moved, 0);
      }
    }
  }
}

TEST(Compressors, SendTheShareThatIsAskedFor) {
  const Message message{200'000};
  const Reals values = drawn("share", message.elements);
  for (const auto& [name, ratio, bytes] : {std::tuple{"top-k", 0.01, 8 * 2000.0},
                                           {"random-k", 0.01, 4 * 2000.0},
                                           {"dgc", 0.01, 8 * 2000.0},
                                           {"exponential", 0.01, 8 * 2000.0},
                                           {"qsgd", 0.01, 200'000.0 + 4},
                                           {"terngrad", 0.01, 50'000.0 + 4},
                                           {"sign", 0.01, 25'000.0},
                                           {"scaled-sign", 0.01, 25'000.0 + 4}}) {
    Ranks ranks(message, with(name, ratio));
    static_cast<void>(ranks.step({values, values, values}));
    EXPECT_EQ(static_cast<double>(ranks.plan.rounds.front().bytes), bytes) << name;
    EXPECT_NEAR(static_cast<double>(ranks.bytes), bytes, ranks.plan.varies ? 0.25 * bytes : 0) << name;
  }
  // (448 + 447) x 4 of a square of 448, filled up.
  EXPECT_EQ(plan_of(message, with("power-sgd")).bytes(), 4U * 2 * 448 * 4);
  EXPECT_EQ(plan_of(message, with("threshold")).most(0), 8U * 200'000);
}

// Mean of many roundings of one value: within 5 standard deviations, which are at most half a level over the root of
// how many there are; TernGrad's is the scale itself.
TEST(Compressors, RoundWithoutBias) {
  constexpr int kTimes = 20'000;
  const Message message{4};
  const Reals values = {0.3F, -0.7F, 0.05F, 0.0F};
  const double norm = std::sqrt(0.3 * 0.3 + 0.7 * 0.7 + 0.05 * 0.05);
  for (const auto& [name, spread] : {std::pair{"qsgd", norm / 127 / 2}, {"terngrad", 0.7}}) {
    CompressionConfig config = with(name);
    config.error_feedback = false;
    const auto codec = codec_of({message, config, 5, 0});
    std::vector<double> mean(4);
    for (int i = 0; i < kTimes; ++i) {
      Reals came(4);
      codec->add(codec->compress(values, 0, {}), came);
      for (std::size_t e = 0; e < came.size(); ++e) mean[e] += came[e] / static_cast<double>(kTimes);
    }
    for (std::size_t e = 0; e < mean.size(); ++e) {
      EXPECT_NEAR(mean[e], values[e], 5 * spread / std::sqrt(kTimes)) << name << " " << e;
    }
  }
}

TEST(Compressors, RandomCoordinatesAreTheSameOnAllRanksAndOthersInTheNextStep) {
  const Message message{1000};
  Ranks ranks(message, with("random-k", 0.1));
  const Reals ones(1000, 1);
  const Reals first = ranks.step({ones, ones, ones});
  ranks.left.assign(kMembers, Reals(1000));
  const Reals second = ranks.step({ones, ones, ones});
  int both = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_TRUE(first[i] == 0 || first[i] == 3) << i;
    both += first[i] != 0 && second[i] != 0 ? 1 : 0;
  }
  EXPECT_EQ(std::count(first.begin(), first.end(), 3.0F), 100);
  EXPECT_LT(both, 30);  // 10 on the mean
}

// A matrix of the rank that is sent comes over whole, but for roundoff; of a higher one, power iteration finds more of
// it from step to step when gradients stay.
TEST(Compressors, PowerSgdIsExactUpToItsRank) {
  const Message message{30 * 20, {{30, 20}}};
  const Reals a = drawn("a", 30);
  const Reals b = drawn("b", 20);
  Reals product(600);
  for (std::size_t i = 0; i < 600; ++i) product[i] = 1e4F * a[i / 20] * b[i % 20];
  CompressionConfig config = with("power-sgd");
  Ranks ranks(message, config);
  const Reals sum = ranks.step({product, product, product});
  for (std::size_t i = 0; i < 600; ++i) EXPECT_NEAR(sum[i], 3 * product[i], 1e-4) << i;
  config.error_feedback = false;
  Ranks noisy(message, config);
  const Reals gradient = drawn("noise", 600);
  const auto error = [&] {
    const Reals came = noisy.step({gradient, gradient, gradient});
    double squares = 0;
    for (std::size_t i = 0; i < 600; ++i) squares += std::pow(came[i] / 3 - gradient[i], 2);
    return squares;
  };
  const double first = error();
  for (int i = 0; i < 5; ++i) static_cast<void>(error());
  EXPECT_LT(error(), 0.95 * first);
}

TEST(Compressors, SignsAreWhatMostRanksSay) {
  Ranks ranks({3}, with("sign"));
  const Reals sum = ranks.step({{1, -2, 3}, {-1, -2, 0.5F}, {4, 5, 1}});
  EXPECT_EQ(sum, (Reals{3, -3, 3}));
}

TEST(Compressors, DgcCorrectsMomentumAndMasksIt) {
  CompressionConfig config = with("dgc", 0.25);
  for (Section& section : config.own) {
    if (section.name != "dgc") continue;
    struct Set final : FieldVisitor {
      void scalar(std::string_view name, std::string_view, const Scalar& value, Range) override {
        if (name == "momentum") *std::get<double*>(value) = 0.5;
        if (name == "sample") *std::get<double*>(value) = 1;
      }
      void nested(std::string_view, std::string_view, std::string_view, const Fields&) override {}
      void list(std::string_view, std::string_view, const ListRef&) override {}
    } set;
    section.config.fields(set);
  }
  EXPECT_EQ(plan_of({4}, config).state_bytes, 16);
  const auto codec = codec_of({{4}, config, 5, 0});
  Reals gradient = {8, 1, 1, 1};
  codec->prepare(gradient);
  EXPECT_EQ(gradient, (Reals{8, 1, 1, 1}));
  Reals sent(4);
  codec->add(codec->compress(gradient, 0, {}), sent);
  Reals next = {1, 1, 1, 1};
  codec->prepare(next);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(next[i], sent[i] != 0 ? 1 : 1 + 0.5F * gradient[i]) << i;
}

std::unique_ptr<Codec> codec_with(const char* name, const char* field, int value, std::int64_t elements) {
  struct Set final : FieldVisitor {
    std::string_view field;
    int value = 0;
    void scalar(std::string_view found, std::string_view, const Scalar& to, Range) override {
      if (found == field) std::get<IntegerRef>(to).store(value);
    }
    void nested(std::string_view, std::string_view, std::string_view, const Fields&) override {}
    void list(std::string_view, std::string_view, const ListRef&) override {}
  } set;
  set.field = field;
  set.value = value;
  CompressionConfig config = with(name);
  for (Section& section : config.own) {
    if (section.name == name) section.config.fields(set);
  }
  return codec_of({{elements}, config, 5, 0});
}

// Whatever the bits are, of any length, numbers or not.
TEST(Compressors, LosslessKeepsEveryBit) {
  for (const int distance : {1, 3, 100}) {
    for (const std::size_t elements : {1U, 31U, 32U, 33U, 1000U}) {
      Random random(elements, "bits");
      Reals values(elements);
      for (float& value : values) {
        const auto bits = static_cast<std::uint32_t>(random.next());
        std::memcpy(&value, &bits, sizeof value);
      }
      const auto codec = codec_with("lossless", "distance", distance, static_cast<std::int64_t>(elements));
      const Codec::Sent sent = codec->compress(values, 0, {});
      EXPECT_LE(sent.size(), plan_of({64}, with("lossless")).most_block_bytes(static_cast<std::int64_t>(elements)));
      // Added to -0 a number stays itself, but that one that is none says so in another way.
      Reals came(elements, -0.0F);
      codec->add(sent, came);
      for (std::size_t i = 0; i < elements; ++i) {
        if (std::isnan(values[i])) {
          EXPECT_TRUE(std::isnan(came[i]));
        } else {
          EXPECT_EQ(std::memcmp(&came[i], &values[i], sizeof(float)), 0) << i;
        }
      }
    }
  }
  // A smooth series is worth it.
  Reals ramp(4096);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = 1 + static_cast<float>(i) / 4096;
  EXPECT_LT(codec_with("lossless", "distance", 1, 4096)->compress(ramp, 0, {}).size(), 4096U * 4 / 2);
}

// Of four values 4 b bits, 9 of them the exponent e of 2^e above the largest: whole planes go down to 2^-(p - 2) of
// that, and the transform back at most doubles what is missing and what its own shifts have rounded.
TEST(Compressors, AFixedRateIsOffByItsLastPlane) {
  const Reals values = drawn("rate", 4000);
  for (const int bits : {8, 12, 16, 24}) {
    const auto codec = codec_with("fixed-rate", "bits", bits, 4000);
    const Codec::Sent sent = codec->compress(values, 0, {});
    EXPECT_EQ(sent.size(), 4000U * static_cast<std::size_t>(bits) / 8);
    Reals came(4000);
    codec->add(sent, came);
    const int planes = (4 * bits - 9) / 4;
    for (std::size_t i = 0; i < values.size(); i += 4) {
      float most = 0;
      for (std::size_t k = i; k < i + 4; ++k) most = std::max(most, std::abs(values[k]));
      for (std::size_t k = i; k < i + 4; ++k) {
        EXPECT_LE(std::abs(came[k] - values[k]), 2 * 2 * most * std::ldexp(4, -planes)) << bits << " " << k;
      }
    }
  }
  Reals zeros(7);
  const auto codec = codec_with("fixed-rate", "bits", 8, 7);
  codec->add(codec->compress(zeros, 0, {}), zeros);
  EXPECT_EQ(zeros, Reals(7));
}

TEST(Compressors, FieldsThatCannotBeAreNamed) {
  const auto said = [](const CompressionConfig& config) -> std::string {
    try {
      check(config, "here");
      return "";
    } catch (const ConfigError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(said(with("top-k", 0)), "here.ratio: expected a number, more than 0 and at most 1, got 0");
  EXPECT_EQ(said(with("none", 7)), "");
  EXPECT_EQ(said(with("dgc", 2)), "here.ratio: expected a number, more than 0 and at most 1, got 2");
}

// A threshold holds from one renewal to the next, whatever values become.
TEST(Compressors, DynamicThresholdsAreRenewedNowAndThen) {
  constexpr std::int64_t kElements = 10'000;
  const auto codec = codec_with("dynamic-threshold", "interval", 3, kElements);
  Reals values = drawn("values", kElements);
  const auto sent = [&] { return codec->compress(values, 0, {}).size() / kPair; };
  EXPECT_EQ(sent(), 500U);
  EXPECT_EQ(sent(), 500U);
  for (float& value : values) value /= 2;
  // Of exponential magnitudes, 5 % to the power of two.
  EXPECT_NEAR(static_cast<double>(sent()), 25, 20);
  EXPECT_EQ(sent(), 500U);
  // As many as are allowed, where values grow.
  for (float& value : values) value *= 8;
  EXPECT_EQ(sent(), 1000U);
}

// A pass that compares, and what a renewal takes shared out.
TEST(Compressors, DynamicThresholdsTakeAPassAndASortNowAndThen) {
  const Message message{1'000'000, {}};
  const auto read = [&](const std::string& method) {
    std::int64_t bytes = 0;
    const Plan plan = plan_of(message, with(method, 0.01));
    for (const Kernel& kernel : plan.rounds[0].kernels) {
      if (kernel.name.starts_with("compress.") && kernel.name != "compress.pack" &&
          kernel.name != "compress.accumulate")
        bytes += std::get<accelerator::Elementwise>(kernel.shape).read.count();
    }
    return static_cast<double>(bytes);
  };
  EXPECT_NEAR(read("dynamic-threshold") / 4e6, 1.005, 1e-6);
  EXPECT_NEAR(read("top-k") / 4e6, 5, 1e-6);
}

}  // namespace
}  // namespace weft::compression
