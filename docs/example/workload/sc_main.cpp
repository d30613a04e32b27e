// SPDX-License-Identifier: Apache-2.0
// All that `weft` does, with a kind of workload of our own: "workload": {"kind": "my-steps"}.
#include <systemc>  // declares sc_main

#include "platforms/commands/command_line.h"

void provide_my_steps();

int sc_main(int argc, char** argv) {
  provide_my_steps();
  return weft::platforms::command_line(argc, argv);
}
