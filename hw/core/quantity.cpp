// SPDX-License-Identifier: Apache-2.0
#include "hw/core/quantity.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <span>
#include <stdexcept>

#include "hw/core/power.h"
#include "hw/core/quantity_pattern.h"

namespace weft {
namespace {

/// A unit's name and how many base counts it holds, as numerator over denominator.
struct Unit {
  std::string_view name;
  std::int64_t numerator;
  std::string_view also = {};  ///< other ways to write it, with a space between; read, not printed
  std::int64_t denominator = 1;
};

constexpr std::int64_t kKilo = 1'000;
constexpr std::int64_t kMega = 1'000'000;
constexpr std::int64_t kGiga = 1'000'000'000;
constexpr std::int64_t kTera = 1'000'000'000'000;
constexpr std::int64_t kPeta = 1'000'000'000'000'000;

/// The units of one kind of quantity. Printing takes the last one that divides the count, so they ascend.
struct Units {
  std::string_view noun;  ///< "a time such as ..."
  std::span<const Unit> printed;
  std::span<const Unit> read = {};  ///< read as well, and printed in the units above
};

// "\u00b5" is the micro sign, "\u03bc" the Greek letter.
constexpr std::array kTimeUnits = {Unit{"ps", 1}, Unit{"ns", kKilo}, Unit{"us", kMega, "\u00b5s \u03bcs"},
                                   Unit{"ms", kGiga}, Unit{"s", kTera}};
constexpr std::array kFineTimeUnits = {Unit{"fs", 1, {}, kKilo}};
// A letter alone is binary, as in nccl-tests and dd: 64K is 64KiB.
constexpr std::array kByteUnits = {Unit{"B", 1},
                                   Unit{"KB", kKilo, "kB"},
                                   Unit{"KiB", 1LL << 10, "K k"},
                                   Unit{"MB", kMega},
                                   Unit{"MiB", 1LL << 20, "M m"},
                                   Unit{"GB", kGiga},
                                   Unit{"GiB", 1LL << 30, "G g"},
                                   Unit{"TB", kTera},
                                   Unit{"TiB", 1LL << 40, "T t"}};
// A letter alone is bits a second, as links are called: a NIC of 400G.
constexpr std::array kRateUnits = {Unit{"bps", 1, "b/s bit/s"},
                                   Unit{"B/s", 8, "Bps"},
                                   Unit{"KB/s", 8 * kKilo, "KBps kB/s kBps"},
                                   Unit{"MB/s", 8 * kMega, "MBps"},
                                   Unit{"GB/s", 8 * kGiga, "GBps"},
                                   Unit{"TB/s", 8 * kTera, "TBps"},
                                   Unit{"Kbps", kKilo, "Kb/s Kbit/s kbps kb/s kbit/s K k"},
                                   Unit{"Mbps", kMega, "Mb/s Mbit/s M"},
                                   Unit{"Gbps", kGiga, "Gb/s Gbit/s G"},
                                   Unit{"Tbps", kTera, "Tb/s Tbit/s T"}};
constexpr std::array kBinaryRateUnits = {
    Unit{"KiB/s", 8LL << 10, "KiBps"},         Unit{"MiB/s", 8LL << 20, "MiBps"},
    Unit{"GiB/s", 8LL << 30, "GiBps"},         Unit{"TiB/s", 8LL << 40, "TiBps"},
    Unit{"Kibps", 1LL << 10, "Kib/s Kibit/s"}, Unit{"Mibps", 1LL << 20, "Mib/s Mibit/s"},
    Unit{"Gibps", 1LL << 30, "Gib/s Gibit/s"}, Unit{"Tibps", 1LL << 40, "Tib/s Tibit/s"}};
constexpr std::array kFrequencyUnits = {Unit{"Hz", 1}, Unit{"kHz", kKilo, "KHz"}, Unit{"MHz", kMega},
                                        Unit{"GHz", kGiga}};
constexpr std::array kComputeUnits = {Unit{"FLOPS", 1, "FLOP/s"}, Unit{"GFLOPS", kGiga, "GFLOP/s"},
                                      Unit{"TFLOPS", kTera, "TFLOP/s"}, Unit{"PFLOPS", kPeta, "PFLOP/s"}};
constexpr std::array kEnergyUnits = {Unit{"fJ", 1}, Unit{"pJ", kKilo}, Unit{"nJ", kMega},
                                     Unit{"uJ", kGiga, "\u00b5J \u03bcJ"}};
constexpr std::array kPowerUnits = {Unit{"mW", 1}, Unit{"W", kKilo}, Unit{"kW", kMega}};

constexpr Units kTime{"a time such as \"1.5us\"", kTimeUnits, kFineTimeUnits};
constexpr Units kBytes{"a size such as \"64KiB\"", kByteUnits};
constexpr Units kRate{"a rate such as \"400Gbps\" or \"450GB/s\"", kRateUnits, kBinaryRateUnits};
constexpr Units kFrequency{"a frequency such as \"1980MHz\"", kFrequencyUnits};
constexpr Units kCompute{"a compute rate such as \"989TFLOPS\"", kComputeUnits};
constexpr Units kEnergy{"an energy such as \"0.75pJ\"", kEnergyUnits};
constexpr Units kPower{"a power such as \"700W\"", kPowerUnits};

/// Whether one of `words`, with a space between, is `word`.
bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

const Unit* find(const Units& units, std::string_view name) {
  for (const std::span<const Unit> list : {units.printed, units.read}) {
    for (const Unit& unit : list) {
      if (unit.name == name || has_word(unit.also, name)) return &unit;
    }
  }
  return nullptr;
}

/// Of those that are printed: the others are rare.
std::string names_of(const Units& units) {
  std::string names;
  for (const Unit& unit : units.printed) names += (names.empty() ? "" : ", ") + std::string(unit.name);
  return names;
}

[[noreturn]] void fail(std::string_view text, const Units& units) {
  throw std::invalid_argument("\"" + std::string(text) + "\" is not " + std::string(units.noun));
}

/// The power of ten of "e-6"; moves `at` behind it. Nothing where no number follows the letter.
int take_exponent(std::string_view text, std::size_t& at) {
  std::size_t next = at + 1;
  const bool is_negative = next < text.size() && text[next] == '-';
  if (next < text.size() && (text[next] == '-' || text[next] == '+')) ++next;
  constexpr int kBeyondAll = 1000;
  int power = 0;
  const std::size_t first = next;
  for (; next < text.size() && std::isdigit(static_cast<unsigned char>(text[next])) != 0; ++next) {
    power = std::min(power * 10 + (text[next] - '0'), kBeyondAll);
  }
  if (next == first) return 0;
  at = next;
  return is_negative ? -power : power;
}

/// Decimal number, unit, nothing else; exact in 128 bits, rounded to the nearest count.
std::int64_t parse(std::string_view text, const Units& units) {
  __int128 mantissa = 0;
  __int128 scale = 1;
  std::size_t at = 0;
  bool digits = false;
  bool fraction = false;
  constexpr __int128 kFinest = static_cast<__int128>(kPeta) * 1000;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !fraction) {
      fraction = true;
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      digits = true;
      mantissa = mantissa * 10 + (c - '0');
      if (fraction) scale *= 10;
      if (mantissa > INT64_MAX || scale > kFinest) fail(text, units);
    } else {
      break;
    }
  }
  if (!digits) fail(text, units);
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    int power = take_exponent(text, at);
    for (; power > 0 && scale > 1; --power) scale /= 10;
    for (; power > 0 && mantissa <= INT64_MAX; --power) mantissa *= 10;
    for (; power < 0 && scale <= kFinest; ++power) scale *= 10;
    if (mantissa > INT64_MAX || scale > kFinest) fail(text, units);
  }
  while (at < text.size() && text[at] == ' ') ++at;
  const Unit* const unit = find(units, text.substr(at));
  if (unit == nullptr) {
    throw UnknownUnit("\"" + std::string(text) + "\" is not " + std::string(units.noun), names_of(units));
  }
  const __int128 divisor = scale * unit->denominator;
  const __int128 count = (mantissa * unit->numerator + divisor / 2) / divisor;
  if (count > INT64_MAX) fail(text, units);
  return static_cast<std::int64_t>(count);
}

std::string print(std::int64_t count, std::span<const Unit> units) {
  const Unit* best = &units.front();
  for (const Unit& unit : units) {
    if (count != 0 && count % unit.numerator == 0) best = &unit;
  }
  return std::to_string(count / best->numerator) + std::string(best->name);
}

/// Of what parse() takes. No name of a unit has a character that means something in an expression.
std::string pattern(const Units& units) {
  std::string names;
  const auto add = [&names](std::string_view words) {
    if (!words.empty() && !names.empty()) names += '|';
    for (const char c : words) names += c == ' ' ? '|' : c;
  };
  for (const std::span<const Unit> list : {units.printed, units.read}) {
    for (const Unit& unit : list) {
      add(unit.name);
      add(unit.also);
    }
  }
  return "^([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)? *(" + names + ")$";
}

}  // namespace

void overflow(std::string_view what, double value) {
  char number[32];
  std::snprintf(number, sizeof number, "%.3g", value);
  throw QuantityOverflow(std::string(what) + " of " + number +
                         " is beyond what 64 bits hold (times reach 106 days, sizes 8 EiB): a size, a time or a count "
                         "of the platform or its workload is too large for it, or a rate too low");
}

Time parse_time(std::string_view text) {
  return Time(parse(text, kTime));
}
Bytes parse_bytes(std::string_view text) {
  return Bytes(parse(text, kBytes));
}
Rate parse_rate(std::string_view text) {
  return Rate(parse(text, kRate));
}
Frequency parse_frequency(std::string_view text) {
  return Frequency(parse(text, kFrequency));
}
Compute parse_compute(std::string_view text) {
  return Compute(parse(text, kCompute));
}
Energy parse_energy(std::string_view text) {
  return Energy(parse(text, kEnergy));
}
Power parse_power(std::string_view text) {
  return Power(parse(text, kPower));
}

std::string to_text(Time time) {
  return print(time.count(), kTimeUnits);
}
std::string to_text(Bytes size) {
  return print(size.count(), kByteUnits);
}
std::string to_text(Rate rate) {
  return print(rate.count(), kRateUnits);
}
std::string to_text(Frequency frequency) {
  return print(frequency.count(), kFrequencyUnits);
}
std::string to_text(Compute compute) {
  return print(compute.count(), kComputeUnits);
}
std::string to_text(Energy energy) {
  return print(energy.count(), kEnergyUnits);
}
std::string to_text(Power power) {
  return print(power.count(), kPowerUnits);
}

std::string text_pattern(Time /*time*/) {
  return pattern(kTime);
}
std::string text_pattern(Bytes /*size*/) {
  return pattern(kBytes);
}
std::string text_pattern(Rate /*rate*/) {
  return pattern(kRate);
}
std::string text_pattern(Frequency /*frequency*/) {
  return pattern(kFrequency);
}
std::string text_pattern(Compute /*compute*/) {
  return pattern(kCompute);
}
std::string text_pattern(Energy /*energy*/) {
  return pattern(kEnergy);
}
std::string text_pattern(Power /*power*/) {
  return pattern(kPower);
}

}  // namespace weft
