// SPDX-License-Identifier: Apache-2.0
// Pools: what is out is counted, what comes back is used again.
#include "hw/core/packet.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "hw/core/payload_pool.h"

namespace weft {
namespace {

TEST(PacketPool, CountsWhatIsOutAndReusesIt) {
  PacketPool pool;
  std::set<Packet*> first;
  for (int i = 0; i < 5000; ++i) first.insert(pool.take());  // several slabs
  EXPECT_EQ(first.size(), 5000u);
  EXPECT_EQ(pool.outstanding(), 5000);
  for (Packet* packet : first) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(packet) % 64, 0u);
    pool.give_back(packet);
  }
  EXPECT_EQ(pool.outstanding(), 0);
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(first.count(pool.take()), 1u);
  EXPECT_EQ(pool.outstanding(), 5000);
}

TEST(PacketPool, HandsOutPacketsWithInitialValues) {
  PacketPool pool;
  Packet* packet = pool.take();
  packet->address = 1;
  packet->lane = 3;
  packet->flags = Packet::kLast;
  packet->psn = 9;
  packet->next = packet;
  pool.give_back(packet);
  const Packet* again = pool.take();
  ASSERT_EQ(again, packet);
  EXPECT_EQ(again->address, 0u);
  EXPECT_EQ(again->lane, 0);
  EXPECT_EQ(again->flags, 0);
  EXPECT_EQ(again->psn, 0u);
  EXPECT_EQ(again->next, nullptr);
  EXPECT_EQ(again->payload, nullptr);
}

TEST(PacketPool, GivesPayloadsOfAnySizeThatDoNotOverlap) {
  PacketPool pool;
  const std::vector<std::uint32_t> sizes = {0, 1, 63, 64, 65, 127, 128, 129, 4095, 4096, 4097, 65536, 65537, 1 << 20};
  for (int round = 0; round < 3; ++round) {
    std::vector<Packet*> packets;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      Packet* packet = pool.take();
      pool.attach_payload(*packet, sizes[i]);
      ASSERT_NE(packet->payload, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(packet->payload) % 16, 0u);
      std::memset(packet->payload, static_cast<int>(i + 1), sizes[i]);
      packets.push_back(packet);
    }
    EXPECT_EQ(pool.payloads_outstanding(), static_cast<std::int64_t>(sizes.size()));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      for (std::uint32_t at = 0; at < sizes[i]; ++at) {
        ASSERT_EQ(packets[i]->payload[at], static_cast<std::byte>(i + 1)) << sizes[i] << " bytes, at " << at;
      }
    }
    for (Packet* packet : packets) {
      pool.give_back(packet);
      EXPECT_EQ(packet->payload, nullptr);
    }
    EXPECT_EQ(pool.outstanding(), 0);
    EXPECT_EQ(pool.payloads_outstanding(), 0);
  }
}

TEST(PacketPool, ReusesAPayloadForEverySizeOfItsClass) {
  PacketPool pool;
  Packet* packet = pool.take();
  pool.attach_payload(*packet, 4096);
  const std::byte* payload = packet->payload;
  pool.give_back(packet);
  for (const std::uint32_t bytes : {2049U, 3000U, 4096U}) {
    packet = pool.take();
    pool.attach_payload(*packet, bytes);
    EXPECT_EQ(packet->payload, payload) << bytes;
    pool.give_back(packet);
  }
  packet = pool.take();
  pool.attach_payload(*packet, 4097);
  EXPECT_NE(packet->payload, payload);
  pool.give_back(packet);
}

TEST(PayloadPool, ReturnsAPayloadWithItsLastReference) {
  PayloadPool pool;
  tlm::tlm_generic_payload* payload = pool.take();
  EXPECT_TRUE(payload->has_mm());
  EXPECT_EQ(payload->get_ref_count(), 1);
  EXPECT_EQ(pool.outstanding(), 1);
  payload->acquire();
  payload->release();
  EXPECT_EQ(pool.outstanding(), 1);
  payload->set_response_status(tlm::TLM_OK_RESPONSE);
  payload->release();
  EXPECT_EQ(pool.outstanding(), 0);
  tlm::tlm_generic_payload* again = pool.take();
  EXPECT_EQ(again, payload);
  EXPECT_EQ(again->get_response_status(), tlm::TLM_INCOMPLETE_RESPONSE);
  EXPECT_NE(pool.take(), again);
  EXPECT_EQ(pool.outstanding(), 2);
}

}  // namespace
}  // namespace weft
