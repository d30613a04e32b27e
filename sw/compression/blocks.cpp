// SPDX-License-Identifier: Apache-2.0
#include "sw/compression/blocks.h"

#include "sw/compression/own_code.h"

namespace weft::compression {

void pass_by_blocks(Plan& plan, std::int64_t element_bytes, const std::function<std::int64_t(std::int64_t)>& bytes,
                    double operations) {
  plan.first = [=](std::int64_t n) {
    return Kernels{pass("compress.block", n, element_bytes * n, bytes(n), operations)};
  };
  plan.add = [=](std::int64_t n) {
    return Kernels{pass("decompress.add", n, bytes(n) + element_bytes * n, element_bytes * n, operations)};
  };
  plan.hop = [add = plan.add, compress = plan.first](std::int64_t n) {
    Kernels kernels = add(n);
    const Kernels more = compress(n);
    kernels.insert(kernels.end(), more.begin(), more.end());
    return kernels;
  };
  plan.last = [=](std::int64_t n) {
    return Kernels{pass("decompress.block", n, bytes(n), element_bytes * n, operations)};
  };
  plan.block_bytes = [=](std::int64_t n) { return static_cast<std::uint64_t>(bytes(n)); };
}

bool Blocks::has(const CompressionConfig& config) {
  if (!config.on()) return false;
  const Compressor& compressor = compressor_of(config);
  return compressor.dense || plan_by(compressor, {.elements = 1}, config).wire == Wire::kHops;
}

Blocks::Blocks(const CompressionConfig& config, std::int64_t element_bytes)
    : config_(config), element_bytes_(element_bytes), exact_(compressor_of(config).exact) {
  // What a block loses is lost: there is no residual to add to a message that is not a sum.
  config_.error_feedback = false;
  if (Plan of_one = plan(1); of_one.wire == Wire::kHops) hops_ = std::move(of_one);
}

Plan Blocks::plan(std::int64_t elements) const {
  return plan_by(compressor_of(config_), {.elements = elements, .element_bytes = element_bytes_}, config_);
}

Kernels Blocks::compress(std::int64_t elements) const {
  if (elements == 0) return {};
  return hops() ? hops_->first(elements) : plan(elements).rounds.front().kernels;
}

Kernels Blocks::decompress(std::int64_t elements) const {
  if (elements == 0) return {};
  return hops() ? hops_->last(elements) : plan(elements).after(1);
}

Kernels Blocks::add(std::int64_t elements, int messages) const {
  if (elements == 0) return {};
  if (!hops()) return plan(elements).after(messages);
  Kernels kernels;
  for (int i = 0; i < messages; ++i) {
    const Kernels one = hops_->add ? hops_->add(elements) : hops_->hop(elements);
    kernels.insert(kernels.end(), one.begin(), one.end());
  }
  return kernels;
}

std::uint64_t Blocks::bytes(std::int64_t elements) const {
  if (elements == 0) return 0;
  return hops() ? hops_->block_bytes(elements) : plan(elements).rounds.front().bytes;
}

std::uint64_t Blocks::most(std::int64_t elements) const {
  if (elements == 0) return 0;
  if (!hops()) return plan(elements).most(0);
  return hops_->most_block_bytes ? hops_->most_block_bytes(elements) : hops_->block_bytes(elements);
}

}  // namespace weft::compression
