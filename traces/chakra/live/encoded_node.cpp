// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/live/encoded_node.h"

namespace weft::chakra {
namespace {

/// Field numbers of Node.
constexpr std::uint64_t kId = 1;
constexpr std::uint64_t kControl = 4;
constexpr std::uint64_t kData = 5;

enum WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

bool take_varint(std::string_view& bytes, std::uint64_t& value) {
  constexpr std::size_t kLongest = 10;
  value = 0;
  for (std::size_t i = 0; i < kLongest && i < bytes.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << (7 * i);
    if ((byte & 0x80U) != 0) continue;
    bytes.remove_prefix(i + 1);
    return true;
  }
  return false;
}

bool skip(std::string_view& bytes, std::uint64_t count) {
  if (count > bytes.size()) return false;
  bytes.remove_prefix(count);
  return true;
}

}  // namespace

bool scan_encoded(std::string_view message, std::uint64_t& id, std::vector<std::uint64_t>& control,
                  std::vector<std::uint64_t>& data) {
  id = 0;
  control.clear();
  data.clear();
  while (!message.empty()) {
    std::uint64_t tag = 0;
    if (!take_varint(message, tag)) return false;
    const std::uint64_t field = tag >> 3U;
    std::vector<std::uint64_t>* const list = field == kControl ? &control : field == kData ? &data : nullptr;
    std::uint64_t value = 0;
    switch (tag & 7U) {
      case kVarint:
        if (!take_varint(message, value)) return false;
        if (field == kId) id = value;
        if (list != nullptr) list->push_back(value);
        break;
      case kFixed64:
        if (!skip(message, 8)) return false;
        break;
      case kFixed32:
        if (!skip(message, 4)) return false;
        break;
      case kBytes: {
        std::uint64_t length = 0;
        if (!take_varint(message, length) || length > message.size()) return false;
        std::string_view packed = message.substr(0, length);
        message.remove_prefix(length);
        while (list != nullptr && !packed.empty()) {
          if (!take_varint(packed, value)) return false;
          list->push_back(value);
        }
        break;
      }
      default:
        return false;  // groups, which no schema of Chakra has
    }
  }
  return true;
}

}  // namespace weft::chakra
