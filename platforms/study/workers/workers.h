// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "platforms/study/task.h"

namespace weft::study {

/// What a worker says of a task.
struct Answer {
  std::uint64_t id = 0;
  /// Nothing is known: the process was killed from outside, and the task may be given once more.
  bool is_lost = false;
  std::string error;  ///< empty: it is done
  nlohmann::ordered_json result;
  nlohmann::ordered_json configuration;
  std::string digest;
  double wall_s = 0;
  double user_s = 0;
  std::int64_t peak_bytes = 0;
};

/// How the error of a task begins that takes longer than it may, and what that of one has in it that ended with a limit
/// of memory.
inline constexpr const char* kOutOfTime = "it takes longer than limits.time, ";
inline constexpr const char* kMemoryLimit = "limits.memory";
[[nodiscard]] inline bool is_of_time(const std::string& error) {
  return error.starts_with(kOutOfTime);
}
[[nodiscard]] inline bool is_of_memory(const std::string& error) {
  return error.find(kMemoryLimit) != std::string::npos;
}
[[nodiscard]] inline bool is_of_limits(const std::string& error) {
  return is_of_time(error) || is_of_memory(error);
}

/// A line each way, without its end, as pipes and MPI carry it.
[[nodiscard]] std::string line_of(std::uint64_t id, const Task& task);
[[nodiscard]] Answer answer_of(const std::string& line);
/// The line of a worker that has ended with a task under way.
[[nodiscard]] std::string lost_line(std::uint64_t id);

/// Processes that simulate tasks, each one at a time.
class Workers {
 public:
  virtual ~Workers() = default;
  [[nodiscard]] virtual std::size_t count() const = 0;
  /// To a worker without a task.
  virtual void give(std::size_t worker, std::uint64_t id, const Task& task) = 0;
  struct Taken {
    std::size_t worker;
    Answer answer;
  };
  /// The next answer of any worker; none after so many seconds.
  [[nodiscard]] virtual std::optional<Taken> take(double seconds) = 0;
};

/// Processes of this machine. A worker is forked before any machine is built in this process, and forks one for each
/// task when it has read the platform: what all tasks share is loaded once, and SystemC, which has one machine for each
/// process, begins anew. Workers end with the process that made them. One that ends by itself is made again.
class LocalWorkers final : public Workers {
 public:
  explicit LocalWorkers(std::size_t count);
  ~LocalWorkers() override;
  LocalWorkers(const LocalWorkers&) = delete;
  LocalWorkers& operator=(const LocalWorkers&) = delete;

  [[nodiscard]] std::size_t count() const override { return workers_.size(); }
  void give(std::size_t worker, std::uint64_t id, const Task& task) override;
  [[nodiscard]] std::optional<Taken> take(double seconds) override;

  /// The same with a line as it came.
  void give_line(std::size_t worker, std::uint64_t id, const std::string& line);
  /// Of the first worker alone: its next answer as it came.
  [[nodiscard]] std::optional<std::string> take_line(double seconds);

 private:
  struct Worker {
    int pid = -1;
    int to = -1;
    int from = -1;
    std::string read;
    std::optional<std::uint64_t> under_way;
  };

  void start(Worker& worker);
  static void end(Worker& worker);
  /// The line that a worker has sent in whole; one that says that the task is lost where the worker has ended.
  std::optional<std::string> read(Worker& worker);

  std::vector<Worker> workers_;
};

/// What a worker's process does: answers lines until there are no more. Never returns.
[[noreturn]] void work(int from, int to);

}  // namespace weft::study
