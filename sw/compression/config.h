// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hw/core/config/named.h"
#include "hw/core/fields.h"

namespace weft::compression {

/// A way of compressing messages by its name, which is `none` or one of compressors() (sw/compression/compressor.h).
struct Compressor;
[[nodiscard]] const Names& registered(const Compressor* kind);
class CompressorName : public NameOf<Compressor> {
 public:
  CompressorName() : NameOf(kNone) {}
  using NameOf::NameOf;

  [[nodiscard]] bool is_none() const { return text() == kNone; }

  static constexpr std::string_view kNone = "none";
};
inline EnumNames<CompressorName> enum_names(const CompressorName& /*tag*/) {
  EnumNames<CompressorName> names = {{CompressorName::kNone, {}}};
  for (const auto& [name, value] : enum_names(NameOf<Compressor>())) names.emplace_back(name, name);
  return names;
}

/// Whose kernels compress. fused: those of libraries that were written for it, each pass over memory doing all that it
/// can. framework: each operation of a formula is a kernel of its own, as in GRACE on TensorFlow 1.15.
enum class KernelStyle : std::uint8_t { kFused, kFramework };
inline EnumNames<KernelStyle> enum_names(KernelStyle /*tag*/) {
  return {{"fused", KernelStyle::kFused}, {"framework", KernelStyle::kFramework}};
}

/// How messages of one kind are compressed: `compression` of a workload.
struct CompressionConfig {
  CompressorName method;
  double ratio = 0.01;
  int stages = 0;
  bool error_feedback = true;
  bool by_tensor = false;
  KernelStyle kernels = KernelStyle::kFused;
  Sections own{names_for<Compressor>()};

  template <typename Visitor>
  void fields(Visitor&& visit) {
    const std::string methods = "none: all; " + names_for<Compressor>().doc();
    visit("method", method, methods);
    fields_but_method(visit);
  }
  template <typename Visitor>
  void fields_but_method(Visitor&& visit) {
    visit("ratio", ratio, "Share of the elements to send", kShareAboveZero);
    visit("stages", stages, "SIDCo's stages of fitting; 0: adapted to what the last five steps sent", Range{0, 32});
    visit("error_feedback", error_feedback,
          "What is not sent of a message is kept and added to the next one; false: it is lost");
    visit("by_tensor", by_tensor,
          "Each tensor of a message is compressed by itself, with kernels of its own, as libraries do that compress "
          "before they fuse; false: the message as one");
    visit("kernels", kernels,
          "fused: each pass over memory does all that it can; framework: each operation of the formulas is a kernel of "
          "its own, and a selection sorts a tensor in one block, as in GRACE on TensorFlow 1.15");
    own.fields(visit);
  }

  [[nodiscard]] bool on() const { return !method.is_none(); }
  [[nodiscard]] bool by_framework() const { return kernels == KernelStyle::kFramework; }
};

}  // namespace weft::compression
