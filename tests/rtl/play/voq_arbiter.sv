// SPDX-License-Identifier: Apache-2.0
// For play_tb.sv.
module dut (
    input         clk,
    input  [63:0] in,
    output [63:0] out
);
  wire reset, take, grant_valid, grant_lane;
  wire [15:0] waiting, credit;
  wire [2:0] grant_input;
  assign {reset, waiting, credit, take} = in[33:0];
  assign out = {59'b0, grant_valid, grant_lane, grant_input};
  voq_arbiter arbiter (
      .clk(clk),
      .reset(reset),
      .waiting(waiting),
      .credit(credit),
      .take(take),
      .grant_valid(grant_valid),
      .grant_lane(grant_lane),
      .grant_input(grant_input)
  );
endmodule
