// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "platforms/machine/machine.h"
#include "tests/support/benches/tlm_checker.h"

namespace weft::test {

/// A checker on each socket of a machine that its Wire reaches. It must outlive the machine.
class MachineCheckers {
 public:
  platforms::Machine::Wire wire() {
    return
        [this](Dispatcher& dispatcher, tlm::tlm_initiator_socket<64>& initiator, tlm::tlm_target_socket<64>& target) {
          const std::string name = "checker" + std::to_string(checkers_.size());
          checkers_.push_back(std::make_unique<TlmChecker>(name.c_str(), dispatcher));
          targets_.emplace_back(target.name());
          initiator.bind(checkers_.back()->from_initiator);
          checkers_.back()->to_target.bind(target);
        };
  }
  /// And that something has passed each socket whose name has `busy` in it, of which there is one.
  void expect_rules_kept(const std::vector<std::string>& busy) const {
    for (std::size_t i = 0; i < checkers_.size(); ++i) {
      EXPECT_TRUE(checkers_[i]->violations().empty()) << targets_[i] << "\n" << checkers_[i]->text();
      EXPECT_EQ(checkers_[i]->unfinished(), 0U) << targets_[i];
    }
    for (const std::string& part : busy) {
      int sockets = 0;
      for (std::size_t i = 0; i < checkers_.size(); ++i) {
        if (targets_[i].find(part) == std::string::npos) continue;
        ++sockets;
        EXPECT_GT(checkers_[i]->finished(), 0) << targets_[i];
      }
      EXPECT_GT(sockets, 0) << part;
    }
  }

 private:
  std::vector<std::unique_ptr<TlmChecker>> checkers_;
  std::vector<std::string> targets_;
};

}  // namespace weft::test
