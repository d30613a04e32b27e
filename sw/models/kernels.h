// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <variant>

/// The work of a network layer as shapes: what is computed, not how long it takes.
namespace weft::models {

/// Values that share a byte of scale in MXFP8 and in NVFP4.
inline constexpr int kMxfp8Block = 32;
inline constexpr int kNvfp4Block = 16;

/// Bytes of so many values with their scales: 8 bits each, or 4 in blocks of 16.
constexpr std::int64_t scaled_bytes(std::int64_t values, int block) {
  return (block == kNvfp4Block ? values / 2 : values) + (block > 0 ? values / block : 0);
}

/// `batch` products C[m, n] = A[m, k] B[k, n]. Operands of one byte give results of two.
struct Gemm {
  std::int64_t batch = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  int element_bytes = 2;
  bool fast_accumulation = true;  ///< of operands of one byte
  int scale_block = 0;            ///< of operands of one byte: see kMxfp8Block and kNvfp4Block; 0: no such scales
  // Where the products of a batch are not alike, as those of experts: rows, and terms of the sum over k, that some of
  // the batch have beyond m and k, one each; fewer than the batch.
  std::int64_t more_m = 0;
  std::int64_t more_k = 0;
  /// Kernels that a host launches for it: one, or one for each product of a batch, on streams that run beside each
  /// other and so fill the array as one kernel does.
  int launches = 1;

  /// Of all products.
  [[nodiscard]] constexpr std::int64_t rows() const { return batch * m + more_m; }
  [[nodiscard]] constexpr std::int64_t terms() const { return batch * k + more_k; }
};

/// Attention that never writes the score matrix to memory. The backward pass computes the scores again.
struct FlashAttention {
  std::int64_t batch = 1;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;  ///< of values and results; 0: head_dim
  std::int64_t window = 0;     ///< keys before it that a query sees at most; 0: all
  bool causal = true;
  bool backward = false;
  /// A kernel that waits for each product, as FlashAttention-2; else one that overlaps, as FlashAttention-3.
  bool synchronous = false;
  int element_bytes = 2;

  [[nodiscard]] constexpr std::int64_t values() const { return value_dim > 0 ? value_dim : head_dim; }
  /// Pairs of a query and a key of one head, of which causality leaves half.
  [[nodiscard]] constexpr std::int64_t scores() const {
    if (window > 0 && window < keys) return queries * window - window * window / 2;
    return queries * keys / (causal ? 2 : 1);
  }
};

/// Kernels that are bound by memory: `launches` of them one after the other, with the traffic of all together.
struct Elementwise {
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
  int launches = 1;
};

/// Inverses of `batch` symmetric positive definite matrices of n by n in 32 bits by Cholesky factors; or their
/// eigenvectors and eigenvalues.
struct Inverse {
  std::int64_t batch = 1;
  std::int64_t n = 0;
  bool is_eigen = false;
};

struct Kernel {
  /// Of static storage: it names a kind of work such as "wq" or "wq.wgrad", not an instance.
  std::string_view name;
  std::variant<Gemm, FlashAttention, Elementwise, Inverse> shape;
  /// Repeats in the backward pass what the forward pass did and did not keep.
  bool recompute = false;
};
static_assert(std::is_trivially_copyable_v<Kernel>);

/// Floating-point operations, a multiplication and an addition counting as two. Elementwise work counts as none.
constexpr std::int64_t flops(const Gemm& gemm) {
  return 2 * (gemm.more_k > 0 ? gemm.m * gemm.terms() : gemm.rows() * gemm.k) * gemm.n;
}

/// Forward the scores and the sums of values; backward the scores again, the gradients of queries and of keys by them,
/// of values, and of scores.
constexpr std::int64_t flops(const FlashAttention& attention) {
  const std::int64_t of_heads = (attention.backward ? 3 : 1) * attention.head_dim;
  const std::int64_t of_values = (attention.backward ? 2 : 1) * attention.values();
  return 2 * attention.batch * attention.heads * attention.scores() * (of_heads + of_values);
}

constexpr std::int64_t flops(const Elementwise&) {
  return 0;
}

/// 7/3 n^3 by Cholesky factors, and 14/3 n^3 of a decomposition.
constexpr std::int64_t flops(const Inverse& inverse) {
  return inverse.batch * inverse.n * inverse.n * inverse.n * (inverse.is_eigen ? 14 : 7) / 3;
}

/// Kernels that a host launches for it. Attention's backward pass begins with a small one of its own.
constexpr int launches(const Kernel& kernel) {
  struct Count {
    constexpr int operator()(const Gemm& gemm) const { return gemm.launches; }
    constexpr int operator()(const FlashAttention& attention) const { return attention.backward ? 2 : 1; }
    constexpr int operator()(const Elementwise& pass) const { return pass.launches; }
    constexpr int operator()(const Inverse&) const { return 1; }
  };
  return std::visit(Count(), kernel.shape);
}

constexpr std::int64_t flops(const Kernel& kernel) {
  return std::visit([](const auto& shape) { return flops(shape); }, kernel.shape);
}

/// Bytes that a kernel must move if it reads its operands once and writes its results once.
constexpr std::int64_t bytes_moved(const Gemm& gemm) {
  const std::int64_t result_bytes = gemm.element_bytes == 1 ? 2 : gemm.element_bytes;
  const std::int64_t a = gemm.more_k > 0 ? gemm.m * gemm.terms() : gemm.rows() * gemm.k;
  const std::int64_t b = (gemm.more_k > 0 ? gemm.terms() : gemm.batch * gemm.k) * gemm.n;
  const std::int64_t operands =
      gemm.scale_block > 0 ? scaled_bytes(a + b, gemm.scale_block) : (a + b) * gemm.element_bytes;
  return operands + gemm.rows() * gemm.n * result_bytes;
}

/// Queries, keys and values in and the output out; backward also the output and its gradient in, and three gradients
/// out.
constexpr std::int64_t bytes_moved(const FlashAttention& attention) {
  const std::int64_t queries = attention.heads * attention.queries;
  const std::int64_t keys = attention.kv_heads * attention.keys;
  const std::int64_t operands = (queries + keys) * attention.head_dim + keys * attention.values();
  const std::int64_t results = queries * attention.values();
  return attention.batch * attention.element_bytes *
         (attention.backward ? 2 * operands + 2 * results : operands + results);
}

constexpr std::int64_t bytes_moved(const Elementwise& pass) {
  return pass.bytes_read + pass.bytes_written;
}

constexpr std::int64_t bytes_moved(const Inverse& inverse) {
  return inverse.batch * 2 * 4 * inverse.n * inverse.n;
}

constexpr std::int64_t bytes_moved(const Kernel& kernel) {
  return std::visit([](const auto& shape) { return bytes_moved(shape); }, kernel.shape);
}

}  // namespace weft::models
