// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/borrowed_remark.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace weft::platforms {

namespace {

/// Fields whose defaults are no product's: a user's choice, or that there is no such unit or limit.
constexpr std::string_view kOfNoProduct[] = {"clock_cap",    "persistent_products", "tensor_fp4",
                                             "block_scales", "fp8_any_layout",      "lacks",
                                             "sparsity",     "power.cap",           "power.lowest_cap"};

}  // namespace

std::string borrowed_remark(const Document& document) {
  constexpr std::string_view kCompute = "accelerator.compute.";
  constexpr std::size_t kShown = 5;
  std::vector<std::string> borrowed;
  bool sets = false;
  const nlohmann::json all = document.effective();
  for (const auto& [path, record] : all.items()) {
    if (!path.starts_with(kCompute)) continue;
    const std::string field = path.substr(kCompute.size());
    if (record["source"] != "default") {
      sets = true;
    } else if (std::find(std::begin(kOfNoProduct), std::end(kOfNoProduct), field) == std::end(kOfNoProduct)) {
      borrowed.push_back(field);
    }
  }
  if (!sets || borrowed.empty()) return "";
  const std::size_t shown = std::min(borrowed.size(), kShown);
  std::string text =
      fmt::format("accelerator.compute: nothing sets {}",
                  fmt::join(borrowed.begin(), borrowed.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (borrowed.size() > shown) text += fmt::format(" and {} more fields", borrowed.size() - shown);
  return text + fmt::format(", so that {} an H100's; a part beneath, such as {{\"part\": \"h100-sxm\"}}, says so",
                            borrowed.size() == 1 ? "it is" : "they are");
}

}  // namespace weft::platforms
