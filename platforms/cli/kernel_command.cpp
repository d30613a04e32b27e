// SPDX-License-Identifier: Apache-2.0
// weft kernel: how long one kernel takes on an accelerator, and what bounds it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "hw/accelerator/kernel.h"
#include "platforms/cli/accelerator.h"
#include "platforms/cli/command.h"
#include "platforms/cli/output.h"
#include "platforms/cli/platform.h"
#include "platforms/cli/sizes.h"
#include "platforms/config/text.h"

namespace weft::platforms {
namespace {

using accelerator::DataType;
using accelerator::FlashAttention;
using accelerator::Gemm;
using accelerator::GemmPlan;
using accelerator::KernelWork;

struct Options {
  std::string platform;
  std::vector<std::string> overrides;
  std::vector<std::string> gemms;
  std::vector<std::string> attentions;
  std::int64_t batch = 1;
  std::string type = "bf16";
  bool causal = false;
  bool backward = false;
  bool json = false;
};

/// A kernel that was asked for, estimated.
struct Row {
  std::string what;
  nlohmann::ordered_json shape;
  KernelWork work;
  Time time;
  Time memory;
  std::string plan;
};

/// The accelerator that `name` means: a part, or that of a platform.
AcceleratorPart read_accelerator(const Options& options) {
  if (const auto part = find_accelerator(options.platform, options.overrides)) return *part;
  PlatformOptions platform_options;
  platform_options.platform = options.platform;
  platform_options.overrides = options.overrides;
  Platform platform(platform_options);
  platform.ignore_workload();
  platform.document().check_unused();
  return platform.machine().accelerator;
}

DataType type_of(const std::string& text) {
  std::vector<std::string_view> known;
  for (const auto& [name, value] : enum_names(DataType{})) {
    if (name == text) return value;
    known.push_back(name);
  }
  throw UsageError("--type: expected one of " + join(known, ", ") + ", got " + in_quotes(text));
}

/// Beyond this, times leave the range of the simulator's clock on the slowest part of the catalogue.
void limit_work(double flops, const std::string& option, const std::string& text) {
  constexpr double kMostFlops = 1e18;
  if (flops > kMostFlops) throw UsageError(option + ": expected at most 1e18 operations, got " + in_quotes(text));
}

Row gemm_row(const std::string& text, const Options& options, const AcceleratorPart& part) {
  const std::vector<std::int64_t> dims = parse_numbers(text, "--gemm", 3, 3);
  const Gemm shape{options.batch, dims[0], dims[1], dims[2], type_of(options.type)};
  limit_work(2.0 * static_cast<double>(shape.batch) * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                 static_cast<double>(shape.k),
             "--gemm", text);
  GemmPlan plan;
  Row row;
  row.what = fmt::format("gemm {}x{}x{}{} {}", shape.m, shape.n, shape.k,
                         shape.batch > 1 ? fmt::format(" batch {}", shape.batch) : "", options.type);
  row.shape = {{"kind", "gemm"}, {"batch", shape.batch}, {"m", shape.m},
               {"n", shape.n},   {"k", shape.k},         {"type", options.type}};
  row.work = kernel_work(part.array.compute, shape, &plan);
  row.plan = fmt::format("tile {}x{}, split k {}, {} units in {} waves", plan.tile_m, plan.tile_n, plan.split_k,
                         plan.units, plan.waves);
  row.shape["plan"] = {{"tile_m", plan.tile_m}, {"tile_n", plan.tile_n}, {"split_k", plan.split_k},
                       {"units", plan.units},   {"waves", plan.waves},   {"reduction_us", to_us(plan.reduction)}};
  return row;
}

Row attention_row(const std::string& text, const Options& options, const AcceleratorPart& part) {
  const std::vector<std::int64_t> dims = parse_numbers(text, "--attention", 5, 5);
  const FlashAttention shape{dims[0], dims[1], dims[2], dims[3], dims[4], options.causal, options.backward};
  limit_work(10.0 * static_cast<double>(shape.batch) * static_cast<double>(shape.heads) *
                 static_cast<double>(shape.seq) * static_cast<double>(shape.seq) * static_cast<double>(shape.head_dim),
             "--attention", text);
  if (shape.heads % shape.kv_heads != 0) {
    throw UsageError("--attention: expected key heads that divide the heads, got " + in_quotes(text));
  }
  Row row;
  row.what = fmt::format("attention {}{}{}", text, shape.causal ? " causal" : "", shape.backward ? " backward" : "");
  row.shape = {{"kind", "attention"},        {"batch", shape.batch},      {"heads", shape.heads},
               {"kv_heads", shape.kv_heads}, {"seq", shape.seq},          {"head_dim", shape.head_dim},
               {"causal", shape.causal},     {"backward", shape.backward}};
  row.work = kernel_work(part.array.compute, shape);
  row.plan = "-";
  return row;
}

/// What most of the time goes to.
std::string_view bound(const Row& row) {
  const Time busy = std::max(row.work.compute, row.memory);
  if (row.work.launch > busy) return "launch";
  return row.work.compute >= row.memory ? "compute" : "memory";
}

double tflops(const Row& row) {
  return row.time > Time() ? row.work.flops / to_seconds(row.time) * 1e-12 : 0;
}

nlohmann::ordered_json to_json(const Row& row) {
  nlohmann::ordered_json json = row.shape;
  json["time_us"] = to_us(row.time);
  json["tflops"] = tflops(row);
  json["bound"] = bound(row);
  json["launch_us"] = to_us(row.work.launch);
  json["compute_us"] = to_us(row.work.compute);
  json["memory_us"] = to_us(row.memory);
  json["read_bytes"] = row.work.read.count();
  json["written_bytes"] = row.work.written.count();
  json["flops"] = row.work.flops;
  return json;
}

int run(const Options& options) {
  if (options.gemms.empty() && options.attentions.empty()) {
    throw UsageError("expected --gemm M,N,K or --attention BATCH,HEADS,KV_HEADS,SEQ,HEAD_DIM, got neither");
  }
  const AcceleratorPart part = read_accelerator(options);
  std::vector<Row> rows;
  for (const std::string& text : options.gemms) rows.push_back(gemm_row(text, options, part));
  for (const std::string& text : options.attentions) rows.push_back(attention_row(text, options, part));

  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::vector<std::vector<std::string>> table = {
      {"kernel", "time (us)", "TFLOPS", "bound by", "launch", "compute", "memory", "plan"}};
  for (Row& row : rows) {
    row.time = estimate(row.work, part.hbm.sustained());
    row.memory = transfer_time(row.work.read + row.work.written, part.hbm.sustained());
    json.push_back(to_json(row));
    table.push_back({row.what, fmt::format("{:.2f}", to_us(row.time)), fmt::format("{:.1f}", tflops(row)),
                     std::string(bound(row)), fmt::format("{:.2f}", to_us(row.work.launch)),
                     fmt::format("{:.2f}", to_us(row.work.compute)), fmt::format("{:.2f}", to_us(row.memory)),
                     row.plan});
  }
  if (options.json) {
    print_json(nlohmann::ordered_json{{"accelerator", options.platform}, {"rows", json}});
  } else {
    print(in_columns(table));
  }
  return kDone;
}

}  // namespace

Command kernel_command(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("kernel", "Times one kernel on an accelerator and tells what bounds it");
  app->add_option("platform", options->platform, "A part of kind accelerator, or a platform")->required();
  app->add_option("--set", options->overrides, "path=value: overrides a value; can be repeated")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE");
  app->add_option("--gemm", options->gemms, "M,N,K of a matrix product; can be repeated")
      ->allow_extra_args(false)
      ->type_name("M,N,K");
  app->add_option("--attention", options->attentions, "BATCH,HEADS,KV_HEADS,SEQ,HEAD_DIM; can be repeated")
      ->allow_extra_args(false)
      ->type_name("B,H,KV,S,D");
  app->add_option("--batch", options->batch, "Products in one kernel")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 24));
  app->add_option("--type", options->type, "Type of the operands of a product")->capture_default_str();
  app->add_flag("--causal", options->causal, "Attention to what came before alone");
  app->add_flag("--backward", options->backward, "Attention's gradient");
  app->add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::platforms
