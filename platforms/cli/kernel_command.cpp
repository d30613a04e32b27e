// SPDX-License-Identifier: Apache-2.0
// weft kernel: how long kernels take on an idle accelerator, and what bounds them.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "hw/accelerator/kernel.h"
#include "platforms/cli/accelerator.h"
#include "platforms/cli/command.h"
#include "platforms/cli/kernel_shapes.h"
#include "platforms/cli/output.h"
#include "platforms/cli/platform.h"
#include "platforms/cli/sizes.h"
#include "platforms/config/text.h"

namespace weft::platforms {
namespace {

using accelerator::ComputeConfig;
using accelerator::Cost;
using accelerator::DataType;
using accelerator::FlashAttention;
using accelerator::Gemm;
using accelerator::GemmPlan;
using accelerator::KernelWork;

/// What all forms of the command have.
struct Target {
  std::string platform;
  std::string part;
  std::vector<std::string> overrides;
  std::int64_t sms = 0;
  bool warm = false;
  bool burst = false;
  bool json = false;
};

/// `weft kernel PLATFORM --gemm M,N,K ...`: several at once.
struct Listed {
  Target target;
  std::vector<std::string> gemms;
  std::vector<std::string> attentions;
  std::int64_t batch = 1;
  std::string type = "bf16";
  bool causal = false;
  bool backward = false;
};

/// `weft kernel KIND --DIMENSION NUMBER ...`
struct Asked {
  Target target;
  std::shared_ptr<KernelKind> kind;
  std::map<std::string, std::string> dimensions;
};

struct Accelerator {
  std::string name;
  ComputeConfig compute;
  Rate memory;  ///< what kernels see of it
  bool warm = false;
};

/// A kernel on an accelerator.
struct Row {
  KernelShape shape;
  KernelWork work;
  GemmPlan plan;
  Time time;
  Time memory;
  std::vector<std::pair<Cost, Time>> costs;
  double tflops = 0;
  double peak = 0;  ///< TFLOPS
  double energy = 0;
  double power = 0;
};

/// The accelerator that is meant: a part, or that of a platform.
Accelerator find(const Target& target) {
  if (!target.platform.empty() && !target.part.empty()) {
    throw UsageError("--part: expected a part or a platform, got both " + in_quotes(target.part) + " and " +
                     in_quotes(target.platform));
  }
  std::string name = target.part.empty() ? target.platform : target.part;
  if (name.empty()) name = "h100-sxm";
  std::optional<AcceleratorPart> part = find_accelerator(name, target.overrides);
  if (!part && !target.part.empty()) {
    throw UsageError("--part: expected an accelerator of the catalogue (weft parts), got " + in_quotes(name));
  }
  if (!part) {
    PlatformOptions options;
    options.platform = name;
    options.overrides = target.overrides;
    Platform platform(options);
    platform.ignore_workload();
    platform.document().check_unused();
    part = platform.machine().accelerator;
    accelerator::check(part->array.compute, "accelerator.compute");
  }
  ComputeConfig compute = part->array.compute;
  if (target.sms > compute.sms) {
    throw UsageError(fmt::format("--sms: expected at most the {} of {}, got {}", compute.sms, name, target.sms));
  }
  if (target.sms > 0) compute = partition(compute, target.sms);
  if (target.burst) compute.power.cap = Power();
  return {name, compute, part->hbm.sustained(), target.warm};
}

double peak_of(const ComputeConfig& config, DataType type) {
  switch (type) {
    case DataType::kBf16:
    case DataType::kFp16:
      return static_cast<double>(config.tensor_16bit.count());
    case DataType::kFp8:
      return static_cast<double>(config.tensor_8bit.count());
    case DataType::kTf32:
      return static_cast<double>(config.tensor_tf32.count());
    case DataType::kFp32:
      return static_cast<double>(config.vector_fp32.count());
  }
  return 1;
}

Row time_of(const KernelShape& shape, const Accelerator& on) {
  Row row{.shape = shape, .work = {}, .plan = {}, .time = {}, .memory = {}, .costs = {}};
  try {
    row.work = shape.work(on.compute, &row.plan);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
  if (on.warm) row.work = with_warm_operands(on.compute, row.work);
  row.time = estimate(row.work, on.memory);
  row.memory = transfer_time(row.work.read + row.work.written, on.memory);
  row.costs = breakdown(row.work, on.memory);
  row.peak = peak_of(on.compute, shape.units) * 1e-12;
  row.energy = energy(on.compute.power, row.work, on.memory);
  if (row.time > Time()) {
    row.tflops = row.work.flops / to_seconds(row.time) * 1e-12;
    row.power = row.energy / to_seconds(row.time);
  }
  return row;
}

std::string bound(const Row& row) {
  return row.costs.empty() ? "nothing" : std::string(name_of(row.costs.front().first));
}

/// Bytes of HBM, both ways.
double moved(const Row& row) {
  return static_cast<double>((row.work.read + row.work.written).count());
}
double intensity(const Row& row) {
  return moved(row) > 0 ? row.work.flops / moved(row) : 0;
}
/// Operations for each byte from which the peak, not HBM, is the limit.
double ridge(const Row& row, const Accelerator& on) {
  return row.peak * 1e12 / (static_cast<double>(on.memory.count()) / 8);
}

std::string plan_text(const Row& row) {
  if (row.plan.units == 0) return "-";
  return fmt::format("tile {}x{}, split k {}, {} units in {} waves", row.plan.tile_m, row.plan.tile_n, row.plan.split_k,
                     row.plan.units, row.plan.waves);
}

nlohmann::ordered_json to_json(const Row& row, const Accelerator& on) {
  nlohmann::ordered_json json = row.shape.json;
  if (row.plan.units > 0) {
    json["plan"] = {{"tile_m", row.plan.tile_m},   {"tile_n", row.plan.tile_n},
                    {"split_k", row.plan.split_k}, {"units", row.plan.units},
                    {"waves", row.plan.waves},     {"reduction_us", to_us(row.plan.reduction)}};
  }
  json["time_us"] = to_us(row.time);
  json["tflops"] = row.tflops;
  json["peak_tflops"] = row.peak;
  json["bound"] = bound(row);
  json["launch_us"] = to_us(row.work.launch);
  json["compute_us"] = to_us(row.work.compute);
  json["memory_us"] = to_us(row.memory);
  json["breakdown_us"] = nlohmann::ordered_json::object();
  for (const auto& [cost, time] : row.costs) json["breakdown_us"][std::string(name_of(cost))] = to_us(time);
  json["read_bytes"] = row.work.read.count();
  json["written_bytes"] = row.work.written.count();
  json["l2_bytes"] = row.work.cached.count();
  json["l2_hit_rate"] = hit_rate(row.work);
  json["l2_us"] = to_us(row.work.cache);
  json["flops"] = row.work.flops;
  json["intensity"] = intensity(row);
  json["ridge"] = ridge(row, on);
  json["energy_j"] = row.energy;
  json["power_w"] = row.power;
  json["clock"] = row.work.clock;
  return json;
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

/// One kernel in full.
void print_report(const Row& row, const Accelerator& on) {
  const double seconds = to_seconds(row.time);
  print(fmt::format("{} on {} ({} SMs): {}, bound by {}\n", row.shape.text, on.name, on.compute.sms,
                    short_time(row.time), bound(row)));
  std::vector<std::vector<std::string>> parts;
  for (const auto& [cost, time] : row.costs) {
    parts.push_back({"  " + std::string(name_of(cost)), short_time(time), percent(to_seconds(time) / seconds)});
  }
  const Time longest = std::max({row.work.compute, row.memory, row.work.cache});
  bool shown = false;
  for (const auto& [name, time] : {std::pair("  computing", row.work.compute), std::pair("  HBM", row.memory),
                                   std::pair("  L2", row.work.cache)}) {
    if (time == longest && !shown) {
      shown = true;
    } else if (time > Time()) {
      parts.push_back({name, short_time(time), "hidden"});
    }
  }
  print(in_columns(parts));
  const double memory = static_cast<double>(on.memory.count()) / 8;
  std::string text;
  if (row.work.flops > 0) {
    text += fmt::format("operations  {:.4g} GFLOP, {:.4g} TFLOPS, {} of the peak of {:.4g} TFLOPS\n",
                        row.work.flops * 1e-9, row.tflops, percent(row.tflops / row.peak), row.peak);
  }
  text += fmt::format("HBM         {} read, {} written, {:.4g} GB/s, {} of {:.4g} GB/s\n",
                      short_bytes(static_cast<double>(row.work.read.count())),
                      short_bytes(static_cast<double>(row.work.written.count())), moved(row) / seconds * 1e-9,
                      percent(moved(row) / seconds / memory), memory * 1e-9);
  if (row.work.cached > Bytes(0)) {
    text += fmt::format("L2          {} asked of it, {} hits{}\n",
                        short_bytes(static_cast<double>(row.work.cached.count())), percent(hit_rate(row.work)),
                        on.warm ? ", with warm operands" : "");
  }
  text += fmt::format("intensity   {:.4g} FLOP/byte; the ridge is at {:.4g}\n", intensity(row), ridge(row, on));
  if (row.plan.units > 0) text += "plan        " + plan_text(row) + "\n";
  text += fmt::format("energy      {:.4g} mJ: operations {:.4g}, HBM {:.4g}, idle {:.4g}; {:.4g} W on average\n",
                      row.energy * 1e3, row.work.array_energy * 1e3, row.work.memory_energy * 1e3,
                      (row.energy - row.work.array_energy - row.work.memory_energy) * 1e3, row.power);
  if (row.work.clock < 1) {
    text += fmt::format("clock       {} of {}, which the power cap of {} leaves\n", percent(row.work.clock),
                        to_text(on.compute.clock), to_text(on.compute.power.cap));
  }
  print(text);
}

void print_table(const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> table = {
      {"kernel", "time (us)", "TFLOPS", "of peak", "bound by", "share", "launch", "compute", "HBM", "W", "plan"}};
  for (const Row& row : rows) {
    const double share = row.costs.empty() ? 0 : to_seconds(row.costs.front().second) / to_seconds(row.time);
    table.push_back({row.shape.text, fmt::format("{:.2f}", to_us(row.time)), fmt::format("{:.1f}", row.tflops),
                     percent(row.tflops / row.peak), bound(row), percent(share),
                     fmt::format("{:.2f}", to_us(row.work.launch)), fmt::format("{:.2f}", to_us(row.work.compute)),
                     fmt::format("{:.2f}", to_us(row.memory)), fmt::format("{:.0f}", row.power), plan_text(row)});
  }
  print(in_columns(table));
}

int report(const Target& target, const std::vector<KernelShape>& shapes, bool in_full) {
  const Accelerator on = find(target);
  std::vector<Row> rows;
  rows.reserve(shapes.size());
  for (const KernelShape& shape : shapes) rows.push_back(time_of(shape, on));
  if (target.json) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const Row& row : rows) json.push_back(to_json(row, on));
    print_json(nlohmann::ordered_json{{"accelerator", on.name}, {"rows", json}});
  } else if (in_full && rows.size() == 1) {
    print_report(rows.front(), on);
  } else {
    print_table(rows);
  }
  return kDone;
}

int run_listed(const Listed& asked) {
  if (asked.gemms.empty() && asked.attentions.empty()) {
    std::vector<std::string> names;
    for (const auto& kind : kernel_kinds()) names.push_back(kind->name());
    throw UsageError("expected a kernel (" + fmt::format("{}", fmt::join(names, ", ")) +
                     "), or a platform with --gemm M,N,K or --attention BATCH,HEADS,KV_HEADS,SEQ,HEAD_DIM");
  }
  std::vector<KernelShape> shapes;
  const DataType type = parse_type(asked.type, "--type");
  for (const std::string& text : asked.gemms) {
    const std::vector<std::int64_t> dims = parse_numbers(text, "--gemm", 3, 3);
    limit_operations(2.0 * static_cast<double>(asked.batch) * static_cast<double>(dims[0]) *
                         static_cast<double>(dims[1]) * static_cast<double>(dims[2]),
                     "--gemm", text);
    shapes.push_back(shape_of(Gemm{asked.batch, dims[0], dims[1], dims[2], type}));
  }
  for (const std::string& text : asked.attentions) {
    const std::vector<std::int64_t> dims = parse_numbers(text, "--attention", 5, 5);
    limit_operations(10.0 * static_cast<double>(dims[0]) * static_cast<double>(dims[1]) * static_cast<double>(dims[3]) *
                         static_cast<double>(dims[3]) * static_cast<double>(dims[4]),
                     "--attention", text);
    if (dims[1] % dims[2] != 0) {
      throw UsageError("--attention: expected key heads that divide the heads, got " + in_quotes(text));
    }
    shapes.push_back(
        shape_of(FlashAttention{dims[0], dims[1], dims[2], dims[3], dims[4], asked.causal, asked.backward}));
  }
  return report(asked.target, shapes, false);
}

/// "4096", "128,512", "128:8192:x2"; numbers of elements, or sizes with or without a unit.
std::vector<std::int64_t> parse_values(const std::string& text, const KernelKind::Dimension& dimension) {
  constexpr std::int64_t kLargest = 1LL << 40;
  const std::string option = "--" + dimension.name;
  const std::int64_t least = dimension.may_be_zero ? 0 : 1;
  const auto number = [&](const std::string& digits) -> std::int64_t {
    std::int64_t value = -1;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value);
    if (dimension.name == "bytes" && stop != end) {
      try {
        value = parse_bytes(digits).count();
      } catch (const std::invalid_argument&) {
        value = -1;
      }
    } else if (error != std::errc() || stop != end) {
      value = -1;
    }
    if (value >= least && value <= kLargest) return value;
    throw UsageError(option + ": expected " +
                     (dimension.name == "bytes" ? "a size such as \"64MiB\"" : "a whole number") +
                     fmt::format(" from {} to 2^40, a list with commas between, or a range such as 128:8192:x2, got {}",
                                 least, in_quotes(text)));
  };
  std::vector<std::int64_t> values;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string entry = text.substr(start, end - start);
    start = end + 1;
    const std::size_t colon = entry.find(':');
    const std::int64_t first = number(entry.substr(0, colon));
    if (colon == std::string::npos) {
      values.push_back(first);
      continue;
    }
    const std::size_t second = entry.find(':', colon + 1);
    const std::int64_t last = number(entry.substr(colon + 1, second - std::min(second, colon + 1)));
    std::int64_t factor = 2;
    if (second != std::string::npos) {
      const std::string text_of_factor = entry.substr(second + 1);
      factor = text_of_factor.starts_with('x') ? number(text_of_factor.substr(1)) : 0;
    }
    if (factor < 2)
      throw UsageError(option + ": expected a factor of 2 or more, as in 128:8192:x2, got " + in_quotes(entry));
    if (last < first) throw UsageError(option + ": expected a range that goes up, got " + in_quotes(entry));
    if (first == 0) throw UsageError(option + ": expected a range that begins above 0, got " + in_quotes(entry));
    for (std::int64_t value = first; value <= last; value *= factor) values.push_back(value);
  }
  return values;
}

/// All combinations of what the dimensions were given, the last one changing fastest. A dimension can have the name of
/// another one for its value ("--n m").
std::vector<KernelKind::Values> combinations(const Asked& asked) {
  constexpr std::size_t kMost = 4096;
  const std::vector<KernelKind::Dimension> dimensions = asked.kind->dimensions();
  const auto is_name = [&](const std::string& text) {
    return std::any_of(dimensions.begin(), dimensions.end(), [&](const auto& d) { return d.name == text; });
  };
  std::vector<KernelKind::Values> all = {{}};
  for (const KernelKind::Dimension& dimension : dimensions) {
    const std::string& text = asked.dimensions.at(dimension.name);
    if (text.empty() && dimension.fallback == 0 && !dimension.may_be_zero) {
      throw UsageError(fmt::format("--{}: expected a number for {}, got nothing", dimension.name, asked.kind->name()));
    }
    if (is_name(text)) continue;
    const std::vector<std::int64_t> values =
        text.empty() ? std::vector<std::int64_t>{dimension.fallback} : parse_values(text, dimension);
    std::vector<KernelKind::Values> next;
    for (const KernelKind::Values& before : all) {
      for (const std::int64_t value : values) {
        next.push_back(before);
        next.back()[dimension.name] = value;
      }
      if (next.size() > kMost)
        throw UsageError(fmt::format("--{}: expected at most {} kernels", dimension.name, kMost));
    }
    all = std::move(next);
  }
  for (KernelKind::Values& values : all) {
    for (const KernelKind::Dimension& dimension : dimensions) {
      const std::string& text = asked.dimensions.at(dimension.name);
      if (!is_name(text)) continue;
      const auto other = values.find(text);
      if (other == values.end() || is_name(asked.dimensions.at(text))) {
        throw UsageError(
            fmt::format("--{}: expected a dimension that has a number, got {}", dimension.name, in_quotes(text)));
      }
      values[dimension.name] = other->second;
    }
  }
  return all;
}

/// What was given before the kernel's name counts as well: "kernel PLATFORM gemm ...".
Target joined(const Target& before, const Target& after) {
  Target target = after;
  const auto take = [](std::string& to, const std::string& from, const char* option) {
    if (!to.empty() && !from.empty()) {
      throw UsageError(fmt::format("{}: expected it once, got {} and {}", option, in_quotes(from), in_quotes(to)));
    }
    if (to.empty()) to = from;
  };
  take(target.platform, before.platform, "platform");
  take(target.part, before.part, "--part");
  target.overrides.insert(target.overrides.begin(), before.overrides.begin(), before.overrides.end());
  if (target.sms == 0) target.sms = before.sms;
  target.warm |= before.warm;
  target.burst |= before.burst;
  target.json |= before.json;
  return target;
}

int run_asked(const Asked& asked, const Target& before) {
  std::vector<KernelShape> shapes;
  for (const KernelKind::Values& values : combinations(asked)) shapes.push_back(asked.kind->shape(values));
  return report(joined(before, asked.target), shapes, true);
}

void add_target(CLI::App& app, Target& target) {
  app.add_option("platform", target.platform, "A part of kind accelerator, or a platform; h100-sxm if left out");
  app.add_option("--part", target.part, "A part of kind accelerator")->type_name("NAME");
  app.add_option("--set", target.overrides, "path=value: overrides a value; can be repeated")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE");
  app.add_option("--sms", target.sms, "SMs that it has, a partition of the array; all of them if left out")
      ->check(CLI::Range(1, 4096));
  app.add_flag("--warm", target.warm, "Operands were used just before: the last-level cache has what fits");
  app.add_flag("--burst", target.burst, "A short run after a pause, which ends before the power cap lowers the clock");
  app.add_flag("--json", target.json, "Print JSON");
}

}  // namespace

Command kernel_command(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("kernel", "Times kernels on an idle accelerator and tells what bounds them");
  app->require_subcommand(0, 1);
  auto listed = std::make_shared<Listed>();
  add_target(*app, listed->target);
  app->add_option("--gemm", listed->gemms, "M,N,K of a matrix product; can be repeated")
      ->allow_extra_args(false)
      ->type_name("M,N,K");
  app->add_option("--attention", listed->attentions, "BATCH,HEADS,KV_HEADS,SEQ,HEAD_DIM; can be repeated")
      ->allow_extra_args(false)
      ->type_name("B,H,KV,S,D");
  app->add_option("--batch", listed->batch, "Products in one kernel")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 24));
  app->add_option("--type", listed->type, "Type of the operands of a product")->capture_default_str();
  app->add_flag("--causal", listed->causal, "Attention to what came before alone");
  app->add_flag("--backward", listed->backward, "Attention's gradient");

  std::vector<std::pair<CLI::App*, std::shared_ptr<Asked>>> kinds;
  for (const auto& kind : kernel_kinds()) {
    auto asked = std::make_shared<Asked>();
    asked->kind = kind;
    CLI::App* sub = app->add_subcommand(kind->name(), kind->doc());
    add_target(*sub, asked->target);
    for (const KernelKind::Dimension& dimension : kind->dimensions()) {
      std::string& text = asked->dimensions[dimension.name];
      CLI::Option* option = sub->add_option("--" + dimension.name, text, dimension.doc)->type_name("N");
      if (dimension.fallback > 0 || dimension.may_be_zero) option->default_str(std::to_string(dimension.fallback));
    }
    kind->add_options(*sub);
    kinds.emplace_back(sub, asked);
  }
  return {app, [app, listed, kinds] {
            for (const auto& [sub, asked] : kinds) {
              if (!sub->parsed()) continue;
              for (const char* option : {"--gemm", "--attention", "--batch", "--type", "--causal", "--backward"}) {
                if (app->count(option) == 0) continue;
                throw UsageError(fmt::format("{}: expected it after {}, not before", option, asked->kind->name()));
              }
              return run_asked(*asked, listed->target);
            }
            return run_listed(*listed);
          }};
}

}  // namespace weft::platforms
