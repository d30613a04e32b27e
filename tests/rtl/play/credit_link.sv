// SPDX-License-Identifier: Apache-2.0
// For play_tb.sv.
module dut (
    input         clk,
    input  [63:0] in,
    output [63:0] out
);
  wire reset, in_valid, in_ready, in_first, in_last, in_lane, overflow;
  wire [4:0] in_size;
  wire [15:0] in_data;
  wire [1:0] out_valid, out_ready, out_last;
  wire [9:0] credits;
  wire [31:0] out_data;
  assign {reset, in_valid, in_first, in_last, in_lane, in_size, in_data, out_ready} = in[27:0];
  assign out = {16'b0, in_ready, credits, out_valid, out_last, out_data, overflow};
  credit_link #(
      .BUFFER(16),
      .WIDTH(16)
  ) link (
      .clk(clk),
      .reset(reset),
      .in_valid(in_valid),
      .in_ready(in_ready),
      .in_first(in_first),
      .in_last(in_last),
      .in_lane(in_lane),
      .in_size(in_size),
      .in_data(in_data),
      .credits(credits),
      .out_valid(out_valid),
      .out_ready(out_ready),
      .out_last(out_last),
      .out_data(out_data),
      .overflow(overflow)
  );
endmodule
