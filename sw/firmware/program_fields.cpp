// SPDX-License-Identifier: Apache-2.0
#include "sw/firmware/program_fields.h"

#include <functional>
#include <map>
#include <stdexcept>

namespace weft::firmware {
namespace {

using FieldsByThread = std::map<std::string, std::vector<std::string>, std::less<>>;

/// Made by the first that says so, whatever file that is in.
FieldsByThread& all_fields() {
  static FieldsByThread all;
  return all;
}

}  // namespace

ProgramFields::ProgramFields(std::initializer_list<std::string_view> threads, const std::vector<std::string>& fields) {
  for (const std::string_view about : threads) {
    const bool is_new = all_fields().emplace(about, fields).second;
    if (!is_new) throw std::invalid_argument("fields of threads about " + std::string(about) + " are known already");
  }
}

const std::vector<std::string>& ProgramFields::of(std::string_view about) {
  static const std::vector<std::string> kNone;
  const FieldsByThread& all = all_fields();
  if (const auto found = all.find(about); found != all.end()) return found->second;
  constexpr std::string_view kBetween = ": ";
  const std::size_t at = about.rfind(kBetween);
  if (at == std::string_view::npos) return kNone;
  for (const std::string_view its : {about.substr(at), about.substr(at + kBetween.size())}) {
    if (const auto found = all.find(its); found != all.end()) return found->second;
  }
  return kNone;
}

}  // namespace weft::firmware
