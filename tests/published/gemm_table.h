// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "hw/accelerator/kernel.h"

/// The published H100 products and what their profiler would have recorded for a program of the model.
///
/// A row is one dot operation, compiled for the H100 and run repeatedly with cold operands; its time is the median over
/// all kernels that ran. If a run is two kernels, that is the middle between the shorter and the longer one, not their
/// sum. This is no fine point: rows of 8-bit operands show up to 2,593 TFLOPS on a part whose peak is 1,979. Tensor
/// cores take 8-bit operands along k only, and B is stored along n, so a transposition goes first and the row is the
/// mean of the two kernels. Instead the compiler may emit one kernel that reorders while it loads, which is slow but
/// short for a little work. A product whose k is split is followed by a kernel that adds the parts.
namespace weft::published {

struct GemmRow {
  accelerator::Gemm shape;
  double time_us = 0;

  /// Whole shapes are held out, with all their types and batches, spread evenly over the grid of powers of two.
  [[nodiscard]] bool held_out() const {
    const auto log2 = [](std::int64_t x) { return std::bit_width(static_cast<std::uint64_t>(x)) - 1; };
    return (log2(shape.m) + 2 * log2(shape.n) + 2 * log2(shape.k)) % 3 == 1;
  }
};

inline std::vector<GemmRow> read_gemm_rows(const std::string& path) {
  std::ifstream file(path);
  std::vector<GemmRow> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#' || line.starts_with("type")) continue;
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream fields(line);
    std::string type;
    GemmRow row;
    fields >> type >> row.shape.batch >> row.shape.m >> row.shape.n >> row.shape.k >> row.time_us;
    if (!fields) throw std::runtime_error(std::string(path).append(": not a row: ").append(line));
    for (const auto& [name, value] : accelerator::enum_names(accelerator::DataType{})) {
      if (name == type) row.shape.type = value;
    }
    rows.push_back(row);
  }
  return rows;
}

/// What the table's programs do besides the product, and what their profiler adds to each kernel, also to those that
/// the compiler times to choose among: fitted with the model but no part of it. On our own H100 CUPTI's durations of
/// the same products, 256 x 512 x 256 and cubes of 512 to 2,048, are 2.5 to 2.7 us shorter than the table's, and 1.0 us
/// passes to the next kernel, which is in `launch`: 1.4 to 1.7 us where the fit has more (docs/reference/models,
/// Power of kernels).
struct ProfiledProgram {
  Time recording = Time(2'070'000);
  Rate memory = Rate(3'080LL * 8'000'000'000);  // 92 % of the peak of HBM
  double transposition = 0.705;                 // share of `memory` that a transposition reaches
  double reordering = 0.085;                    // tensor rate of a kernel that reorders 8-bit operands, to `sustained`
};

inline double recorded_us(accelerator::ComputeConfig config, const ProfiledProgram& program,
                          const accelerator::Gemm& shape) {
  config.launch += program.recording;
  const auto us = [](Time time) { return static_cast<double>(time.count()) * 1e-6; };
  accelerator::GemmPlan plan;
  const auto work = accelerator::kernel_work(config, shape, &plan);
  const double total = us(accelerator::estimate(work, program.memory));
  const double reduction = us(plan.reduction);
  if (shape.type != accelerator::DataType::kFp8) return plan.split_k > 1 ? total / 2 : total;

  const Bytes b(shape.batch * shape.k * shape.n);
  const double transposition = us(config.launch) + us(transfer_time(2 * b, program.memory)) / program.transposition;
  accelerator::ComputeConfig slow = config;
  slow.sustained *= program.reordering;
  accelerator::GemmPlan slow_plan;
  const auto slow_work = accelerator::kernel_work(slow, shape, &slow_plan);
  const double reordering = us(accelerator::estimate(slow_work, program.memory));
  if (reordering < total + transposition) return slow_plan.split_k > 1 ? reordering / 2 : reordering;
  if (plan.split_k == 1) return (total + transposition) / 2;
  std::array kernels{total - reduction, reduction, transposition};
  std::sort(kernels.begin(), kernels.end());
  return kernels[1];
}

}  // namespace weft::published
