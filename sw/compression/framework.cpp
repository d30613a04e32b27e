// SPDX-License-Identifier: Apache-2.0
#include "sw/compression/framework.h"

namespace weft::compression {

void append(Kernels& kernels, std::string_view name, std::int64_t elements, const Operations& operations) {
  const std::int64_t bytes = kElement * elements;
  for (int i = 0; i < operations.unary; ++i) kernels.push_back(pass(name, elements, bytes, bytes, 1));
  for (int i = 0; i < operations.binary; ++i) kernels.push_back(pass(name, elements, 2 * bytes, bytes, 1));
  for (int i = 0; i < operations.reductions; ++i) kernels.push_back(pass(name, elements, bytes, 0, 1));
}

void append_compensation(Kernels& kernels, std::int64_t elements) {
  append(kernels, "compress.accumulate", elements, {.binary = 1});
}

void append_residual(Kernels& kernels, std::int64_t elements) {
  append(kernels, "compress.rest", elements, {.unary = 1, .binary = 1});
}

void append_aggregation(Kernels& kernels, std::int64_t elements, int messages) {
  const std::int64_t bytes = kElement * elements;
  kernels.push_back(pass("decompress.add", elements, bytes * messages, bytes, messages));
  append(kernels, "decompress.mean", elements, {.unary = 1});
}

void append_sort(Kernels& kernels, std::int64_t elements) {
  constexpr int kPasses = 6;
  const std::int64_t both = 2 * kElement * elements;
  for (int i = 0; i < kPasses; ++i) {
    kernels.push_back({"compress.sort", OneBlock{Bytes(kElement * elements + both), Bytes(both)}});
  }
}

}  // namespace weft::compression
