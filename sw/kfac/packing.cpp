// SPDX-License-Identifier: Apache-2.0
#include "sw/kfac/packing.h"

#include <utility>

namespace weft::kfac {
namespace {

using accelerator::Elementwise;
using models::triangle;

constexpr std::int64_t kElement = 4;
constexpr std::int64_t kPosition = 16;

LayerKernel copy(std::string_view name, std::int64_t elements, std::int64_t element_read = kElement,
                 std::int64_t element_written = kElement) {
  return {name, Elementwise{elements, Bytes(element_read * elements), Bytes(element_written * elements)}};
}

/// Of a triangle's elements. In 64 bits: a square root (10 instructions), four more operations, four conversions; a
/// peak counts two operations for an instruction.
LayerKernel positions(std::int64_t side) {
  constexpr double kInstructions = 18;
  return {"positions", Elementwise{.elements = triangle(side),
                                   .written = Bytes(kPosition * triangle(side)),
                                   .flops_per_element = 0,
                                   .doubles_per_element = 2 * kInstructions}};
}

/// Picks or places a triangle's elements by their positions.
LayerKernel indexed(std::string_view name, std::int64_t side) {
  return {name, Elementwise{triangle(side), Bytes((kElement + kPosition) * triangle(side)),
                            Bytes(kElement * triangle(side))}};
}

}  // namespace

std::int64_t sent_elements(Packing packing, std::int64_t side) {
  return packing == Packing::kSquares ? side * side : triangle(side);
}

Cost cost_by_side(Packing packing, Cost by_elements) {
  return [packing, by_elements = std::move(by_elements)](double side) {
    return by_elements(static_cast<double>(sent_elements(packing, static_cast<std::int64_t>(side))));
  };
}

std::vector<LayerKernel> pack_kernels(Packing packing, std::int64_t side) {
  switch (packing) {
    case Packing::kIndices:
      return {positions(side), indexed("pack", side)};
    case Packing::kFused:
      return {copy("pack", triangle(side))};
    case Packing::kSquares:
      break;
  }
  return {};
}

std::vector<LayerKernel> unpack_kernels(Packing packing, std::int64_t side) {
  switch (packing) {
    case Packing::kIndices:
      return {positions(side), positions(side), indexed("unpack.upper", side), indexed("unpack.transposed", side),
              indexed("unpack.lower", side)};
    case Packing::kFused:
      return {{"unpack", Elementwise{side * side, Bytes(kElement * triangle(side)), Bytes(kElement * side * side)}}};
    case Packing::kSquares:
      break;
  }
  return {};
}

std::vector<LayerKernel> pack_factor_kernels(Packing packing, std::int64_t side, bool merged, std::int64_t element) {
  if (packing == Packing::kFused) return {copy("pack", triangle(side), kElement, element)};
  std::vector<LayerKernel> kernels = pack_kernels(packing, side);
  const bool casts = element != kElement;
  if (merged || casts) {
    kernels.push_back(copy(casts ? "cast" : "merge", sent_elements(packing, side), kElement, element));
  }
  return kernels;
}

std::vector<LayerKernel> unpack_factor_kernels(Packing packing, std::int64_t side, bool merged, std::int64_t element) {
  if (packing == Packing::kFused) {
    return {{"unpack", Elementwise{side * side, Bytes(element * triangle(side)), Bytes(kElement * side * side)}}};
  }
  std::vector<LayerKernel> kernels;
  const bool casts = element != kElement;
  if (merged || casts) {
    kernels.push_back(copy(casts ? "cast.back" : "split", sent_elements(packing, side), element));
  }
  for (const LayerKernel& kernel : unpack_kernels(packing, side)) kernels.push_back(kernel);
  kernels.push_back(copy("mean", side * side));
  return kernels;
}

}  // namespace weft::kfac
