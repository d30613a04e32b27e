// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hw/memory/bank_hbm.h"
#include "tests/support/benches/dram.h"
#include "tests/support/benches/dram_checker.h"
#include "tests/support/benches/nb_master.h"
#include "tests/support/benches/sockets.h"
#include "tests/support/benches/tlm_checker.h"
#include "tests/support/kernel.h"

namespace weft::test {

inline memory::BankHbm::Config banks_of(const std::string& part, int channels = 1) {
  memory::BankHbm::Config config;
  static_cast<dram::MemoryConfig&>(config) = memory_of(part);
  config.device.geometry.channels = channels;
  return config;
}

/// Masters with checkers on their sockets, and one on the commands.
struct BankBench {
  explicit BankBench(const memory::BankHbm::Config& config, std::size_t masters = 1, bool data = true)
      : dispatcher("dispatcher"), script("script", dispatcher), commands(config.device) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < masters; ++i) names.push_back("m" + std::to_string(i));
    hbm = std::make_unique<memory::BankHbm>("hbm", config, dispatcher, names, data, &commands);
    for (std::size_t i = 0; i < masters; ++i) {
      master.push_back(std::make_unique<NbMaster>(("master" + std::to_string(i)).c_str(), dispatcher));
      rules.push_back(std::make_unique<TlmChecker>(("rules" + std::to_string(i)).c_str(), dispatcher));
      master[i]->socket.bind(rules[i]->from_initiator);
      rules[i]->to_target.bind(hbm->socket(i));
    }
  }
  ~BankBench() {
    EXPECT_TRUE(commands.violations().empty()) << commands.text();
    for (std::size_t i = 0; i < rules.size(); ++i) {
      EXPECT_TRUE(rules[i]->violations().empty()) << rules[i]->text();
      EXPECT_EQ(rules[i]->unfinished(), 0u);
      EXPECT_EQ(master[i]->pool.outstanding(), 0);
    }
  }
  void run(std::function<void()> action) {
    script.at(Time(1'000'000), std::move(action));
    sc_core::sc_start();
  }
  Dispatcher dispatcher;
  Script script;
  DramChecker commands;
  std::unique_ptr<memory::BankHbm> hbm;
  std::vector<std::unique_ptr<NbMaster>> master;
  std::vector<std::unique_ptr<TlmChecker>> rules;
};

/// Keeps `depth` transactions of `bytes` on their way until `count` have been sent.
struct BankStream {
  BankStream(BankBench& bench, std::size_t index, tlm::tlm_command what, std::uint64_t from, std::uint32_t size,
             int transactions)
      : master(*bench.master[index]), command(what), address(from), bytes(size), left(transactions) {
    master.on_answer = [this](const NbMaster::Answer& answer) {
      end = answer.at;
      send();
    };
  }
  void start(int depth) {
    for (int i = 0; i < depth; ++i) send();
  }
  void send() {
    if (left-- <= 0) return;
    master.send(command, address, nullptr, bytes);
    address += bytes;
  }
  NbMaster& master;
  tlm::tlm_command command;
  std::uint64_t address;
  std::uint32_t bytes;
  int left;
  Time end;
};

}  // namespace weft::test
