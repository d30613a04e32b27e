// SPDX-License-Identifier: Apache-2.0
#include "traces/nccl_tests/nccl_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "traces/files/format_error.h"
#include "traces/files/text_file.h"

namespace weft::traces {
namespace {

using nlohmann::json;

constexpr std::string_view kExpected = "what nccl-tests prints, rows of size, count, type, ..., time, algbw and busbw";
constexpr std::array<std::string_view, 10> kTests = {"all_reduce", "all_gather", "reduce_scatter", "alltoall",
                                                     "broadcast",  "reduce",     "gather",         "scatter",
                                                     "sendrecv",   "hypercube"};

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlanks = " \t\r";
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

template <typename Number>
std::optional<Number> number_of(std::string_view word) {
  Number number{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

/// The last test that the text names: "all_reduce" of "build/all_reduce_perf -b 8".
std::string test_in(std::string_view text) {
  constexpr std::string_view kEnd = "_perf";
  std::string test;
  for (std::size_t at = text.find(kEnd); at != std::string_view::npos; at = text.find(kEnd, at + 1)) {
    std::size_t from = at;
    while (from > 0 && (std::isalnum(static_cast<unsigned char>(text[from - 1])) != 0 || text[from - 1] == '_')) --from;
    const std::string_view name = text.substr(from, at - from);
    if (std::find(kTests.begin(), kTests.end(), name) != kTests.end()) test = name;
  }
  return test;
}

/// Without what mpirun --tag-output ("[1,0]<stdout>:") and srun --label ("0: ") put before each line.
std::string_view without_label(std::string_view line) {
  const std::string_view first = line.substr(0, line.find_first_of(" \t"));
  if (const std::size_t end = line.find(">:"); first.starts_with('[') && end != std::string_view::npos) {
    return line.substr(0, end).find("]<std") == std::string_view::npos ? line : line.substr(end + 2);
  }
  const bool is_label =
      first.size() > 1 && first.find_first_not_of("0123456789") == first.size() - 1 && first.back() == ':';
  return is_label ? line.substr(first.size()) : line;
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// What stands before the names of columns, as a launcher or a logger labels all lines; empty if nothing does.
std::string_view label_in(std::string_view text) {
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::string_view line = text.substr(from, end - from);
    from = end + 1;
    const std::size_t sign = line.find('#');
    if (sign == std::string_view::npos) continue;
    const std::vector<std::string_view> names = words_of(line.substr(sign + 1));
    if (names.empty() || names.front() != "size" || std::find(names.begin(), names.end(), "busbw") == names.end()) {
      continue;
    }
    const std::string_view before = line.substr(0, sign);
    return before.substr(0, before.find_last_not_of(" \t") + 1);
  }
  return {};
}

/// Without a label that is like that one but for its numbers: of another rank, or a later time.
std::string_view without_label(std::string_view line, std::string_view label) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < label.size();) {
    if (at >= line.size()) return line;
    if (!is_digit(label[i])) {
      if (line[at++] != label[i++]) return line;
      continue;
    }
    if (!is_digit(line[at])) return line;
    while (i < label.size() && is_digit(label[i])) ++i;
    while (at < line.size() && is_digit(line[at])) ++at;
  }
  return line.substr(at);
}

/// Text as it stood on a terminal.
class Lines {
 public:
  Lines(std::string file, std::string_view label) : file_(std::move(file)), label_(label) {}

  void add(std::string_view line) {
    ++number_;
    const std::string_view rest = without_label(line, label_);
    line = rest.size() == line.size() ? without_label(line) : rest;
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) return;
    if (const std::string test = test_in(line); !test.empty()) test_ = test;
    for (const std::string_view failure : {"Test NCCL failure", "Test CUDA failure", "Test failure"}) {
      if (line.find(failure) == std::string_view::npos || has_failed_) continue;
      has_failed_ = true;
      warn(number_, "the test failed, and sizes may be missing: " + one_line(line));
    }
    if (words.front().starts_with('#')) {
      add_comment(line);
    } else if (words.front().find_first_not_of("0123456789") == std::string_view::npos) {
      add_row(words);
    }
  }
  /// There are no more.
  void end() { end_test(); }
  [[nodiscard]] std::vector<NcclRow> take_rows() { return std::move(rows_); }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  /// Where a row has what, counted from its first word.
  struct Columns {
    std::size_t all = 0;
    std::size_t time = 0;
    std::size_t busbw = 0;
    std::size_t in_place = 0;
  };
  static constexpr std::size_t kOfOne = 4;  ///< time, algbw, busbw and #wrong
  static constexpr std::size_t kLeast = 3 + 2 * kOfOne;
  static constexpr std::size_t kMost = kLeast + 2;  ///< with redop and root

  void add_comment(std::string_view line) {
    std::vector<std::string_view> words = words_of(line.substr(line.find('#') + 1));
    if (words.empty()) return;
    if (words.front() == "nThread" || words.front() == "Using") ranks_.clear();
    if (words.front() == "nThread") {
      end_test();
      begun_ = number_;
    }
    if (words.front() == "Avg") begun_ = 0;
    if (words.front() == "Rank" && words.size() > 3) add_rank(words);
    if (words.front() == "size") set_columns(words);
  }

  void warn(int line, const std::string& what) {
    warnings_.push_back(file_ + ":" + std::to_string(line) + ": " + what);
  }

  /// A test that came to its end prints the mean of its rates last.
  void end_test() {
    if (begun_ != 0 && !has_failed_) {
      warn(begun_,
           "the test that begins here did not come to its end, and sizes may be missing: it has no line \"# Avg "
           "bus bandwidth\"");
    }
    begun_ = 0;
    has_failed_ = false;
  }

  /// "Rank 0 Group 0 Pid 2321 on ...". Ranks of other groups run tests of their own.
  void add_rank(const std::vector<std::string_view>& words) {
    const std::optional<int> rank = number_of<int>(words[1]);
    if (!rank) return;
    const std::string group(words[2] == "Group" ? words[3] : "");
    if (ranks_.empty()) group_ = group;
    if (group == group_) ranks_.insert(*rank);
  }

  void set_columns(const std::vector<std::string_view>& names) {
    const auto at = [&names](std::string_view name, std::size_t from) {
      return static_cast<std::size_t>(std::find(names.begin() + static_cast<std::ptrdiff_t>(from), names.end(), name) -
                                      names.begin());
    };
    Columns columns{names.size(), at("time", 0), at("busbw", 0), 0};
    if (at("cputime", 0) < names.size()) {
      fail("the time of collectives, got that of the processor that starts them (-C)");
    }
    if (columns.time == names.size() || columns.busbw == names.size()) return;
    columns.in_place = at("time", columns.time + 1);
    // A timestamp is two words, and is not needed.
    if (names.back() == "timestamp") --columns.all;
    columns_ = columns;
  }

  void add_row(const std::vector<std::string_view>& words) {
    Columns columns;
    if (columns_) {
      columns = *columns_;
    } else {
      const std::size_t all = std::clamp(words.size(), kLeast, kMost);
      columns = {all, all - 2 * kOfOne, all - 2 * kOfOne + 2, all - kOfOne};
    }
    if (words.size() < columns.all || (!columns_ && words.size() > kMost)) {
      fail("a row of nccl-tests with " + std::to_string(columns.all) + " columns, got " + std::to_string(words.size()));
    }
    NcclRow row;
    row.line = number_;
    row.test = test_;
    row.ranks = static_cast<int>(ranks_.size());
    row.bytes = value<std::uint64_t>(words[0], "size");
    row.type = words[2];
    row.count = number_of<std::uint64_t>(words[1]);
    row.time_us = value<double>(words[columns.time], "time");
    row.busbw = value<double>(words[columns.busbw], "busbw");
    if (columns.busbw > columns.time + 1) row.algbw = number_of<double>(words[columns.busbw - 1]);
    if (columns.in_place < columns.all) row.in_place_us = number_of<double>(words[columns.in_place]);
    row.wrong = wrong_behind(words, columns.busbw);
    // Out of place and in place are alike.
    if (row.in_place_us) {
      const std::size_t busbw = columns.in_place + columns.busbw - columns.time;
      row.wrong += wrong_behind(words, busbw);
      if (busbw < columns.all) row.in_place_busbw = number_of<double>(words[busbw]);
      if (row.in_place_busbw && row.algbw) row.in_place_algbw = number_of<double>(words[busbw - 1]);
    }
    if (row.bytes == 0) return;
    if (!std::isfinite(row.time_us) || row.time_us <= 0)
      fail("a time of more than 0, got " + one_line(words[columns.time]));
    rows_.push_back(std::move(row));
  }

  /// Elements that were wrong, of the column behind a busbw: "N/A" where none were checked, and in older versions no
  /// count but the largest error.
  static std::int64_t wrong_behind(const std::vector<std::string_view>& words, std::size_t busbw) {
    if (busbw + 1 >= words.size()) return 0;
    return std::max<std::int64_t>(0, number_of<std::int64_t>(words[busbw + 1]).value_or(0));
  }

  template <typename Number>
  Number value(std::string_view word, const char* column) const {
    if (const std::optional<Number> number = number_of<Number>(word)) return *number;
    fail(std::string("a number in column ") + column + ", got \"" + one_line(word) + "\"");
  }

  [[noreturn]] void fail(const std::string& expected) const {
    throw FormatError(file_, number_, "expected " + expected);
  }

  std::string file_;
  std::string_view label_;
  std::vector<std::string> warnings_;
  int begun_ = 0;  ///< line of a test that has not ended
  bool has_failed_ = false;
  int number_ = 0;
  std::string test_;
  std::string group_;
  std::set<int> ranks_;
  std::optional<Columns> columns_;
  std::vector<NcclRow> rows_;
};

/// Of `-J FILE`. Some versions list the first device of a process alone.
int ranks_of(const json& config) {
  std::set<std::pair<std::string, int>> processes;
  std::optional<int> group;
  for (const json& device : config.value("devices", json::array())) {
    if (!group) group = device.value("group", 0);
    if (device.value("group", 0) != *group) continue;
    processes.emplace(device.value("hostname", ""), device.value("pid", 0));
  }
  return static_cast<int>(processes.size()) * config.value("nthreads", 1) * config.value("ngpus", 1);
}

/// `nwrong` of a result, which is a text in some versions.
std::int64_t wrong_of(const json& measured) {
  const auto found = measured.find("nwrong");
  if (found == measured.end()) return 0;
  if (found->is_string()) return number_of<std::int64_t>(found->get<std::string>()).value_or(0);
  return found->is_number() ? found->get<std::int64_t>() : 0;
}

std::vector<NcclRow> rows_of(const json& report) {
  NcclRow common;
  if (report.contains("args") && !report["args"].empty()) common.test = test_in(report["args"][0].get<std::string>());
  if (report.contains("config")) common.ranks = ranks_of(report["config"]);
  std::vector<NcclRow> rows;
  for (const json& result : report.at("results")) {
    NcclRow row = common;
    row.bytes = result.at("size");
    row.type = result.at("type");
    if (row.bytes == 0) continue;
    const json& measured = result.at("out_of_place");
    row.time_us = measured.at("time");
    row.busbw = measured.at("bus_bw");
    if (const auto count = result.find("count"); count != result.end() && count->is_number_unsigned()) {
      row.count = count->get<std::uint64_t>();
    }
    if (const auto algbw = measured.find("alg_bw"); algbw != measured.end() && algbw->is_number()) {
      row.algbw = algbw->get<double>();
    }
    row.wrong = wrong_of(measured);
    if (const json in_place = result.value("in_place", json()); in_place.is_object()) {
      row.in_place_us = in_place.at("time");
      if (const auto rate = in_place.find("alg_bw"); rate != in_place.end() && rate->is_number()) {
        row.in_place_algbw = rate->get<double>();
      }
      if (const auto rate = in_place.find("bus_bw"); rate != in_place.end() && rate->is_number()) {
        row.in_place_busbw = rate->get<double>();
      }
      row.wrong += wrong_of(in_place);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::string contradiction(const NcclRow& row) {
  static const std::map<std::string, std::uint64_t> kSizes = {
      {"int8", 1},   {"uint8", 1},  {"char", 1},     {"fp8_e4m3", 1}, {"fp8_e5m2", 1}, {"f8e4m3", 1},
      {"f8e5m2", 1}, {"half", 2},   {"bfloat16", 2}, {"float", 4},    {"int32", 4},    {"uint32", 4},
      {"int", 4},    {"double", 8}, {"int64", 8},    {"uint64", 8}};
  // Of the algbw that goes over a link.
  static const std::map<std::string, double> kShares = {{"all_reduce", 2}, {"all_gather", 1}, {"reduce_scatter", 1},
                                                        {"alltoall", 1},   {"gather", 1},     {"scatter", 1}};
  constexpr double kRounding = 0.02;
  constexpr double kLastDigit = 0.01;
  const auto differ = [](double one, double other) {
    return std::abs(one - other) > kLastDigit + kRounding * std::max(one, other);
  };
  if (const auto size = kSizes.find(row.type); size != kSizes.end() && row.count) {
    // Some tests count the elements of a rank.
    const std::uint64_t bytes = *row.count * size->second;
    const bool is_share = row.ranks == 0 ? bytes > 0 && row.bytes % bytes == 0
                                         : row.bytes == bytes * static_cast<std::uint64_t>(row.ranks);
    if (row.bytes != bytes && !is_share) {
      return fmt::format("a count of {} elements of {} in {} B, got {}", row.bytes / size->second, row.type, row.bytes,
                         *row.count);
    }
  }
  double share = 1;
  if (const auto known = kShares.find(row.test); known != kShares.end() && row.ranks > 0) {
    share = known->second * (row.ranks - 1) / row.ranks;
  } else if (row.test != "broadcast" && row.test != "reduce") {
    share = -1;
  }
  const auto of_one = [&](const char* where, double us, std::optional<double> algbw, std::optional<double> busbw) {
    const double expected = static_cast<double>(row.bytes) / us * 1e-3;
    if (algbw && differ(*algbw, expected)) {
      return fmt::format("an algbw{} of {:.4g} GB/s, which is {} B in {} us, got {}", where, expected, row.bytes, us,
                         *algbw);
    }
    const double over_links = algbw.value_or(expected) * share;
    if (share < 0 || !busbw || !differ(*busbw, over_links)) return std::string();
    return fmt::format("a busbw{} of {:.4g} GB/s, which is {:.4g} of the algbw with {} ranks, got {}", where,
                       over_links, share, row.ranks, *busbw);
  };
  std::string text = of_one("", row.time_us, row.algbw, row.busbw);
  if (text.empty() && row.in_place_us && *row.in_place_us > 0) {
    text = of_one(" in place", *row.in_place_us, row.in_place_algbw, row.in_place_busbw);
  }
  return text;
}

std::vector<NcclRow> read_nccl_tests(const std::filesystem::path& file, std::vector<std::string>* warnings) {
  const std::string text = read_text(file, kExpected);
  std::vector<NcclRow> rows;
  if (const std::size_t first = text.find_first_not_of(" \t\r\n"); first != std::string::npos && text[first] == '{') {
    constexpr const char* kJson = "expected what nccl-tests writes by -J, an object with a list of results, got ";
    try {
      const json report = json::parse(text);
      if (!report.is_object() || !report.contains("results"))
        throw FormatError(file.string(), 0, std::string(kJson) + "other JSON");
      rows = rows_of(report);
    } catch (const json::exception& error) {
      throw FormatError(file.string(), 0, kJson + std::string("other JSON: ") + error.what());
    }
  } else {
    Lines lines(file.string(), label_in(text));
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.add(line);
    lines.end();
    if (warnings != nullptr) *warnings = lines.warnings();
    rows = lines.take_rows();
  }
  if (rows.empty()) throw FormatError(file.string(), 0, "expected " + std::string(kExpected) + ", got no row");
  return rows;
}

}  // namespace weft::traces
