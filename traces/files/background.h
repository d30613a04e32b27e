// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace weft::traces {

/// A thread that works on blocks in the order in which they are given, while their owner fills the next one.
///
///     Background<std::vector<Change>> background([&](std::vector<Change>& block) { ...; block.clear(); });
///     background.give(block);  // and block is another one, new or as the work left it
///     background.wait();
///
/// The owner waits where kBlocks are full: memory is bounded, whoever is slower. What the work throws reaches the owner
/// in each give() and wait() from then on, and no block is worked on any more. Without give() there is no thread.
template <typename Block>
class Background {
 public:
  static constexpr std::size_t kBlocks = 8;

  explicit Background(std::function<void(Block&)> work) : work_(std::move(work)) {}
  /// What waits is left.
  ~Background() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    given_.notify_one();
    thread_.join();
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void give(Block& block) {
    {
      std::unique_lock lock(mutex_);
      done_.wait(lock, [this] { return full_.size() < kBlocks || error_ != nullptr; });
      if (error_ != nullptr) std::rethrow_exception(error_);
      full_.push_back(std::move(block));
      block = {};
      if (!empty_.empty()) {
        block = std::move(empty_.back());
        empty_.pop_back();
      }
    }
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    given_.notify_one();
  }

  /// Whether its owner will have to wait soon, and could do some of the work first.
  [[nodiscard]] bool behind() {
    const std::lock_guard lock(mutex_);
    return full_.size() >= kBlocks / 2;
  }

  /// Until all blocks are done: then the owner has what the work uses to itself.
  void wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return (full_.empty() && !working_) || error_ != nullptr; });
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      given_.wait(lock, [this] { return !full_.empty() || stopped_; });
      if (stopped_) return;
      Block block = std::move(full_.front());
      full_.pop_front();
      working_ = true;
      lock.unlock();
      std::exception_ptr error;
      try {
        work_(block);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      working_ = false;
      empty_.push_back(std::move(block));
      error_ = error;
      done_.notify_one();
      if (error_ != nullptr) return;
    }
  }

  std::function<void(Block&)> work_;
  std::mutex mutex_;  ///< of all below
  std::condition_variable given_;
  std::condition_variable done_;
  std::deque<Block> full_;
  std::vector<Block> empty_;
  std::exception_ptr error_;
  bool working_ = false;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace weft::traces
