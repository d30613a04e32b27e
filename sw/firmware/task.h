// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace weft::firmware {

/// Sequential code of a firmware thread, as a C++20 coroutine. `co_await task` runs it to its end, on the same thread;
/// a task that nobody awaits or spawns does not run.
class [[nodiscard]] Task {
 public:
  struct promise_type {
    std::coroutine_handle<> continuation = std::noop_coroutine();

    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
        return self.promise().continuation;
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { throw; }  // through the dispatcher to whoever runs the simulation
  };
  using Handle = std::coroutine_handle<promise_type>;

  Task() = default;
  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  [[nodiscard]] bool done() const { return !handle_ || handle_.done(); }
  [[nodiscard]] Handle handle() const { return handle_; }

  bool await_ready() const { return done(); }
  /// Runs it here up to its first wait. One that does not wait at all costs no stack: the awaiting one goes on after
  /// it, where a transfer to it and back would nest once for each such task in builds without tail calls.
  bool await_suspend(std::coroutine_handle<> awaiting) {
    handle_.resume();
    if (handle_.done()) return false;
    handle_.promise().continuation = awaiting;
    return true;
  }
  void await_resume() {}

 private:
  Handle handle_;
};

}  // namespace weft::firmware
