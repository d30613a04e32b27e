// SPDX-License-Identifier: Apache-2.0
// The module weft_mpi.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include "platforms/study/mpi/mpi_api.h"

namespace weft::study {
namespace {

constexpr int kTag = 0;

void begin() {
  MPI_Init(nullptr, nullptr);
}

/// All leave together: none may go while another still sends to it.
void end() {
  MPI_Finalize();
}

int rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

void send(int to, const std::string& text) {
  MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, to, kTag, MPI_COMM_WORLD);
}

std::optional<std::pair<int, std::string>> receive() {
  int is_there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &is_there, &status);
  if (is_there == 0) return std::nullopt;
  int count = 0;
  MPI_Get_count(&status, MPI_CHAR, &count);
  std::string text(static_cast<std::size_t>(count), '\0');
  MPI_Recv(text.data(), count, MPI_CHAR, status.MPI_SOURCE, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return std::pair(status.MPI_SOURCE, std::move(text));
}

void abort() {
  MPI_Abort(MPI_COMM_WORLD, 1);
}

constexpr MpiApi kApi = {begin, end, rank, size, send, receive, abort};

}  // namespace

extern "C" const MpiApi* weft_mpi() {
  return &kApi;
}

}  // namespace weft::study
