// SPDX-License-Identifier: Apache-2.0
#include "sw/workloads/phases.h"

#include <charconv>
#include <optional>

namespace weft::workloads {
namespace {

/// Takes the number off that the text ends with after `mark`.
std::optional<int> take_number(std::string_view& text, std::string_view mark) {
  const std::size_t at = text.rfind(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(at + mark.size());
  int number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || read.ptr != digits.data() + digits.size()) return std::nullopt;
  text = text.substr(0, at);
  return number;
}

}  // namespace

std::optional<int> step_of(std::string_view node) {
  return take_number(node, " step");
}

bool ends_step(std::string_view node) {
  constexpr std::string_view kLast = "optimizer";
  return node.starts_with(kLast) && (node.size() == kLast.size() || node.substr(kLast.size()).starts_with(" step"));
}

std::vector<std::string> phases_of(std::string_view node) {
  const std::string step = "step " + std::to_string(take_number(node, " step").value_or(0) + 1);
  if (node == "optimizer" || node.starts_with("optimizer.")) return {step, "optimizer"};
  const std::optional<int> microbatch = take_number(node, " mb");
  if (!microbatch) return {};
  std::string unit(node.substr(0, node.find_first_of(". ")));
  constexpr std::string_view kLayer = "layer";
  if (unit.starts_with(kLayer)) {
    unit.insert(kLayer.size(), " ");
  } else if (unit == "loss") {
    unit = "head";
  } else if (unit != "embedding" && unit != "head") {
    return {};
  }
  const auto says = [node](std::string_view word) { return node.find(word) != std::string_view::npos; };
  const bool forward = says(" forward");
  // What is computed again is of the backward pass.
  if (!forward && !says(" backward") && !says(" gradient") && !says(" again")) return {};
  return {step, std::string(forward ? "forward" : "backward") + ", microbatch " + std::to_string(*microbatch), unit};
}

}  // namespace weft::workloads
