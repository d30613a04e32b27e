// SPDX-License-Identifier: Apache-2.0
#include "hw/rtl/blocks.h"

#ifdef WEFT_LANE_CHILDREN
#include "Vweft_reduction_lane.h"
#include "Vweft_voq_arbiter.h"
#include "hw/rtl/reduction_lane.h"
#include "hw/rtl/voq_arbiter.h"
#endif

namespace weft::rtl {

void provide_blocks() {
#ifdef WEFT_LANE_CHILDREN
  provide_reduction_lane<Vweft_reduction_lane, WEFT_LANE_CHILDREN, WEFT_LANE_BYTES>("rtl");
  provide_voq_arbiter<Vweft_voq_arbiter, WEFT_ARBITER_INPUTS, WEFT_ARBITER_LANES>("rtl");
#endif
}

}  // namespace weft::rtl
