// SPDX-License-Identifier: Apache-2.0
#include "sw/optimizers/roots.h"

#include <algorithm>

#include "sw/optimizers/elementwise.h"

namespace weft::optimizers {

using models::Elementwise;
using models::Gemm;
using models::Kernel;

void add_inverse_root(std::vector<Kernel>& kernels, std::int64_t n, std::int64_t count, int iterations) {
  const std::int64_t bytes = count * n * n * kFp32;
  // The bound of the largest eigenvalue, and M scaled by it.
  kernels.push_back({"inverse_root", Elementwise{2 * bytes, bytes, 2}});
  for (int i = 0; i < iterations; ++i) {
    kernels.push_back({"inverse_root", Elementwise{bytes, bytes, 1}});
    for (int product = 0; product < kRootProducts; ++product) {
      kernels.push_back({"inverse_root", Gemm{count, n, n, n, static_cast<int>(kFp32)}});
    }
  }
}

void add_orthogonal_factor(std::vector<Kernel>& kernels, std::int64_t n, std::int64_t count) {
  constexpr std::int64_t kPanel = 64;
  constexpr int kLaunches = 2;  // of a column: its reflection, and what that does to the panel
  const auto type = static_cast<int>(kFp32);
  for (std::int64_t first = 0; first < n; first += kPanel) {
    const std::int64_t width = std::min(kPanel, n - first);
    const std::int64_t rows = n - first;
    const std::int64_t behind = n - first - width;
    // Each column goes through what is left of the panel, which is half of it in the mean.
    const std::int64_t bytes = count * rows * width * width / 2 * kFp32;
    kernels.push_back({"qr", Elementwise{bytes, bytes, kLaunches * static_cast<int>(width)}});
    if (behind > 0) {
      kernels.push_back({"qr", Gemm{count, width, behind, rows, type}});
      kernels.push_back({"qr", Gemm{count, rows, behind, width, type}});
    }
    // The factor, from the last panel on: the identity's columns from this panel on.
    kernels.push_back({"qr", Gemm{count, width, rows, rows, type}});
    kernels.push_back({"qr", Gemm{count, rows, rows, width, type}});
  }
}

}  // namespace weft::optimizers
