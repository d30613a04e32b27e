// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "traces/chakra/joined_order.h"

namespace weft::schedules {

/// Keeps ranks from beginning what would make them wait for each other for ever.
///
/// Ranks of a group begin its collectives in one order. A rank may have a limit of collectives and sends that it has
/// under way. So whoever begins a collective decides that others come behind it: of the group on all of its ranks, and
/// on the rank itself all others once it has as many under way as it may. That is allowed where nothing of these is
/// something that the collective waits for, by dependencies of any rank or by what was decided before. Where all is
/// begun in the order of the items that is always so; else it is looked up among what has not been begun by all.
///
/// There is always a rank that may go on: what waits for nothing that others have to begin is allowed.
class BeginOrder {
 public:
  using Item = chakra::JoinedOrder::Item;
  static constexpr Item kNone = chakra::JoinedOrder::kNone;

  /// `limit` is how many a rank has under way; 0: any number.
  BeginOrder(std::shared_ptr<const chakra::JoinedOrder> order, int limit);

  /// kNone where nothing is known of the node.
  [[nodiscard]] Item item_of(int rank, std::uint64_t node) const;
  /// Whether the rank, which has room for it, may begin the item now.
  bool allows(int rank, Item item);
  void begin(int rank, Item item);
  /// The rank has room for another one.
  void end(int rank, Item item);
  /// Since it was last asked, whether other ranks may begin what they could not.
  bool has_changed();

 private:
  struct Rank {
    std::vector<Item> items;  ///< in their order
    std::vector<bool> begun;
    std::size_t first = 0;  ///< that it has not begun
    std::vector<Item> under_way;
  };

  [[nodiscard]] bool has_begun(const Rank& rank, Item item) const;
  [[nodiscard]] std::size_t place_of(const Rank& rank, Item item) const;
  /// Whether all that it has under way waits for other ranks, and it can begin nothing more.
  [[nodiscard]] bool is_held_up(const Rank& rank, int more = 0) const;
  /// Whether something that the item waits for would come behind it.
  bool goes_against(const Rank& rank, std::uint32_t number, Item item);
  /// Whether nothing that a place waits for has to be begun.
  bool settle(Item place);
  void reach(Item item, Item bound);

  std::shared_ptr<const chakra::JoinedOrder> order_;
  int limit_;
  bool has_changed_ = false;
  std::vector<Rank> ranks_;
  std::vector<std::uint32_t> left_;                              ///< of each item, ranks that have not begun it
  std::unordered_map<std::uint32_t, std::deque<Item>> decided_;  ///< by group: those that some have begun, in order
  std::unordered_map<Item, std::uint32_t> ahead_;                ///< begun before lower ones, by so many ranks
  std::vector<std::uint32_t> seen_;                              ///< in which search
  std::uint32_t search_ = 0;
  std::vector<Item> reached_;
  std::vector<Item> places_;
};

}  // namespace weft::schedules
