// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/core/fields.h"
#include "hw/core/power.h"
#include "hw/core/quantity.h"
#include "hw/memory/dram/controller_config.h"

/// High-bandwidth memory to the bank: what a device is (this file), where an address lies in it (address_map.h), how
/// its requests become commands (pseudo_channel.h, controller.h), and all of it together (memory_system.h). Plain C++:
/// no SystemC, no events, time in clocks of the device.
namespace weft::dram {

/// A point in time, or the difference of two, in command clocks of the device.
using Clock = std::int64_t;
constexpr Clock kNeverClock = INT64_MAX / 4;

/// Banks of a pseudo channel over all stack ids: they are kept in one word.
constexpr int kMaxBanks = 64;
constexpr int kMaxPseudoChannels = 4;

/// A device of the default figures is one channel of HBM2, which the traces of other simulators are for. A stack of
/// HBM2 has 8 channels, one of HBM3 16, one of HBM4 32.
struct Geometry {
  int channels = 1;
  int pseudo_channels = 2;
  int stack_ids = 1;
  int bank_groups = 4;
  int banks = 4;
  std::int64_t rows = 32768;
  int columns = 32;
  Bytes burst = Bytes(32);

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("channels", channels, "Channels; they share nothing", Range{1, 1024});
    visit("pseudo_channels", pseudo_channels,
          "Pseudo channels of a channel; they share its command buses and have their own data pins",
          Range{1, kMaxPseudoChannels});
    visit("stack_ids", stack_ids, "Groups of dies that share a pseudo channel (ranks)", Range{1, 16});
    visit("bank_groups", bank_groups, "Bank groups of a stack id", Range{1, 16});
    visit("banks", banks, "Banks of a bank group", Range{1, 16});
    visit("rows", rows, "Rows of a bank", Range{1, 1LL << 24});
    visit("columns", columns, "Bursts of a row", Range{1, 4096});
    visit("burst", burst, "Bytes that one read or write moves", Range{1, 4096});
  }
  [[nodiscard]] int groups() const { return stack_ids * bank_groups; }  ///< of a pseudo channel
  [[nodiscard]] int all_banks() const { return groups() * banks; }      ///< of a pseudo channel
  [[nodiscard]] Bytes capacity() const { return burst * columns * rows * all_banks() * pseudo_channels * channels; }
};

/// Minimum distances between commands, in clocks unless said otherwise, by the names of the JEDEC standards (JESD235,
/// JESD238, JESD270). "Short" is between bank groups, "long" within one.
struct Timing {
  Time clock = Time(1'000);  ///< tCK
  int bl = 2;                ///< a burst on the data pins
  int cl = 14;               ///< read to its data
  int cwl = 5;               ///< write to its data
  int rcdrd = 14;            ///< activate to read
  int rcdwr = 12;            ///< activate to write
  int rp = 14;               ///< precharge to activate
  int ras = 34;              ///< activate to precharge
  int rc = 48;               ///< activate to activate of a bank
  int wr = 16;               ///< end of write data to precharge
  int rtp = 5;               ///< read to precharge
  int ccds = 2;
  int ccdl = 4;
  int ccdr = 2;  ///< column commands of two stack ids
  int rrds = 4;
  int rrdl = 4;
  int faw = 15;  ///< within which a pseudo channel has four activates at most
  int wtrs = 6;  ///< end of write data to read
  int wtrl = 8;
  int rtw = 13;   ///< read to write
  int rfc = 260;  ///< all-bank refresh to activate
  int refi = 3900;
  int rfcpb = 120;         ///< per-bank refresh to activate of that bank; 0: there is none
  int rrefd = 8;           ///< per-bank refresh to activate or refresh of another bank
  int activate_slots = 2;  ///< clocks of the row bus
  int precharge_slots = 1;
  int column_slots = 1;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    constexpr Range kClocks{0, 1 << 20};
    visit("clock", clock, "tCK", Range{100, 100'000});
    visit("bl", bl, "Clocks of a burst on the data pins", Range{1, 64});
    visit("cl", cl, "CL: read to its data; in clocks, like all fields below", kClocks);
    visit("cwl", cwl, "CWL: write to its data", kClocks);
    visit("rcdrd", rcdrd, "tRCDRD: activate to read", kClocks);
    visit("rcdwr", rcdwr, "tRCDWR: activate to write", kClocks);
    visit("rp", rp, "tRP: precharge to activate", kClocks);
    visit("ras", ras, "tRAS: activate to precharge", kClocks);
    visit("rc", rc, "tRC: activate to activate of a bank", kClocks);
    visit("wr", wr, "tWR: end of write data to precharge", kClocks);
    visit("rtp", rtp, "tRTP: read to precharge", kClocks);
    visit("ccds", ccds, "tCCDS: column commands of two bank groups", kClocks);
    visit("ccdl", ccdl, "tCCDL: column commands of one bank group", kClocks);
    visit("ccdr", ccdr, "tCCDR: column commands of two stack ids", kClocks);
    visit("rrds", rrds, "tRRDS: activates of two bank groups", kClocks);
    visit("rrdl", rrdl, "tRRDL: activates of one bank group", kClocks);
    visit("faw", faw, "tFAW: window in which a pseudo channel has at most four activates", kClocks);
    visit("wtrs", wtrs, "tWTRS: end of write data to read of another bank group", kClocks);
    visit("wtrl", wtrl, "tWTRL: end of write data to read of the same bank group", kClocks);
    visit("rtw", rtw, "tRTW: read to write", kClocks);
    visit("rfc", rfc, "tRFC: all-bank refresh to activate", kClocks);
    visit("refi", refi, "tREFI: between all-bank refreshes, up to 85 degrees", Range{1, 1 << 18});
    visit("rfcpb", rfcpb, "tRFCpb: per-bank refresh to activate of that bank; 0: no per-bank refresh", kClocks);
    visit("rrefd", rrefd, "tRREFD: per-bank refresh to activate or refresh of another bank", kClocks);
    visit("activate_slots", activate_slots, "Clocks of the channel's row bus that an activate takes", Range{1, 16});
    visit("precharge_slots", precharge_slots, "Clocks of the row bus that a precharge or refresh takes", Range{1, 16});
    visit("column_slots", column_slots, "Clocks of the channel's column bus that a read or write takes", Range{1, 16});
  }
  [[nodiscard]] Clock write_to_precharge() const { return cwl + bl + wr; }
  [[nodiscard]] Clock write_to_read(bool same_group) const { return cwl + bl + (same_group ? wtrl : wtrs); }
};

/// What commands cost, for one pseudo channel.
struct CommandEnergy {
  Energy activate = Energy(414'000);  ///< with its precharge
  Energy read = Energy(402'000);      ///< a burst, in the array
  Energy write = Energy(534'000);
  Energy refresh = Energy(30'420'000);  ///< all-bank
  Energy refresh_bank = Energy(1'901'000);
  Energy io_per_bit = Energy(800);
  Power background = Power(33);

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("activate", activate, "Energy of an activate and its precharge");
    visit("read", read, "Energy of reading a burst, without the pins");
    visit("write", write, "Energy of writing a burst, without the pins");
    visit("refresh", refresh, "Energy of an all-bank refresh");
    visit("refresh_bank", refresh_bank, "Energy of a per-bank refresh");
    visit("io_per_bit", io_per_bit, "Energy of a bit on the pins");
    visit("background", background, "Power of a pseudo channel that does nothing");
  }
};

struct Device {
  static constexpr const char* kPartKind = "dram";
  Geometry geometry;
  Timing timing;
  CommandEnergy energy;
  int temperature = 60;  ///< of the hottest die, in degrees Celsius

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("geometry", geometry, "Channels, banks, rows and columns");
    visit("timing", timing, "Minimum distances between commands");
    visit("energy", energy, "Energy of commands");
    visit("temperature", temperature, "Degrees Celsius: above 85 refreshes are twice as frequent, above 95 four times",
          Range{0, 105});
  }
  /// The same device at another clock: a burst, distances of column commands and slots of buses stay as they are in
  /// clocks, all else in nanoseconds, rounded up to clocks, and tREFI down.
  [[nodiscard]] Device at_clock(Time clock) const;
  /// tREFI at this temperature.
  [[nodiscard]] Clock refresh_interval() const;
  /// Of all channels together.
  [[nodiscard]] double peak_bytes_per_second() const;
  /// Throws ConfigError where figures contradict each other; `path` is where the device stands.
  void check(const std::string& path = "device") const;
  /// Throws ConfigError where refreshes of that kind leave no time in which rows are opened, so that requests would
  /// wait for ever.
  void check_refresh(RefreshPolicy policy, const std::string& path = "device") const;
};

}  // namespace weft::dram
