// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/graph/kernel_names.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weft::schedules {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// "mb3", "step10": which microbatch, and which step.
bool is_count(std::string_view word) {
  for (const std::string_view what : {"mb", "step"}) {
    if (word.size() > what.size() && word.starts_with(what) &&
        std::all_of(word.begin() + static_cast<std::ptrdiff_t>(what.size()), word.end(), is_digit)) {
      return true;
    }
  }
  return false;
}

}  // namespace

const char* KernelNames::of(std::string_view node) {
  std::string name;
  while (!node.empty()) {
    const std::string_view word = node.substr(0, node.find(' '));
    node.remove_prefix(std::min(node.size(), word.size() + 1));
    if (is_count(word)) continue;
    const std::size_t before = name.size();
    if (before > 0) name += ' ';
    std::copy_if(word.begin(), word.end(), std::back_inserter(name), [](char c) { return !is_digit(c); });
    while (name.size() > before && (name.back() == '_' || name.back() == ' ' || name.back() == '.')) name.pop_back();
  }
  return name.empty() ? nullptr : kept_.insert(std::move(name)).first->c_str();
}

}  // namespace weft::schedules
