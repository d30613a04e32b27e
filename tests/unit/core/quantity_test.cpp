// SPDX-License-Identifier: Apache-2.0
#include "hw/core/quantity.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <regex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "hw/core/power.h"
#include "hw/core/quantity_pattern.h"

namespace weft {
namespace {

using namespace literals;

template <typename Parse>
std::string error_of(Parse parse, std::string_view text) {
  try {
    parse(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

TEST(Quantity, ParsesExactly) {
  EXPECT_EQ(parse_time("1.5us"), 1'500'000_ps);
  EXPECT_EQ(parse_time("0.001ns"), 1_ps);
  EXPECT_EQ(parse_time("1s"), Time(1'000'000'000'000));
  EXPECT_EQ(parse_time("100 ms"), 100_ms);
  EXPECT_EQ(parse_bytes("64KiB"), 65536_B);
  EXPECT_EQ(parse_bytes("80GB"), Bytes(80'000'000'000));
  EXPECT_EQ(parse_bytes("0.5MiB"), 512_KiB);
  EXPECT_EQ(parse_rate("400Gbps"), 400_Gbps);
  EXPECT_EQ(parse_rate("450GB/s"), 3600_Gbps);
  EXPECT_EQ(parse_rate("3.35TB/s"), 26800_Gbps);
  EXPECT_EQ(parse_frequency("1.98GHz"), 1980_MHz);
  EXPECT_EQ(parse_compute("989.5TFLOPS"), Compute(989'500'000'000'000));
  EXPECT_EQ(parse_compute("2PFLOPS"), Compute(2'000'000'000'000'000));
}

TEST(Quantity, UnitsAreReadAsTheFieldWritesThem) {
  for (const char* text : {"400Gb/s", "400Gbit/s", "400G", "0.4T", "400000M", "50GBps", "4e2 Gbps", "4E+11bit/s"}) {
    EXPECT_EQ(parse_rate(text), 400_Gbps) << text;
  }
  EXPECT_EQ(parse_rate("1k"), Rate(1000));
  EXPECT_EQ(parse_rate("2GiB/s"), Rate(2LL << 33));
  EXPECT_EQ(parse_rate("2Gib/s"), Rate(2LL << 30));
  for (const char* text : {"1.5\u00b5s", "1.5\u03bcs", "1500000000fs", "1.5e-6s", "0.0015e3us"}) {
    EXPECT_EQ(parse_time(text), 1500_ns) << text;
  }
  EXPECT_EQ(parse_time("1e3ns"), 1_us);
  EXPECT_EQ(parse_rate("8.589934592e+11B/s"), parse_rate("858993459200B/s"));
  for (const char* text : {"64K", "64k", "65.536kB", "0.0625M"}) EXPECT_EQ(parse_bytes(text), 64_KiB) << text;
  EXPECT_EQ(parse_bytes("2G"), 2_GiB);
  EXPECT_EQ(parse_bytes("2g"), 2_GiB);
  EXPECT_EQ(parse_compute("989TFLOP/s"), parse_compute("989TFLOPS"));
  EXPECT_EQ(parse_energy("1\u00b5J"), parse_energy("1uJ"));
}

TEST(Quantity, EnergyAndPower) {
  EXPECT_EQ(parse_energy("0.75pJ"), 750_fJ);
  EXPECT_EQ(parse_energy("31.2pJ"), Energy(31'200));
  EXPECT_EQ(parse_power("700W"), 700_W);
  EXPECT_EQ(parse_power("1.2kW"), 1200_W);
  EXPECT_EQ(to_text(750_fJ), "750fJ");
  EXPECT_EQ(to_text(31_pJ), "31pJ");
  EXPECT_EQ(to_text(700_W), "700W");
  EXPECT_EQ(error_of(parse_power, "700"), "\"700\" is not a power such as \"700W\"; its unit is one of mW, W, kW");
  EXPECT_EQ(error_of(parse_energy, "1W"),
            "\"1W\" is not an energy such as \"0.75pJ\"; its unit is one of fJ, pJ, nJ, uJ");
  EXPECT_DOUBLE_EQ(joules(2_pJ), 2e-12);
  EXPECT_DOUBLE_EQ(watts(700_W), 700);
}

TEST(Quantity, DecimalFractionsHaveNoBinaryError) {
  // Each of these is inexact as a double times its unit.
  EXPECT_EQ(parse_time("0.3ns"), 300_ps);
  EXPECT_EQ(parse_time("8.7ns"), 8700_ps);
  EXPECT_EQ(parse_time("1.005us"), 1'005'000_ps);
  EXPECT_EQ(parse_time("9007199254740993ps"), Time(9'007'199'254'740'993));
}

TEST(Quantity, RoundsToTheNearestCount) {
  EXPECT_EQ(parse_time("0.4ps"), 0_ps);
  EXPECT_EQ(parse_time("0.5ps"), 1_ps);
  EXPECT_EQ(parse_time("1.4999ps"), 1_ps);
  EXPECT_EQ(parse_bytes("1.0001KiB"), 1024_B);
}

TEST(Quantity, ZeroNeedsAUnit) {
  EXPECT_EQ(parse_time("0ps"), Time());
  EXPECT_EQ(error_of(parse_time, "0"), "\"0\" is not a time such as \"1.5us\"; its unit is one of ps, ns, us, ms, s");
}

TEST(Quantity, ErrorsSayWhatWasExpected) {
  EXPECT_EQ(error_of(parse_time, "12"), "\"12\" is not a time such as \"1.5us\"; its unit is one of ps, ns, us, ms, s");
  EXPECT_EQ(error_of(parse_bytes, "64Kibi"),
            "\"64Kibi\" is not a size such as \"64KiB\"; its unit is one of B, KB, KiB, MB, MiB, GB, GiB, TB, TiB");
  EXPECT_EQ(
      error_of(parse_rate, "400Gb"),
      "\"400Gb\" is not a rate such as \"400Gbps\" or \"450GB/s\"; its unit is one of bps, B/s, KB/s, MB/s, GB/s, "
      "TB/s, Kbps, Mbps, Gbps, Tbps");
  EXPECT_EQ(error_of(parse_frequency, "1s"),
            "\"1s\" is not a frequency such as \"1980MHz\"; its unit is one of Hz, kHz, MHz, GHz");
  EXPECT_EQ(
      error_of(parse_compute, "989TOPS"),
      "\"989TOPS\" is not a compute rate such as \"989TFLOPS\"; its unit is one of FLOPS, GFLOPS, TFLOPS, PFLOPS");
}

TEST(Quantity, RefusesWhatIsNotOneNumberAndOneUnit) {
  for (const char* text : {"", "ns", ".ns", "-1ns", "+1ns", " 1ns", "1ns ", "1ns1", "1.2.3ns", "1ens", "1e-ns",
                           "1e99ns", "1e-99ns", "1,5ns", "0x1ns", "1NS", "1 n s", "nan", "inf"}) {
    EXPECT_NE(error_of(parse_time, text), "no error") << text;
  }
}

TEST(Quantity, RefusesWhatDoesNotFit) {
  EXPECT_EQ(parse_time("9223372s"), Time(9'223'372'000'000'000'000));
  EXPECT_NE(error_of(parse_time, "9223373s"), "no error");
  EXPECT_NE(error_of(parse_bytes, "99999999999999999999999999999999999999999B"), "no error");
  EXPECT_NE(error_of(parse_time, "0.00000000000000000000000000000000000000001s"), "no error");
}

TEST(Quantity, TextIsShortest) {
  EXPECT_EQ(to_text(65536_B), "64KiB");
  EXPECT_EQ(to_text(1'000'000_B), "1MB");
  EXPECT_EQ(to_text(1025_B), "1025B");
  EXPECT_EQ(to_text(1'500'000_ps), "1500ns");
  EXPECT_EQ(to_text(1980_MHz), "1980MHz");
  EXPECT_EQ(to_text(Compute(989'000'000'000'000)), "989TFLOPS");
  EXPECT_EQ(to_text(Time()), "0ps");
}

TEST(Quantity, TextParsesBack) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    // Round and crooked counts of every magnitude.
    auto count = static_cast<std::int64_t>(random() >> (2 + random() % 60));
    constexpr std::array<std::int64_t, 6> kSteps = {1, 8, 1000, 1024, 8'000'000'000, 1LL << 30};
    const std::int64_t step = kSteps[random() % kSteps.size()];
    count -= count % step;
    if (count > 1'000'000'000'000'000'000) continue;
    ASSERT_EQ(parse_time(to_text(Time(count))), Time(count));
    ASSERT_EQ(parse_bytes(to_text(Bytes(count))), Bytes(count));
    ASSERT_EQ(parse_rate(to_text(Rate(count))), Rate(count));
    ASSERT_EQ(parse_frequency(to_text(Frequency(count))), Frequency(count));
    ASSERT_EQ(parse_compute(to_text(Compute(count))), Compute(count));
  }
}

/// What the pattern takes is read, and nothing else.
template <typename Quantity>
void expect_pattern(Quantity (*parse)(std::string_view), const std::vector<std::string>& units) {
  const std::string pattern = text_pattern(Quantity());
  const std::regex expression(pattern);
  for (const std::string number :
       {"1", "1.", "1.5", ".5", "0", "1e1", "1E+1", "1.5e-1", "", ".", "-1", "+1", "1e", "1.5.", "e1", "1,5"}) {
    for (const std::string space : {"", " ", "  ", "\t"}) {
      for (const std::string& unit : units) {
        for (const std::string end : {"", " ", "x"}) {
          const std::string text = std::string(number) + space + unit + end;
          bool is_read = true;
          try {
            parse(text);
          } catch (const std::invalid_argument&) {
            is_read = false;
          }
          EXPECT_EQ(std::regex_search(text, expression), is_read) << "\"" << text << "\" by " << pattern;
        }
      }
    }
  }
}

TEST(Quantity, PatternTakesWhatIsRead) {
  // Of all kinds, as each must refuse those of the others.
  const std::vector<std::string> units = {
      "",        "ps",      "fs",   "us", "\u00b5s", "\u03bcs", "s",   "S",     "B",      "KiB",    "kB",
      "K",       "k",       "G",    "T",  "bps",     "bit/s",   "B/s", "kB/s",  "Gbps",   "Gb/s",   "Gbit/s",
      "GiB/s",   "Gibit/s", "GBps", "Hz", "KHz",     "GHz",     "THz", "FLOPS", "FLOP/s", "TFLOPS", "fJ",
      "\u00b5J", "uJ",      "J",    "mW", "W",       "kW",      "MW",  "Kbps",  "Tb/s"};
  expect_pattern(parse_time, units);
  expect_pattern(parse_bytes, units);
  expect_pattern(parse_rate, units);
  expect_pattern(parse_frequency, units);
  expect_pattern(parse_compute, units);
  expect_pattern(parse_energy, units);
  expect_pattern(parse_power, units);
}

TEST(Quantity, Arithmetic) {
  EXPECT_EQ(1_us + 1_ns - 1_ps, 1'000'999_ps);
  EXPECT_EQ(3 * 4_KiB, 12_KiB);
  EXPECT_EQ(10_KiB / 4_KiB, 2);
  EXPECT_EQ(10_KiB % 4_KiB, 2_KiB);
  EXPECT_EQ(1_MiB / 4, 256_KiB);
  EXPECT_LT(1_GiB, Bytes(1'073'741'825));
  EXPECT_GT(kNever, parse_time("9000000s"));
}

TEST(TransferTime, IsExactAtRoundRates) {
  EXPECT_EQ(transfer_time(4096_B, 400_Gbps), 81'920_ps);
  EXPECT_EQ(transfer_time(1_B, 400_Gbps), 20_ps);
  EXPECT_EQ(transfer_time(0_B, 400_Gbps), 0_ps);
  EXPECT_EQ(transfer_time(1_GiB, 450_GBps), Time(2'386'092'942));  // 2386092942.22 ps
}

TEST(TransferTime, RoundsToTheNearestPicosecond) {
  EXPECT_EQ(transfer_time(1_B, 3_Gbps), 2667_ps);  // 2666.67 ps
  EXPECT_EQ(transfer_time(1_B, 6_Gbps), 1333_ps);  // 1333.33 ps
}

TEST(TransferTime, HoldsDaysOfTransfer) {
  EXPECT_EQ(transfer_time(Bytes(1'000'000'000'000'000), 1_Gbps), parse_time("8000000s"));
}

TEST(CycleTime, RoundsTheSumNotTheCycle) {
  EXPECT_EQ(cycle_time(1, 1980_MHz), 505_ps);  // 505.05 ps
  EXPECT_EQ(cycle_time(1980, 1980_MHz), 1_us);
  EXPECT_EQ(cycle_time(0, 1980_MHz), 0_ps);
}

TEST(ByteTime, IsExactWhereAByteTakesWholePicoseconds) {
  for (const Rate rate : {100_Gbps, 200_Gbps, 400_Gbps, 800_Gbps, 1600_Gbps}) {
    const ByteTime byte_time(rate);
    for (const std::int64_t bytes : {0L, 1L, 64L, 4096L, 1L << 20, 1L << 32, (1L << 40) + 1}) {
      EXPECT_EQ(byte_time(bytes), transfer_time(Bytes(bytes), rate)) << to_text(rate) << " " << bytes;
    }
  }
}

TEST(ByteTime, IsWithinAPicosecondTo4GiB) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20'000; ++i) {
    const Rate rate(static_cast<std::int64_t>(1'000'000'000 + random() % 30'000'000'000'000));
    const Bytes size(static_cast<std::int64_t>(random() % ((1ULL << 32) + 1)));
    const std::int64_t difference = (ByteTime(rate)(size) - transfer_time(size, rate)).count();
    ASSERT_LE(std::abs(difference), 1) << to_text(rate) << " " << to_text(size);
  }
}

TEST(ByteTime, CarriesWhatRoundingLeaves) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i) {
    const Rate rate(static_cast<std::int64_t>(1'000'000'000 + random() % 1'000'000'000'000'000));
    const ByteTime byte_time(rate);
    ByteTime::Rest rest = 0;
    std::int64_t bytes = 0;
    Time end;
    for (int k = 0; k < 1000; ++k) {
      const auto size = static_cast<std::int64_t>(random() % 300);
      bytes += size;
      end += byte_time.next(size, rest);
      ASSERT_LE(std::abs((end - byte_time(bytes)).count()), 1) << to_text(rate) << " " << k;
    }
  }
  ByteTime::Rest rest = 0;
  for (int k = 0; k < 1000; ++k) EXPECT_EQ(ByteTime(400_Gbps).next(130, rest), 2600_ps);
  EXPECT_EQ(rest, 0);
}

TEST(Overflow, OfAProductIsAnError) {
  EXPECT_EQ(checked_product(INT64_MAX / 7, 7), INT64_MAX / 7 * 7);
  EXPECT_EQ(checked_product(INT64_MIN, 1), INT64_MIN);
  EXPECT_THROW(static_cast<void>(checked_product(INT64_MAX / 7 + 1, 7)), QuantityOverflow);
  EXPECT_THROW(static_cast<void>(checked_product(INT64_MIN, -1)), QuantityOverflow);
  EXPECT_EQ((parse_time("1000s") * 9000).count(), 9'000'000'000'000'000'000);
  EXPECT_THROW(static_cast<void>(parse_time("1000s") * 9224), QuantityOverflow);
  EXPECT_THROW(static_cast<void>(10'000'000 * parse_bytes("1TiB")), QuantityOverflow);
}

TEST(Overflow, OfATimeIsAnError) {
  EXPECT_THROW(static_cast<void>(transfer_time(Bytes(INT64_MAX), Rate(1))), QuantityOverflow);
  EXPECT_THROW(static_cast<void>(transfer_time(Bytes(1), Rate(0))), QuantityOverflow);
  EXPECT_THROW(static_cast<void>(cycle_time(INT64_MAX, 1_MHz)), QuantityOverflow);
  EXPECT_THROW(static_cast<void>(ByteTime(Rate(0))), QuantityOverflow);
  EXPECT_THROW(static_cast<void>(ByteTime(Rate(1000))), QuantityOverflow);
  EXPECT_EQ(ByteTime(Rate(8000))(1), 1_ms);
  EXPECT_THROW(static_cast<void>(ByteTime(Rate(8000))(Bytes(INT64_MAX))), QuantityOverflow);
  EXPECT_EQ(ByteTime(Rate(8'000'000))(Bytes(9'000'000'000'000)).count(), 9'000'000'000'000'000'000);
}

TEST(Overflow, SaysWhatWasTooLarge) {
  try {
    static_cast<void>(rounded(1.5e20, "the energy of a kernel in nJ"));
    FAIL() << "nothing was thrown";
  } catch (const QuantityOverflow& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("the energy of a kernel in nJ of 1.5e+20 is beyond what 64 bits"))
        << error.what();
  }
  EXPECT_EQ(rounded(-2.5), -3);
  EXPECT_THROW(static_cast<void>(rounded(std::nan(""))), QuantityOverflow);
}

TEST(Scaled, IsExactWhereTheProductHas128Bits) {
  EXPECT_EQ(scaled(7, 3, 2), 10);
  EXPECT_EQ(scaled(300'000'000'000'000, 999'999, 1'000'000), 299'999'700'000'000);
  EXPECT_EQ(scaled(INT64_MAX, INT64_MAX - 1, INT64_MAX), INT64_MAX - 1);
  EXPECT_THROW(static_cast<void>(scaled(INT64_MAX, 3, 2)), QuantityOverflow);
}

}  // namespace
}  // namespace weft
