// SPDX-License-Identifier: Apache-2.0
// SOAP (Vyas et al., ICLR 2025, arXiv 2409.11321, algorithm 3): Adam in the eigenbases of Shampoo's factors. Gradient
// and momentum are turned into the bases, and the update back, in each step; the second moment stays in the bases.
// Every so many steps a factor multiplies its basis, which a QR decomposition makes orthogonal again.
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

struct SoapConfig {
  std::int64_t block = 1024;
  std::int64_t interval = 10;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("block", block, "Rows and columns of a block of a matrix, at most", Range{16, 1 << 16});
    visit("interval", interval, "Steps from one QR decomposition of the bases to the next; the first step has one",
          Range{1, 1 << 20});
  }
};

class Soap final : public BlockOptimizer {
 public:
  explicit Soap(SoapConfig config) : BlockOptimizer(config.block, config.interval) {}

 protected:
  [[nodiscard]] const char* name() const override { return "soap"; }

  void add_direction(std::vector<Kernel>& kernels, const Blocks& blocks, bool renews, Fusion fusion) const override {
    const std::int64_t bytes = blocks.elements() * kFp32;
    const bool is_fused = fusion == Fusion::kFused;
    // Gradient and momentum in, the momentum out.
    kernels.push_back({"soap.momentum", Elementwise{2 * bytes, bytes, 1}});
    add_turn(kernels, blocks);
    add_turn(kernels, blocks);
    // The gradient, its second moment and the momentum in, the second moment and the update out; by operator as Adam's:
    // decay and sum of the second moment, its root, two corrections, and the quotient.
    kernels.push_back({"soap.adam", is_fused ? Elementwise{3 * bytes, 2 * bytes, 1}
                                             : Elementwise{(1 + 2 + 1 + 1 + 1 + 2) * bytes, 6 * bytes, 6}});
    add_turn(kernels, blocks);
    const auto [rows, cols, count] = blocks;
    const auto type = static_cast<int>(kFp32);
    kernels.push_back({"soap.factors", Gemm{count, rows, rows, cols, type}});
    kernels.push_back({"soap.factors", Gemm{count, cols, cols, rows, type}});
    if (!renews) return;
    for (const std::int64_t n : {rows, cols}) {
      kernels.push_back({"soap.basis", Gemm{count, n, n, n, type}});
      add_orthogonal_factor(kernels, n, count);
    }
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> state(const Blocks& blocks) const override {
    return {{"factors and their bases in 32 bits", 2 * kFp32 * blocks.factor_elements()},
            {"two moments of matrices in 32 bits", 2 * kFp32 * blocks.elements()}};
  }

 private:
  /// Into the bases or back: a product with each.
  static void add_turn(std::vector<Kernel>& kernels, const Blocks& blocks) {
    const auto [rows, cols, count] = blocks;
    kernels.push_back({"soap.turn", Gemm{count, rows, cols, rows, static_cast<int>(kFp32)}});
    kernels.push_back({"soap.turn", Gemm{count, rows, cols, cols, static_cast<int>(kFp32)}});
  }
};

}  // namespace

Method soap_method() {
  return {.name = "soap",
          .doc = "Adam in the eigenbases of Shampoo's factors, AdamW on all else",
          .config = SoapConfig(),
          .config_doc = "workload.optimizer soap",
          .make = [](const AnyConfig& config) { return std::make_unique<Soap>(config.as<SoapConfig>()); }};
}

}  // namespace weft::optimizers
