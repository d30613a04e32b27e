// SPDX-License-Identifier: Apache-2.0
// Fits the parameters of hw/accelerator/kernel.h to published products and prints them with their errors. The same rows
// and start always give the same parameters; they are the defaults of ComputeConfig.
//
//     gemm_fit [--check] [TABLE.csv]     --check: no search, only the errors of the defaults
//
// Fails where the errors over all rows are beyond their limits.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <systemc>
#include <vector>

#include "tests/published/gemm_table.h"

namespace {

using namespace weft;
using accelerator::ComputeConfig;
using accelerator::DataType;
using published::GemmRow;
using published::ProfiledProgram;

// Of the errors over all rows.
constexpr double kMostMean = 0.12;
constexpr double kMost95 = 0.35;

struct Model {
  ComputeConfig config;
  ProfiledProgram program;
};

double log_error(const Model& model, const std::vector<GemmRow>& rows, DataType type) {
  double sum = 0;
  int count = 0;
  for (const GemmRow& row : rows) {
    if (row.held_out() || row.shape.type != type) continue;
    sum += std::abs(std::log(published::recorded_us(model.config, model.program, row.shape) / row.time_us));
    ++count;
  }
  return sum / count;
}

/// One number of the model as a factor of its start.
struct Parameter {
  std::function<void(Model&, double)> scale;
};

Parameter time(Time ComputeConfig::*field) {
  return {[field](Model& m, double f) {
    m.config.*field = Time(std::llround(static_cast<double>((m.config.*field).count()) * f / 10'000) * 10'000);
  }};
}
Parameter time(Time ProfiledProgram::*field) {
  return {[field](Model& m, double f) {
    m.program.*field = Time(std::llround(static_cast<double>((m.program.*field).count()) * f / 10'000) * 10'000);
  }};
}
Parameter share(double ComputeConfig::*field) {
  return {
      [field](Model& m, double f) { m.config.*field = std::min(1.0, std::round(m.config.*field * f * 1e3) / 1e3); }};
}
Parameter share(double ProfiledProgram::*field) {
  return {
      [field](Model& m, double f) { m.program.*field = std::min(1.0, std::round(m.program.*field * f * 1e3) / 1e3); }};
}

/// Coordinate search: the best of one step up or down for each parameter in turn, and half the step when none helps.
void fit(Model& model, const std::vector<GemmRow>& rows, DataType type, const std::vector<Parameter>& parameters) {
  double best = log_error(model, rows, type);
  for (double step = 0.2; step > 0.002;) {
    bool improved = false;
    for (const Parameter& parameter : parameters) {
      for (const double factor : {1 + step, 1 / (1 + step)}) {
        Model trial = model;
        parameter.scale(trial, factor);
        const double error = log_error(trial, rows, type);
        if (error >= best - 1e-7) continue;
        model = trial;
        best = error;
        improved = true;
      }
    }
    if (!improved) step /= 2;
  }
}

void print_errors(const Model& model, const std::vector<GemmRow>& rows, DataType type, const char* name,
                  bool held_out) {
  struct Class {
    double limit;
    const char* text;
    double sum = 0;
    double worst = 0;
    int count = 0;
  };
  std::vector<Class> classes = {{1e9, "<1 GFLOP"}, {1e10, "<10"}, {1e11, "<100"}, {INFINITY, "larger"}};
  Class all{INFINITY, "all"};
  double bias = 0;
  GemmRow worst;
  for (const GemmRow& row : rows) {
    if (row.shape.type != type || row.held_out() != held_out) continue;
    const double error = published::recorded_us(model.config, model.program, row.shape) / row.time_us - 1;
    const auto& s = row.shape;
    const double flops = 2.0 * static_cast<double>(s.batch * s.m * s.n) * static_cast<double>(s.k);
    if (std::abs(error) > std::abs(all.worst)) worst = row;
    bias += error;
    Class& of_size = *std::find_if(classes.begin(), classes.end(), [&](const Class& c) { return flops < c.limit; });
    for (Class* c : {&all, &of_size}) {
      c->sum += std::abs(error);
      if (std::abs(error) > std::abs(c->worst)) c->worst = error;
      ++c->count;
    }
  }
  if (all.count == 0) return;
  std::printf("%-5s %-8s mean %5.1f %%  bias %+5.1f %%  worst %+6.1f %% (b %ld m %ld n %ld k %ld) ", name,
              held_out ? "held out" : "fitted", 100 * all.sum / all.count, 100 * bias / all.count, 100 * all.worst,
              static_cast<long>(worst.shape.batch), static_cast<long>(worst.shape.m), static_cast<long>(worst.shape.n),
              static_cast<long>(worst.shape.k));
  for (const Class& c : classes) {
    if (c.count > 0) std::printf(" | %s: %.1f %% (%+.0f %%)", c.text, 100 * c.sum / c.count, 100 * c.worst);
  }
  std::printf("\n");
}

/// Over all types: the mean and what 95 % of rows are within.
struct Overall {
  double mean = 0;
  double most = 0;
};

Overall print_overall(const Model& model, const std::vector<GemmRow>& rows, bool held_out) {
  std::vector<double> errors;
  double sum = 0;
  for (const GemmRow& row : rows) {
    if (held_out && !row.held_out()) continue;
    errors.push_back(std::abs(published::recorded_us(model.config, model.program, row.shape) / row.time_us - 1));
    sum += errors.back();
  }
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  const Overall overall{sum / static_cast<double>(errors.size()), errors[errors.size() * 95 / 100]};
  std::printf("all types, %s: %zu rows, mean %.1f %%, 95th percentile %.1f %%\n", held_out ? "held out" : "all rows",
              errors.size(), 100 * overall.mean, 100 * overall.most);
  return overall;
}

}  // namespace

// The library of SystemC has the main function.
int sc_main(int argc, char** argv) {
  bool search = true;
  std::string path = WEFT_SOURCE_DIR "/traces/published/h100_gemm.csv";
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--check") == 0) {
      search = false;
    } else {
      path = argv[i];
    }
  }
  const std::vector<GemmRow> rows = published::read_gemm_rows(path);
  if (rows.empty()) return std::fprintf(stderr, "%s: no rows\n", path.c_str()), 2;

  Model model;
  if (search) {
    // 16-bit rows are single kernels with nothing to guess: they fix the array. The others add only what they must.
    model.program.recording = Time(2'000'000);
    model.config.tile_latency = Time(900'000);
    model.config.operand_rate = Rate(15'000LL * 8'000'000'000);
    model.config.sustained = 0.9;
    const Parameter operand_rate{[](Model& m, double f) {
      constexpr double kStep = 80e9;
      m.config.operand_rate =
          Rate(std::llround(std::round(static_cast<double>(m.config.operand_rate.count()) * f / kStep) * kStep));
    }};
    fit(model, rows, DataType::kBf16,
        {time(&ProfiledProgram::recording), time(&ComputeConfig::tile_latency), operand_rate,
         share(&ComputeConfig::sustained)});
    model.config.tile_latency_tf32 = model.config.tile_latency * 3;
    model.config.sustained_tf32 = 0.7;
    fit(model, rows, DataType::kTf32, {time(&ComputeConfig::tile_latency_tf32), share(&ComputeConfig::sustained_tf32)});
    model.program.transposition = 0.7;
    model.program.reordering = 0.1;
    fit(model, rows, DataType::kFp8, {share(&ProfiledProgram::transposition), share(&ProfiledProgram::reordering)});
  }
  std::printf("tile_latency %s, operand_rate %s, sustained %.3f\n", to_text(model.config.tile_latency).c_str(),
              to_text(model.config.operand_rate).c_str(), model.config.sustained);
  std::printf("tile_latency_tf32 %s, sustained_tf32 %.3f\n", to_text(model.config.tile_latency_tf32).c_str(),
              model.config.sustained_tf32);
  std::printf("of the table's programs: recording %s, transposition %.3f, reordering %.3f\n",
              to_text(model.program.recording).c_str(), model.program.transposition, model.program.reordering);
  for (const auto& [type, name] :
       {std::pair{DataType::kBf16, "bf16"}, {DataType::kFp8, "fp8"}, {DataType::kTf32, "tf32"}}) {
    for (const bool held_out : {false, true}) print_errors(model, rows, type, name, held_out);
  }
  const Overall all = print_overall(model, rows, false);
  print_overall(model, rows, true);
  if (all.mean < kMostMean && all.most < kMost95) return 0;
  std::fprintf(stderr,
               "%s: expected a mean error below %.0f %% and a 95th percentile below %.0f %%, got %.1f and %.1f %%\n",
               path.c_str(), 100 * kMostMean, 100 * kMost95, 100 * all.mean, 100 * all.most);
  return 1;
}
