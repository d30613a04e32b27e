// SPDX-License-Identifier: Apache-2.0
// Which bits of an address choose channel, bank, row and column.
#include <gtest/gtest.h>

#include <string>

#include "hw/core/random.h"
#include "hw/memory/dram/address_map.h"

namespace weft::dram {
namespace {

Geometry hbm3() {
  Geometry geometry;
  geometry.stack_ids = 2;
  geometry.rows = 16384;
  return geometry;
}

TEST(AddressMap, NamedMapsAreTheOnesOfTheTraces) {
  EXPECT_EQ(AddressMap(Geometry(), "burst").text(), "offset:5,pseudo_channel:1,bank_group:2,column:5,bank:2,row:15");
  EXPECT_EQ(AddressMap(hbm3(), "burst").text(),
            "offset:5,pseudo_channel:1,bank_group:2,column:5,bank:2,stack_id:1,row:14");
  EXPECT_EQ(AddressMap(hbm3(), "128B").text(),
            "offset:5,column:2,pseudo_channel:1,bank_group:2,column:3,bank:2,stack_id:1,row:14");
}

TEST(AddressMap, PlacesBits) {
  const AddressMap map(hbm3(), "offset:5, column:2, pseudo_channel:1, bank_group:2, column:3, bank:2, stack_id:1, row");
  EXPECT_EQ(map.locate(0), Location());
  EXPECT_EQ(map.locate(31), Location());
  EXPECT_EQ(map.locate(3 << 5).column, 3);
  EXPECT_EQ(map.locate(1 << 7).pseudo_channel, 1);
  EXPECT_EQ(map.locate(3 << 8).bank, 3 * 4);
  EXPECT_EQ(map.locate(5 << 10).column, 5 << 2);
  EXPECT_EQ(map.locate(2 << 13).bank, 2);
  EXPECT_EQ(map.locate(1 << 15).bank, 16);
  EXPECT_EQ(map.locate(0x1234 << 16).row, 0x1234U);
  EXPECT_EQ(map.capacity(), 1ULL << 30);
}

TEST(AddressMap, TellsEachBurstApart) {
  Geometry geometry = hbm3();
  geometry.channels = 16;
  Random random(1, "map");
  for (const char* text : {"burst", "128B",
                           "offset,row:3,bank,channel:1,stack_id,row:4,column,channel,bank_group,row,"
                           "pseudo_channel"}) {
    const AddressMap map(geometry, text);
    EXPECT_EQ(map.capacity(), 16ULL << 30);
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t address = random.next() % map.capacity() / 32 * 32;
      EXPECT_EQ(map.address(map.locate(address)), address);
    }
  }
}

TEST(AddressMap, DividesAddressesAmongAnyNumberOfStacks) {
  Geometry geometry = hbm3();
  geometry.channels = 4;
  Random random(1, "stacks");
  for (const int stacks : {1, 2, 3, 5, 6, 7}) {
    for (const std::int64_t interleave : {64, 256, 4096}) {
      const AddressMap map(geometry, "128B", "mapping", stacks, Bytes(interleave));
      EXPECT_EQ(map.capacity(), static_cast<std::uint64_t>(stacks) * (4ULL << 30));
      for (int i = 0; i < 1000; ++i) {
        // There and back, from an address and from a place.
        const std::uint64_t address = random.next() % map.capacity() / 32 * 32;
        EXPECT_EQ(map.address(map.locate(address)), address);
        Location place = map.locate(random.next() % map.capacity());
        place.channel = static_cast<std::uint16_t>(random.next() % static_cast<std::uint64_t>(4 * stacks));
        ASSERT_LT(map.address(place), map.capacity());
        EXPECT_EQ(map.locate(map.address(place)), place);
      }
      // Neighbouring pieces lie in neighbouring stacks.
      for (int piece = 0; piece < 3 * stacks; ++piece) {
        EXPECT_EQ(map.locate(static_cast<std::uint64_t>(piece * interleave)).channel / 4, piece % stacks);
      }
    }
  }
}

/// The highest columns of each row are left to check bits, and addresses have no gap there.
TEST(AddressMap, PassesOverCheckBits) {
  Geometry geometry = hbm3();
  geometry.columns = 64;
  geometry.channels = 2;
  Random random(1, "covers");
  for (const int covers : {1, 3, 7, 15}) {
    for (const int stacks : {1, 3}) {
      const AddressMap map(geometry, "128B", "mapping", stacks, Bytes(256), covers);
      const auto parts = static_cast<std::uint64_t>(covers);
      EXPECT_EQ(map.capacity(), static_cast<std::uint64_t>(geometry.capacity().count() * stacks) / (parts + 1) * parts);
      EXPECT_EQ(map.locate(map.capacity() - 1).row, 16383U);
      for (int i = 0; i < 1000; ++i) {
        const std::uint64_t address = random.next() % map.capacity() / 32 * 32;
        const Location place = map.locate(address);
        ASSERT_LT(place.column, 64 / (covers + 1) * covers);
        EXPECT_EQ(map.address(place), address);
      }
    }
  }
}

TEST(AddressMap, KeepsLessTogetherThanALineWhereCheckBitsNeedTheColumn) {
  const auto text = [](int covers) { return AddressMap(hbm3(), "128B", "mapping", 1, Bytes(256), covers).text(); };
  EXPECT_EQ(text(7), AddressMap(hbm3(), "128B").text());
  EXPECT_EQ(text(15), "offset:5,column:1,pseudo_channel:1,bank_group:2,column:4,bank:2,stack_id:1,row:14");
  EXPECT_EQ(text(31), "offset:5,pseudo_channel:1,bank_group:2,column:5,bank:2,stack_id:1,row:14");
}

TEST(AddressMap, MixesBitsOfTheRowIntoBanks) {
  const AddressMap map(hbm3(), "burst", "mapping", 1, Bytes(256), 0, "bank_group^row:1, bank^row");
  EXPECT_EQ(map.hash_text(), "bank_group^row:1,bank^row:0");
  const std::uint64_t row = 1 << 16;
  EXPECT_EQ(map.locate(0), Location());
  // Row 1 changes the bank's lowest bit, row 2 its next and the lowest of its group, row 4 the next of its group.
  EXPECT_EQ(map.locate(1 * row).bank, 1);
  EXPECT_EQ(map.locate(2 * row).bank, 2 + (1 << 2));
  EXPECT_EQ(map.locate(4 * row).bank, 2 << 2);
  EXPECT_EQ(map.locate(1 * row + (1 << 13)).bank, 0);
  EXPECT_EQ(map.locate(5 * row).row, 5U);

  Geometry geometry = hbm3();
  geometry.channels = 4;
  EXPECT_EQ(AddressMap(geometry, "burst", "mapping", 1, Bytes(256), 0, "row").hash_text(),
            "pseudo_channel^row:0,channel^row:1,bank_group^row:3,bank^row:5,stack_id^row:7");
  geometry.rows = 16;
  EXPECT_EQ(AddressMap(geometry, "burst", "mapping", 1, Bytes(256), 0, "row").hash_text(),
            "pseudo_channel^row:0,channel^row:1,bank_group^row:3");
  EXPECT_EQ(AddressMap(geometry, "burst").hash_text(), "off");
}

TEST(AddressMap, IsAsInvertibleWithAHash) {
  Geometry geometry = hbm3();
  geometry.columns = 64;
  geometry.channels = 8;
  Random random(1, "hash");
  for (const char* hash :
       {"row", "bank^row:2,bank^row:7,channel^row:1", "stack_id^row:13,pseudo_channel^row,bank_group^row"}) {
    for (const int covers : {0, 7}) {
      for (const int stacks : {1, 3}) {
        const AddressMap map(geometry, "128B", "mapping", stacks, Bytes(256), covers, hash);
        for (int i = 0; i < 1000; ++i) {
          const std::uint64_t address = random.next() % map.capacity() / 32 * 32;
          const Location place = map.locate(address);
          ASSERT_LT(place.channel, 8 * stacks);
          ASSERT_EQ(map.address(place), address) << hash;
        }
      }
    }
  }
}

TEST(AddressMap, SaysWhatIsWrongWithAHash) {
  const auto fails = [](const char* hash, const std::string& part) {
    try {
      const AddressMap map(hbm3(), "burst", "some.mapping", 1, Bytes(256), 0, hash);
      ADD_FAILURE() << hash;
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.path(), "some.hash");
      EXPECT_NE(error.expected().find(part), std::string::npos) << error.expected();
    }
  };
  fails("", "off, row, or a list");
  fails("bank", "each with ^row:BIT, such as bank_group^row:0,bank^row:2; there is \"bank\"");
  fails("column^row:2", "there is \"column^row:2\"");
  fails("bnak^row:2", "there is \"bnak^row:2\"");
  fails("bank^row:x", "a bit of the row after bank^row:, not \":x\"");
  fails("bank^row2", "a bit of the row after bank^row:, not \"2\"");
  fails("bank^row:-1", "a bit of the row after bank^row:");
  fails("bank^row:13", "bits of the row, which has 14, for the 2 of bank from bit 13");
  fails("bank^row:2147483647", "bits of the row, which has 14, for the 2 of bank from bit 2147483647");
  fails("bank^row,bank^row,bank^row,bank^row,bank^row,bank^row,bank^row,bank^row,bank^row", "at most 8 fields");
}

TEST(AddressMap, SaysWhatIsWrong) {
  const auto fails = [](const char* text, const std::string& part, int covers = 0) {
    try {
      const AddressMap map(hbm3(), text, "some.mapping", 1, Bytes(256), covers);
      ADD_FAILURE() << text;
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.path(), "some.mapping");
      EXPECT_NE(error.expected().find(part), std::string::npos) << error.expected();
    }
  };
  fails("", "there is no \"\"");
  fails("offset,bnak,row", "there is no \"bnak\"");
  fails("offset:5,pseudo_channel:1,bank_group:2,column:5,bank:2,row", "1 bits of stack_id");
  fails("offset:5,pseudo_channel:2,bank_group:2,column:5,bank:2,stack_id:1,row", "1 bits of pseudo_channel");
  fails("offset:5,pseudo_channel:1,bank_group:2,column:5,bank:2,stack_id:1,row:3", "14 bits of row");
  fails("pseudo_channel,offset,bank_group,column,bank,stack_id,row", "offset first");
  fails("offset,column:2,pseudo_channel,bank_group,column,bank,stack_id,row",
        "the 4 highest bits of column side by side, for inline ECC that covers 15 bursts", 15);
  fails("offset,column:1,column:2147483647", "5 bits of column in all, as the geometry has, not 2147483648");
  fails("offset:x,row", "a number of bits after offset:");
  fails("offset:-1,row", "a number of bits after offset:");
}

}  // namespace
}  // namespace weft::dram
