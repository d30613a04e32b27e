// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hw/core/config/named.h"

namespace weft {

namespace detail {
/// Throws std::invalid_argument for a name that is taken, or that a path of a configuration cannot have.
void check_new_name(const std::string& what, std::string_view name, bool is_taken);
[[noreturn]] void fail_unknown_name(const std::vector<std::string>& names, std::string_view name,
                                    const std::string& path);
/// The key under which the fields of an entry stand: its name with _ for -.
[[nodiscard]] std::string section_key(std::string name);
/// `doc` may be empty.
[[nodiscard]] Section section_of(const std::string& what, const std::string& name, const AnyConfig& config,
                                 const std::string& doc);
}  // namespace detail

/// What a platform can name in one kind of place, such as collective algorithms: Weft's own, and what a user provides
/// before the platform is read. An Entry has a `name`, and says what users see of it and how it is made; it may have a
/// `doc`, a few words for the reference, and fields of its own: an AnyConfig `config` with a `config_doc`. Names keep
/// the order in which they were provided, and entries their places in memory.
template <typename Entry>
class Registry final : public Names {
 public:
  /// `what` an entry is, for messages: "collective algorithm". `own` are what makes Weft's own.
  explicit Registry(std::string what, std::initializer_list<Entry (*)()> own = {}) : what_(std::move(what)) {
    for (Entry (*make)() : own) provide(make());
  }

  /// Throws std::invalid_argument for a name that is there already, or that has other characters than letters, digits,
  /// - and _.
  void provide(Entry entry) {
    detail::check_new_name(what_, entry.name, find(entry.name) != nullptr);
    entries_.push_back(std::move(entry));
  }

  /// Null where there is none of this name.
  [[nodiscard]] const Entry* find(std::string_view name) const {
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [name](const Entry& entry) { return entry.name == name; });
    return found == entries_.end() ? nullptr : &*found;
  }
  /// Throws ConfigError, with `path`, the names that there are and those that are like it, for an unknown name.
  [[nodiscard]] const Entry& at(std::string_view name, const std::string& path) const {
    const Entry* entry = find(name);
    if (entry == nullptr) detail::fail_unknown_name(names(), name, path);
    return *entry;
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const Entry& entry : entries_) all.push_back(entry.name);
    return all;
  }
  [[nodiscard]] auto begin() const { return entries_.begin(); }
  [[nodiscard]] auto end() const { return entries_.end(); }

  [[nodiscard]] std::size_t size() const override { return entries_.size(); }
  [[nodiscard]] const std::string& name(std::size_t index) const override { return entries_[index].name; }
  [[nodiscard]] std::string doc() const override {
    std::string text;
    if constexpr (requires(const Entry& each) { each.doc; }) {
      for (const Entry& each : entries_) text += (text.empty() ? "" : "; ") + each.name + ": " + each.doc;
    }
    return text;
  }
  [[nodiscard]] std::vector<Section> sections() const override {
    std::vector<Section> all;
    if constexpr (requires(const Entry& each) { each.config_doc; }) {
      for (const Entry& each : entries_) {
        if (each.config.exists()) all.push_back(detail::section_of(what_, each.name, each.config, each.config_doc));
      }
    }
    return all;
  }

 private:
  std::string what_;
  std::deque<Entry> entries_;
};

}  // namespace weft
