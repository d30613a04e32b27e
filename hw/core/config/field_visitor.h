// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "hw/core/fields.h"
#include "hw/core/power.h"
#include "hw/core/quantity.h"

/// The visitor that every `Config::fields` of Weft is called with (see hw/core/fields.h). It erases the member types,
/// so that reading, printing and documenting are each written once and compiled once: in platforms/config.
namespace weft {

/// An integer member of any width.
struct IntegerRef {
  std::function<std::int64_t()> load;
  Range type;  ///< What the member can hold.
  std::function<void(std::int64_t)> store;
};

/// A member whose values have names (`enum_names`), as an index into these.
struct EnumRef {
  std::vector<std::string_view> names;
  bool open = false;  ///< users provide some of them: no enum
  std::function<std::size_t()> load;
  std::function<void(std::size_t)> store;
};

/// A member that is not itself a Config.
using Scalar = std::variant<Time*, Bytes*, Rate*, Frequency*, Compute*, Energy*, Power*, bool*, double*, std::string*,
                            IntegerRef, EnumRef>;

/// An enum, or a name that a registry has.
template <typename T>
concept NamedValue = requires {
  enum_names(T{});
};

template <typename T>
Scalar make_scalar(T& member) {
  if constexpr (NamedValue<T>) {
    EnumRef ref;
    ref.open = !std::is_enum_v<T>;
    std::vector<T> values;
    for (const auto& [name, value] : enum_names(T{})) {
      ref.names.push_back(name);
      values.push_back(value);
    }
    ref.load = [&member, values] {
      return static_cast<std::size_t>(std::find(values.begin(), values.end(), member) - values.begin());
    };
    ref.store = [&member, values](std::size_t index) { member = values[index]; };
    return ref;
  } else if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    constexpr std::uint64_t kHighest = std::numeric_limits<T>::max();
    const Range type{static_cast<std::int64_t>(std::numeric_limits<T>::min()),
                     static_cast<std::int64_t>(std::min<std::uint64_t>(kHighest, INT64_MAX))};
    return IntegerRef{[&member] { return static_cast<std::int64_t>(member); }, type,
                      [&member](std::int64_t value) { member = static_cast<T>(value); }};
  } else {
    return &member;
  }
}

class FieldVisitor;

/// A struct that lists its members with `fields(visitor)`.
template <typename T>
concept ConfigStruct = requires(T& config, FieldVisitor& visitor) {
  config.fields(visitor);
};

/// The kind of part that a Config is described by: its `kPartKind` if it has one, else the name of the member it is
/// read into.
template <typename T>
std::string_view part_kind(std::string_view member) {
  if constexpr (requires { T::kPartKind; }) return T::kPartKind;
  return member;
}

/// A member that is a list of scalars or of Configs. A Config with a `kShorthand`, the name of one of its members that
/// is a string, can be given as that string alone.
struct ListRef {
  std::function<std::size_t()> size;
  std::function<void(std::size_t)> resize;  ///< what is new is as the prototype
  /// An element; null in a list of Configs.
  std::function<Scalar(std::size_t)> scalar;
  /// Visits an element; null in a list of scalars.
  std::function<void(std::size_t, FieldVisitor&)> fields;
  Range range;
  std::string_view shorthand;
};

class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;

  /// Without a range, integers and doubles may be anything from 0 up.
  template <typename T>
  void operator()(std::string_view name, T& member, std::string_view doc = {}, Range range = {}) {
    if constexpr (ConfigStruct<T>) {
      nested(name, doc, part_kind<T>(name), [&member](FieldVisitor& inner) { member.fields(inner); });
    } else {
      scalar(name, doc, make_scalar(member), range);
    }
  }
  /// A list of scalars, each within the range.
  template <typename T>
  void operator()(std::string_view name, std::vector<T>& member, std::string_view doc = {}, Range range = {}) {
    ListRef ref;
    ref.size = [&member] { return member.size(); };
    ref.resize = [&member](std::size_t size) { member.assign(size, T()); };
    ref.scalar = [&member](std::size_t i) { return make_scalar(member[i]); };
    ref.range = range;
    list(name, doc, ref);
  }
  /// A list of Configs; `prototype` has the defaults of an element.
  template <ConfigStruct C>
  void operator()(std::string_view name, std::vector<C>& member, std::string_view doc = {}, const C& prototype = {}) {
    ListRef ref;
    ref.size = [&member] { return member.size(); };
    ref.resize = [&member, prototype](std::size_t size) { member.assign(size, prototype); };
    ref.fields = [&member](std::size_t i, FieldVisitor& inner) { member[i].fields(inner); };
    if constexpr (requires { C::kShorthand; }) ref.shorthand = C::kShorthand;
    list(name, doc, ref);
  }

 protected:
  using Fields = std::function<void(FieldVisitor&)>;
  virtual void scalar(std::string_view name, std::string_view doc, const Scalar& member, Range range) = 0;
  virtual void nested(std::string_view name, std::string_view doc, std::string_view kind, const Fields& fields) = 0;
  virtual void list(std::string_view name, std::string_view doc, const ListRef& member) = 0;
};

}  // namespace weft
