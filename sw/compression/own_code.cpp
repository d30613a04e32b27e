// SPDX-License-Identifier: Apache-2.0
#include "sw/compression/own_code.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "hw/core/config/blame.h"
#include "hw/core/config/own_fields.h"

namespace weft::compression {
namespace {

std::string whose(const Compressor& compressor) {
  return "compressor " + compressor.name;
}

void require(bool held, const std::string& message) {
  if (!held) throw std::invalid_argument(message);
}

void check(const Plan& plan) {
  require(plan.unit > 0, "plan(): expected a unit of at least 1 byte, got 0");
  if (plan.wire == Wire::kHops) {
    const bool has_all = plan.first && plan.hop && plan.last && plan.block_bytes;
    require(has_all, "plan(): expected first, hop, last and block_bytes of what travels by hops, got not all of them");
    return;
  }
  const std::string rounds = std::to_string(plan.rounds.size());
  if (plan.wire == Wire::kGathered) {
    require(plan.rounds.size() == 1, "plan(): expected one round of what is gathered, got " + rounds);
  }
  require(!plan.rounds.empty(), "plan(): expected at least one round of what is summed, got 0");
  require(static_cast<bool>(plan.after), "plan(): expected kernels that make the sum (after), got none");
}

class CheckedCodec final : public Codec {
 public:
  CheckedCodec(const Compressor& compressor, const Site& site)
      : compressor_(compressor), message_(site.message), config_(site.config) {
    codec_ = made(blamed([&] {
                    return compressor.make({message_, config_, site.seed, site.rank});
                  }),
                  "compression.method", compressor.name);
  }

  void prepare(std::span<float> gradient) override {
    blamed([&] { codec_->prepare(gradient); });
  }
  [[nodiscard]] Sent compress(std::span<const float> values, std::size_t round,
                              std::span<const std::byte> came) override {
    return blamed([&] {
      Sent sent = codec_->compress(values, round, came);
      check_length(sent.size(), static_cast<std::int64_t>(values.size()), round);
      return sent;
    });
  }
  void add(std::span<const std::byte> message, std::span<float> values) const override {
    blamed([&] { codec_->add(message, values); });
  }
  void read(std::span<const std::byte> message, std::span<float> values) const override {
    blamed([&] { codec_->read(message, values); });
  }
  void finish(std::span<float> sum, int ranks) const override {
    blamed([&] { codec_->finish(sum, ranks); });
  }

 private:
  template <typename Action>
  auto blamed(const Action& action) const -> decltype(action()) {
    return blaming([this] { return whose(compressor_); }, action);
  }

  void check_length(std::uint64_t bytes, std::int64_t elements, std::size_t round) {
    if (elements != planned_) {
      Message part = {.elements = elements, .element_bytes = message_.element_bytes};
      plan_ = plan_by(compressor_, elements == message_.elements ? message_ : part, config_);
      planned_ = elements;
    }
    const bool hops = plan_.wire == Wire::kHops;
    std::uint64_t most = 0;
    if (hops) {
      most = plan_.most_block_bytes ? plan_.most_block_bytes(elements) : plan_.block_bytes(elements);
    } else {
      most = plan_.most(round);
    }
    const bool varies = hops ? static_cast<bool>(plan_.most_block_bytes) : plan_.varies;
    const bool fits = varies ? bytes <= most && (hops || bytes % plan_.unit == 0) : bytes == most;
    require(fits, "compress(): expected " + std::string(varies ? "at most " : "") + std::to_string(most) +
                      " bytes for " + std::to_string(elements) + " elements" +
                      (varies && !hops ? ", in units of " + std::to_string(plan_.unit) : "") + ", got " +
                      std::to_string(bytes));
  }

  const Compressor& compressor_;
  Message message_;
  CompressionConfig config_;
  std::unique_ptr<Codec> codec_;
  Plan plan_;
  std::int64_t planned_ = -1;  ///< elements that `plan_` is of
};

}  // namespace

Plan plan_by(const Compressor& compressor, const Message& message, const CompressionConfig& config) {
  return blaming([&] { return whose(compressor); },
                 [&] {
                   Plan plan = compressor.plan(message, config);
                   check(plan);
                   return plan;
                 });
}

std::unique_ptr<Codec> codec_by(const Compressor& compressor, const Site& site) {
  return std::make_unique<CheckedCodec>(compressor, site);
}

}  // namespace weft::compression
