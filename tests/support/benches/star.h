// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "hw/fabric/switch/switch.h"
#include "tests/support/benches/fabric_end.h"

namespace weft::fabric::test_ends {

/// A switch with an end at each port, whose number is the port's. `links[i]` is both directions of port i.
class Star {
 public:
  explicit Star(const std::vector<LinkConfig>& links, const Switch::Config& config = {},
                const Stall::Config& stall = {})
      : dispatcher("dispatcher"), script("script", dispatcher) {
    RoutingTable table(links.size());
    for (std::uint32_t i = 0; i < links.size(); ++i) table.set(i, static_cast<std::uint16_t>(i));
    routes = Routes(table);
    sw = std::make_unique<Switch>("switch", config, dispatcher, packets, routes, links, stall);
    for (std::size_t i = 0; i < links.size(); ++i) {
      ends.push_back(std::make_unique<End>(("end" + std::to_string(i)).c_str(), dispatcher, packets, links[i], stall));
      ends[i]->out.bind(sw->port(i).in);
      sw->port(i).out.bind(ends[i]->in);
    }
  }
  End& end(std::size_t i) { return *ends[i]; }
  void expect_nothing_left() {
    EXPECT_EQ(sw->waiting(), 0);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      EXPECT_EQ(ends[i]->transmitter().credit_missing(), 0) << "end " << i;
      EXPECT_EQ(sw->transmitter(i).credit_missing(), 0) << "port " << i;
      EXPECT_EQ(ends[i]->unsent(), 0u) << "end " << i;
    }
    EXPECT_EQ(packets.outstanding(), 0);
    EXPECT_EQ(dispatcher.pending(), 0u);
  }

  PacketPool packets;
  Routes routes;
  Dispatcher dispatcher;
  test::Script script;
  std::unique_ptr<Switch> sw;
  std::vector<std::unique_ptr<End>> ends;
};

}  // namespace weft::fabric::test_ends
