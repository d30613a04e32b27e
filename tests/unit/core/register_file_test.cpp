// SPDX-License-Identifier: Apache-2.0
#include "hw/core/register_file.h"

#include <gtest/gtest.h>

#include <cstring>

namespace weft {
namespace {

using namespace literals;

/// A file with one register at 0x10 of 4 bytes, and a window of four at 0x100 that take 1 to 8 bytes.
struct RegisterBench {
  Dispatcher dispatcher{"dispatcher"};
  RegisterFile file{dispatcher};
  tlm::tlm_generic_payload payload;
  std::uint64_t address = 0;
  std::uint32_t value = 0;
  Time at;

  RegisterBench() {
    const auto take = [this](std::uint64_t where, const void* data, std::uint32_t bytes, Time when) {
      address = where;
      at = when;
      value = 0;
      std::memcpy(&value, data, std::min<std::size_t>(bytes, sizeof value));
      return value != 0xdead;
    };
    file.add_window(0x10, 1, 1, 4, 4, take);
    file.add_window(0x100, 4, 8, 1, 8, take);
  }
  tlm::tlm_response_status write(std::uint64_t where, std::uint32_t what, std::uint32_t bytes = 4) {
    std::uint64_t wide = what;
    return write_through(file, payload, where, &wide, bytes, 7_ns);
  }
};

TEST(RegisterFile, HandsAWriteToItsWindowWithTheLocalTime) {
  RegisterBench bench;
  EXPECT_EQ(bench.write(0x10, 42), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(bench.address, 0x10U);
  EXPECT_EQ(bench.value, 42U);
  EXPECT_EQ(bench.at, 7_ns);
  EXPECT_EQ(bench.write(0x118, 43, 8), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(bench.address, 0x118U);
}

TEST(RegisterFile, AnswersWhatItDoesNotTakeWithTheRightResponse) {
  RegisterBench bench;
  EXPECT_EQ(bench.write(0x14, 1), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(bench.write(0x104, 1), tlm::TLM_ADDRESS_ERROR_RESPONSE);  // between two registers
  EXPECT_EQ(bench.write(0x120, 1), tlm::TLM_ADDRESS_ERROR_RESPONSE);  // behind the last
  EXPECT_EQ(bench.write(0x10, 1, 8), tlm::TLM_BURST_ERROR_RESPONSE);
  EXPECT_EQ(bench.write(0x10, 0xdead), tlm::TLM_GENERIC_ERROR_RESPONSE);
  sc_core::sc_time delay;
  bench.payload.set_read();
  bench.payload.set_address(0x10);
  bench.file.b_transport(bench.payload, delay);
  EXPECT_EQ(bench.payload.get_response_status(), tlm::TLM_COMMAND_ERROR_RESPONSE);
}

TEST(RegisterFile, RefusesByteEnablesAndStreaming) {
  RegisterBench bench;
  std::uint32_t value = 7;
  unsigned char enabled = TLM_BYTE_ENABLED;
  sc_core::sc_time delay;
  bench.payload.set_command(tlm::TLM_WRITE_COMMAND);
  bench.payload.set_address(0x10);
  bench.payload.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
  bench.payload.set_data_length(4);
  bench.payload.set_streaming_width(2);
  bench.file.b_transport(bench.payload, delay);
  EXPECT_EQ(bench.payload.get_response_status(), tlm::TLM_BURST_ERROR_RESPONSE);
  bench.payload.set_streaming_width(4);
  bench.payload.set_byte_enable_ptr(&enabled);
  bench.payload.set_byte_enable_length(1);
  bench.file.b_transport(bench.payload, delay);
  EXPECT_EQ(bench.payload.get_response_status(), tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
  EXPECT_EQ(bench.address, 0U);  // the register was not written
}

TEST(RegisterFile, CompletesANonBlockingWriteAtOnce) {
  RegisterBench bench;
  std::uint32_t value = 5;
  bench.payload.set_command(tlm::TLM_WRITE_COMMAND);
  bench.payload.set_address(0x10);
  bench.payload.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
  bench.payload.set_data_length(4);
  bench.payload.set_streaming_width(4);
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay;
  EXPECT_EQ(bench.file.nb_transport_fw(bench.payload, phase, delay), tlm::TLM_COMPLETED);
  EXPECT_EQ(phase, tlm::BEGIN_RESP);
  EXPECT_EQ(bench.value, 5U);
}

}  // namespace
}  // namespace weft
