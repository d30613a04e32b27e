// SPDX-License-Identifier: Apache-2.0
// The command of a user who has an algorithm, a schedule, a kind of workload, memories, a congestion control, a switch
// and a network interface of their own: those of docs/example.
#include <systemc>  // declares sc_main

#include "platforms/commands/command_line.h"

void provide_fifo_switch();
void provide_flash_pool();
void provide_my_allgather();
void provide_my_local_sgd();
void provide_my_nic();
void provide_my_steps();
void provide_my_window();
void provide_open_page();

int sc_main(int argc, char** argv) {
  provide_fifo_switch();
  provide_flash_pool();
  provide_my_allgather();
  provide_my_nic();
  provide_my_steps();
  provide_my_window();
  provide_open_page();
  provide_my_local_sgd();  // behind a kind of workload: all kinds are there
  return weft::platforms::command_line(argc, argv);
}
