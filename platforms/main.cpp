// SPDX-License-Identifier: Apache-2.0
#include <systemc>

#include "hw/rtl/blocks.h"
#include "platforms/commands/command_line.h"

int sc_main(int argc, char** argv) {
  weft::rtl::provide_blocks();
  return weft::platforms::command_line(argc, argv);
}
