// SPDX-License-Identifier: Apache-2.0
// All that `weft` does, with hardware of our own to choose: "accelerator": {"hbm": {"detail": "open-page"}},
// "remote_memory": {"kind": "flash"}, "nic": {"implementation": "my-nic", "congestion": "my-window"} and "fabric":
// {"switch": {"implementation": "fifo"}}.
#include <systemc>  // declares sc_main

#include "platforms/commands/command_line.h"

void provide_fifo_switch();
void provide_flash_pool();
void provide_my_nic();
void provide_my_window();
void provide_open_page();

int sc_main(int argc, char** argv) {
  provide_fifo_switch();
  provide_flash_pool();
  provide_my_nic();
  provide_my_window();
  provide_open_page();
  return weft::platforms::command_line(argc, argv);
}
