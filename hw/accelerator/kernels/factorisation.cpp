// SPDX-License-Identifier: Apache-2.0
#include "hw/accelerator/kernels/factorisation.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "hw/accelerator/kernels/arithmetic.h"
#include "hw/accelerator/kernels/product.h"

namespace weft::accelerator {
namespace {

constexpr std::int64_t kPanel = 128;

class Factorisation {
 public:
  Factorisation(const ComputeConfig& config, std::int64_t batch, std::int64_t n, DataType type)
      : config_(config),
        batch_(batch),
        n_(n),
        type_(type),
        fits_(static_cast<double>(batch) * rectangle_bytes(n, n) <= static_cast<double>(config.l2_size.count()) / 2) {}

  void factor() {
    for (std::int64_t column = 0; column < n_; column += kPanel) {
      const std::int64_t width = std::min(kPanel, n_ - column);
      const std::int64_t below = n_ - column - width;
      diagonal(width, batch_);
      if (below == 0) break;
      solve(below, width);
      update(below, width);
    }
  }
  /// Against the identity, with the triangle and with its transpose. Blocks of the diagonal are inverted beforehand,
  /// all side by side.
  void solve_identity() {
    const std::int64_t blocks = ceil_div(n_, kPanel);
    diagonal(std::min(kPanel, n_), batch_ * blocks);
    for (int direction = 0; direction < 2; ++direction) {
      for (std::int64_t column = 0; column < n_; column += kPanel) {
        const std::int64_t width = std::min(kPanel, n_ - column);
        const std::int64_t below = n_ - column - width;
        multiply(width, n_, width, 0);
        if (below > 0) multiply(below, n_, width, static_cast<double>(batch_) * rectangle_bytes(below, n_));
      }
    }
  }

  /// Everything, of which `flops` operations are asked for.
  KernelWork work(double flops) {
    // What fits L2 is read once and written once, whatever panels do.
    if (fits_) {
      const double matrices = static_cast<double>(batch_) * rectangle_bytes(n_, n_);
      work_.read = to_bytes(matrices);
      work_.written = to_bytes(matrices);
      work_.memory_energy = work_.moving_energy = 0;
      count_bytes(config_.power, work_, 2 * matrices);
    }
    work_.flops = flops;
    return work_;
  }

 private:
  [[nodiscard]] double rectangle_bytes(std::int64_t m, std::int64_t n) const {
    return static_cast<double>(m) * static_cast<double>(n) * size_of(type_);
  }

  /// Blocks of the diagonal, one SM for each.
  void diagonal(std::int64_t width, std::int64_t blocks) {
    const std::int64_t rounds = ceil_div(blocks, config_.sms);
    KernelWork block{.launch = config_.launch, .compute = config_.panel_step * (width * rounds)};
    const double bytes = static_cast<double>(blocks) * rectangle_bytes(width, width);
    block.read = to_bytes(bytes);
    block.written = to_bytes(bytes);
    block.cached = block.read + block.written;
    const auto side = static_cast<double>(width);
    block.array_energy =
        operations_energy(config_, DataType::kFp32, static_cast<double>(blocks) * side * side * side / 3);
    Seconds parts{};
    at(parts, Cost::kPanels) = seconds(block.compute);
    settle(config_, block, parts);
    append(work_, block);
  }
  /// The panel below the block, times the inverse of the block.
  void solve(std::int64_t rows, std::int64_t width) { multiply(rows, width, width, 0); }
  /// The lower half of a square of `size`, from a panel of `width`; it is read as well as written.
  void update(std::int64_t size, std::int64_t width) {
    multiply(size, ceil_div(size, 2), width, static_cast<double>(batch_) * rectangle_bytes(size, size) / 2);
  }
  void multiply(std::int64_t m, std::int64_t n, std::int64_t k, double updated) {
    const Gemm shape{batch_, m, n, k, type_};
    KernelWork product = product_work(config_, plain_product(shape));
    if (updated > 0) {
      // Tiles of a short product load what they add to, and store it, outside of their main loop.
      const Rate rate = fits_ ? config_.operand_rate : config_.planned_memory;
      lengthen(product, Cost::kTiles, transfer_time(to_bytes(fits_ ? updated : 2 * updated), rate), fits_);
      product.read += to_bytes(updated);
      product.cached += to_bytes(updated);
      count_bytes(config_.power, product, updated);
    }
    append(work_, product);
  }

  const ComputeConfig& config_;
  std::int64_t batch_;
  std::int64_t n_;
  DataType type_;
  bool fits_;  ///< in half of L2
  KernelWork work_;
};

void check(const char* name, std::int64_t batch, std::int64_t n, DataType type) {
  require_not_negative(name, {batch, n});
  if (element_size(type) < Bytes(2))
    throw std::invalid_argument(std::string(name) + ": 8 bits are too few to factor with");
}

double cube(std::int64_t batch, std::int64_t n) {
  const auto side = static_cast<double>(n);
  return static_cast<double>(batch) * side * side * side;
}

}  // namespace

KernelWork kernel_work(const ComputeConfig& config, const Cholesky& shape) {
  check("cholesky", shape.batch, shape.n, shape.type);
  if (shape.batch == 0 || shape.n == 0) return {};
  Factorisation factorisation(config, shape.batch, shape.n, shape.type);
  factorisation.factor();
  return factorisation.work(cube(shape.batch, shape.n) / 3);
}

KernelWork kernel_work(const ComputeConfig& config, const Inverse& shape) {
  check("inverse", shape.batch, shape.n, shape.type);
  if (shape.batch == 0 || shape.n == 0) return {};
  Factorisation factorisation(config, shape.batch, shape.n, shape.type);
  factorisation.factor();
  factorisation.solve_identity();
  return factorisation.work(cube(shape.batch, shape.n) * 7 / 3);
}

}  // namespace weft::accelerator
