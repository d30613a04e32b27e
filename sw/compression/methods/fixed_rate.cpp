// SPDX-License-Identifier: Apache-2.0
// A fixed number of bits for each value, as ZFP has it in one dimension (Lindstrom, IEEE TVCG 2014): blocks of four
// values with one exponent, made integers, decorrelated by ZFP's lifted transform, and sent from the highest bit plane
// down as far as the rate goes. Unlike ZFP, planes are sent as they are, without its coding of groups of zeros.
#include <algorithm>
#include <array>
#include <cmath>

#include "sw/compression/blocks.h"
#include "sw/compression/words.h"

namespace weft::compression {
namespace {

struct FixedRateConfig {
  int bits = 8;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("bits", bits, "Bits for each value", Range{4, 32});
  }
};

constexpr const char* kFixedRate = "fixed-rate";
constexpr std::size_t kBlockValues = 4;
constexpr int kExponentBits = 9;
constexpr int kExponentBias = 200;  // of float32's exponents, -148 to 128; 0 says that all values are 0
constexpr int kFraction = 30;       // bits of the integers: two of 32 for the transform to grow into

using Integers = std::array<std::int64_t, kBlockValues>;

/// ZFP's transform and its inverse (zfp/src/template/encode.c and decode.c).
void lift(Integers& v) {
  auto& [x, y, z, w] = v;
  x += w, x >>= 1, w -= x;
  z += y, z >>= 1, y -= z;
  x += z, x >>= 1, z -= x;
  w += y, w >>= 1, y -= w;
  w += y >> 1, y -= w >> 1;
}

void unlift(Integers& v) {
  auto& [x, y, z, w] = v;
  y += w >> 1, w -= y >> 1;
  y += w, w *= 2, w -= y;
  z += x, x *= 2, x -= z;
  y += z, z *= 2, z -= y;
  w += x, x *= 2, x -= w;
}

/// Two's complement to base -2, whose leading zeros are those of small numbers of both signs.
constexpr std::uint64_t kNegabinary = 0xaaaaaaaaULL;
std::uint64_t to_negabinary(std::int64_t value) {
  return ((static_cast<std::uint64_t>(value) + kNegabinary) ^ kNegabinary) & 0xffffffffULL;
}
std::int64_t from_negabinary(std::uint64_t digits) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>((digits ^ kNegabinary) - kNegabinary));
}

/// The middle of what digits below `plane` can stand for, which are cut off as if they were 0: of base -2 that is not
/// 0, so that what is cut would add up from hop to hop (ZFP_ROUND_LAST of zfp 1.0, ZFP_ROUNDING_MODE).
std::int64_t middle_below(int plane) {
  constexpr std::uint64_t kPositive = 0x55555555ULL;
  const std::uint64_t cut = (std::uint64_t{1} << plane) - 1;
  return (static_cast<std::int64_t>(cut & kPositive) - static_cast<std::int64_t>(cut & ~kPositive)) / 2;
}

class FixedRate final : public Codec {
 public:
  explicit FixedRate(const Site& site)
      : budget_(static_cast<int>(kBlockValues) * site.own<FixedRateConfig>(kFixedRate).bits) {}

  [[nodiscard]] Sent compress(std::span<const float> values, std::size_t /*round*/,
                              std::span<const std::byte> /*came*/) override {
    BitWriter sent;
    for (std::size_t at = 0; at < values.size(); at += kBlockValues) {
      put(values.subspan(at, std::min(kBlockValues, values.size() - at)), sent);
    }
    return sent.take();
  }

  void add(std::span<const std::byte> message, std::span<float> values) const override {
    BitReader came(message);
    for (std::size_t at = 0; at < values.size(); at += kBlockValues) {
      get(came, values.subspan(at, std::min(kBlockValues, values.size() - at)));
    }
  }

 private:
  void put(std::span<const float> values, BitWriter& sent) const {
    const std::size_t end = sent.bits() + static_cast<std::size_t>(budget_);
    float most = 0;
    for (const float value : values) most = std::max(most, std::isfinite(value) ? std::abs(value) : most);
    if (most > 0) {
      int exponent = 0;
      static_cast<void>(std::frexp(most, &exponent));
      sent.put(static_cast<std::uint64_t>(exponent + kExponentBias), kExponentBits);
      Integers block{};
      for (std::size_t i = 0; i < kBlockValues; ++i) {
        // A block at the end repeats its last value.
        const double value = values[std::min(i, values.size() - 1)];
        block[i] = static_cast<std::int64_t>(std::ldexp(std::isfinite(value) ? value : 0.0, kFraction - exponent));
      }
      lift(block);
      std::array<std::uint64_t, kBlockValues> digits{};
      for (std::size_t i = 0; i < kBlockValues; ++i) digits[i] = to_negabinary(block[i]);
      for (int plane = 31; plane >= 0 && sent.bits() < end; --plane) {
        for (std::size_t i = 0; i < kBlockValues && sent.bits() < end; ++i) sent.put((digits[i] >> plane) & 1, 1);
      }
    }
    while (sent.bits() < end) sent.put(0, 1);
  }

  void get(BitReader& came, std::span<float> values) const {
    const std::size_t end = came.at() + static_cast<std::size_t>(budget_);
    const auto exponent = static_cast<int>(came.get(kExponentBits));
    if (exponent != 0) {
      std::array<std::uint64_t, kBlockValues> digits{};
      std::array<int, kBlockValues> lowest{32, 32, 32, 32};  // plane that came
      for (int plane = 31; plane >= 0 && came.at() < end; --plane) {
        for (std::size_t i = 0; i < kBlockValues && came.at() < end; ++i) {
          digits[i] |= came.get(1) << plane;
          lowest[i] = plane;
        }
      }
      Integers block{};
      for (std::size_t i = 0; i < kBlockValues; ++i) block[i] = from_negabinary(digits[i]) + middle_below(lowest[i]);
      unlift(block);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] +=
            static_cast<float>(std::ldexp(static_cast<double>(block[i]), exponent - kExponentBias - kFraction));
      }
    }
    came.skip_to(end);
  }

  int budget_;
};

/// Of a value: the exponent, the transform and the planes.
constexpr double kZfpOperations = 40;

}  // namespace

Compressor fixed_rate_compressor() {
  return {.name = kFixedRate,
          .doc = "some bits for each value of blocks of four, hop by hop (as ZFP)",
          .config = FixedRateConfig(),
          .config_doc = "Bits of a fixed rate",
          .follows_ratio = false,
          .follows_error_feedback = false,
          .plan =
              [](const Message& message, const CompressionConfig& config) {
                const std::int64_t element = message.element_bytes;
                const int bits = config.own.of(kFixedRate).as<FixedRateConfig>().bits;
                const auto bytes = [bits](std::int64_t elements) { return packed_bytes((elements + 3) / 4 * 4, bits); };
                Plan plan = {.wire = Wire::kHops, .after = {}};
                pass_by_blocks(plan, element, bytes, kZfpOperations);
                return plan;
              },
          .make = [](const Site& site) { return std::make_unique<FixedRate>(site); }};
}

}  // namespace weft::compression
