// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "hw/memory/dram/command.h"

namespace weft::test {

/// Reads a stream of commands and says which rules of the standard it breaks. Written from the rules and not from the
/// controller: each command is compared with each that came before it within the longest distance of the device, pair
/// by pair.
class DramChecker final : public dram::CommandObserver {
 public:
  struct Violation {
    std::string rule;
    dram::Command command;
    dram::Clock earliest = 0;  ///< at which the rule would have allowed it
  };

  explicit DramChecker(const dram::Device& device) : device_(device), t_(device.timing) {
    reach_ = std::max({t_.rfc, t_.rfcpb, t_.rc, t_.faw, t_.ras + t_.rp, t_.cwl + t_.bl + t_.wr + t_.rp,
                       t_.cwl + t_.bl + t_.wtrl, t_.rtw, t_.rrefd, t_.rcdrd, t_.rcdwr, t_.cl + t_.bl, t_.ccdl});
  }

  void on_command(const dram::Command& command) override {
    using enum dram::CommandKind;
    ++commands_;
    Channel& channel = channels_[command.channel];
    if (command.at < channel.last) report("order of time", command, channel.last);
    channel.last = std::max(channel.last, command.at);
    check_bus(channel, command);
    Pseudo& pseudo = channel.pseudo[command.pseudo_channel];
    check_state(pseudo, command);
    for (const Past& past : pseudo.past) check_pair(past, command);
    check_four_activates(pseudo, command);
    check_data(pseudo, command);
    remember(pseudo, command);
  }

  /// After the last command, at `end`: no row went without refresh for longer than `most` intervals.
  void check_refresh(dram::Clock end, bool per_bank, int most = 1) {
    const dram::Clock interval = device_.refresh_interval();
    // A refresh that is due waits for what is activated, for the bus and for all banks to be closed.
    const dram::Clock slack = 4 * t_.rc + t_.rfc;
    for (auto& [number, channel] : channels_) {
      for (auto& [index, pseudo] : channel.pseudo) {
        for (int bank = 0; bank < (per_bank ? device_.geometry.all_banks() : 1); ++bank) {
          const auto found = pseudo.refreshed.find(bank);
          std::vector<dram::Clock> times = found == pseudo.refreshed.end() ? std::vector<dram::Clock>() : found->second;
          times.push_back(end);
          dram::Clock before = 0;
          for (const dram::Clock at : times) {
            // Banks of a round come in any order.
            if (at - before > interval * (per_bank ? 2 : most) + slack) {
              report("tREFI", {at, dram::CommandKind::kRefresh, false, index, static_cast<std::uint8_t>(bank)}, before);
            }
            before = at;
          }
        }
      }
    }
  }

  [[nodiscard]] const std::vector<Violation>& violations() const { return violations_; }
  [[nodiscard]] std::int64_t commands() const { return commands_; }
  /// The first few, for a message.
  [[nodiscard]] std::string text() const {
    std::string text = std::to_string(violations_.size()) + " violations";
    for (std::size_t i = 0; i < std::min<std::size_t>(5, violations_.size()); ++i) {
      const Violation& v = violations_[i];
      text += "\n  " + v.rule + ": kind " + std::to_string(static_cast<int>(v.command.kind)) + " of bank " +
              std::to_string(v.command.bank) + " at " + std::to_string(v.command.at) + ", earliest " +
              std::to_string(v.earliest);
    }
    return text;
  }

 private:
  struct Past {
    dram::Command command;
    bool implied = false;  ///< the precharge of a read or write with auto-precharge
  };
  struct OpenRow {
    bool open = false;
    std::uint32_t row = 0;
    dram::Clock activated = 0;
  };
  struct Pseudo {
    std::deque<Past> past;
    std::map<int, OpenRow> banks;
    std::vector<dram::Clock> activates;
    std::map<int, std::vector<dram::Clock>> refreshed;  // all-bank refreshes count as bank 0
    dram::Clock data_free = 0;
  };
  struct Channel {
    dram::Clock last = 0;
    dram::Clock row_free = 0;
    dram::Clock column_free = 0;
    std::map<std::uint8_t, Pseudo> pseudo;
  };

  void report(const char* rule, const dram::Command& command, dram::Clock earliest) {
    violations_.push_back({rule, command, earliest});
  }
  void require(const char* rule, const dram::Command& command, dram::Clock earliest) {
    if (command.at < earliest) report(rule, command, earliest);
  }
  [[nodiscard]] int group_of(int bank) const { return bank / device_.geometry.banks; }
  [[nodiscard]] int stack_of(int bank) const { return group_of(bank) / device_.geometry.bank_groups; }

  static bool is_column(dram::CommandKind kind) {
    return kind == dram::CommandKind::kRead || kind == dram::CommandKind::kWrite;
  }

  void check_bus(Channel& channel, const dram::Command& command) {
    if (is_column(command.kind)) {
      require("column bus", command, channel.column_free);
      channel.column_free = command.at + t_.column_slots;
    } else {
      require("row bus", command, channel.row_free);
      channel.row_free =
          command.at + (command.kind == dram::CommandKind::kActivate ? t_.activate_slots : t_.precharge_slots);
    }
  }

  void check_state(Pseudo& pseudo, const dram::Command& command) {
    using enum dram::CommandKind;
    OpenRow& bank = pseudo.banks[command.bank];
    switch (command.kind) {
      case kActivate:
        if (bank.open) report("activate of an open bank", command, 0);
        break;
      case kRead:
      case kWrite:
        if (!bank.open) report("column command to a closed bank", command, 0);
        if (bank.open && bank.row != command.row) report("column command to another row", command, 0);
        break;
      case kRefresh:
        for (const auto& [index, each] : pseudo.banks) {
          if (each.open) report("refresh with an open bank", command, 0);
        }
        break;
      case kRefreshBank:
        if (bank.open) report("refresh with an open bank", command, 0);
        break;
      default:
        break;
    }
  }

  /// What one command asks of a later one.
  void check_pair(const Past& past, const dram::Command& next) {
    using enum dram::CommandKind;
    const dram::Command& first = past.command;
    const bool same_bank = first.bank == next.bank;
    const bool same_group = group_of(first.bank) == group_of(next.bank);
    const bool same_stack = stack_of(first.bank) == stack_of(next.bank);
    const auto apart = [&](const char* rule, int clocks) { require(rule, next, first.at + clocks); };
    const bool refreshes_it = next.kind == kRefresh || (next.kind == kRefreshBank && same_bank);
    switch (first.kind) {
      case kActivate:
        if (next.kind == kActivate && same_bank) apart("tRC", t_.rc);
        if (next.kind == kActivate && !same_bank) {
          apart(same_group ? "tRRDL" : "tRRDS", same_group ? t_.rrdl : t_.rrds);
        }
        if (next.kind == kRead && same_bank) apart("tRCDRD", t_.rcdrd);
        if (next.kind == kWrite && same_bank) apart("tRCDWR", t_.rcdwr);
        if ((next.kind == kPrecharge && same_bank) || next.kind == kPrechargeAll) apart("tRAS", t_.ras);
        if (refreshes_it) apart("tRC", t_.rc);
        if (next.kind == kRefreshBank && !same_bank) {
          apart(same_group ? "tRRDL" : "tRRDS", same_group ? t_.rrdl : t_.rrds);
        }
        break;
      case kRead:
        if (next.kind == kRead) column_to_column(same_group, same_stack, apart);
        if (next.kind == kWrite) apart("tRTW", t_.rtw);
        if ((next.kind == kPrecharge && same_bank) || next.kind == kPrechargeAll) apart("tRTP", t_.rtp);
        break;
      case kWrite:
        if (next.kind == kWrite) column_to_column(same_group, same_stack, apart);
        if (next.kind == kRead && same_group) apart("tWTRL", t_.cwl + t_.bl + t_.wtrl);
        if (next.kind == kRead && !same_group) apart("tWTRS", t_.cwl + t_.bl + t_.wtrs);
        if ((next.kind == kPrecharge && same_bank) || next.kind == kPrechargeAll) {
          apart("tWR", t_.cwl + t_.bl + t_.wr);
        }
        break;
      case kPrecharge:
        if ((next.kind == kActivate && same_bank) || refreshes_it) apart("tRP", t_.rp);
        break;
      case kPrechargeAll:
        if (next.kind == kActivate || next.kind == kRefresh || next.kind == kRefreshBank) apart("tRP", t_.rp);
        break;
      case kRefresh:
        if (next.kind == kActivate || next.kind == kRefresh || next.kind == kRefreshBank) apart("tRFC", t_.rfc);
        break;
      case kRefreshBank:
        if ((next.kind == kActivate && same_bank) || refreshes_it) apart("tRFCpb", t_.rfcpb);
        if ((next.kind == kActivate || next.kind == kRefreshBank) && !same_bank) apart("tRREFD", t_.rrefd);
        break;
      default:
        break;
    }
  }

  template <typename Apart>
  void column_to_column(bool same_group, bool same_stack, Apart&& apart) {
    if (same_group) {
      apart("tCCDL", t_.ccdl);
    } else if (same_stack) {
      apart("tCCDS", t_.ccds);
    } else {
      apart("tCCDR", t_.ccdr);
    }
  }

  void check_four_activates(Pseudo& pseudo, const dram::Command& command) {
    if (command.kind != dram::CommandKind::kActivate) return;
    const std::size_t count = pseudo.activates.size();
    if (count >= 4) require("tFAW", command, pseudo.activates[count - 4] + t_.faw);
    pseudo.activates.push_back(command.at);
  }

  void check_data(Pseudo& pseudo, const dram::Command& command) {
    if (!is_column(command.kind)) return;
    const dram::Clock begin = command.at + (command.kind == dram::CommandKind::kRead ? t_.cl : t_.cwl);
    if (begin < pseudo.data_free) report("data bus", command, command.at + pseudo.data_free - begin);
    pseudo.data_free = begin + t_.bl;
  }

  void remember(Pseudo& pseudo, const dram::Command& command) {
    using enum dram::CommandKind;
    OpenRow& bank = pseudo.banks[command.bank];
    pseudo.past.push_back({command, false});
    if (command.kind == kActivate) bank = {true, command.row, command.at};
    if (command.kind == kPrecharge) bank.open = false;
    if (command.kind == kPrechargeAll) {
      for (auto& [index, each] : pseudo.banks) each.open = false;
    }
    if (command.kind == kRefresh) pseudo.refreshed[0].push_back(command.at);
    if (command.kind == kRefreshBank) pseudo.refreshed[command.bank].push_back(command.at);
    if (command.auto_precharge) {
      // The device precharges by itself as soon as tRAS and tRTP or tWR are over.
      dram::Command implied = command;
      implied.kind = kPrecharge;
      implied.at = std::max<dram::Clock>(bank.activated + t_.ras,
                                         command.at + (command.kind == kRead ? t_.rtp : t_.cwl + t_.bl + t_.wr));
      bank.open = false;
      pseudo.past.push_back({implied, true});
    }
    while (pseudo.past.front().command.at + reach_ < command.at) pseudo.past.pop_front();
  }

  dram::Device device_;
  dram::Timing t_;
  dram::Clock reach_ = 0;
  std::int64_t commands_ = 0;
  std::map<int, Channel> channels_;
  std::vector<Violation> violations_;
};

}  // namespace weft::test
