// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/pat/pat_plan.h"

#include <bit>
#include <functional>

namespace weft::collectives {

namespace {

int whole_of(int members) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(members)));
}

/// How far apart the places of a step are.
int distance(int members, int together, int slots) {
  int places = together;
  for (int s = slots; s > 1 && places < members / 2; s /= 2) places *= 2;
  return whole_of(members) / places;
}

/// Adds the step to places `first`, `first` + `apart`, ...
void add_step(PatPlan& plan, int members, int together, int first, int apart) {
  if (first >= members) return;
  PatPlan::Step step;
  step.dimension = std::countr_zero(static_cast<unsigned>(first));
  for (int place = first; place < members; place += apart) {
    if (step.messages.empty() || step.messages.back().size() == static_cast<std::size_t>(together)) {
      step.messages.emplace_back();
    }
    step.messages.back().push_back(place);
  }
  plan.steps.push_back(std::move(step));
}

void finish(PatPlan& plan, int members) {
  plan.positions.resize(static_cast<std::size_t>(members));
  plan.ordered.resize(static_cast<std::size_t>(pat_dimensions(members)));
  for (const PatPlan::Step& step : plan.steps) {
    auto& messages = plan.ordered[static_cast<std::size_t>(step.dimension)];
    for (const std::vector<int>& message : step.messages) {
      const int number = static_cast<int>(messages.size());
      for (const int place : message) plan.positions[static_cast<std::size_t>(place)] = {step.dimension, number};
      messages.push_back(&message);
    }
  }
}

/// All places below `place`, which has those within 2^dimensions, each before those below it.
void descend(int place, int dimensions, const std::function<void(int)>& visit) {
  for (int d = dimensions - 1; d >= 0; --d) {
    visit(place + (1 << d));
    descend(place + (1 << d), d, visit);
  }
}

}  // namespace

int pat_dimensions(int members) {
  return std::bit_width(static_cast<unsigned>(members) - 1);
}

int pat_together(int members, std::uint64_t block, std::uint64_t chunk) {
  int together = 1;
  while (together < members / 2 && 2 * static_cast<std::uint64_t>(together) * block <= chunk) together *= 2;
  return together;
}

PatPlan PatPlan::allgather(int members, int together, int slots) {
  PatPlan plan;
  const int apart = distance(members, together, slots);
  for (int far = whole_of(members) / 2; far >= apart; far /= 2) add_step(plan, members, together, far, 2 * far);
  descend(0, pat_dimensions(apart), [&](int place) { add_step(plan, members, together, place, apart); });
  finish(plan, members);
  return plan;
}

PatPlan PatPlan::reduce_scatter(int members, int together, int slots) {
  PatPlan plan;
  const int apart = distance(members, together, slots);
  for (int place = apart - 1; place > 0; --place) add_step(plan, members, together, place, apart);
  for (int far = apart; far < whole_of(members); far *= 2) add_step(plan, members, together, far, 2 * far);
  finish(plan, members);
  return plan;
}

}  // namespace weft::collectives
