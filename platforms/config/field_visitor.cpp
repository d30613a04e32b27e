// SPDX-License-Identifier: Apache-2.0
#include "platforms/config/field_visitor.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "hw/core/config/number_limits.h"
#include "hw/core/quantity_pattern.h"
#include "platforms/config/text.h"

namespace weft::platforms {
namespace {

using nlohmann::json;

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

/// A number, or a share in percent.
std::optional<double> number_of(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  double read = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (error != std::errc() || std::string_view(end) != "%" || !std::isfinite(read)) return std::nullopt;
  return read / 100;
}

/// What the quantities share: a name, an example and a parser.
template <typename Q>
struct Unit;
template <>
struct Unit<Time> {
  static constexpr const char* kName = "time";
  static constexpr const char* kExample = "1.5us";
  static constexpr auto kParse = parse_time;
};
template <>
struct Unit<Bytes> {
  static constexpr const char* kName = "size";
  static constexpr const char* kExample = "64KiB";
  static constexpr auto kParse = parse_bytes;
};
template <>
struct Unit<Rate> {
  static constexpr const char* kName = "rate";
  static constexpr const char* kExample = "400Gbps";
  static constexpr auto kParse = parse_rate;
};
template <>
struct Unit<Frequency> {
  static constexpr const char* kName = "frequency";
  static constexpr const char* kExample = "1980MHz";
  static constexpr auto kParse = parse_frequency;
};
template <>
struct Unit<Compute> {
  static constexpr const char* kName = "compute rate";
  static constexpr const char* kExample = "989TFLOPS";
  static constexpr auto kParse = parse_compute;
};
template <>
struct Unit<Energy> {
  static constexpr const char* kName = "energy";
  static constexpr const char* kExample = "0.75pJ";
  static constexpr auto kParse = parse_energy;
};
template <>
struct Unit<Power> {
  static constexpr const char* kName = "power";
  static constexpr const char* kExample = "700W";
  static constexpr auto kParse = parse_power;
};

bool within(Range range, std::int64_t count) {
  return count >= range.min && count <= range.max;
}

template <typename U>
bool parses(const std::string& text) {
  try {
    static_cast<void>(U::kParse(text));
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

/// The units that the quantity may have, in brackets, where its unit is what is wrong with it; else empty.
template <typename U>
std::string units_wanted(const json& value) {
  if (!value.is_string()) return {};
  try {
    static_cast<void>(U::kParse(value.get_ref<const std::string&>()));
  } catch (const std::invalid_argument& error) {
    return units_in_brackets(error);
  }
  return {};
}

/// Of a quantity's text; one that rounds to nothing does not.
bool says_zero(const std::string& text) {
  return text.find_first_of("123456789") == std::string::npos;
}

Range intersect(Range a, Range b) {
  return {std::max(a.min, b.min), std::min(a.max, b.max)};
}

/// `print` writes a limit in the field's unit. A lower limit of `usual` alone goes without saying.
template <typename Print>
std::string range_text(Range range, std::int64_t usual, const Print& print) {
  if (range.max < INT64_MAX) return print(range.min) + " to " + print(range.max);
  if (range.min != usual) return "at least " + print(range.min);
  return {};
}

std::string number(std::int64_t count) {
  return std::to_string(count);
}

/// "from 1 to 8" after a noun, but ", at least 1".
std::string with_limits(std::string noun, const std::string& limits) {
  if (limits.empty()) return noun;
  return noun + (limits.starts_with("at least") ? ", " : " from ") + limits;
}

std::optional<std::int64_t> integer(const json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  return value.get<std::int64_t>();
}

/// Collects the rows of the configuration reference.
/// Of the name of a type: "integers", "one of a, b" as it is.
std::string plural(const std::string& type) {
  return type.starts_with("one of ") ? type : type + "s";
}

class Describer : public FieldVisitor {
 public:
  Describer(std::vector<FieldDoc>& rows, std::string prefix) : rows_(rows), prefix_(std::move(prefix)) {}

 protected:
  void scalar(std::string_view name, std::string_view doc, const Scalar& member, Range range) override {
    rows_.push_back({join_path(prefix_, name),
                     type_text(member),
                     {},
                     value_of(member).dump(),
                     limits_text(member, range),
                     std::string(doc)});
  }
  void nested(std::string_view name, std::string_view doc, std::string_view kind, const Fields& fields) override {
    const std::string path = join_path(prefix_, name);
    rows_.push_back({path, "object", std::string(kind), {}, {}, std::string(doc)});
    Describer inner(rows_, path);
    fields(inner);
  }
  void list(std::string_view name, std::string_view doc, const ListRef& member) override {
    const std::string path = join_path(prefix_, name);
    const std::string value = default_of(member);
    member.resize(1);  // an element to describe; it is a copy of the Config that is visited
    if (member.scalar) {
      const Scalar element = member.scalar(0);
      rows_.push_back({path,
                       "list of " + plural(type_text(element)),
                       {},
                       value,
                       limits_text(element, member.range),
                       std::string(doc)});
      return;
    }
    const std::string strings =
        member.shorthand.empty() ? "" : ", or of strings for their `" + std::string(member.shorthand) + "`";
    rows_.push_back({path, "list of objects" + strings, {}, {}, {}, std::string(doc)});
    Describer inner(rows_, join_path(path, "N"));
    member.fields(0, inner);
  }

 private:
  static std::string default_of(const ListRef& member) {
    json values = json::array();
    for (std::size_t i = 0; member.scalar && i < member.size(); ++i) values.push_back(value_of(member.scalar(i)));
    return values.dump();
  }

  std::vector<FieldDoc>& rows_;
  std::string prefix_;
};

/// Puts the fields of one Config, and of those within it, into an object.
class JsonWriter : public FieldVisitor {
 public:
  explicit JsonWriter(nlohmann::ordered_json& object) : object_(object) {}

 protected:
  void scalar(std::string_view name, std::string_view, const Scalar& member, Range) override {
    object_[std::string(name)] = value_of(member);
  }
  void nested(std::string_view name, std::string_view, std::string_view, const Fields& fields) override {
    object_[std::string(name)] = fields_to_json(fields);
  }
  void list(std::string_view name, std::string_view, const ListRef& member) override {
    nlohmann::ordered_json values = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < member.size(); ++i) {
      values.push_back(member.scalar ? nlohmann::ordered_json(value_of(member.scalar(i)))
                                     : fields_to_json([&](FieldVisitor& visitor) { member.fields(i, visitor); }));
    }
    object_[std::string(name)] = values;
  }

 private:
  nlohmann::ordered_json& object_;
};

}  // namespace

std::string type_text(const Scalar& scalar) {
  return std::visit(Overloaded{
                        []<typename Tag>(Quantity<Tag>*) -> std::string { return Unit<Quantity<Tag>>::kName; },
                        [](bool*) -> std::string { return "true or false"; },
                        [](double*) -> std::string { return "number"; },
                        [](std::string*) -> std::string { return "string"; },
                        [](const IntegerRef&) -> std::string { return "integer"; },
                        [](const EnumRef& ref) { return "one of " + join(ref.names, ", "); },
                    },
                    scalar);
}

std::string limits_text(const Scalar& scalar, Range range) {
  return std::visit(Overloaded{
                        [&]<typename Tag>(Quantity<Tag>*) {
                          return range_text(range, 0, [](std::int64_t count) { return to_text(Quantity<Tag>(count)); });
                        },
                        [&](double*) { return number_limits(range); },
                        [&](const IntegerRef&) { return range_text(range, INT64_MIN, number); },
                        [](const auto&) { return std::string(); },
                    },
                    scalar);
}

std::string expectation(const Scalar& scalar, Range range) {
  return std::visit(Overloaded{
                        [&]<typename Tag>(Quantity<Tag>*) {
                          using Q = Unit<Quantity<Tag>>;
                          const std::string noun = std::string(Q::kName[0] == 'e' ? "an " : "a ") + Q::kName;
                          // Limits in quotes are examples of how it is written, too.
                          const auto print = [](std::int64_t count) {
                            return in_quotes(to_text(Quantity<Tag>(count)));
                          };
                          const std::string limits = range_text(range, 0, print);
                          return limits.empty() ? noun + " with its unit, such as " + in_quotes(Q::kExample)
                                                : with_limits(noun, limits);
                        },
                        [&](double*) { return number_within(range); },
                        [&](const IntegerRef& ref) {
                          return with_limits("an integer", range_text(intersect(range, ref.type), INT64_MIN, number));
                        },
                        [](const EnumRef& ref) { return "one of " + join(ref.names, ", "); },
                        [](bool*) -> std::string { return "true or false"; },
                        [](std::string*) -> std::string { return "a string"; },
                    },
                    scalar);
}

std::string expectation(const Scalar& scalar, Range range, const json& got) {
  const std::string usual = expectation(scalar, range);
  const std::string units =
      std::visit(Overloaded{[&]<typename Tag>(Quantity<Tag>*) { return units_wanted<Unit<Quantity<Tag>>>(got); },
                            [](const auto&) { return std::string(); }},
                 scalar);
  if (!units.empty()) return usual + units;
  if (range.max < INT64_MAX) return usual;
  const auto up_to = [&](const std::string& noun, const auto& print) {
    return noun + " from " + print(range.min) + " to " + print(INT64_MAX);
  };
  return std::visit(
      Overloaded{
          [&]<typename Tag>(Quantity<Tag>*) {
            using Q = Unit<Quantity<Tag>>;
            if (!got.is_string()) return usual;
            const auto& text = got.get_ref<const std::string&>();
            if (range.min == 0 && text.starts_with('-') && parses<Q>(text.substr(1))) {
              return std::string(Q::kName[0] == 'e' ? "an " : "a ") + Q::kName + " of at least " +
                     in_quotes(to_text(Quantity<Tag>(0)));
            }
            const std::size_t unit = std::min(text.size(), text.find_first_not_of("0123456789."));
            const std::string noun = std::string(Q::kName[0] == 'e' ? "an " : "a ") + Q::kName;
            if (parses<Q>(text) && !says_zero(text) && Q::kParse(text).count() == 0) {
              return noun + " of 0 or at least " + in_quotes(to_text(Quantity<Tag>(1)));
            }
            const bool too_large = unit > 0 && !parses<Q>(text) && parses<Q>("1" + text.substr(unit));
            if (!too_large) return usual;
            return up_to(noun, [](std::int64_t count) { return in_quotes(to_text(Quantity<Tag>(count))); });
          },
          [&](const IntegerRef& ref) {
            const bool too_large =
                ref.type.max == INT64_MAX && got.is_number() && got.get<double>() >= static_cast<double>(INT64_MAX);
            return too_large ? up_to("an integer", number) : usual;
          },
          [&](const auto&) { return usual; },
      },
      scalar);
}

std::string pattern_of(const Scalar& scalar) {
  return std::visit(Overloaded{
                        []<typename Tag>(Quantity<Tag>* member) { return text_pattern(*member); },
                        [](const auto&) { return std::string(); },
                    },
                    scalar);
}

std::string example_of(const Scalar& scalar) {
  return std::visit(Overloaded{
                        []<typename Tag>(Quantity<Tag>*) -> std::string { return Unit<Quantity<Tag>>::kExample; },
                        [](const auto&) { return std::string(); },
                    },
                    scalar);
}

json value_of(const Scalar& scalar) {
  return std::visit(Overloaded{
                        []<typename Tag>(Quantity<Tag>* member) { return json(to_text(*member)); },
                        [](auto* member) { return json(*member); },
                        [](const IntegerRef& ref) { return json(ref.load()); },
                        [](const EnumRef& ref) { return json(ref.names.at(ref.load())); },
                    },
                    scalar);
}

double weight_of(const Scalar& scalar) {
  constexpr double kMega = 1e6;
  constexpr double kGiga = 1e9;
  const auto inverse = [](std::int64_t count, double usual) {
    return count > 0 ? usual / static_cast<double>(count) : 0;
  };
  return std::visit(Overloaded{
                        [&](Time* member) { return static_cast<double>(member->count()) / kMega; },
                        [&](Bytes* member) { return static_cast<double>(member->count()) / 1024; },
                        [&](Energy* member) { return static_cast<double>(member->count()) / kGiga; },
                        [&](Rate* member) { return inverse(member->count(), kGiga); },
                        [&](Frequency* member) { return inverse(member->count(), kGiga); },
                        [&](Compute* member) { return inverse(member->count(), kMega * kMega); },
                        [&](Power* member) { return inverse(member->count(), 1000); },
                        [](double* member) {
                          const double value = std::abs(*member);
                          return value == 0 || value >= 1 ? value : 1 / value;
                        },
                        [](const IntegerRef& ref) { return std::abs(static_cast<double>(ref.load())); },
                        [](const auto&) { return 0.0; },
                    },
                    scalar);
}

bool assign(const Scalar& scalar, Range range, const json& value) {
  return std::visit(Overloaded{
                        [&]<typename Tag>(Quantity<Tag>* member) {
                          if (!value.is_string()) return false;
                          try {
                            const auto& text = value.get_ref<const std::string&>();
                            const auto read = Unit<Quantity<Tag>>::kParse(text);
                            if (!within(range, read.count()) || (read.count() == 0 && !says_zero(text))) return false;
                            *member = read;
                            return true;
                          } catch (const std::invalid_argument&) {
                            return false;
                          }
                        },
                        [&](bool* member) {
                          if (!value.is_boolean()) return false;
                          *member = value.get<bool>();
                          return true;
                        },
                        [&](double* member) {
                          const std::optional<double> given = number_of(value);
                          if (!given || !range.has(*given)) return false;
                          *member = *given;
                          return true;
                        },
                        [&](std::string* member) {
                          if (!value.is_string()) return false;
                          *member = value.get<std::string>();
                          return true;
                        },
                        [&](const IntegerRef& ref) {
                          const auto read = integer(value);
                          if (!read || !within(intersect(range, ref.type), *read)) return false;
                          ref.store(*read);
                          return true;
                        },
                        [&](const EnumRef& ref) {
                          if (!value.is_string() && !value.is_number()) return false;
                          // A release is a name that people write as a number: 2.20 has then lost its zero.
                          const auto is_it = [&](std::string_view name) {
                            if (value.is_string()) return name == value.get_ref<const std::string&>();
                            const json number = json::parse(name, nullptr, /*allow_exceptions=*/false);
                            return number.is_number() && number.get<double>() == value.get<double>();
                          };
                          const auto found = std::find_if(ref.names.begin(), ref.names.end(), is_it);
                          if (found == ref.names.end()) return false;
                          ref.store(static_cast<std::size_t>(found - ref.names.begin()));
                          return true;
                        },
                    },
                    scalar);
}

std::string within_limits(const Scalar& scalar, Range range, const std::string& text) {
  const json value = std::visit(Overloaded{
                                    [&]<typename Tag>(Quantity<Tag>*) { return json(text); },
                                    [&](const auto&) { return json::parse(text, nullptr, /*allow_exceptions=*/false); },
                                },
                                scalar);
  if (value.is_discarded()) return text;
  const auto nearest = [](double number, Range limits) {
    // The largest count is no double: what rounds to it is beyond it.
    if (number >= static_cast<double>(limits.max)) return limits.max;
    return std::max(limits.min, static_cast<std::int64_t>(number));
  };
  return std::visit(Overloaded{
                        [&]<typename Tag>(Quantity<Tag>*) {
                          using Q = Unit<Quantity<Tag>>;
                          const std::size_t unit = std::min(text.size(), text.find_first_not_of("0123456789.e+-"));
                          if (!parses<Q>(text))
                            return parses<Q>("1" + text.substr(unit)) ? to_text(Quantity<Tag>(range.max)) : text;
                          const std::int64_t count = Q::kParse(text).count();
                          if (within(range, count) && (count > 0 || says_zero(text))) return text;
                          return to_text(Quantity<Tag>(std::clamp(count, range.min, range.max)));
                        },
                        [&](double*) {
                          if (!value.is_number() || range.has(value.get<double>())) return text;
                          // No number is the nearest to a limit that is excluded.
                          const std::int64_t limit = nearest(value.get<double>(), range);
                          return range.has(static_cast<double>(limit)) ? number(limit) : text;
                        },
                        [&](const IntegerRef& ref) {
                          return value.is_number() ? number(nearest(value.get<double>(), intersect(range, ref.type)))
                                                   : text;
                        },
                        [&](const auto&) { return text; },
                    },
                    scalar);
}

std::optional<double> amount_in(const Scalar& scalar, const std::string& text) {
  const auto number_of = [&text](const auto&) -> std::optional<double> {
    const json value = json::parse(text, nullptr, /*allow_exceptions=*/false);
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
  };
  return std::visit(Overloaded{
                        [&]<typename Tag>(Quantity<Tag>*) -> std::optional<double> {
                          using Q = Unit<Quantity<Tag>>;
                          if (!parses<Q>(text)) return std::nullopt;
                          return static_cast<double>(Q::kParse(text).count());
                        },
                        [&](double* const& field) { return number_of(field); },
                        [&](const IntegerRef& field) { return number_of(field); },
                        [](const auto&) -> std::optional<double> { return std::nullopt; },
                    },
                    scalar);
}

nlohmann::ordered_json fields_to_json(const std::function<void(FieldVisitor&)>& fields) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  JsonWriter writer(object);
  fields(writer);
  return object;
}

std::vector<FieldDoc> describe_fields(const std::function<void(FieldVisitor&)>& fields, std::string_view prefix) {
  std::vector<FieldDoc> rows;
  Describer describer(rows, std::string(prefix));
  fields(describer);
  return rows;
}

}  // namespace weft::platforms
