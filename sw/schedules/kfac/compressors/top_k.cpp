// SPDX-License-Identifier: Apache-2.0
// The elements of largest magnitude, exactly, with error feedback (Aji and Heafield, EMNLP 2017; Stich et al., NeurIPS
// 2018).
#include "sw/compression/selection.h"
#include "sw/kfac/compression_kernels.h"
#include "sw/schedules/kfac/compressor.h"

namespace weft::schedules {
namespace {

class TopK final : public Selector {
 public:
  [[nodiscard]] std::vector<std::uint32_t> choose(std::span<const float> values, std::size_t most) override {
    return compression::largest(values, most);
  }
};

}  // namespace

Compressor top_k_compressor() {
  return {.name = "top-k",
          .doc = "the largest, exactly",
          .kernels = [](std::int64_t elements, std::int64_t target,
                        const CompressionConfig& /*config*/) { return kfac::selection_kernels(elements, target); },
          .make = [](const CompressionConfig& /*config*/) { return std::make_unique<TopK>(); }};
}

}  // namespace weft::schedules
