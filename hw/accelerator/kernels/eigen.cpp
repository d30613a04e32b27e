// SPDX-License-Identifier: Apache-2.0
#include "hw/accelerator/kernels/eigen.h"

#include <algorithm>
#include <stdexcept>

#include "hw/accelerator/kernels/arithmetic.h"
#include "hw/accelerator/kernels/product.h"

namespace weft::accelerator {
namespace {

constexpr std::int64_t kEigenPanel = 64;

class Decomposition {
 public:
  Decomposition(const ComputeConfig& config, const SymmetricEigen& shape)
      : config_(config), shape_(shape), fits_(square(shape.n) <= static_cast<double>(config.l2_size.count()) / 2) {}

  void reduce() {
    for (std::int64_t column = 0; column < shape_.n; column += kEigenPanel) {
      const std::int64_t width = std::min(kEigenPanel, shape_.n - column);
      const std::int64_t below = shape_.n - column - width;
      columns(width, below);
      if (below > 0) update(below, width);
    }
  }
  void conquer() {
    append(work_, streaming_work(config_, square(shape_.n), square(shape_.n), 0));
    for (std::int64_t size = 2 * kEigenPanel; size / 2 < shape_.n; size *= 2) {
      const std::int64_t side = std::min(size, shape_.n);
      const std::int64_t merges = shape_.batch * ceil_div(shape_.n, side);
      append(work_, product_work(config_,
                                 plain_product({2 * merges, ceil_div(side, 2), side, ceil_div(side, 2), shape_.type})));
    }
  }
  void turn_back() {
    for (std::int64_t column = 0; column < shape_.n; column += kEigenPanel) {
      const std::int64_t width = std::min(kEigenPanel, shape_.n - column);
      const std::int64_t rows = shape_.n - column;
      append(work_, product_work(config_, plain_product({shape_.batch, width, shape_.n, rows, shape_.type})));
      append(work_, product_work(config_, plain_product({shape_.batch, rows, shape_.n, width, shape_.type})));
    }
  }

  KernelWork work() {
    const auto n = static_cast<double>(shape_.n);
    work_.flops = static_cast<double>(shape_.batch) * n * n * n * 14 / 3;
    return work_;
  }

 private:
  [[nodiscard]] double square(std::int64_t n) const {
    return static_cast<double>(shape_.batch) * static_cast<double>(n) * static_cast<double>(n) * size_of(shape_.type);
  }

  /// Of a panel: for each column its reflection, then its product with the rest of the matrix.
  void columns(std::int64_t width, std::int64_t below) {
    const std::int64_t rows = below + width / 2;  // left of the matrix, in the mean
    const double read = static_cast<double>(width) * square(rows) / 2;
    // A kernel each.
    KernelWork panel = streaming_work(config_, fits_ ? 0 : read, 0, 0, static_cast<int>(2 * width));
    if (fits_) {
      lengthen(panel, Cost::kCache, transfer_time(to_bytes(read), config_.operand_rate), true);
      panel.cached += to_bytes(read);
    }
    lengthen(panel, Cost::kPanels, config_.panel_step * width, true);
    append(work_, panel);
  }

  /// The lower half of what is right of a panel, by two vectors for each of its columns.
  void update(std::int64_t size, std::int64_t width) {
    KernelWork product =
        product_work(config_, plain_product({shape_.batch, size, ceil_div(size, 2), 2 * width, shape_.type}));
    const double updated = square(size) / 2;
    const Rate rate = fits_ ? config_.operand_rate : config_.planned_memory;
    lengthen(product, Cost::kTiles, transfer_time(to_bytes(fits_ ? updated : 2 * updated), rate), fits_);
    product.cached += to_bytes(updated);
    if (!fits_) {
      product.read += to_bytes(updated);
      count_bytes(config_.power, product, updated);
    }
    append(work_, product);
  }

  const ComputeConfig& config_;
  SymmetricEigen shape_;
  bool fits_;  ///< in half of L2
  KernelWork work_;
};

}  // namespace

KernelWork kernel_work(const ComputeConfig& config, const SymmetricEigen& shape) {
  require_not_negative("eigen", {shape.batch, shape.n});
  if (size_of(shape.type) < 4) throw std::invalid_argument("eigen: fewer than 32 bits are too few to decompose with");
  if (shape.batch == 0 || shape.n == 0) return {};
  Decomposition decomposition(config, shape);
  decomposition.reduce();
  decomposition.conquer();
  decomposition.turn_back();
  return decomposition.work();
}

}  // namespace weft::accelerator
