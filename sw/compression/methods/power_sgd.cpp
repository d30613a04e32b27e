// SPDX-License-Identifier: Apache-2.0
// PowerSGD (Vogels, Karimireddy and Jaggi, NeurIPS 2019): a gradient as a matrix M, approximated by P Q^T of a small
// rank with one step of power iteration: P = M Q is summed over ranks and made orthonormal, then Q = M^T P is summed.
// Both are linear, so that the sum of what ranks leave behind and of what is sent is that of their gradients.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "sw/compression/compressor.h"
#include "sw/compression/framework.h"
#include "sw/compression/random.h"

namespace weft::compression {
namespace {

struct PowerSgdConfig {
  int rank = 4;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("rank", rank, "Columns of P and Q, as far as the matrix has as many", Range{1, 1 << 16});
  }
};

constexpr const char* kPowerSgd = "power-sgd";

struct MatrixShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t rank = 0;
};

/// A tensor as it is; several as a square, filled with zeros.
MatrixShape matrix_shape(const Message& message, const CompressionConfig& config) {
  const std::int64_t most = config.own.of(kPowerSgd).as<PowerSgdConfig>().rank;
  auto side = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(message.elements))));
  MatrixShape shape{side, side, most};
  if (message.tensors.size() == 1) shape = {message.tensors[0].rows, message.tensors[0].columns, most};
  shape.rank = std::min({most, shape.rows, shape.columns});
  return shape;
}

/// A vector, or what P and Q would not make smaller, is summed as it is.
bool is_sent_whole(const Message& message, const MatrixShape& shape) {
  return shape.rows <= 1 || shape.columns <= 1 || (shape.rows + shape.columns) * shape.rank >= message.elements;
}

using Reals = std::vector<float>;

Reals floats_in(std::span<const std::byte> bytes) {
  Reals values(bytes.size() / kElement);
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * kElement);
  return values;
}

Codec::Sent bytes_of(const Reals& values) {
  Codec::Sent sent(values.size() * kElement);
  if (!values.empty()) std::memcpy(sent.data(), values.data(), sent.size());
  return sent;
}

/// Columns of a matrix of `rows` x `rank`, row after row: Gram-Schmidt, twice for what roundoff leaves. A column that
/// those before it already span becomes 0, where its roundoff would be taken for a direction otherwise.
void orthonormalise(Reals& matrix, std::int64_t rows, std::int64_t rank) {
  constexpr double kRoundoff = 1e-5;
  const auto at = [&](std::int64_t row, std::int64_t column) -> float& {
    return matrix[static_cast<std::size_t>(row * rank + column)];
  };
  const auto product = [&](std::int64_t a, std::int64_t b) {
    double sum = 0;
    for (std::int64_t r = 0; r < rows; ++r) sum += static_cast<double>(at(r, a)) * at(r, b);
    return sum;
  };
  for (std::int64_t c = 0; c < rank; ++c) {
    const double whole = std::sqrt(product(c, c));
    for (int time = 0; time < 2; ++time) {
      for (std::int64_t before = 0; before < c; ++before) {
        const double share = product(before, c);
        for (std::int64_t r = 0; r < rows; ++r) at(r, c) -= static_cast<float>(share * at(r, before));
      }
    }
    const double norm = std::sqrt(product(c, c));
    for (std::int64_t r = 0; r < rows; ++r) {
      at(r, c) = norm > kRoundoff * whole ? static_cast<float>(at(r, c) / norm) : 0;
    }
  }
}

class PowerSgd final : public Codec {
 public:
  explicit PowerSgd(const Site& site) : shape_(matrix_shape(site.message, site.config)) {
    whole_ = is_sent_whole(site.message, shape_);
    if (whole_) return;
    Random random = shared_random(site);
    q_.resize(static_cast<std::size_t>(shape_.columns * shape_.rank));
    for (float& value : q_) value = static_cast<float>(2 * random.share() - 1);
  }

  [[nodiscard]] Sent compress(std::span<const float> values, std::size_t round,
                              std::span<const std::byte> came) override {
    if (whole_) return bytes_of(Reals(values.begin(), values.end()));
    if (round == 0) {
      // That of the step before, in which it was summed: power iteration goes on where it was.
      if (latest_.size() == q_.size()) q_ = latest_;
      orthonormalise(q_, shape_.columns, shape_.rank);
      return bytes_of(product(values, q_, false));
    }
    p_ = floats_in(came);
    orthonormalise(p_, shape_.rows, shape_.rank);
    return bytes_of(product(values, p_, true));
  }

  void add(std::span<const std::byte> message, std::span<float> values) const override {
    const Reals sent = floats_in(message);
    if (whole_) {
      for (std::size_t i = 0; i < std::min(sent.size(), values.size()); ++i) values[i] += sent[i];
      return;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i) / shape_.columns;
      const auto column = static_cast<std::int64_t>(i) % shape_.columns;
      float sum = 0;
      for (std::int64_t c = 0; c < shape_.rank; ++c) {
        sum += p_[static_cast<std::size_t>(row * shape_.rank + c)] *
               sent[static_cast<std::size_t>(column * shape_.rank + c)];
      }
      values[i] += sum;
    }
    latest_ = sent;
  }

 private:
  /// M times another, or its transpose.
  [[nodiscard]] Reals product(std::span<const float> m, const Reals& other, bool transposed) const {
    const std::int64_t rows = transposed ? shape_.columns : shape_.rows;
    std::vector<double> sums(static_cast<std::size_t>(rows * shape_.rank));
    for (std::size_t i = 0; i < m.size(); ++i) {
      auto to = static_cast<std::int64_t>(i) / shape_.columns;
      auto from = static_cast<std::int64_t>(i) % shape_.columns;
      if (transposed) std::swap(to, from);
      for (std::int64_t c = 0; c < shape_.rank; ++c) {
        sums[static_cast<std::size_t>(to * shape_.rank + c)] +=
            static_cast<double>(m[i]) * other[static_cast<std::size_t>(from * shape_.rank + c)];
      }
    }
    return {sums.begin(), sums.end()};
  }

  MatrixShape shape_;
  bool whole_ = false;
  Reals p_;  ///< orthonormal, of the message under way
  Reals q_;
  mutable Reals latest_;  ///< Q of what was added last: the sum, at the end of a step
};

accelerator::Gemm product_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.m = m, .n = n, .k = k, .type = accelerator::DataType::kFp32};
}

/// Column after column: products with those before, and the norm, of which each is a pass.
void add_orthonormalising(Kernels& kernels, std::int64_t rows, std::int64_t rank) {
  for (std::int64_t c = 0; c < rank; ++c) {
    kernels.push_back(pass("compress.orthonormalise", rows * (2 * c + 1), kElement * rows * (c + 1), kElement * rows,
                           static_cast<double>(4)));
  }
}

Plan power_sgd_plan(const Message& message, const CompressionConfig& config) {
  const MatrixShape shape = matrix_shape(message, config);
  const std::int64_t elements = message.elements;
  Plan plan = {.wire = Wire::kSummed, .rounds = {}, .after = {}};
  if (is_sent_whole(message, shape)) {
    plan.rounds.push_back({.kernels = {pass("compress.copy", elements, kElement * elements, kElement * elements, 0)},
                           .bytes = static_cast<std::uint64_t>(kElement * elements)});
    plan.after = [elements](int) {
      return Kernels{pass("decompress.copy", elements, kElement * elements, kElement * elements, 0)};
    };
    return plan;
  }
  plan.rounds.resize(2);
  if (config.error_feedback) plan.rounds[0].kernels.push_back(accumulate(elements));
  add_orthonormalising(plan.rounds[0].kernels, shape.columns, shape.rank);
  plan.rounds[0].kernels.push_back({"compress.p", product_of(shape.rows, shape.rank, shape.columns)});
  plan.rounds[0].bytes = static_cast<std::uint64_t>(kElement * shape.rows * shape.rank);
  add_orthonormalising(plan.rounds[1].kernels, shape.rows, shape.rank);
  plan.rounds[1].kernels.push_back({"compress.q", product_of(shape.columns, shape.rank, shape.rows)});
  plan.rounds[1].bytes = static_cast<std::uint64_t>(kElement * shape.columns * shape.rank);
  if (config.error_feedback) {
    plan.rounds[1].kernels.push_back({"compress.approximate", product_of(shape.rows, shape.columns, shape.rank)});
    plan.rounds[1].kernels.push_back(pass("compress.rest", elements, 2 * kElement * elements, kElement * elements, 1));
  }
  if (config.by_framework()) {
    // What comes is also added to a momentum, which is added to it.
    plan.after = [shape, elements](int) {
      Kernels kernels = {{"decompress.product", product_of(shape.rows, shape.columns, shape.rank)}};
      append(kernels, "decompress.momentum", elements, {.unary = 3, .binary = 2});
      return kernels;
    };
    plan.state_bytes = kElement * shape.columns * shape.rank;
    return plan;
  }
  plan.after = [shape](int) {
    return Kernels{{"decompress.product", product_of(shape.rows, shape.columns, shape.rank)}};
  };
  plan.state_bytes = kElement * shape.columns * shape.rank;
  return plan;
}

}  // namespace

Compressor power_sgd_compressor() {
  return {.name = kPowerSgd,
          .doc = "a product of two thin matrices, each summed (PowerSGD)",
          .config = PowerSgdConfig(),
          .config_doc = "PowerSGD",
          .follows_ratio = false,
          .plan = power_sgd_plan,
          .make = [](const Site& site) { return std::make_unique<PowerSgd>(site); }};
}

}  // namespace weft::compression
