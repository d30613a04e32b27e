// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "hw/core/config/blame.h"
#include "hw/core/config/own_fields.h"
#include "sw/optimizers/optimizer.h"
#include "sw/optimizers/own_code.h"

namespace weft::optimizers {

/// Weft's own, in the order in which messages list them: for each NAME, NAME_method() of the optimizer's own file.
#define WEFT_OPTIMIZERS(EACH) \
  EACH(adamw)                 \
  EACH(sgd)                   \
  EACH(muon)                  \
  EACH(shampoo)               \
  EACH(soap)                  \
  EACH(kfac)                  \
  EACH(none)

#define WEFT_DECLARE(NAME) Method NAME##_method();
WEFT_OPTIMIZERS(WEFT_DECLARE)
#undef WEFT_DECLARE

namespace {

constexpr const char* kMethod = "optimizer";

Registry<Method>& known_methods() {
#define WEFT_MAKER(NAME) NAME##_method,
  static Registry<Method> all(kMethod, {WEFT_OPTIMIZERS(WEFT_MAKER)});
#undef WEFT_MAKER
  return all;
}

}  // namespace

void provide(Method method) {
  if (!method.make) {
    throw std::invalid_argument(std::string(kMethod) + " \"" + method.name + "\": expected a make, got none");
  }
  check_own_fields("workload." + detail::section_key(method.name), method.config);
  known_methods().provide(std::move(method));
}

const Registry<Method>& methods() {
  return known_methods();
}

const Names& registered(const Method* /*kind*/) {
  return known_methods();
}

std::shared_ptr<const Optimizer> optimizer_of(const Choice& choice) {
  const Method& method = known_methods().at(choice.name.text(), "workload.optimizer");
  return checked(method.name, made(blaming([&] { return "optimizer " + method.name; },
                                           [&] { return method.make(choice.own.of(choice.name.text())); }),
                                   "workload.optimizer", method.name));
}

namespace {

/// Of the tasks from one to another.
void put_in_order(const std::vector<Task>& tasks, std::size_t from, std::size_t to, std::size_t& exchanges,
                  std::vector<Ordered>& order) {
  std::size_t longest = 0;
  for (std::size_t task = from; task < to; ++task) longest = std::max(longest, tasks[task].pieces.size());
  std::vector<std::size_t> last(to - from, 0);  // of each task, its latest collective's number from 1
  for (std::size_t slot = from; slot < to + longest; ++slot) {
    for (std::size_t piece = 0; piece < longest && from + piece <= slot; ++piece) {
      const std::size_t task = slot - piece;
      if (task >= to || piece >= tasks[task].pieces.size()) continue;
      order.push_back({&tasks[task].pieces[piece], task, last[task - from]});
      if (order.back().piece->exchange) last[task - from] = ++exchanges;
    }
  }
}

}  // namespace

std::vector<Ordered> in_order(const std::vector<Task>& tasks) {
  std::vector<Ordered> order;
  std::size_t exchanges = 0;
  std::size_t from = 0;
  for (std::size_t task = 0; task <= tasks.size(); ++task) {
    if (task < tasks.size() && !tasks[task].is_last) continue;
    put_in_order(tasks, from, task, exchanges, order);
    from = task;
  }
  put_in_order(tasks, from, tasks.size(), exchanges, order);
  return order;
}

}  // namespace weft::optimizers
