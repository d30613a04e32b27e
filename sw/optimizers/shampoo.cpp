// SPDX-License-Identifier: Apache-2.0
// Shampoo (Gupta et al., ICML 2018) as Distributed Shampoo has it (Shi et al., arXiv 2309.06497): of each block of a
// matrix, gradient G, the factors L = mean of G G^T and R = mean of G^T G; the update is L^-1/4 G R^-1/4 at the length
// of Adam's (grafting). Inverse roots are renewed every so many steps.
#include "hw/core/fields.h"
#include "sw/optimizers/blocks.h"
#include "sw/optimizers/elementwise.h"
#include "sw/optimizers/roots.h"

namespace weft::optimizers {
namespace {

using models::Elementwise;
using models::Fusion;
using models::Gemm;
using models::Kernel;

struct ShampooConfig {
  std::int64_t block = 1024;
  std::int64_t interval = 50;
  int iterations = 20;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("block", block, "Rows and columns of a block of a matrix, at most", Range{16, 1 << 16});
    visit("interval", interval, "Steps from one renewal of inverse roots to the next; the first step has one",
          Range{1, 1 << 20});
    visit("iterations", iterations, "Coupled Newton iterations for an inverse root", Range{1, 100});
  }
};

class Shampoo final : public BlockOptimizer {
 public:
  explicit Shampoo(ShampooConfig config) : BlockOptimizer(config.block, config.interval), config_(config) {}

 protected:
  [[nodiscard]] const char* name() const override { return "shampoo"; }

  void add_direction(std::vector<Kernel>& kernels, const Blocks& blocks, bool renews, Fusion fusion) const override {
    const auto [rows, cols, count] = blocks;
    const auto type = static_cast<int>(kFp32);
    const std::int64_t bytes = blocks.elements() * kFp32;
    // The means of gradients and of their squares: gradient and both in, both out. By operator as Adam's.
    kernels.push_back({"shampoo.graft", fusion == Fusion::kFused ? Elementwise{3 * bytes, 2 * bytes, 1}
                                                                 : Elementwise{(2 + 1 + 2) * bytes, 3 * bytes, 3}});
    kernels.push_back({"shampoo.factors", Gemm{count, rows, rows, cols, type}});
    kernels.push_back({"shampoo.factors", Gemm{count, cols, cols, rows, type}});
    if (renews) {
      add_inverse_root(kernels, rows, count, config_.iterations);
      add_inverse_root(kernels, cols, count, config_.iterations);
    }
    kernels.push_back({"shampoo.precondition", Gemm{count, rows, cols, rows, type}});
    kernels.push_back({"shampoo.precondition", Gemm{count, rows, cols, cols, type}});
    // Adam's direction for its length, the length of the update, and the update at that length.
    kernels.push_back({"shampoo.graft", fusion == Fusion::kFused
                                            ? Elementwise{(2 + 1 + 1) * bytes, bytes, 3}
                                            : Elementwise{(1 + 1 + 2 + 1 + 1 + 1) * bytes, (3 + 1) * bytes, 6}});
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> state(const Blocks& blocks) const override {
    return {{"factors and inverse roots in 32 bits", 2 * kFp32 * blocks.factor_elements()},
            {"two moments of matrices in 32 bits", 2 * kFp32 * blocks.elements()}};
  }

 private:
  ShampooConfig config_;
};

}  // namespace

Method shampoo_method() {
  return {.name = "shampoo",
          .doc = "inverse roots of two factors on each block of a matrix, AdamW on all else",
          .config = ShampooConfig(),
          .config_doc = "workload.optimizer shampoo",
          .make = [](const AnyConfig& config) { return std::make_unique<Shampoo>(config.as<ShampooConfig>()); }};
}

}  // namespace weft::optimizers
