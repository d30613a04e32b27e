// SPDX-License-Identifier: Apache-2.0
// Lossless, as MPC has it (Yang, Mukka, Hesaaraki and Burtscher, IEEE Cluster 2015): the difference of each word to the
// one some words before, 32 x 32 bits transposed, the difference of neighbours again, and words of zeros left out.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "sw/compression/blocks.h"
#include "sw/compression/words.h"

namespace weft::compression {
namespace {

struct LosslessConfig {
  double share = 0.85;
  int distance = 1;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("share", share,
          "Without data: bytes that are taken to be left of a byte. Not known beforehand: it "
          "depends on the numbers",
          kShareAboveZero);
    visit("distance", distance, "Values between one and that from which it is predicted", Range{1, 1024});
  }
};

constexpr const char* kLossless = "lossless";
constexpr std::size_t kWords = 32;

using Words = std::vector<std::uint32_t>;

/// Bit b of word w becomes bit w of word b.
void transpose(std::span<std::uint32_t> words) {
  std::uint32_t turned[kWords] = {};
  for (std::size_t w = 0; w < kWords; ++w) {
    for (std::size_t b = 0; b < kWords; ++b) turned[b] |= ((words[w] >> b) & 1U) << w;
  }
  std::copy(std::begin(turned), std::end(turned), words.begin());
}

class Lossless final : public Codec {
 public:
  explicit Lossless(const Site& site)
      : distance_(static_cast<std::size_t>(site.own<LosslessConfig>(kLossless).distance)) {}

  [[nodiscard]] Sent compress(std::span<const float> values, std::size_t /*round*/,
                              std::span<const std::byte> /*came*/) override {
    Words words((values.size() + kWords - 1) / kWords * kWords);
    if (!values.empty()) std::memcpy(words.data(), values.data(), values.size() * sizeof(float));
    for (std::size_t i = words.size(); i-- > distance_;) words[i] -= words[i - distance_];
    for (std::size_t i = 0; i < words.size(); i += kWords) transpose(std::span(words).subspan(i, kWords));
    for (std::size_t i = words.size(); i-- > 1;) words[i] -= words[i - 1];
    Sent sent;
    for (std::size_t i = 0; i < words.size(); i += kWords) {
      std::uint32_t there = 0;
      for (std::size_t w = 0; w < kWords; ++w) there |= (words[i + w] != 0 ? 1U : 0U) << w;
      append(there, sent);
      for (std::size_t w = 0; w < kWords; ++w) {
        if (words[i + w] != 0) append(words[i + w], sent);
      }
    }
    return sent;
  }

  void add(std::span<const std::byte> message, std::span<float> values) const override {
    std::vector<float> came(values.size());
    read(message, came);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += came[i];
  }
  void read(std::span<const std::byte> message, std::span<float> values) const override {
    Words words((values.size() + kWords - 1) / kWords * kWords);
    std::size_t at = 0;
    const auto next = [&] {
      std::uint32_t word = 0;
      if (at + sizeof word <= message.size()) std::memcpy(&word, message.data() + at, sizeof word);
      at += sizeof word;
      return word;
    };
    for (std::size_t i = 0; i < words.size(); i += kWords) {
      const std::uint32_t there = next();
      for (std::size_t w = 0; w < kWords; ++w) {
        if (((there >> w) & 1U) != 0) words[i + w] = next();
      }
    }
    for (std::size_t i = 1; i < words.size(); ++i) words[i] += words[i - 1];
    for (std::size_t i = 0; i < words.size(); i += kWords) transpose(std::span(words).subspan(i, kWords));
    for (std::size_t i = distance_; i < words.size(); ++i) words[i] += words[i - distance_];
    if (!values.empty()) std::memcpy(values.data(), words.data(), values.size() * sizeof(float));
  }

 private:
  static void append(std::uint32_t word, Sent& sent) {
    sent.resize(sent.size() + sizeof word);
    std::memcpy(sent.data() + sent.size() - sizeof word, &word, sizeof word);
  }

  std::size_t distance_;
};

/// Of a value: differences, the transposition in five steps of a warp, the count of what is not 0.
constexpr double kMpcOperations = 30;

/// All words and their bitmaps. Of 16 bits the others are 0, and so are their differences but for one.
std::int64_t most_bytes(std::int64_t elements, std::int64_t element_bytes) {
  const std::int64_t words = std::min<std::int64_t>(32, 8 * element_bytes + 1);
  return (elements + 31) / 32 * (words + 1) * kElement;
}

/// What is taken to be left of whole blocks, each of which has a bitmap at least.
std::int64_t bytes_of(std::int64_t elements, std::int64_t element_bytes, double share) {
  const std::int64_t blocks = (elements + 31) / 32;
  const std::int64_t words = std::llround(share * static_cast<double>(blocks * 32 * element_bytes / kElement));
  return std::max(blocks, words) * kElement;
}

}  // namespace

Compressor lossless_compressor() {
  return {.name = kLossless,
          .doc = "every bit, hop by hop (as MPC)",
          .config = LosslessConfig(),
          .config_doc = "Lossless",
          .follows_ratio = false,
          .follows_error_feedback = false,
          .exact = true,
          .plan =
              [](const Message& message, const CompressionConfig& config) {
                const std::int64_t element = message.element_bytes;
                const double share = config.own.of(kLossless).as<LosslessConfig>().share;
                const auto bytes = [share, element](std::int64_t elements) {
                  return bytes_of(elements, element, share);
                };
                Plan plan = {.wire = Wire::kHops, .varies = true, .after = {}};
                pass_by_blocks(plan, element, bytes, kMpcOperations);
                plan.most_block_bytes = [element](std::int64_t n) {
                  return static_cast<std::uint64_t>(most_bytes(n, element));
                };
                return plan;
              },
          .make = [](const Site& site) { return std::make_unique<Lossless>(site); }};
}

}  // namespace weft::compression
