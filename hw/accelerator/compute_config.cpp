// SPDX-License-Identifier: Apache-2.0
#include "hw/accelerator/compute_config.h"

#include <cmath>
#include <initializer_list>
#include <type_traits>
#include <utility>

namespace weft::accelerator {

EnumNames<DataType> enum_names(DataType) {
  return {{"bf16", DataType::kBf16},
          {"fp16", DataType::kFp16},
          {"fp8", DataType::kFp8},
          {"tf32", DataType::kTf32},
          {"fp32", DataType::kFp32}};
}

Bytes element_size(DataType type) {
  switch (type) {
    case DataType::kFp8:
      return Bytes(1);
    case DataType::kBf16:
    case DataType::kFp16:
      return Bytes(2);
    case DataType::kTf32:
    case DataType::kFp32:
      return Bytes(4);
  }
  return Bytes(4);
}

void check(const ComputeConfig& config, const std::string& path) {
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, double>>{{"sustained", config.sustained},
                                                             {"sustained_tf32", config.sustained_tf32},
                                                             {"synchronous_tensor", config.synchronous_tensor},
                                                             {"full_accumulation", config.full_accumulation},
                                                             {"power.lowest_voltage", config.power.lowest_voltage}}) {
    if (value > 0 && value <= 1) continue;
    throw ConfigError(path + "." + name, "expected a share above 0 and at most 1, got " + std::to_string(value));
  }
  if (!(config.sparsity >= 1 && config.sparsity <= 4)) {
    throw ConfigError(path + ".sparsity", "expected a number from 1 to 4, got " + std::to_string(config.sparsity));
  }
  if (config.power.cap > Power() && config.power.cap <= config.power.idle) {
    throw ConfigError(path + ".power.cap", "expected 0 or more than what the part draws idle, " +
                                               to_text(config.power.idle) + ", got " + to_text(config.power.cap));
  }
}

ComputeConfig partition(const ComputeConfig& config, std::int64_t sms) {
  ComputeConfig part = config;
  part.sms = sms;
  const double share = static_cast<double>(sms) / static_cast<double>(config.sms);
  const auto scale = [share](auto& quantity) {
    quantity = std::remove_reference_t<decltype(quantity)>(std::llround(static_cast<double>(quantity.count()) * share));
  };
  scale(part.tensor_16bit);
  scale(part.tensor_8bit);
  scale(part.tensor_tf32);
  scale(part.vector_fp32);
  scale(part.vector_fp64);
  scale(part.operand_rate);
  scale(part.l2_rate);
  return part;
}

}  // namespace weft::accelerator
