// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/memory_waves.h"

#include <array>

namespace weft::memory {
namespace {

constexpr Frequency kClock(2'000'000'000);
constexpr std::array<StreamPins::Field, 4> kRequest = {{{"id", 32}, {"command", 1}, {"address", 64}, {"bytes", 32}}};
constexpr std::array<StreamPins::Field, 2> kAnswer = {{{"id", 32}, {"error", 1}}};

std::uint64_t command_of(const tlm::tlm_generic_payload& payload) {
  return payload.is_write() ? 1 : 0;
}

std::uint64_t error_of(const tlm::tlm_generic_payload& payload) {
  return payload.is_response_error() ? 1 : 0;
}

}  // namespace

MemoryWaves::MemoryWaves(Waves& waves, const std::string& scope)
    : MemoryWaves(waves, scope, waves.clock(scope + ".clk", kClock)) {}

MemoryWaves::MemoryWaves(Waves& waves, const std::string& scope, Waves::Clock clock)
    : requests_(waves, scope, "req_", clock, kClock, 0, kRequest),
      answers_(waves, scope, "resp_", clock, kClock, 0, kAnswer) {}

void MemoryWaves::transaction(const tlm::tlm_generic_payload& payload, Time asked, Time taken, Time answered) {
  const std::uint32_t id = next_++;
  requests_.transfer({.offered = asked, .from = taken, .to = taken},
                     {id, command_of(payload), payload.get_address(), payload.get_data_length()});
  answer_at(id, payload, answered);
}

std::uint32_t MemoryWaves::ask(const tlm::tlm_generic_payload& payload, Time now) {
  requests_.offer(now, {next_, command_of(payload), payload.get_address(), payload.get_data_length()});
  return next_++;
}

void MemoryWaves::answer(std::uint32_t id, const tlm::tlm_generic_payload& payload, Time now) {
  answers_.offer(now, {id, error_of(payload)});
}

void MemoryWaves::answer_at(std::uint32_t id, const tlm::tlm_generic_payload& payload, Time at) {
  answers_.transfer({.offered = at, .from = at, .to = at}, {id, error_of(payload)});
}

}  // namespace weft::memory
