// SPDX-License-Identifier: Apache-2.0
// The command of a user who has an algorithm and a kind of workload of their own: those of docs/example.
#include <systemc>  // declares sc_main

#include "platforms/commands/command_line.h"

void provide_my_allgather();
void provide_my_steps();

int sc_main(int argc, char** argv) {
  provide_my_allgather();
  provide_my_steps();
  return weft::platforms::command_line(argc, argv);
}
