// SPDX-License-Identifier: Apache-2.0
#include "sw/compression/by_tensor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sw/compression/own_code.h"

namespace weft::compression {
namespace {

std::vector<Message> parts_of(const Message& message) {
  std::vector<Message> parts;
  for (const Message::Tensor& tensor : message.tensors) {
    if (tensor.elements() > 0) parts.push_back({tensor.elements(), {tensor}});
  }
  return parts;
}

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

void append(Kernels& all, const Kernels& more) {
  all.insert(all.end(), more.begin(), more.end());
}

std::size_t most_rounds(const std::vector<Plan>& plans) {
  std::size_t most = 0;
  for (const Plan& plan : plans) most = std::max(most, plan.rounds.size());
  return most;
}

/// Those with fewer rounds than others take part in the last ones: its own round, if it has one.
const Plan::Round* own_round(const Plan& plan, std::size_t round, std::size_t rounds) {
  const std::size_t behind = rounds - plan.rounds.size();
  return round < behind ? nullptr : &plan.rounds[round - behind];
}

/// What varies has its length before it.
std::uint64_t header(const Plan& plan, std::size_t parts) {
  return plan.varies ? rounded_up(sizeof(std::uint32_t) * parts, plan.unit) : 0;
}

class ByTensor final : public Codec {
 public:
  ByTensor(const Compressor& compressor, const Site& site) : messages_(parts_of(site.message)) {
    std::uint64_t seed = site.seed;
    for (const Message& message : messages_) {
      plans_.push_back(plan_by(compressor, message, site.config));
      codecs_.push_back(codec_by(compressor, {message, site.config, seed++, site.rank}));
    }
    rounds_ = most_rounds(plans_);
  }

  void prepare(std::span<float> gradient) override {
    each(gradient, [&](std::size_t i, std::span<float> part) { codecs_[i]->prepare(part); });
  }

  [[nodiscard]] Sent compress(std::span<const float> values, std::size_t round,
                              std::span<const std::byte> came) override {
    Sent all(header(plans_.front(), codecs_.size()));
    std::size_t offset = 0;
    for (std::size_t i = 0; i < codecs_.size(); ++i) {
      const auto elements = static_cast<std::size_t>(messages_[i].elements);
      std::span<const std::byte> own;
      if (const Plan::Round* before = round > 0 ? own_round(plans_[i], round - 1, rounds_) : nullptr) {
        own = came.first(before->bytes);
        came = came.subspan(own.size());
      }
      const std::span<const float> part = values.subspan(offset, elements);
      offset += elements;
      if (own_round(plans_[i], round, rounds_) == nullptr) continue;
      const Sent sent = codecs_[i]->compress(part, round - (rounds_ - plans_[i].rounds.size()), own);
      const auto length = static_cast<std::uint32_t>(sent.size());
      if (plans_[i].varies) std::memcpy(all.data() + i * sizeof length, &length, sizeof length);
      all.insert(all.end(), sent.begin(), sent.end());
    }
    return all;
  }

  void add(std::span<const std::byte> message, std::span<float> values) const override {
    std::span<const std::byte> rest = message.subspan(std::min(message.size(), header(plans_.front(), codecs_.size())));
    each(values, [&](std::size_t i, std::span<float> part) {
      std::uint32_t length = static_cast<std::uint32_t>(plans_[i].rounds.back().bytes);
      if (plans_[i].varies && !message.empty()) {
        std::memcpy(&length, message.data() + i * sizeof length, sizeof length);
      }
      const auto own = rest.first(std::min<std::size_t>(length, rest.size()));
      rest = rest.subspan(own.size());
      codecs_[i]->add(own, part);
    });
  }

  void finish(std::span<float> sum, int ranks) const override {
    each(sum, [&](std::size_t i, std::span<float> part) { codecs_[i]->finish(part, ranks); });
  }

 private:
  template <typename Do>
  void each(std::span<float> values, const Do& what) const {
    std::size_t offset = 0;
    for (std::size_t i = 0; i < codecs_.size(); ++i) {
      const auto elements = static_cast<std::size_t>(messages_[i].elements);
      what(i, values.subspan(offset, elements));
      offset += elements;
    }
  }

  std::vector<Message> messages_;
  std::vector<Plan> plans_;
  std::size_t rounds_ = 0;
  std::vector<std::unique_ptr<Codec>> codecs_;
};

}  // namespace

Plan plan_by_tensor(const Compressor& compressor, const Message& message, const CompressionConfig& config) {
  const std::vector<Message> parts = parts_of(message);
  std::vector<Plan> plans;
  for (const Message& part : parts) plans.push_back(plan_by(compressor, part, config));
  if (plans.empty() || plans.front().wire == Wire::kHops) return plan_by(compressor, message, config);
  Plan all = {.wire = plans.front().wire, .varies = plans.front().varies, .unit = plans.front().unit, .after = {}};
  all.rounds.resize(most_rounds(plans));
  for (const Plan& plan : plans) {
    all.state_bytes += plan.state_bytes;
    for (std::size_t r = 0; r < all.rounds.size(); ++r) {
      const Plan::Round* const round = own_round(plan, r, all.rounds.size());
      if (round == nullptr) continue;
      append(all.rounds[r].kernels, round->kernels);
      all.rounds[r].bytes += round->bytes;
      all.rounds[r].most += round->most > 0 ? round->most : round->bytes;
    }
  }
  const std::uint64_t lengths = header(all, parts.size());
  all.rounds.front().bytes += lengths;
  all.rounds.front().most += lengths;
  all.after = [plans = std::move(plans)](int messages) {
    Kernels kernels;
    for (const Plan& plan : plans) append(kernels, plan.after(messages));
    return kernels;
  };
  return all;
}

std::unique_ptr<Codec> codec_by_tensor(const Compressor& compressor, const Site& site) {
  const std::vector<Message> parts = parts_of(site.message);
  if (parts.empty() || plan_by(compressor, parts.front(), site.config).wire == Wire::kHops) {
    return codec_by(compressor, site);
  }
  return std::make_unique<ByTensor>(compressor, site);
}

}  // namespace weft::compression
