// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <variant>

/// The work of a network layer as shapes: what is computed, not how long it takes.
namespace weft::models {

/// `batch` products C[m, n] = A[m, k] B[k, n]. Operands of one byte give results of two.
struct Gemm {
  std::int64_t batch = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  int element_bytes = 2;
  bool fast_accumulation = true;  ///< of operands of one byte
};

/// Attention that never writes the score matrix to memory. The backward pass computes the scores again.
struct FlashAttention {
  std::int64_t batch = 1;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t head_dim = 0;
  bool causal = true;
  bool backward = false;
  /// A kernel that waits for each product, as FlashAttention-2; else one that overlaps, as FlashAttention-3.
  bool synchronous = false;
  int element_bytes = 2;
};

/// Kernels that are bound by memory: `launches` of them one after the other, with the traffic of all together.
struct Elementwise {
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
  int launches = 1;
};

struct Kernel {
  /// Of static storage: it names a kind of work such as "wq" or "wq.wgrad", not an instance.
  std::string_view name;
  std::variant<Gemm, FlashAttention, Elementwise> shape;
  /// Repeats in the backward pass what the forward pass did and did not keep.
  bool recompute = false;
};
static_assert(std::is_trivially_copyable_v<Kernel>);

/// Floating-point operations, a multiplication and an addition counting as two. Elementwise work counts as none.
constexpr std::int64_t flops(const Gemm& gemm) {
  return 2 * gemm.batch * gemm.m * gemm.n * gemm.k;
}

/// Two products forward, five backward; a causal mask leaves half of the scores.
constexpr std::int64_t flops(const FlashAttention& attention) {
  const std::int64_t product =
      2 * attention.batch * attention.heads * attention.queries * attention.keys * attention.head_dim;
  return (attention.backward ? 5 : 2) * product / (attention.causal ? 2 : 1);
}

constexpr std::int64_t flops(const Elementwise&) {
  return 0;
}

constexpr std::int64_t flops(const Kernel& kernel) {
  return std::visit([](const auto& shape) { return flops(shape); }, kernel.shape);
}

/// Bytes that a kernel must move if it reads its operands once and writes its results once.
constexpr std::int64_t bytes_moved(const Gemm& gemm) {
  const std::int64_t result_bytes = gemm.element_bytes == 1 ? 2 : gemm.element_bytes;
  return gemm.batch * ((gemm.m * gemm.k + gemm.k * gemm.n) * gemm.element_bytes + gemm.m * gemm.n * result_bytes);
}

/// Queries, keys and values in and the output out; backward also the output and its gradient in, and three gradients
/// out.
constexpr std::int64_t bytes_moved(const FlashAttention& attention) {
  const std::int64_t queries = attention.heads * attention.queries;
  const std::int64_t keys = attention.kv_heads * attention.keys;
  const std::int64_t forward = 2 * queries + 2 * keys;
  return attention.batch * attention.head_dim * attention.element_bytes *
         (attention.backward ? forward + 2 * queries + 2 * keys : forward);
}

constexpr std::int64_t bytes_moved(const Elementwise& pass) {
  return pass.bytes_read + pass.bytes_written;
}

constexpr std::int64_t bytes_moved(const Kernel& kernel) {
  return std::visit([](const auto& shape) { return bytes_moved(shape); }, kernel.shape);
}

}  // namespace weft::models
