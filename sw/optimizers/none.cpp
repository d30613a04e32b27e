// SPDX-License-Identifier: Apache-2.0
// A step without its optimizer: the moments of AdamW lie in memory, and nothing is updated.
#include "sw/optimizers/elementwise.h"

namespace weft::optimizers {
namespace {

class None final : public Optimizer {
 public:
  [[nodiscard]] std::vector<Task> update(const Problem& /*problem*/, std::int64_t /*step*/) const override {
    return {};
  }
  [[nodiscard]] Kept kept(const Problem& problem) const override {
    return {problem.share(), {{"two moments in 32 bits", 2 * kFp32 * problem.share()}}};
  }
  [[nodiscard]] std::int64_t streamed_bytes() const override { return 2 * kFp32; }
};

}  // namespace

Method none_method() {
  return {.name = "none",
          .doc = "nothing is updated, and memory is as with adamw",
          .make = [](const AnyConfig& /*config*/) { return std::make_unique<None>(); }};
}

}  // namespace weft::optimizers
