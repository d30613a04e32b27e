// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hw/core/config/any_config.h"
#include "hw/core/config/registry.h"
#include "sw/kfac/layer_kernels.h"
#include "sw/schedules/kfac/kfac_config.h"

/// Ways of making gradients sparse by the names that `workload.compression.method` gives them. Weft's own are listed in
/// compressors.cpp, each in a file of sw/schedules/kfac/compressors; a user provides others before the platform is
/// read:
///
///     schedules::provide({.name = "my-random",
///                         .doc = "elements at random",
///                         .kernels = ...,
///                         .make = [](const schedules::CompressionConfig& config) {
///                           return std::make_unique<MyRandom>(config);
///                         }});
namespace weft::schedules {

/// Chooses what one rank sends of one message of gradients, from step to step.
class Selector {
 public:
  Selector() = default;
  virtual ~Selector() = default;
  Selector(const Selector&) = delete;
  Selector& operator=(const Selector&) = delete;

  /// Positions of at most `most` elements, ascending; of a method that does not estimate, of as many.
  [[nodiscard]] virtual std::vector<std::uint32_t> choose(std::span<const float> values, std::size_t most) = 0;
};

/// A way of choosing which elements are sent, with their positions; the rest stays behind and is added to the next
/// step's gradients (error feedback).
struct Compressor {
  std::string name;
  std::string doc;  ///< a few words, behind the name in the reference of `workload.compression.method`

  /// The fields that it has for itself, at `workload.compression.NAME` with _ for -. May be none.
  AnyConfig config = {};
  std::string config_doc = {};

  /// Ranks do not know beforehand how much each of them sends, at most twice the target. Otherwise it is the target.
  bool estimates = false;

  /// Adds what was left behind, chooses of so many elements the target, and packs them.
  std::function<std::vector<kfac::LayerKernel>(std::int64_t elements, std::int64_t target, const CompressionConfig&)>
      kernels;
  std::function<std::unique_ptr<Selector>(const CompressionConfig&)> make;
};

/// Adds a user's own. Throws std::invalid_argument for a name that is taken, or that a field beside its own has.
void provide(Compressor compressor);

/// All there are.
[[nodiscard]] const Registry<Compressor>& compressors();
/// Throws ConfigError if there is none of this name. Not for `none`.
[[nodiscard]] const Compressor& compressor_of(const CompressionConfig& config);

}  // namespace weft::schedules
