// SPDX-License-Identifier: Apache-2.0
#include "platforms/jobs/measured/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "platforms/config/choices.h"
#include "platforms/config/input_error.h"
#include "platforms/config/text.h"
#include "platforms/results/format.h"
#include "platforms/results/why/resources.h"
#include "platforms/results/why/set_by.h"

namespace weft::platforms {

using nlohmann::ordered_json;
using traces::NcclRow;

namespace {

/// Errors within which a size is as measured.
constexpr double kAlike = 0.1;

constexpr std::array<std::pair<const char*, CollectiveOp>, 8> kTests = {
    {{"all_reduce", CollectiveOp::kAllReduce},
     {"all_gather", CollectiveOp::kAllgather},
     {"reduce_scatter", CollectiveOp::kReduceScatter},
     {"alltoall", CollectiveOp::kAllToAll},
     {"broadcast", CollectiveOp::kBroadcast},
     {"reduce", CollectiveOp::kReduce},
     {"gather", CollectiveOp::kGather},
     {"scatter", CollectiveOp::kScatter}}};

/// Those of an integer have its size, which is all that a time depends on.
constexpr std::array<std::pair<const char*, ElementType>, 6> kTypes = {{{"float", ElementType::kFp32},
                                                                        {"half", ElementType::kFp16},
                                                                        {"bfloat16", ElementType::kBf16},
                                                                        {"int32", ElementType::kInt32},
                                                                        {"uint32", ElementType::kInt32},
                                                                        {"int", ElementType::kInt32}}};

template <typename Table>
auto find(const Table& table, const std::string& name) {
  const auto at = std::find_if(table.begin(), table.end(), [&name](const auto& each) { return each.first == name; });
  return at == table.end() ? std::nullopt : std::optional(at->second);
}

/// Of the rows that `is_of` has.
template <typename Of>
std::vector<std::string> different(const std::vector<NcclRow>& rows, const Of& of) {
  std::vector<std::string> all;
  for (const NcclRow& row : rows) {
    if (std::find(all.begin(), all.end(), of(row)) == all.end()) all.push_back(of(row));
  }
  return all;
}

CollectiveOp op_of(const std::string& file, const std::vector<std::string>& tests) {
  const std::string ops = "one of " + join(names_of<CollectiveOp>(), ", ");
  if (tests.size() > 1) {
    throw UsageError("--op: expected " + ops + ", since " + file + " has several tests, " + join(tests, ", "));
  }
  if (tests.front().empty()) {
    throw UsageError("--op: expected " + ops + ", since " + file +
                     " does not say which test it is of (\"Collective test starting: all_reduce_perf\")");
  }
  if (const auto op = find(kTests, tests.front())) return *op;
  throw UsageError(file + ": expected a test of a collective that Weft has, got " + tests.front() + "_perf");
}

ElementType type_of(const std::string& file, const std::vector<std::string>& types) {
  if (types.size() > 1) {
    throw UsageError("--type: expected one of " + join(names_of<ElementType>(), ", ") + ", since " + file +
                     " has several types, " + join(types, ", "));
  }
  if (const auto type = find(kTypes, types.front())) return *type;
  throw UsageError("--type: expected one of " + join(names_of<ElementType>(), ", ") + ", since Weft has no " +
                   in_quotes(types.front()) + ", which " + file + " measured");
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The rate of the mean time, which a mean of rates is not.
double mean_rate(const std::vector<double>& rates, const std::vector<double>& times) {
  const double time = std::accumulate(times.begin(), times.end(), 0.0);
  return time > 0 ? std::inner_product(rates.begin(), rates.end(), times.begin(), 0.0) / time : mean(rates);
}

ordered_json limit_of(const ordered_json& why, const Settings& settings, std::size_t row, std::size_t rows) {
  std::map<const Resource*, std::int64_t> sums;
  std::int64_t all = 0;
  for (const ordered_json& piece : why["pieces"]) {
    if (rows > 1 && piece["step"].get<std::size_t>() != row + 1) continue;
    const auto ps = piece["ps"].get<std::int64_t>();
    sums[&resource_of(piece)] += ps;
    all += ps;
  }
  if (all == 0) return nullptr;
  // In the order of tables, so that equal ones are in an order, too.
  const Resource* most = nullptr;
  for (const Resource& resource : resources()) {
    const auto found = sums.find(&resource);
    if (found != sums.end() && (most == nullptr || found->second > sums[most])) most = &resource;
  }
  return {{"resource", most->name},
          {"words", most->words},
          {"share", static_cast<double>(sums[most]) / static_cast<double>(all)},
          {"settings", settings.text(*most)}};
}

std::string verdict_of(double error, std::int64_t wrong, bool disagrees) {
  if (wrong > 0) return "measured with wrong data";
  if (disagrees) return "the measurement contradicts itself";
  if (std::abs(error) <= kAlike) return "as measured";
  return error > 0 ? "slower than measured" : "faster than measured";
}

}  // namespace

Measured::Measured(std::string file, const MeasuredChoice& choice) : file_(std::move(file)) {
  choose(traces::read_nccl_tests(file_, &warnings_), choice);
}

void Measured::choose(const std::vector<NcclRow>& rows, const MeasuredChoice& choice) {
  // Rows of tests, and of types, that the file tells apart, and of those of which it says nothing.
  std::vector<NcclRow> chosen;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(chosen), [&choice](const NcclRow& row) {
    return !choice.op || row.test.empty() || find(kTests, row.test) == choice.op;
  });
  const auto test = [](const NcclRow& row) { return row.test; };
  if (chosen.empty()) {
    throw UsageError(fmt::format("--op: expected a test that {} has, {}, got {}", file_,
                                 join(different(rows, test), ", "), in_quotes(name_of(*choice.op))));
  }
  op_ = choice.op ? *choice.op : op_of(file_, different(chosen, test));
  const auto type = [](const NcclRow& row) { return row.type; };
  const std::vector<std::string> types = different(chosen, type);
  if (choice.type && types.size() > 1) {
    std::erase_if(chosen, [&choice](const NcclRow& row) { return find(kTypes, row.type) != choice.type; });
    if (chosen.empty()) {
      throw UsageError(fmt::format("--type: expected one that {} has, {}, got {}", file_, join(types, ", "),
                                   in_quotes(name_of(*choice.type))));
    }
  }
  type_ = choice.type ? *choice.type : type_of(file_, types);
  for (const NcclRow& row : chosen) {
    if (choice.sizes.empty() || std::find(choice.sizes.begin(), choice.sizes.end(), row.bytes) != choice.sizes.end()) {
      add(row);
    }
  }
  for (const std::uint64_t bytes : choice.sizes) {
    if (std::any_of(sizes_.begin(), sizes_.end(), [bytes](const Size& size) { return size.bytes == bytes; })) continue;
    throw UsageError(fmt::format("--bytes: expected sizes that {} has, from {}B to {}B, got {}B", file_,
                                 chosen.front().bytes, chosen.back().bytes, bytes));
  }
}

void Measured::add(const NcclRow& row) {
  const std::string place = row.line > 0 ? file_ + ":" + std::to_string(row.line) : file_;
  if (row.bytes % size_of(type_) != 0) {
    throw UsageError(
        fmt::format("{}: expected a size of whole elements of {}, got {} B", place, name_of(type_), row.bytes));
  }
  if (ranks_ != 0 && row.ranks != 0 && row.ranks != ranks_) {
    throw UsageError(
        fmt::format("{}: expected rows of one number of ranks, got {} after {}", place, row.ranks, ranks_));
  }
  ranks_ = std::max(ranks_, row.ranks);
  auto size = std::find_if(sizes_.begin(), sizes_.end(), [&row](const Size& each) { return each.bytes == row.bytes; });
  if (size == sizes_.end()) {
    sizes_.emplace_back().bytes = row.bytes;
    size = sizes_.end() - 1;
  }
  size->time_us.push_back(row.time_us);
  size->busbw.push_back(row.busbw);
  if (row.in_place_us) size->in_place_us.push_back(*row.in_place_us);
  size->wrong += row.wrong;
  NcclRow known = row;
  // Of a test that only --op says.
  if (known.test.empty()) {
    for (const auto& [test, op] : kTests) {
      if (op == op_) known.test = test;
    }
  }
  if (const std::string expected = traces::contradiction(known); !expected.empty()) {
    warnings_.push_back(place + ": the row contradicts itself: expected " + expected);
    size->disagrees = true;
  }
}

std::vector<std::uint64_t> Measured::sizes() const {
  std::vector<std::uint64_t> all;
  for (const Size& size : sizes_) all.push_back(size.bytes);
  return all;
}

void Measured::check_ranks(int accelerators, int per_node, const std::string& platform) const {
  if (ranks_ == 0 || ranks_ == accelerators) return;
  std::string advice = fmt::format("--set accelerators={}", ranks_);
  // Nodes are full.
  if (ranks_ < per_node) advice += fmt::format(" --set per_node={}", ranks_);
  if (ranks_ > per_node && ranks_ % per_node != 0) {
    advice = fmt::format("a platform of nodes of which {} ranks fill each, since {} has {} accelerators a node", ranks_,
                         platform, per_node);
  }
  throw UsageError(
      fmt::format("--measured: expected measurements of {} ranks, as many as {} has accelerators, got {} in {}: {}",
                  accelerators, platform, ranks_, file_, advice));
}

ordered_json Measured::beside(const std::vector<CollectiveResult>& results, const ordered_json& why,
                              const ordered_json& values) const {
  ordered_json rows = ordered_json::array();
  const FieldValues fields(values);
  std::optional<Settings> settings;
  if (!why.is_null()) settings.emplace(why, fields);
  double sum = 0;
  double sizes = 0;
  std::size_t meant = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Size& size = sizes_[i];
    const double measured = mean(size.time_us);
    const double error = to_us(results[i].time) / measured - 1;
    // Its time means little.
    if (size.wrong == 0 && !size.disagrees) {
      sum += error;
      sizes += std::abs(error);
      ++meant;
    }
    ordered_json row = {
        {"bytes", size.bytes},
        {"measured_us", measured},
        {"simulated_us", to_us(results[i].time)},
        {"error", error},
        {"measured_busbw", mean_rate(size.busbw, size.time_us)},
        {"simulated_busbw", results[i].busbw_GBps},
        {"in_place_us", size.in_place_us.empty() ? ordered_json() : ordered_json(mean(size.in_place_us))},
        {"times", size.time_us.size()},
        {"wrong", size.wrong},
        {"verdict", verdict_of(error, size.wrong, size.disagrees)}};
    if (settings) row["limit"] = limit_of(why, *settings, i, results.size());
    rows.push_back(std::move(row));
  }
  const auto mean_of = [meant](double all) {
    return meant == 0 ? ordered_json() : ordered_json(all / static_cast<double>(meant));
  };
  return {{"file", file_},
          {"ranks", ranks_ == 0 ? ordered_json() : ordered_json(ranks_)},
          {"mean_error", mean_of(sum)},
          {"mean_absolute_error", mean_of(sizes)},
          {"left_out_of_mean", results.size() - meant},
          {"rows", rows}};
}

std::string measured_text(const ordered_json& beside) {
  const bool has_limits = !beside["rows"].empty() && beside["rows"][0].contains("limit");
  std::vector<std::vector<std::string>> lines = {{"# size (B)", "measured (us)", "simulated (us)", "error",
                                                  "measured busbw", "simulated busbw (GB/s)", "verdict"}};
  if (has_limits) lines.front().emplace_back("most of the model's path");
  for (const ordered_json& row : beside["rows"]) {
    const auto number = [&row](const char* key) { return fmt::format("{:.2f}", row[key].get<double>()); };
    lines.push_back({std::to_string(row["bytes"].get<std::uint64_t>()), number("measured_us"), number("simulated_us"),
                     fmt::format("{:+.1f} %", 100 * row["error"].get<double>()), number("measured_busbw"),
                     number("simulated_busbw"), row["verdict"]});
    if (!has_limits) continue;
    const ordered_json& limit = row["limit"];
    if (limit.is_null()) continue;
    const std::string settings = limit["settings"];
    lines.back().push_back(fmt::format("{} {:.0f} %{}", limit["words"].get<std::string>(),
                                       100 * limit["share"].get<double>(), settings.empty() ? "" : ": " + settings));
  }
  constexpr std::size_t kTexts = 6;
  std::string text = in_columns(lines, kTexts);
  const auto left_out = beside["left_out_of_mean"].get<std::size_t>();
  const std::string without =
      left_out == 0 ? "" : fmt::format(", without {} whose measurement is wrong", counted(left_out, "size"));
  if (beside["mean_error"].is_null()) return text + (left_out == 0 ? "" : "# no mean error" + without + "\n");
  return text + fmt::format("# mean error {:+.1f} %, mean |error| {:.1f} %{}\n",
                            100 * beside["mean_error"].get<double>(), 100 * beside["mean_absolute_error"].get<double>(),
                            without);
}

}  // namespace weft::platforms
