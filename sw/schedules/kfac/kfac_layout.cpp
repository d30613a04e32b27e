// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/kfac/kfac_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include "sw/kfac/compression_kernels.h"
#include "sw/kfac/layer_kernels.h"
#include "sw/kfac/packing.h"
#include "sw/kfac/placement.h"
#include "sw/schedules/kfac/schedule.h"

namespace weft::schedules {

using models::Layer;
using models::Network;

namespace {

/// A in the order of the forward pass, then G in that of the backward pass.
std::vector<std::size_t> order_of_sending(std::size_t factors) {
  std::vector<std::size_t> order;
  for (std::size_t t = 0; t < factors; t += 2) order.push_back(t);
  for (std::size_t t = factors; t > 0; t -= 2) order.push_back(t - 1);
  return order;
}

/// Beyond any memory, and so far below 2^64 that the bytes of a few such buffers add up; what is more counts as this. A
/// network's own limits allow layers whose elements do not fit 64 bits.
constexpr std::int64_t kMostElements = std::int64_t{1} << 59;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60;

std::int64_t elements(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (factor > 0 && product > kMostElements / factor) return kMostElements;
    product *= factor;
  }
  return product;
}

/// A row for each output.
compression::Message::Tensor tensor_of(const models::Layer& layer) {
  const std::int64_t parameters = models::parameters(layer);
  if (!models::has_factors(layer)) return {1, parameters};
  return {layer.channels_out, parameters / layer.channels_out};
}

std::uint64_t sum_of(const std::vector<std::uint64_t>& bytes) {
  std::uint64_t sum = 0;
  for (const std::uint64_t each : bytes) sum = std::min(sum + std::min(each, kMostBytes), kMostBytes);
  return sum;
}

std::int64_t patch_elements(const Layer& layer, std::int64_t batch) {
  return elements({batch, layer.positions(), models::factor_a(layer)});
}

std::int64_t inputs(const Layer& layer, std::int64_t batch) {
  return elements({batch, layer.channels_in, layer.height, layer.width});
}

std::int64_t outputs(const Layer& layer, std::int64_t batch) {
  return elements({batch, layer.channels_out, layer.positions()});
}

/// What a layout asks for, without a memory.
struct Needs {
  std::uint64_t total = 0;
  std::map<std::string, std::uint64_t> by_what;

  std::uint64_t add(const std::string& what, std::uint64_t bytes) {
    const std::uint64_t aligned = (std::min(bytes, kMostBytes) + 255) / 256 * 256;
    total = std::min(total + aligned, kMostBytes);
    by_what[what] = std::min(by_what[what] + aligned, kMostBytes);
    return 0;
  }
  /// "6.20 GiB: activations 3.10, ..."; and of a memory "11.00 of 11.00 GiB are free", in the same unit.
  [[nodiscard]] std::string text(std::uint64_t free, std::uint64_t capacity) const {
    const auto [unit, name] = total >= 1 << 30   ? std::pair(1 << 30, "GiB")
                              : total >= 1 << 20 ? std::pair(1 << 20, "MiB")
                                                 : std::pair(1 << 10, "KiB");
    const auto in_units = [unit = unit](std::uint64_t bytes) {
      if (bytes >= kMostBytes) return fmt::format("{:.0e} or more", static_cast<double>(kMostBytes) / unit);
      return fmt::format("{:.2f}", static_cast<double>(bytes) / unit);
    };
    std::vector<std::pair<std::string, std::uint64_t>> parts(by_what.begin(), by_what.end());
    std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text = fmt::format("{} {}", in_units(total), name);
    for (std::size_t i = 0; i < std::min<std::size_t>(parts.size(), 4); ++i) {
      text += fmt::format("{} {} {}", i == 0 ? ":" : ",", parts[i].first, in_units(parts[i].second));
    }
    return text + fmt::format("; {} of {} {} are free", in_units(free), in_units(capacity), name);
  }
};

/// Throws what `memory` would, but of everything at once.
void expect_fits(const Needs& needs, const firmware::MemoryMap& memory, const std::string& network) {
  firmware::MemoryMap trial = memory;
  try {
    trial.allocate(network, needs.total);
  } catch (const firmware::OutOfMemory& error) {
    throw firmware::OutOfMemory(network + " needs " + needs.text(memory.capacity() - memory.used(), memory.capacity()),
                                error.path());
  }
}

}  // namespace

compression::DctShape kept_shape(const Network& network, const KfacConfig& config, std::size_t layer) {
  return kfac::input_shape(network.layers[layer], network.batch,
                           compression::dct_coefficients(config.activations.ratio));
}

kfac::Groups gradient_groups(const Network& network, const KfacConfig& config) {
  std::vector<kfac::Ready> gradients;
  for (auto layer = network.layers.rbegin(); layer != network.layers.rend(); ++layer) {
    gradients.push_back({0, models::parameters(*layer)});
  }
  return kfac::fuse_within(gradients, config.fusion_threshold.count() / static_cast<std::int64_t>(kKfacElement));
}

KfacLayout::KfacLayout(const std::vector<firmware::Rank*>& ranks, const Network& network, const KfacConfig& config) {
  Needs needs;
  KfacLayout trial;
  trial.lay_out([&](const std::string& what, std::uint64_t bytes) { return needs.add(what, bytes); }, ranks.size(),
                network, config);
  for (const firmware::Rank* rank : ranks) expect_fits(needs, rank->memory, network.name);
  lay_out([&](const std::string& what, std::uint64_t bytes) { return firmware::allocate_together(ranks, what, bytes); },
          ranks.size(), network, config);
}

void KfacLayout::lay_out(const Allocate& allocate_bytes, std::size_t ranks, const Network& network,
                         const KfacConfig& config) {
  const bool second_order = config.second_order();
  const std::unique_ptr<Trainer> trainer = trainer_of(config);
  const auto allocate = [&](const std::string& what, std::uint64_t bytes) {
    return allocate_bytes(what, std::max<std::uint64_t>(bytes, kKfacElement));
  };
  // Neighbours in memory travel together, so what is fused lies without gaps.
  const auto allocate_all = [&](const std::string& what, const std::vector<std::uint64_t>& bytes,
                                const std::vector<std::size_t>& order) {
    std::uint64_t next = allocate(what, sum_of(bytes));
    Addresses addresses(bytes.size());
    for (const std::size_t i : order) {
      addresses[i] = next;
      next += bytes[i];
    }
    return addresses;
  };
  /// What one rank has lies where others have theirs.
  const auto allocate_owned = [&](const std::string& what, const std::vector<std::uint64_t>& bytes,
                                  const std::vector<int>& owners) {
    std::vector<std::uint64_t> used(ranks);
    Addresses addresses(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      std::uint64_t& end = used.at(static_cast<std::size_t>(std::max(0, owners.at(i))));
      addresses[i] = end;
      end = std::min(end + std::min(bytes[i], kMostBytes), kMostBytes);
    }
    const std::uint64_t place = allocate(what, *std::max_element(used.begin(), used.end()));
    for (std::uint64_t& address : addresses) address += place;
    return addresses;
  };
  const auto ascending = [](std::size_t count) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    return order;
  };

  std::vector<std::uint64_t> passed;  // from layer to layer, with what comes in and goes out
  const std::uint64_t element = config.activation_element();
  const auto bytes_passed = [element](std::int64_t count) { return element * static_cast<std::uint64_t>(count); };
  for (const Layer& layer : network.layers) passed.push_back(bytes_passed(inputs(layer, network.batch)));
  if (!network.layers.empty()) passed.push_back(bytes_passed(outputs(network.layers.back(), network.batch)));
  const auto allocate_activations = [&](const std::string& what, std::uint64_t bytes) {
    allocated_activation_bytes += bytes;
    return allocate(what, bytes);
  };
  activation_bytes = sum_of(passed);
  if (config.activations.on() && !passed.empty() && activation_bytes < kMostBytes) {
    const std::uint64_t largest = *std::max_element(passed.begin() + 1, passed.end());
    activations.push_back(allocate_activations("activations", passed.front()));
    const std::array buffers = {allocate_activations("activations", largest),
                                allocate_activations("activations", largest)};
    for (std::size_t l = 1; l < passed.size(); ++l) activations.push_back(buffers[l % buffers.size()]);
    kept.push_back(0);
    for (std::size_t l = 1; l < network.layers.size(); ++l) {
      const auto bytes = static_cast<std::uint64_t>(kept_shape(network, config, l).bytes());
      kept.push_back(allocate_activations("compressed activations", bytes));
    }
  } else {
    for (const std::uint64_t bytes : passed) activations.push_back(allocate_activations("activations", bytes));
  }
  std::vector<std::uint64_t> parameters;
  std::int64_t largest_output = 0;
  std::int64_t largest_patches = 0;
  for (const Layer& layer : network.layers) {
    parameters.push_back(bytes_of_elements(models::parameters(layer)));
    largest_output = std::max(largest_output, outputs(layer, network.batch));
    output_gradients.push_back(
        models::has_factors(layer) ? allocate("gradients of outputs", bytes_passed(outputs(layer, network.batch))) : 0);
    if (second_order && models::has_factors(layer)) {
      largest_patches = std::max(largest_patches, patch_elements(layer, network.batch));
    }
  }
  workspace = allocate("workspace for gradients of outputs and for patches",
                       2 * bytes_passed(largest_output) + 2 * bytes_of_elements(largest_patches));
  std::vector<std::size_t> order = ascending(parameters.size());
  weights = allocate_all("parameters", parameters, order);
  momentum = allocate_all("momentum", parameters, order);
  std::reverse(order.begin(), order.end());
  gradients = allocate_all("gradients", parameters, order);

  preconditioned = config.clips() ? allocate_all("preconditioned gradients", parameters, order) : gradients;

  const std::vector<std::int64_t> sides = second_order ? kfac::factor_sides(network) : std::vector<std::int64_t>();
  std::vector<std::uint64_t> squares;
  std::vector<std::uint64_t> packed;
  std::vector<std::uint64_t> inverted;
  std::vector<std::uint64_t> inverted_packed;
  for (const std::int64_t side : sides) {
    squares.push_back(bytes_of_elements(side * side));
    packed.push_back(size_of(config.sent_factor_type()) *
                     static_cast<std::uint64_t>(kfac::sent_elements(config.packing, side)));
    inverted.push_back(bytes_of_elements(kfac::inverse_elements(config.inverse, side)));
    inverted_packed.push_back(bytes_of_elements(config.sent_inverse_elements(side)));
  }
  sending_order = order_of_sending(sides.size());
  if (config.local_factors()) {
    const std::vector<int> owners = placement_of(*trainer, sides, static_cast<int>(ranks)).owner;
    factors = allocate_owned("factors", squares, owners);
    inverses = allocate_owned("inverses", inverted, owners);
  } else if (second_order) {
    factors = allocate_all("factors", squares, sending_order);
    const std::vector<int> keepers = trainer->keepers(placement_of(*trainer, sides, static_cast<int>(ranks)));
    const auto allocate_inverses = [&](const std::string& what, const std::vector<std::uint64_t>& bytes) {
      return keepers.empty() ? allocate_all(what, bytes, ascending(bytes.size()))
                             : allocate_owned(what, bytes, keepers);
    };
    inverses = allocate_inverses("inverses", inverted);
    const bool whole = config.packing == kfac::Packing::kSquares;
    const bool casts = config.sent_factor_type() != ElementType::kFp32;
    sent_factors = whole && !casts && !config.merges_factors()
                       ? factors
                       : allocate_all("factors to be sent", packed, sending_order);
    sent_inverses = whole || config.inverse == kfac::Inversion::kEigen
                        ? inverses
                        : allocate_inverses("inverses to be sent", inverted_packed);
  }

  const std::uint64_t whole = sum_of(parameters);
  for (int slot = 0; slot < trainer->averagings(); ++slot) {
    averages.push_back({allocate("averages of weights", whole), allocate("weights before they are averaged", whole)});
  }
  for (const OwnBuffer& buffer : buffers_of(*trainer, network, static_cast<int>(ranks))) {
    std::vector<std::uint64_t> bytes;
    for (const std::int64_t count : buffer.elements) bytes.push_back(bytes_of_elements(count));
    own.push_back(buffer.owners.empty() ? allocate_all(buffer.what, bytes, ascending(bytes.size()))
                                        : allocate_owned(buffer.what, bytes, buffer.owners));
  }
  if (!config.compression.on()) return;
  std::uint64_t residuals = config.compression.error_feedback ? allocate("residuals of gradients", whole) : 0;
  std::size_t last = network.layers.size();
  for (const std::size_t count : gradient_groups(network, config)) {
    collectives::CompressedMessage message;
    last -= count;
    for (std::size_t l = last + count; l-- > last;) {
      const models::Layer& layer = network.layers[l];
      message.message.elements += models::parameters(layer);
      message.message.tensors.push_back(tensor_of(layer));
    }
    message.plan = compression::plan_of(message.message, config.compression);
    message.address = gradients[last + count - 1];
    message.residuals = residuals;
    residuals += bytes_of_elements(message.message.elements);
    if (message.plan.state_bytes > 0) {
      allocate("state of compressors", static_cast<std::uint64_t>(message.plan.state_bytes));
    }
    message.lay_out(ranks, "gradients", allocate);
    compressed.push_back(std::move(message));
  }
}

}  // namespace weft::schedules
