// SPDX-License-Identifier: Apache-2.0
// All that `weft` does, with a lane of our own to choose: "reduction": {"implementation": "my-lane"}.
#include "Vmy_lane.h"
#include "hw/rtl/reduction_lane.h"
#include "platforms/cli/command_line.h"

int sc_main(int argc, char** argv) {
  weft::rtl::provide_reduction_lane<Vmy_lane, /*children=*/4, /*bytes=*/64>("my-lane");
  return weft::platforms::command_line(argc, argv);
}
