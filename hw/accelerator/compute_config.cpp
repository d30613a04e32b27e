// SPDX-License-Identifier: Apache-2.0
#include "hw/accelerator/compute_config.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <type_traits>
#include <utility>
#include <vector>

#include "hw/core/config/number_limits.h"

namespace weft::accelerator {
namespace {

/// "fp8, tf32" in two.
std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream text(list);
  for (std::string name; std::getline(text >> std::ws, name, ',');) names.push_back(name);
  return names;
}

}  // namespace

EnumNames<DataType> enum_names(DataType) {
  return {{"bf16", DataType::kBf16}, {"fp16", DataType::kFp16}, {"fp8", DataType::kFp8},   {"tf32", DataType::kTf32},
          {"fp32", DataType::kFp32}, {"int8", DataType::kInt8}, {"fp64", DataType::kFp64}, {"fp4", DataType::kFp4}};
}

Bytes element_size(DataType type) {
  switch (type) {
    case DataType::kFp8:
    case DataType::kInt8:
    case DataType::kFp4:
      return Bytes(1);
    case DataType::kBf16:
    case DataType::kFp16:
      return Bytes(2);
    case DataType::kTf32:
    case DataType::kFp32:
      return Bytes(4);
    case DataType::kFp64:
      return Bytes(8);
  }
  return Bytes(4);
}

Compute peak_of(const ComputeConfig& config, DataType type) {
  switch (type) {
    case DataType::kBf16:
    case DataType::kFp16:
      return config.tensor_16bit;
    case DataType::kFp8:
      return config.tensor_8bit;
    case DataType::kTf32:
      return config.tensor_tf32;
    case DataType::kFp32:
      return config.vector_fp32;
    case DataType::kInt8:
      return config.tensor_int8 > Compute() ? config.tensor_int8 : config.tensor_16bit;
    case DataType::kFp64:
      return config.tensor_fp64 > Compute() ? config.tensor_fp64 : config.vector_fp64;
    case DataType::kFp4:
      return config.tensor_fp4 > Compute() ? config.tensor_fp4 : config.tensor_8bit;
  }
  return config.vector_fp32;
}

bool multiplies(const ComputeConfig& config, DataType type) {
  if (type == DataType::kInt8) return config.tensor_int8 > Compute();
  if (type == DataType::kFp4) return config.tensor_fp4 > Compute();
  const std::vector<std::string> lacking = names_in(config.lacks);
  return std::find(lacking.begin(), lacking.end(), name_of(type)) == lacking.end();
}

std::int64_t vector_lanes(const ComputeConfig& config) {
  const double operations = static_cast<double>(config.vector_fp32.count()) /
                            (static_cast<double>(config.sms) * static_cast<double>(config.vector_clock.count()));
  return std::max<std::int64_t>(1, std::llround(operations / 2));
}

void check(const ComputeConfig& config, const std::string& path) {
  check_numbers(config, path);
  for (const std::string& lacking : names_in(config.lacks)) {
    const EnumNames<DataType> types = enum_names(DataType{});
    if (std::any_of(types.begin(), types.end(), [&](const auto& type) { return type.first == lacking; })) continue;
    throw ConfigError(path + ".lacks", "expected types such as \"fp8, tf32\", got \"" + lacking + "\"");
  }
  if (config.clock_cap > Frequency() && config.clock_cap < config.lowest_clock) {
    throw ConfigError(path + ".clock_cap", "expected 0 or at least the lowest clock, " + to_text(config.lowest_clock) +
                                               ", got " + to_text(config.clock_cap));
  }
  if (config.power.cap > Power() && config.power.cap < config.power.lowest_cap) {
    throw ConfigError(path + ".power.cap", "expected 0 or at least what the board takes, " +
                                               to_text(config.power.lowest_cap) + ", got " + to_text(config.power.cap));
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
  scale(part.tensor_int8);
  scale(part.tensor_fp64);
  scale(part.tensor_fp4);
  scale(part.vector_fp32);
  scale(part.vector_fp64);
  scale(part.operand_rate);
  scale(part.l2_rate);
  return part;
}

}  // namespace weft::accelerator
