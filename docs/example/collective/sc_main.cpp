// SPDX-License-Identifier: Apache-2.0
// All that `weft` does, with a collective of our own to choose: "collectives": {"algorithm": "my-allgather"}.
#include <systemc>  // declares sc_main

#include "platforms/commands/command_line.h"

void provide_my_allgather();

int sc_main(int argc, char** argv) {
  provide_my_allgather();
  return weft::platforms::command_line(argc, argv);
}
