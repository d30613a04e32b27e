// SPDX-License-Identifier: Apache-2.0
// The elements of largest magnitude, exactly, with error feedback (Aji and Heafield, EMNLP 2017; Stich et al., NeurIPS
// 2018).
#include "sw/compression/framework.h"
#include "sw/compression/pairs.h"
#include "sw/compression/selection.h"

namespace weft::compression {
namespace {

constexpr int kRadixPasses = 4;

class TopK final : public PairsCodec {
 public:
  explicit TopK(const Site& site) : PairsCodec(target_of(site.message, site.config), false) {}

  [[nodiscard]] std::vector<std::uint32_t> choose(std::span<const float> values, std::size_t most) override {
    return largest(values, most);
  }
};

/// A radix select that looks at 8 of 32 bits in each pass, then a pass that counts, as PyTorch's topk of several blocks
/// does (aten/src/ATen/native/cuda/TensorTopK.cu).
Plan top_k_plan(const Message& message, const CompressionConfig& config) {
  const std::int64_t elements = message.elements;
  Kernels choose;
  if (config.by_framework()) {
    append(choose, "compress.abs", elements, {.unary = 1});
    append_sort(choose, elements);
    return pairs_plan(message, config, {.choose = std::move(choose)});
  }
  for (int i = 0; i < kRadixPasses; ++i) {
    choose.push_back(pass("compress.select", elements, kElement * elements, 0, 2));
  }
  choose.push_back(pass("compress.count", elements, kElement * elements, 0, 1));
  return pairs_plan(message, config, {.choose = std::move(choose)});
}

}  // namespace

Compressor top_k_compressor() {
  return {.name = "top-k", .doc = "the largest, exactly", .plan = top_k_plan, .make = [](const Site& site) {
            return std::make_unique<TopK>(site);
          }};
}

}  // namespace weft::compression
