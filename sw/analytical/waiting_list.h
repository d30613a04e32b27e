// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft::analytical {

/// What waits, by `priority`, the highest first; of one priority first come, first served. To add an item and to take
/// the first cost the same however many of its priority wait.
template <typename Item>
class WaitingList {
 public:
  /// Of an item. It holds until one is added or taken.
  struct Place {
    std::size_t row = 0;
    std::size_t at = 0;
  };

  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] Place first() const { return {0, rows_.front().head}; }
  [[nodiscard]] const Item& operator[](Place place) const { return rows_[place.row].items[place.at]; }
  /// Moves to the next item; false behind the last one.
  [[nodiscard]] bool advance(Place& place) const {
    if (++place.at < rows_[place.row].items.size()) return true;
    if (++place.row == rows_.size()) return false;
    place.at = rows_[place.row].head;
    return true;
  }

  void add(const Item& item) {
    const auto row =
        std::find_if(rows_.begin(), rows_.end(), [&item](const Row& each) { return each.priority <= item.priority; });
    if (row != rows_.end() && row->priority == item.priority) return row->items.push_back(item);
    Row fresh = std::move(spare_);
    spare_ = {};
    fresh.priority = item.priority;
    fresh.items.push_back(item);
    rows_.insert(row, std::move(fresh));
  }
  Item take(Place place) {
    Row& row = rows_[place.row];
    const Item item = row.items[place.at];
    if (place.at == row.head) {
      ++row.head;
    } else {
      row.items.erase(row.items.begin() + static_cast<std::ptrdiff_t>(place.at));
    }
    if (row.head == row.items.size()) {
      spare_ = std::move(row);  // whose memory the next one uses
      spare_.items.clear();
      spare_.head = 0;
      rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(place.row));
    } else if (row.head >= kRoom && row.head * 2 > row.items.size()) {
      row.items.erase(row.items.begin(), row.items.begin() + static_cast<std::ptrdiff_t>(row.head));
      row.head = 0;
    }
    return item;
  }

 private:
  static constexpr std::size_t kRoom = 64;  ///< of items that were taken, before it is worth giving it back

  struct Row {
    std::int64_t priority = 0;
    std::vector<Item> items;
    std::size_t head = 0;  ///< those before it are taken
  };

  std::vector<Row> rows_;
  Row spare_;
};

}  // namespace weft::analytical
