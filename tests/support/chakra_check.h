// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/chakra.h"
#include "traces/chakra/check.h"

namespace weft::test {

/// What check() finds in files that it is given.
class ChakraCheck : public ChakraTest {
 protected:
  using Texts = std::vector<std::string>;

  Texts texts(const chakra::CheckReport& report) const {
    Texts texts;
    for (const chakra::Finding& finding : report.findings) {
      texts.push_back(finding.text());
      texts.back().erase(0, folder_.string().size() + 1);
    }
    return texts;
  }

  /// What is found in one file.
  Texts found(const std::vector<chakra::Node>& nodes) const {
    return texts(chakra::check(chakra::find_trace(write(nodes))));
  }

  /// What is found in files w.0.et, w.1.et, ... together.
  Texts found_in_ranks(const std::vector<std::vector<chakra::Node>>& ranks,
                       const chakra::GroupTable::Named& groups = {}) const {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) write(ranks[rank], "w." + std::to_string(rank) + ".et");
    chakra::CheckOptions options;
    options.groups = groups;
    return texts(chakra::check(chakra::find_trace(file("w")), options));
  }

  static chakra::Node with(chakra::Node node, chakra::Attribute attribute) {
    node.attributes.push_back(std::move(attribute));
    return node;
  }

  static chakra::Node lasting(chakra::Node node) {
    node.duration_micros = 1;
    return node;
  }
};

}  // namespace weft::test
