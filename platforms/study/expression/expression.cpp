// SPDX-License-Identifier: Apache-2.0
#include "platforms/study/expression/expression.h"

#include <fmt/format.h>
#include <muParser.h>

#include <cmath>
#include <deque>
#include <regex>

#include "platforms/config/text.h"
#include "platforms/study/expression/quantity_value.h"

namespace weft::study {

using nlohmann::json;

namespace {

constexpr const char* kNameCharacters = "0123456789_.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

json find(const Expression::Lookup& lookup, const std::string& name) {
  if (std::optional<json> found = lookup(name)) return *found;
  throw ExpressionError("an axis, a value, a metric or a field of the platform, got " + platforms::in_quotes(name));
}

/// With each comparison of a text replaced by its result.
std::string compared(const std::string& text, const Expression::Lookup& lookup) {
  if (text.find('"') == std::string::npos) return text;
  static const std::regex kComparison(R"re(([A-Za-z_][A-Za-z0-9_.]*)\s*(==|!=)\s*"([^"]*)")re");
  std::string result;
  auto from = text.begin();
  for (std::sregex_iterator each(text.begin(), text.end(), kComparison), end; each != end; ++each) {
    result.append(from, text.begin() + each->position());
    const json value = find(lookup, (*each)[1]);
    const bool equal = value.is_string() && value.get_ref<const std::string&>() == (*each)[3].str();
    result += equal == ((*each)[2] == "==") ? "1" : "0";
    from = text.begin() + each->position() + each->length();
  }
  return result.append(from, text.end());
}

/// With each name of several values, "rows.*.time_us", replaced by them.
std::string expanded(const std::string& text, const Expression::Lookup& lookup) {
  if (text.find(".*") == std::string::npos) return text;
  static const std::regex kSeveral(R"re([A-Za-z_][A-Za-z0-9_.]*\.\*(\.[A-Za-z0-9_*]+)*)re");
  std::string result;
  auto from = text.begin();
  for (std::sregex_iterator each(text.begin(), text.end(), kSeveral), end; each != end; ++each) {
    result.append(from, text.begin() + each->position());
    const json values = find(lookup, each->str());
    std::string list;
    for (const json& value : values) {
      const std::optional<double> number = number_of(value);
      if (!number) {
        throw ExpressionError("numbers or quantities at " + each->str() + ", got " + platforms::got_text(value));
      }
      list += fmt::format("{}{:.17g}", list.empty() ? "" : ",", *number);
    }
    result += list;
    from = text.begin() + each->position() + each->length();
  }
  return result.append(from, text.end());
}

/// Variables as muParser first meets them. What is wrong with one is kept: the parser puts an error of its own in the
/// place of what is thrown through it.
struct Variables {
  const Expression::Lookup& lookup;
  std::deque<double> values;
  std::string wrong;

  static double* add(const char* name, void* data) {
    auto& self = *static_cast<Variables*>(data);
    double number = 0;
    try {
      const json value = find(self.lookup, name);
      const std::optional<double> found = number_of(value);
      if (!found) {
        throw ExpressionError("a number or a quantity at " + std::string(name) + ", got " + platforms::got_text(value));
      }
      number = *found;
    } catch (const ExpressionError& error) {
      if (self.wrong.empty()) self.wrong = error.what();
    }
    self.values.push_back(number);
    return &self.values.back();
  }
};

}  // namespace

double Expression::value(const Lookup& lookup) const {
  Variables variables{lookup, {}, {}};
  const std::string read = expanded(compared(text_, lookup), lookup);
  try {
    mu::Parser parser;
    parser.DefineNameChars(kNameCharacters);
    parser.DefineFun("ceil", [](double x) { return std::ceil(x); });
    parser.DefineFun("floor", [](double x) { return std::floor(x); });
    parser.DefineFun("round", [](double x) { return std::round(x); });
    parser.DefineFun("mod", [](double x, double y) { return std::fmod(x, y); });
    parser.DefineInfixOprt("!", [](double x) { return x == 0 ? 1.0 : 0.0; });
    parser.SetVarFactory(&Variables::add, &variables);
    parser.SetExpr(read);
    const double value = parser.Eval();
    if (!variables.wrong.empty()) throw ExpressionError(variables.wrong);
    if (parser.GetNumResults() > 1) {
      throw ExpressionError("one value, as of max(), min(), sum() or avg(), got " +
                            std::to_string(parser.GetNumResults()) + " of " + platforms::in_quotes(text_));
    }
    return value;
  } catch (const mu::Parser::exception_type& error) {
    if (!variables.wrong.empty()) throw ExpressionError(variables.wrong);
    throw ExpressionError("an expression, got " + platforms::in_quotes(text_) +
                          // Positions in the message are those of what the parser has read.
                          (read == text_ ? "" : ", read as " + platforms::in_quotes(read)) + ": " + error.GetMsg());
  }
}

std::string aggregate_of_one(const std::string& text) {
  static const std::regex kCall(R"re(\b(min|max|sum|avg)\s*\()re");
  for (std::sregex_iterator each(text.begin(), text.end(), kCall), end; each != end; ++each) {
    const auto from = static_cast<std::size_t>(each->position());
    int depth = 0;
    bool has_more = false;
    for (std::size_t i = from + static_cast<std::size_t>(each->length()) - 1; i < text.size(); ++i) {
      if (text[i] == '(') ++depth;
      if (text[i] == ',' && depth == 1) has_more = true;
      if (text[i] != ')' || --depth > 0) continue;
      const std::string call = text.substr(from, i + 1 - from);
      if (!has_more && call.find(".*") == std::string::npos) return call;
      break;
    }
  }
  return "";
}

std::vector<PieceOfAll> pieces_of_all(const std::string& text) {
  static const std::regex kOfAll(R"re("[^"]*"|\b(best|least|largest|mean)\s*\(\s*([^()]*?)\s*\))re");
  std::vector<PieceOfAll> pieces;
  auto from = text.begin();
  for (std::sregex_iterator each(text.begin(), text.end(), kOfAll), end; each != end; ++each) {
    if (!(*each)[1].matched) continue;
    pieces.push_back({std::string(from, (*each)[0].first), (*each)[1], (*each)[2]});
    from = (*each)[0].second;
  }
  pieces.push_back({std::string(from, text.end()), "", ""});
  return pieces;
}

std::string wrong_for_one_point(const std::string& text) {
  if (const std::string alone = aggregate_of_one(text); !alone.empty()) {
    return "two values or more in min(), max(), sum() and avg(), since an expression is of one point alone, got " +
           platforms::in_quotes(alone);
  }
  const PieceOfAll first = pieces_of_all(text).front();
  if (first.function.empty()) return "";
  return "an expression of one point alone, got " + platforms::in_quotes(first.function + "(" + first.name + ")") +
         ", which is of all points: --where of weft study has such functions";
}

std::string not_finite_text(double value) {
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

std::vector<std::string> Expression::names() const {
  std::vector<std::string> all;
  static_cast<void>(value([&all](const std::string& name) -> std::optional<json> {
    all.push_back(name);
    // Several, that one alone is no value of an expression.
    return name.find('*') == std::string::npos ? json(1) : json{1, 1};
  }));
  return all;
}

}  // namespace weft::study
