// SPDX-License-Identifier: Apache-2.0
#include "hw/core/cause/carried.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <utility>

namespace weft {
namespace {

TEST(Carried, CountsByPairsOfEnds) {
  Carried carried;
  EXPECT_TRUE(carried.flows().empty());
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> counted;
  const auto expect = [&] {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> flows;
    for (const Carried::Flow& flow : carried.flows()) flows[{flow.from, flow.to}] += flow.bytes;
    EXPECT_EQ(flows, counted);
    EXPECT_EQ(carried.flows().size(), counted.size());
  };
  for (std::uint32_t i = 0; i < 200; ++i) {
    const std::uint32_t from = i % 7;
    const std::uint32_t to = 10 + i % 5;
    carried.add({from, to, 100 + i});
    counted[{from, to}] += 100 + i;
    if (i < 10) expect();
  }
  expect();
}

/// Of very many pairs, what came from an end is still known.
TEST(Carried, CountsByWhereBytesCameFromBeyondSoManyPairs) {
  Carried carried;
  std::map<std::uint32_t, std::int64_t> from;
  for (int again = 0; again < 2; ++again) {
    for (std::uint32_t i = 0; i < 100; ++i) {
      for (std::uint32_t j = 0; j < 100; ++j) {
        carried.add({i, j, i + j});
        from[i] += i + j;
      }
    }
  }
  EXPECT_LE(carried.flows().size(), 1024U + 100U);
  std::map<std::uint32_t, std::int64_t> counted;
  for (const Carried::Flow& flow : carried.flows()) counted[flow.from] += flow.bytes;
  EXPECT_EQ(counted, from);
}

/// Of flows that take turns on two links, as many as lie at hand and more.
TEST(Carried, CountsByLinks) {
  CarriedByLinks links;
  links.add_link();
  links.add_link();
  EXPECT_TRUE(links.flows(1).empty());
  using Flows = std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t>;
  Flows counted[2];
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const std::uint32_t link = i / 3 % 2;
    const std::uint32_t from = i % (i < 500 ? 2 : 11);
    links.add(link, from, 7, i);
    counted[link][{from, 7}] += i;
  }
  const auto flows_of = [&links](std::size_t link) {
    Flows flows;
    for (const Carried::Flow& flow : links.flows(link)) flows[{flow.from, flow.to}] += flow.bytes;
    EXPECT_EQ(flows.size(), links.flows(link).size());
    return flows;
  };
  EXPECT_EQ(flows_of(0), counted[0]);
  EXPECT_EQ(flows_of(1), counted[1]);
  links.begin_again();
  EXPECT_TRUE(links.flows(0).empty());
  links.add(0, 1, 2, 3);
  EXPECT_EQ(flows_of(0), (Flows{{{1, 2}, 3}}));
}

}  // namespace
}  // namespace weft
