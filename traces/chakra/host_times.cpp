// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/host_times.h"

#include <algorithm>
#include <string>
#include <utility>

namespace weft::chakra {
namespace {

constexpr const char* kHost = "host";
constexpr std::size_t kHead = 2;  // whether the host waits, and the time before

}  // namespace

std::optional<HostTimes> host_times_of(const Node& node) {
  const Attribute* found = node.find(kHost);
  if (found == nullptr) return std::nullopt;
  const auto* numbers = std::get_if<std::vector<std::int64_t>>(&found->value);
  const bool fits = numbers != nullptr && numbers->size() >= kHead && numbers->size() % 2 == 0 &&
                    numbers->front() <= 1 && std::all_of(numbers->begin(), numbers->end(), [](std::int64_t number) {
                      return number >= 0 && number <= HostTimes::kMost;
                    });
  if (!fits) {
    throw AttributeError(
        node.label() + ": attribute " + kHost +
        ": expected a list of 0 or 1, a time in picoseconds, and two more for each kernel, each of 0 to " +
        std::to_string(HostTimes::kMost));
  }
  HostTimes times{numbers->front() == 1, (*numbers)[1], {}};
  for (std::size_t i = kHead; i < numbers->size(); i += 2) times.kernels.push_back({(*numbers)[i], (*numbers)[i + 1]});
  return times;
}

void set_host_times(Node& node, const HostTimes& times) {
  std::vector<std::int64_t> numbers = {times.waits ? 1 : 0, times.before_ps};
  for (const HostTimes::Kernel& kernel : times.kernels) {
    numbers.push_back(kernel.first_ps);
    numbers.push_back(kernel.last_ps);
  }
  Attribute attribute;
  attribute.name = kHost;
  attribute.kind = ValueKind::kInt64List;
  attribute.value = std::move(numbers);
  node.attributes.push_back(std::move(attribute));
}

}  // namespace weft::chakra
