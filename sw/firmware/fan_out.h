// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sw/firmware/processor.h"

namespace weft::firmware {

namespace detail {
inline Task run_and_count(Task task, Counter& done) {
  co_await task;
  done.increment();
}
}  // namespace detail

/// Runs each task on a thread of its own, on one core after the other from core 1 on, and returns when all have ended.
/// `what` outlives it.
inline Task fan_out(Processor& processor, std::string name, const char* what, std::vector<Task> tasks) {
  Counter done(processor, what);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    processor.spawn(name + ": " + what + " " + std::to_string(i), static_cast<int>(i) + 1,
                    detail::run_and_count(std::move(tasks[i]), done));
  }
  co_await done.reach(tasks.size());
}

}  // namespace weft::firmware
