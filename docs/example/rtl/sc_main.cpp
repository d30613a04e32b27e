// SPDX-License-Identifier: Apache-2.0
// All that `weft` does, with a lane and an arbiter of our own to choose: "reduction": {"implementation": "my-lane"} and
// "arbiter": {"implementation": "my-arbiter"}.
#include "Vmy_arbiter.h"
#include "Vmy_lane.h"
#include "hw/rtl/reduction_lane.h"
#include "hw/rtl/voq_arbiter.h"
#include "platforms/commands/command_line.h"

int sc_main(int argc, char** argv) {
  weft::rtl::provide_reduction_lane<Vmy_lane, /*children=*/4, /*bytes=*/64>("my-lane");
  weft::rtl::provide_voq_arbiter<Vmy_arbiter, /*inputs=*/32, /*lanes=*/2>("my-arbiter");
  return weft::platforms::command_line(argc, argv);
}
