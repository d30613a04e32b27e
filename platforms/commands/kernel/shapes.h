// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hw/accelerator/kernel.h"
#include "platforms/cli/arguments.h"

/// The kernels that `weft kernel` knows, by name, with their options.
namespace weft::platforms {

/// A kernel that was asked for.
struct KernelShape {
  std::string text;  ///< "gemm 4096x4096x4096 bf16"
  nlohmann::ordered_json json;
  accelerator::DataType units = accelerator::DataType::kFp32;  ///< whose peak its operations are compared with
  bool product = false;                                        ///< whether they are products of operands of that type
  std::function<accelerator::KernelWork(const accelerator::ComputeConfig&, accelerator::GemmPlan*)> work;
};

/// The type of that name, of those that matrix products take; throws UsageError that names `option`.
accelerator::DataType parse_product_type(const std::string& text, const std::string& option);

/// Throws UsageError beyond 1e18 operations: times would leave the range of the simulator's clock on the slowest part.
void limit_operations(double operations, const std::string& option, const std::string& text);

KernelShape shape_of(const accelerator::Gemm& gemm);
KernelShape shape_of(const accelerator::FlashAttention& attention);

/// One kind of kernel: options whose values are numbers, which can be swept, and others.
class KernelKind {
 public:
  using Values = std::map<std::string, std::int64_t>;
  struct Dimension {
    std::string name;
    std::string doc;
    std::int64_t fallback;  ///< 0: must be given
    bool may_be_zero = false;
  };

  virtual ~KernelKind() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string doc() const = 0;
  [[nodiscard]] virtual std::vector<Dimension> dimensions() const = 0;
  /// Those that are no numbers.
  virtual void add_options(const Arguments& app) = 0;
  /// Throws UsageError.
  [[nodiscard]] virtual KernelShape shape(const Values& values) const = 0;
};

std::vector<std::shared_ptr<KernelKind>> kernel_kinds();

}  // namespace weft::platforms
