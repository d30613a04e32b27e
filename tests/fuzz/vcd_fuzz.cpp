// SPDX-License-Identifier: Apache-2.0
// Any bytes as a waveform: it is read to its end, or refused. Each signal is found by its name, what changes is written
// and read back equal, and a waveform does not differ from itself.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "traces/vcd/block_trace.h"
#include "traces/vcd/calibrate.h"
#include "traces/vcd/compare.h"
#include "traces/vcd/names.h"
#include "traces/vcd/reader.h"
#include "traces/vcd/writer.h"

using namespace weft;  // NOLINT(google-build-using-namespace)

namespace {

using vcd::SignalKind;

/// More signals or bits are read, but not compared: any file can declare as many as a machine has memory for.
constexpr std::size_t kMostBits = 1 << 16;

/// What happened, in the order of time and net.
struct Value {
  std::uint64_t time = 0;
  std::uint32_t net = 0;
  SignalKind kind = SignalKind::kBits;
  std::string text;
  double real = 0;

  bool operator==(const Value&) const = default;
};

/// The values of nets at the end of each time, as far as they differ from those before it.
class Values {
 public:
  explicit Values(const vcd::Header& header) : header_(header) {}

  /// Whether a signal of the net's kind can have it.
  [[nodiscard]] bool add(const vcd::Change& change) {
    const vcd::Net& net = header_.all_nets[change.net];
    if (change.kind != net.kind || net.width < 1 || static_cast<std::size_t>(net.width) > kMostBits) return false;
    Value value{change.time, change.net, change.kind, std::string(change.value), change.real};
    if (value.kind == SignalKind::kBits) vcd::extend_bits(change.value, net.width, value.text);
    if (value.kind == SignalKind::kReal) {
      value.text.clear();
      if (!(value.real == value.real)) return false;
    }
    if (value.kind == SignalKind::kString && !std::all_of(value.text.begin(), value.text.end(), is_plain)) return false;
    if (value.kind == SignalKind::kEvent) value.text = "1";
    if (change.time != time_) end_time();
    time_ = change.time;
    now_[change.net] = std::move(value);
    return true;
  }

  const std::vector<Value>& all() {
    end_time();
    return all_;
  }

 private:
  /// Others are escaped where they are written.
  static bool is_plain(char c) { return c > ' ' && c <= '~' && c != '\\'; }
  void end_time() {
    for (auto& [net, value] : now_) {
      const auto known = last_.find(net);
      const bool is_known = known == last_.end() ? is_first(value) : same(known->second, value);
      if (is_known && value.kind != SignalKind::kEvent) continue;
      last_[net] = value;
      all_.push_back(value);
    }
    now_.clear();
  }
  /// What a signal has before anybody says so.
  static bool is_first(const Value& value) {
    if (value.kind == SignalKind::kReal) return value.real == 0;
    return value.kind == SignalKind::kBits ? value.text.find_first_not_of('x') == std::string::npos
                                           : value.text.empty();
  }
  static bool same(const Value& a, const Value& b) { return a.text == b.text && a.real == b.real; }

  const vcd::Header& header_;
  std::uint64_t time_ = 0;
  std::map<std::uint32_t, Value> now_;
  std::map<std::uint32_t, Value> last_;
  std::vector<Value> all_;
};

/// All of a file, with those nets that a writer has.
class Copy {
 public:
  Copy(const std::filesystem::path& file, const vcd::Header& header) : writer_(file) {
    for (const vcd::Net& net : header.all_nets) {
      const std::string name = "copy.n" + std::to_string(ids_.size());
      switch (net.kind) {
        case SignalKind::kBits:
          ids_.push_back(writer_.bits(name, std::clamp(net.width, 1, static_cast<int>(kMostBits))));
          break;
        case SignalKind::kReal:
          ids_.push_back(writer_.real(name));
          break;
        case SignalKind::kString:
          ids_.push_back(writer_.string(name));
          break;
        case SignalKind::kEvent:
          ids_.push_back(writer_.event(name));
      }
    }
  }

  void write(const vcd::Change& change) {
    const vcd::Writer::Id id = ids_[change.net];
    switch (change.kind) {
      case SignalKind::kBits:
        return writer_.change_bits(change.time, id, change.value);
      case SignalKind::kReal:
        return writer_.change_real(change.time, id, change.real);
      case SignalKind::kString:
        return writer_.change_string(change.time, id, change.value);
      case SignalKind::kEvent:
        return writer_.trigger(change.time, id);
    }
  }
  void close() { writer_.close(); }

 private:
  vcd::Writer writer_;
  std::vector<vcd::Writer::Id> ids_;
};

std::vector<Value> values_of(const std::filesystem::path& file) {
  vcd::Reader reader(file);
  Values values(reader.header());
  for (vcd::Change change; reader.next(change);) fuzz::expect(values.add(change));
  return values.all();
}

void check_names(const vcd::Header& header, const std::filesystem::path& file) {
  const vcd::Names names(header, file);
  for (const vcd::Signal& signal : header.signals) {
    const std::string name = names.name_of(signal);
    std::optional<vcd::Selection> found;
    if (!fuzz::accepted([&] { found = names.find(name); })) continue;
    if (!found || !vcd::Names::has_values(signal)) continue;
    fuzz::expect(found->signal->net == signal.net);
  }
}

/// As a block that hands on what it is given.
void calibrate(const std::filesystem::path& file, const vcd::CompareOptions& options) {
  vcd::StreamNames output;
  output.valid = options.interface.valid;
  output.data = options.interface.data.front();
  output.last = options.interface.last;
  vcd::StreamNames input;
  input.valid = options.input->valid;
  fuzz::accepted([&] {
    const vcd::BlockTrace trace = vcd::read_block(file, options.sampling, {input, input}, &output, true);
    const vcd::Calibration model = vcd::calibrate(trace);
    fuzz::expect(vcd::predict(model, trace).output.size() <= trace.output.size());
    static_cast<void>(vcd::residual(model, trace));
  });
}

/// Each vector of an even number of bits as two interfaces side by side, under a name that a rule gives back.
void split(const std::filesystem::path& file, const vcd::Header& header, const vcd::Sampling& sampling) {
  constexpr int kMostSplit = 4;
  const vcd::Names names(header, file);
  int count = 0;
  for (const vcd::Signal& signal : header.signals) {
    const bool is_wide = signal.kind == SignalKind::kBits && signal.width > 1 && vcd::Names::has_values(signal);
    if (!is_wide || ++count > kMostSplit) continue;
    const std::vector<vcd::NameRule> rules = {{"top.*.x", "*"}};
    const std::string name = vcd::map_name(rules, "top." + names.name_of(signal) + ".x");
    fuzz::expect(name == names.name_of(signal));
    fuzz::accepted([&] {
      vcd::Reader reader(file);
      std::vector<vcd::StreamNames> parts;
      try {
        parts = vcd::parse_streams("valid=" + name + ",data=" + name, 2, reader);
      } catch (const std::invalid_argument&) {
        return;  // a name with a comma in it
      }
      static_cast<void>(vcd::read_block(std::move(reader), sampling, parts, nullptr, true));
    });
  }
}

/// Its signals of one bit in all the roles that an interface has.
void compare(const std::filesystem::path& file, const vcd::Header& header) {
  std::vector<std::string> bits;
  std::size_t width = 0;
  const vcd::Names names(header, file);
  for (const vcd::Signal& signal : header.signals) {
    width += static_cast<std::size_t>(signal.width);
    const bool is_bit = signal.kind == SignalKind::kBits && signal.width == 1;
    if (is_bit && vcd::Names::has_values(signal) && !signal.name.empty()) bits.push_back(names.name_of(signal));
  }
  if (bits.empty() || width > kMostBits) return;
  vcd::CompareOptions options;
  options.reference = options.subject = file;
  options.sampling.clock = bits.front();
  options.unknowns = vcd::Unknowns::kExact;
  options.signals = {"*"};
  const auto compare_both = [&] {
    std::uint64_t different = 0;
    // A value that its signal cannot have is refused.
    if (!fuzz::accepted([&] { different = vcd::compare(options).different; })) return;
    fuzz::expect(different == 0);
    options.offset = 1;
    const vcd::Comparison late = vcd::compare(options);
    constexpr std::size_t kScreen = 1 << 16;
    fuzz::expect(late.text().size() < kScreen);
    static_cast<void>(late.json().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    options.offset = 0;
  };
  compare_both();
  options.signals.clear();
  options.interface.valid = bits.back();
  options.interface.data = {header.signals[bits.size() % header.signals.size()].name};
  options.interface.last = bits[bits.size() / 2];
  options.input = vcd::Interface{.valid = bits[bits.size() / 3], .ready = {}, .data = {}, .last = {}, .id = {}};
  options.tolerance = 2;
  compare_both();
  calibrate(file, options);
  split(file, header, options.sampling);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path file = fuzz::file_of(data, size, "w.vcd");
  const std::filesystem::path written = fuzz::folder() / "copy.vcd";
  fuzz::accepted([&] {
    vcd::Reader reader(file);
    const vcd::Header& header = reader.header();
    Values values(header);
    Copy copy(written, header);
    std::uint64_t time = 0;
    for (vcd::Change change; reader.next(change);) {
      fuzz::expect(change.net < header.nets());
      fuzz::expect(change.time >= time);
      time = change.time;
      const vcd::Net& net = header.all_nets[change.net];
      const bool has_bits = change.kind == SignalKind::kBits && net.kind == SignalKind::kBits && net.width > 0;
      if (has_bits) fuzz::expect(std::cmp_less_equal(change.value.size(), net.width));
      if (values.add(change)) copy.write(change);
    }
    static_cast<void>(reader.remarks());
    copy.close();
    fuzz::expect_accepted([&] { fuzz::expect(values_of(written) == values.all()); });
    check_names(header, file);
    compare(file, header);
  });
  return 0;
}
