// SPDX-License-Identifier: Apache-2.0
// weft kernel: how long kernels take on an idle accelerator, and what bounds them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "hw/accelerator/kernel.h"
#include "hw/memory/memory_model.h"
#include "platforms/cli/output.h"
#include "platforms/commands/command.h"
#include "platforms/commands/kernel/beside.h"
#include "platforms/commands/kernel/report.h"
#include "platforms/commands/kernel/shapes.h"
#include "platforms/commands/kernel/sweep.h"
#include "platforms/config/sizes.h"
#include "platforms/config/text.h"
#include "platforms/machine/borrowed_remark.h"
#include "platforms/machine/find_accelerator.h"
#include "platforms/machine/platform.h"
#include "platforms/results/format.h"

namespace weft::platforms {
namespace {

using accelerator::ComputeConfig;
using accelerator::DataType;
using accelerator::FlashAttention;
using accelerator::Gemm;

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
  std::string with;           ///< another kernel, which runs beside it
  std::int64_t with_sms = 0;  ///< and where; 0: on the SMs that the first one does not have
};
using Kinds = std::vector<std::pair<Arguments, std::shared_ptr<Asked>>>;

/// The accelerator that is meant: a part, or that of a platform.
TimedOn find(const Target& target) {
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
  const bool of_platform = !part;
  if (of_platform) {
    PlatformOptions options;
    options.platform = name;
    options.overrides = target.overrides;
    Platform platform(options);
    platform.ignore_workload();
    platform.document().check_unused();
    part = platform.machine().accelerator;
    accelerator::check(part->array.compute, "accelerator.compute");
    print_warnings(platform.document().remarks());
    if (const std::string borrowed = borrowed_remark(platform.document()); !borrowed.empty())
      print_warnings({borrowed});
  }
  ComputeConfig compute = part->compute();
  if (target.sms > compute.sms) {
    throw UsageError(fmt::format("--sms: expected at most the {} of {}, got {}", compute.sms, name, target.sms));
  }
  if (target.sms > 0) compute = partition(compute, target.sms);
  if (target.burst) compute.power.cap = Power();
  print_warnings(part->hbm.warnings(of_platform ? "accelerator.hbm" : "hbm"));
  return {name, compute, target.warm, *part};
}

int report(const Target& target, const TimedOn& on, const std::vector<KernelShape>& shapes, bool in_full) {
  std::vector<KernelRow> rows;
  rows.reserve(shapes.size());
  for (const KernelShape& shape : shapes) rows.push_back(time_of(shape, on));
  if (target.json) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const KernelRow& row : rows) json.push_back(to_json(row, on));
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
  const DataType type = parse_product_type(asked.type, "--type");
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
  return report(asked.target, find(asked.target), shapes, false);
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

/// Subcommands for all kernels, with what says their shapes.
Kinds add_kinds(const Arguments& app) {
  Kinds kinds;
  for (const auto& kind : kernel_kinds()) {
    auto asked = std::make_shared<Asked>();
    asked->kind = kind;
    const Arguments sub = app.add_subcommand(kind->name(), kind->doc());
    for (const KernelKind::Dimension& dimension : kind->dimensions()) {
      std::string& text = asked->dimensions[dimension.name];
      const Option option = sub.add_option("--" + dimension.name, text, dimension.doc).type_name("N");
      if (dimension.fallback > 0 || dimension.may_be_zero) option.shows_default(std::to_string(dimension.fallback));
    }
    kind->add_options(sub);
    kinds.emplace_back(sub, asked);
  }
  return kinds;
}

KernelShape single(const Asked& asked, const std::string& option) {
  const std::vector<KernelKind::Values> values = combinations(*asked.kind, asked.dimensions);
  if (values.size() != 1) throw UsageError(option + ": expected one kernel on each side, no list or range");
  return asked.kind->shape(values.front());
}

/// The kernel of "copy --bytes 1GiB".
KernelShape parse_with(const std::string& text) {
  const std::string expected = "--with: expected a kernel such as \"copy --bytes 1GiB\", got " + in_quotes(text);
  CommandLine line;
  line.arguments().require_subcommand(1, 1);
  const Kinds kinds = add_kinds(line.arguments());
  try {
    line.parse(text);
  } catch (const UsageError& error) {
    throw UsageError(expected + ": " + error.what());
  }
  for (const auto& [sub, asked] : kinds) {
    if (sub.given()) return single(*asked, "--with");
  }
  throw UsageError(expected);
}

/// Two kernels side by side in one simulated accelerator.
int report_pair(const Asked& asked, Target target) {
  const std::int64_t first = std::exchange(target.sms, 0);
  const TimedOn on = find(target);
  const std::array<KernelShape, 2> shapes = {single(asked, "--with"), parse_with(asked.with)};
  const std::int64_t all = on.compute.sms;
  std::array<std::int64_t, 2> sms = {first, asked.with_sms};
  if (sms[0] == 0) sms[0] = sms[1] == 0 ? all / 2 : all - sms[1];
  if (sms[1] == 0) sms[1] = all - sms[0];
  if (sms[0] < 1 || sms[1] < 1 || sms[0] + sms[1] > all) {
    throw UsageError(
        fmt::format("--with-sms: expected at most the {} of {} for both kernels and one for each, got {} and {}", all,
                    on.name, sms[0], sms[1]));
  }
  if (target.warm) throw UsageError("--warm: expected no --with beside it: two kernels share the cache");
  if (memory::model_of(on.part.hbm).phases) {
    throw UsageError("--with: expected a memory of detail stream, got " + on.part.hbm.detail.text());
  }
  std::array<Placed, 2> placed;
  std::array<KernelRow, 2> whole = {time_of(shapes[0], on), time_of(shapes[1], on)};
  placed = place_beside(on.compute, shapes, sms);
  const Ends ends = run_beside(on.part, placed);
  const Time together = std::max(ends.beside[0], ends.beside[1]);
  const Time after = whole[0].time + whole[1].time;
  if (target.json) {
    nlohmann::ordered_json json = {{"accelerator", on.name}, {"kernels", nlohmann::ordered_json::array()}};
    for (std::size_t i = 0; i < 2; ++i) {
      nlohmann::ordered_json kernel = shapes.at(i).json;
      kernel["sms"] = sms.at(i);
      kernel["clock"] = placed.at(i).work.clock;
      kernel["alone_us"] = to_us(ends.alone.at(i));
      kernel["beside_us"] = to_us(ends.beside.at(i));
      kernel["whole_array_us"] = to_us(whole.at(i).time);
      json["kernels"].push_back(kernel);
    }
    json["together_us"] = to_us(together);
    json["one_after_the_other_us"] = to_us(after);
    print_json(json);
    return kDone;
  }
  std::vector<std::vector<std::string>> table = {
      {"kernel", "SMs", "clock", "alone (us)", "beside the other", "", "on all SMs"}};
  for (std::size_t i = 0; i < 2; ++i) {
    const double slower = to_seconds(ends.beside.at(i)) / to_seconds(ends.alone.at(i)) - 1;
    table.push_back({shapes.at(i).text, std::to_string(sms.at(i)), percent(placed.at(i).work.clock),
                     fmt::format("{:.2f}", to_us(ends.alone.at(i))), fmt::format("{:.2f}", to_us(ends.beside.at(i))),
                     fmt::format("{:+.1f} %", 100 * slower), fmt::format("{:.2f}", to_us(whole.at(i).time))});
  }
  print(in_columns(table));
  print(fmt::format("{}: both end after {}, one after the other on all {} SMs after {}\n", on.name,
                    short_time(together), all, short_time(after)));
  return kDone;
}

int run_asked(const Asked& asked, const Target& before) {
  const Target target = joined(before, asked.target);
  if (!asked.with.empty()) return report_pair(asked, target);
  if (asked.with_sms > 0) throw UsageError("--with-sms: expected --with, which names the other kernel");
  const TimedOn on = find(target);  // a part that does not exist is said before a dimension that is missing
  std::vector<KernelShape> shapes;
  for (const KernelKind::Values& values : combinations(*asked.kind, asked.dimensions))
    shapes.push_back(asked.kind->shape(values));
  return report(target, on, shapes, true);
}

void add_target(const Arguments& app, Target& target) {
  app.add_option("platform", target.platform, "A part of kind accelerator, or a platform; h100-sxm if left out")
      .type_name("PART|PLATFORM");
  app.add_option("--part", target.part, "A part of kind accelerator").type_name("PART");
  app.add_option("--set", target.overrides, "path=value: overrides a value; can be repeated")
      .one_at_a_time()
      .type_name("PATH=VALUE");
  app.add_option("--sms", target.sms, "SMs of a partition of the array; all if left out").check(Within(1, 4096));
  app.add_flag("--warm", target.warm, "Operands were used just before: the last-level cache has what fits");
  app.add_flag("--burst", target.burst, "A short run after a pause, which ends before the power cap lowers the clock");
  app.add_flag("--json", target.json, "Print JSON");
}

}  // namespace

Command kernel_command(const Arguments& parent) {
  const Arguments app =
      parent.add_subcommand("kernel", "Times kernels on an idle accelerator and reports what bounds them");
  app.require_subcommand(0, 1);
  auto listed = std::make_shared<Listed>();
  add_target(app, listed->target);
  app.add_option("--gemm", listed->gemms, "M,N,K of a matrix product; can be repeated")
      .one_at_a_time()
      .type_name("M,N,K");
  app.add_option("--attention", listed->attentions, "BATCH,HEADS,KV_HEADS,SEQ,HEAD_DIM; can be repeated")
      .one_at_a_time()
      .type_name("B,H,KV,S,D");
  app.add_option("--batch", listed->batch, "Products in one kernel").shows_default().check(Within(1, 1 << 24));
  app.add_option("--type", listed->type, "Type of the operands of a product").type_name("TYPE").shows_default();
  app.add_flag("--causal", listed->causal, "Attention to earlier tokens only");
  app.add_flag("--backward", listed->backward, "Attention's gradient");

  const Kinds kinds = add_kinds(app);
  for (const auto& [sub, asked] : kinds) {
    add_target(sub, asked->target);
    sub.add_option("--with", asked->with,
                   "\"KERNEL --DIMENSION NUMBER ...\" that runs beside it on other SMs; --sms is then the first one's, "
                   "half if left out")
        .type_name("KERNEL");
    sub.add_option("--with-sms", asked->with_sms, "SMs of the kernel beside it; what the first leaves if left out")
        .check(Within(1, 4096));
  }
  return {app, [app, listed, kinds] {
            for (const auto& [sub, asked] : kinds) {
              if (!sub.given()) continue;
              for (const char* option : {"--gemm", "--attention", "--batch", "--type", "--causal", "--backward"}) {
                if (!app.given(option)) continue;
                throw UsageError(fmt::format("{}: expected it after {}, not before", option, asked->kind->name()));
              }
              return run_asked(*asked, listed->target);
            }
            return run_listed(*listed);
          }};
}

}  // namespace weft::platforms
