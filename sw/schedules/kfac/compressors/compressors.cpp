// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>
#include <utility>

#include "hw/core/config/provide_beside.h"
#include "sw/schedules/kfac/compressor.h"

namespace weft::schedules {

/// Weft's own, in the order in which messages list them: for each NAME, NAME_compressor() of the method's own file.
#define WEFT_COMPRESSORS(EACH) \
  EACH(top_k)                  \
  EACH(exponential)            \
  EACH(gamma)                  \
  EACH(pareto)

#define WEFT_DECLARE(NAME) Compressor NAME##_compressor();
WEFT_COMPRESSORS(WEFT_DECLARE)
#undef WEFT_DECLARE

namespace {

constexpr const char* kCompressor = "compression of gradients";

Registry<Compressor>& known_compressors() {
#define WEFT_MAKER(NAME) NAME##_compressor,
  static Registry<Compressor> all(kCompressor, {WEFT_COMPRESSORS(WEFT_MAKER)});
#undef WEFT_MAKER
  return all;
}

}  // namespace

bool CompressionConfig::estimates() const {
  return on() && compressor_of(*this).estimates;
}

void provide(Compressor compressor) {
  if (!compressor.kernels) {
    throw std::invalid_argument(std::string(kCompressor) + " \"" + compressor.name + "\": expected kernels, got none");
  }
  provide_beside<CompressionConfig>(known_compressors(), std::move(compressor), kCompressor, "workload.compression");
}

const Registry<Compressor>& compressors() {
  return known_compressors();
}

const Names& registered(const Compressor* /*kind*/) {
  return known_compressors();
}

const Compressor& compressor_of(const CompressionConfig& config) {
  return known_compressors().at(config.method.text(), "workload.compression.method");
}

}  // namespace weft::schedules
