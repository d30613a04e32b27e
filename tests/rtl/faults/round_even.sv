// SPDX-License-Identifier: Apache-2.0
// In the place of hw/rtl/round_even.sv: ties go up. For tests that must find it.
module round_even (
    input  odd,
    input  guard,
    input  sticky,
    output up
);
  assign up = guard;
  wire unused = &{1'b0, odd, sticky};
endmodule
