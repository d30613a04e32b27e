// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/support/benches/sockets.h"

namespace weft::test {

/// One blocking transport with byte enables, which repeat, and a streaming width. Returns the response.
inline tlm::tlm_response_status transport_enabled(Initiator& master, tlm::tlm_command command, std::uint64_t address,
                                                  std::vector<std::byte>& data, std::vector<unsigned char> enables,
                                                  std::uint32_t streaming_width) {
  master.prepare(command, address, data.data(), static_cast<std::uint32_t>(data.size()));
  master.payload.set_byte_enable_ptr(enables.data());
  master.payload.set_byte_enable_length(static_cast<unsigned int>(enables.size()));
  master.payload.set_streaming_width(streaming_width);
  sc_core::sc_time delay;
  master.socket->b_transport(master.payload, delay);
  master.payload.set_byte_enable_ptr(nullptr);
  return master.status();
}

/// What a memory does with byte enables and a streaming width, at `address` and the 100 bytes from there on, by
/// blocking transport. Debug transport, which has neither, sees what they left.
inline void expect_byte_enables(Initiator& master, std::uint64_t address) {
  constexpr std::uint32_t kBytes = 100;
  const std::vector<unsigned char> enables = {TLM_BYTE_ENABLED, TLM_BYTE_DISABLED, TLM_BYTE_ENABLED};
  const std::vector<std::byte> before = pattern_bytes(kBytes, 11);
  std::vector<std::byte> written = pattern_bytes(kBytes, 12);
  const auto masked = [&](const std::vector<std::byte>& enabled, const std::vector<std::byte>& disabled) {
    std::vector<std::byte> bytes = enabled;
    for (std::size_t i = 1; i < kBytes; i += enables.size()) bytes[i] = disabled[i];
    return bytes;
  };
  const auto held = [&] {
    std::vector<std::byte> bytes(kBytes);
    EXPECT_EQ(master.debug(tlm::TLM_READ_COMMAND, address, bytes.data(), kBytes), kBytes);
    return bytes;
  };
  master.write(address, before.data(), kBytes);
  EXPECT_EQ(transport_enabled(master, tlm::TLM_WRITE_COMMAND, address, written, enables, kBytes), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(held(), masked(written, before));
  const std::vector<std::byte> mine = pattern_bytes(kBytes, 13);
  std::vector<std::byte> read = mine;
  EXPECT_EQ(transport_enabled(master, tlm::TLM_READ_COMMAND, address, read, enables, UINT32_MAX), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(read, masked(masked(written, before), mine));

  // What is refused changes nothing.
  EXPECT_EQ(transport_enabled(master, tlm::TLM_WRITE_COMMAND, address, written, enables, kBytes - 1),
            tlm::TLM_BURST_ERROR_RESPONSE);
  master.prepare(tlm::TLM_WRITE_COMMAND, address, written.data(), kBytes);
  std::vector<unsigned char> none = {TLM_BYTE_DISABLED};
  master.payload.set_byte_enable_ptr(none.data());
  master.payload.set_byte_enable_length(0);
  sc_core::sc_time delay;
  master.socket->b_transport(master.payload, delay);
  EXPECT_EQ(master.status(), tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
  master.payload.set_byte_enable_ptr(nullptr);
  EXPECT_EQ(held(), masked(written, before));

  // The attributes that a debug transport must not look at.
  master.prepare(tlm::TLM_WRITE_COMMAND, address, written.data(), kBytes);
  master.payload.set_byte_enable_ptr(none.data());
  master.payload.set_byte_enable_length(1);
  master.payload.set_streaming_width(0);
  EXPECT_EQ(master.socket->transport_dbg(master.payload), kBytes);
  master.payload.set_byte_enable_ptr(nullptr);
  EXPECT_EQ(held(), written);
}

}  // namespace weft::test
