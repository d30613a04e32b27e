// SPDX-License-Identifier: Apache-2.0
#include "sw/optimizers/own_code.h"

#include <stdexcept>
#include <utility>

#include "hw/core/config/blame.h"

namespace weft::optimizers {
namespace {

[[noreturn]] void refuse(const std::string& place, const std::string& expected, std::int64_t got) {
  throw std::invalid_argument(place + ": expected " + expected + ", got " + std::to_string(got));
}

class Checked final : public Optimizer {
 public:
  Checked(std::string name, std::unique_ptr<Optimizer> optimizer)
      : name_(std::move(name)), optimizer_(std::move(optimizer)) {}

  void check(const Problem& problem) const override {
    blamed([&] { optimizer_->check(problem); });
  }
  [[nodiscard]] std::vector<models::Kernel> observe(const Problem& problem, const Observed& what,
                                                    std::int64_t step) const override {
    return blamed([&] { return optimizer_->observe(problem, what, step); });
  }
  [[nodiscard]] std::vector<Task> update(const Problem& problem, std::int64_t step) const override {
    return blamed([&] {
      std::vector<Task> tasks = optimizer_->update(problem, step);
      for (std::size_t task = 0; task < tasks.size(); ++task) check(tasks[task], task, problem);
      return tasks;
    });
  }
  [[nodiscard]] std::int64_t period() const override {
    return blamed([&] {
      const std::int64_t period = optimizer_->period();
      if (period < 1) refuse("period()", "at least 1 step", period);
      return period;
    });
  }
  [[nodiscard]] std::int64_t like(std::int64_t step) const override {
    return blamed([&] { return optimizer_->like(step); });
  }
  [[nodiscard]] Kept kept(const Problem& problem) const override {
    return blamed([&] {
      Kept kept = optimizer_->kept(problem);
      if (kept.masters < 0) refuse("kept(), masters", "at least 0", kept.masters);
      for (const auto& [what, bytes] : kept.state) {
        if (bytes < 0) refuse("kept(), " + what, "at least 0 bytes", bytes);
      }
      return kept;
    });
  }
  [[nodiscard]] std::int64_t streamed_bytes() const override {
    return blamed([&] { return optimizer_->streamed_bytes(); });
  }

 private:
  template <typename Action>
  auto blamed(const Action& action) const -> decltype(action()) {
    return blaming([this] { return "optimizer " + name_; }, action);
  }

  static void check(const Task& task, std::size_t number, const Problem& problem) {
    const std::string in_task = "update(), task " + std::to_string(number) + ", piece ";
    for (std::size_t i = 0; i < task.pieces.size(); ++i) {
      const Piece& piece = task.pieces[i];
      if (!piece.exchange) continue;
      const std::string place = in_task + "\"" + piece.name + "\"";
      if (piece.exchange->bytes < 0) refuse(place, "an exchange of at least 0 bytes", piece.exchange->bytes);
      if (piece.exchange->holding >= problem.holdings.size()) {
        refuse(place, "a holding below " + std::to_string(problem.holdings.size()),
               static_cast<std::int64_t>(piece.exchange->holding));
      }
      if (i + 1 == task.pieces.size()) {
        throw std::invalid_argument(place + ": expected no exchange in a task's last piece, got " +
                                    std::string(name_of(piece.exchange->what)));
      }
    }
  }

  std::string name_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace

std::shared_ptr<const Optimizer> checked(std::string name, std::unique_ptr<Optimizer> optimizer) {
  return std::make_shared<Checked>(std::move(name), std::move(optimizer));
}

}  // namespace weft::optimizers
