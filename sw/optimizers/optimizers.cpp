// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "hw/core/config/own_fields.h"
#include "sw/optimizers/optimizer.h"

namespace weft::optimizers {

/// Weft's own, in the order in which messages list them: for each NAME, NAME_method() of the optimizer's own file.
#define WEFT_OPTIMIZERS(EACH) \
  EACH(adamw)                 \
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
  return method.make(choice.own.of(choice.name.text()));
}

std::vector<Ordered> in_order(const std::vector<Task>& tasks) {
  std::size_t longest = 0;
  for (const Task& task : tasks) longest = std::max(longest, task.size());
  std::vector<Ordered> order;
  std::vector<std::size_t> last(tasks.size(), 0);  // of each task, its latest collective's number from 1
  std::size_t exchanges = 0;
  for (std::size_t slot = 0; slot < tasks.size() + longest; ++slot) {
    for (std::size_t piece = 0; piece < longest && piece <= slot; ++piece) {
      const std::size_t task = slot - piece;
      if (task >= tasks.size() || piece >= tasks[task].size()) continue;
      order.push_back({&tasks[task][piece], task, last[task]});
      if (tasks[task][piece].exchange) last[task] = ++exchanges;
    }
  }
  return order;
}

}  // namespace weft::optimizers
