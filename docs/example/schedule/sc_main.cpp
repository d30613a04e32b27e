// SPDX-License-Identifier: Apache-2.0
// All that `weft` does, with two schedules of our own to choose: "workload": {"algorithm": "my-local-sgd"} or
// "my-lion".
#include <systemc>  // declares sc_main

#include "platforms/commands/command_line.h"

void provide_my_lion();
void provide_my_local_sgd();

int sc_main(int argc, char** argv) {
  provide_my_lion();
  provide_my_local_sgd();
  return weft::platforms::command_line(argc, argv);
}
