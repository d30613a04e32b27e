// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "platforms/study/mpi/mpi_api.h"
#include "platforms/study/workers/workers.h"

namespace weft::study {

/// Whether mpirun, srun or the like has started this process beside others.
[[nodiscard]] bool is_under_mpi();

/// This process as one of several: rank 0 deals, and each other one has a worker. That is forked before MPI begins,
/// which forks badly.
class MpiWorkers final : public Workers {
 public:
  /// Throws UsageError where Weft was built without MPI, or where there is one process alone.
  MpiWorkers();
  ~MpiWorkers() override;
  MpiWorkers(const MpiWorkers&) = delete;
  MpiWorkers& operator=(const MpiWorkers&) = delete;

  [[nodiscard]] bool deals() const { return api_->rank() == 0; }
  /// Of a process that does not deal: answers until the dealer ends. One that can answer no more prints why, and ends
  /// all processes: the dealer would wait for it.
  void serve();

  [[nodiscard]] std::size_t count() const override { return static_cast<std::size_t>(api_->size() - 1); }
  void give(std::size_t worker, std::uint64_t id, const Task& task) override;
  [[nodiscard]] std::optional<Taken> take(double seconds) override;

 private:
  void answer();
  /// Of the dealer, whatever it ends by: tells the others to, and takes what they still answer until they do. An answer
  /// too long for MPI to keep would else wait for a dealer that waits for its sender.
  void end_others();

  std::unique_ptr<LocalWorkers> local_;
  const MpiApi* api_ = nullptr;
};

}  // namespace weft::study
