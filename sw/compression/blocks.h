// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "sw/compression/compressor.h"

/// Messages that travel block by block, each compressed before it leaves and decompressed where it comes, as MPI
/// libraries do it for whatever collective or send a message is of (Zhou et al., IPDPS 2021, on MVAPICH2-GDR).
namespace weft::compression {

/// Kernels of a plan of hops that passes over memory once each: what is read and written beside the compressed block
/// are elements of `element_bytes`.
void pass_by_blocks(Plan& plan, std::int64_t element_bytes, const std::function<std::int64_t(std::int64_t)>& bytes,
                    double operations);

/// What blocks of a compressor take.
class Blocks {
 public:
  /// Whether a compressor has them.
  [[nodiscard]] static bool has(const CompressionConfig& config);

  /// Of one that has.
  Blocks(const CompressionConfig& config, std::int64_t element_bytes);

  /// Sums can be compressed again at each hop. Else what is summed is exchanged, and added up once.
  [[nodiscard]] bool hops() const { return hops_.has_value(); }
  [[nodiscard]] bool varies() const { return hops() && hops_->varies; }
  [[nodiscard]] bool exact() const { return exact_; }

  [[nodiscard]] Kernels compress(std::int64_t elements) const;
  [[nodiscard]] Kernels decompress(std::int64_t elements) const;
  /// What came of so many ranks is added to the own block.
  [[nodiscard]] Kernels add(std::int64_t elements, int messages) const;
  /// What came is added to the own block, which is compressed. Where there are hops.
  [[nodiscard]] Kernels hop(std::int64_t elements) const { return hops_->hop(elements); }
  /// Of a compressed block; where they vary, what is aimed at, and the most.
  [[nodiscard]] std::uint64_t bytes(std::int64_t elements) const;
  [[nodiscard]] std::uint64_t most(std::int64_t elements) const;

 private:
  [[nodiscard]] Plan plan(std::int64_t elements) const;

  CompressionConfig config_;
  std::int64_t element_bytes_;
  bool exact_;
  std::optional<Plan> hops_;
};

}  // namespace weft::compression
