// SPDX-License-Identifier: Apache-2.0
#include <systemc>

#include "hw/rtl/blocks.h"
#include "platforms/commands/command_line.h"
#include "platforms/streams/catalogue_streams.h"

int sc_main(int argc, char** argv) {
  weft::rtl::provide_blocks();
  weft::memory::provide_streams(weft::platforms::catalogue_streams());
  return weft::platforms::command_line(argc, argv);
}
