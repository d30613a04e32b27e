// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "hw/core/config/number_limits.h"
#include "hw/core/config/provide_beside.h"
#include "hw/core/number_text.h"
#include "sw/compression/blocks.h"
#include "sw/compression/by_tensor.h"
#include "sw/compression/compressor.h"
#include "sw/compression/own_code.h"

namespace weft::compression {

/// Weft's own, in the order in which messages list them: for each NAME, NAME_compressor() of the method's own file.
#define WEFT_COMPRESSORS(EACH) \
  EACH(top_k)                  \
  EACH(exponential)            \
  EACH(gamma)                  \
  EACH(pareto)                 \
  EACH(random_k)               \
  EACH(dgc)                    \
  EACH(threshold)              \
  EACH(power_sgd)              \
  EACH(qsgd)                   \
  EACH(terngrad)               \
  EACH(sign)                   \
  EACH(scaled_sign)            \
  EACH(fixed_rate)             \
  EACH(lossless)               \
  EACH(dynamic_threshold)

#define WEFT_DECLARE(NAME) Compressor NAME##_compressor();
WEFT_COMPRESSORS(WEFT_DECLARE)
#undef WEFT_DECLARE

namespace {

constexpr const char* kCompressor = "compressor";

Registry<Compressor>& known_compressors() {
#define WEFT_MAKER(NAME) NAME##_compressor,
  static Registry<Compressor> all(kCompressor, {WEFT_COMPRESSORS(WEFT_MAKER)});
#undef WEFT_MAKER
  return all;
}

}  // namespace

void provide(Compressor compressor) {
  if (!compressor.plan) {
    throw std::invalid_argument(std::string(kCompressor) + " \"" + compressor.name + "\": expected a plan, got none");
  }
  provide_beside<CompressionConfig>(known_compressors(), std::move(compressor), kCompressor, "compression");
}

const Registry<Compressor>& compressors() {
  return known_compressors();
}

const Names& registered(const Compressor* /*kind*/) {
  return known_compressors();
}

const Compressor& compressor_of(const CompressionConfig& config, const std::string& path) {
  return known_compressors().at(config.method.text(), path + ".method");
}

void expect(bool held, const std::string& path, const std::string& what, double value) {
  if (!held) throw ConfigError(path, "expected " + what + ", got " + to_text(value));
}

void check(const CompressionConfig& config, const std::string& path) {
  if (!config.on()) return;
  const Compressor& compressor = compressor_of(config, path);
  check_numbers(config, path);
  if (compressor.check) compressor.check(config, path + "." + detail::section_key(compressor.name));
}

std::vector<Unfollowed> unfollowed(const CompressionConfig& config, bool real, const std::string& path) {
  std::vector<Unfollowed> fields;
  const std::string method = path + ".method is " + config.method.text();
  const Compressor* compressor = config.on() ? &compressor_of(config, path) : nullptr;
  const auto add = [&](bool follows, const char* field, const std::string& why) {
    if (!follows) fields.push_back({path + "." + field, why});
  };
  add(compressor != nullptr && compressor->follows_ratio, "ratio", method);
  add(compressor != nullptr && compressor->follows_stages, "stages", "no threshold is estimated");
  add(compressor != nullptr && compressor->follows_error_feedback, "error_feedback", method);
  const bool hops = compressor != nullptr && plan_by(*compressor, {.elements = 1}, config).wire == Wire::kHops;
  for (const char* field : {"by_tensor", "kernels"}) add(compressor != nullptr && !hops, field, method);
  for (const Section& section : config.own) add(section.name == config.method.text(), section.key.c_str(), method);
  if (compressor != nullptr && compressor->ratio_stands_for_own) {
    const std::string own = detail::section_key(compressor->name);
    if (real) {
      add(false, "ratio", "with data " + path + "." + own + " decides what is sent");
    } else {
      add(false, own.c_str(), "without data " + path + ".ratio stands for what is sent");
    }
  }
  return fields;
}

std::vector<std::string> compressors_by_blocks() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < known_compressors().size(); ++i) {
    CompressionConfig config;
    config.method = CompressorName(known_compressors().name(i));
    if (Blocks::has(config)) names.push_back(known_compressors().name(i));
  }
  return names;
}

void check(const MessageCompression& config, const std::string& path) {
  check(static_cast<const CompressionConfig&>(config), path);
  for (const auto& [name, traffic] : enum_names(Traffic())) {
    if (!config.has_own(traffic)) continue;
    const CompressionConfig& own = config.of(traffic);
    check(own, path + "." + std::string(name));
    // Gradients alone can be AllReduces in all of a run.
    if (!own.on() || traffic == Traffic::kGradients || Blocks::has(own)) continue;
    std::string names;
    for (const std::string& each : compressors_by_blocks()) names += ", " + each;
    throw ConfigError(path + "." + std::string(name) + ".method",
                      "expected one of same, none" + names +
                          ", because this traffic has messages that are not summed, got " + own.method.text());
  }
}

std::vector<Unfollowed> unfollowed(const MessageCompression& config, bool real, const std::string& path) {
  std::vector<Unfollowed> fields = unfollowed(static_cast<const CompressionConfig&>(config), real, path);
  for (const auto& [name, traffic] : enum_names(Traffic())) {
    const ScopeConfig* const scope = config.scope(traffic);
    if (scope == nullptr) continue;
    const std::string own = path + "." + std::string(name);
    for (Unfollowed& each : unfollowed(scope->how, real, own)) {
      if (scope->method.is_same()) each.why = own + ".method is same";
      fields.push_back(std::move(each));
    }
  }
  return fields;
}

Plan plan_of(const Message& message, const CompressionConfig& config) {
  const Compressor& compressor = compressor_of(config);
  if (config.by_tensor && !message.tensors.empty()) return plan_by_tensor(compressor, message, config);
  return plan_by(compressor, message, config);
}

std::unique_ptr<Codec> codec_of(const Site& site) {
  const Compressor& compressor = compressor_of(site.config);
  if (site.config.by_tensor && !site.message.tensors.empty()) return codec_by_tensor(compressor, site);
  return codec_by(compressor, site);
}

void leave(const Codec& codec, std::span<const std::byte> message, std::span<float> values) {
  std::vector<float> sent(values.size());
  codec.add(message, sent);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= sent[i];
}

}  // namespace weft::compression
