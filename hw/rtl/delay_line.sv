// SPDX-License-Identifier: Apache-2.0
// Registers in a row that move together where `enable` is 1. None of DEPTH 0: a wire.
module delay_line #(
    parameter WIDTH = 32,
    parameter DEPTH = 1
) (
    input              clk,
    input              enable,
    input  [WIDTH-1:0] in,
    output [WIDTH-1:0] out
);
  genvar i;
  generate
    if (DEPTH == 0) begin : wired
      assign out = in;
      wire unused = &{1'b0, clk, enable};
    end else begin : delayed
      for (i = 0; i < DEPTH; i = i + 1) begin : step
        reg [WIDTH-1:0] value;
        if (i == 0) begin : first
          always @(posedge clk) if (enable) value <= in;
        end else begin : later
          always @(posedge clk) if (enable) value <= step[i-1].value;
        end
      end
      assign out = step[DEPTH-1].value;
    end
  endgenerate
endmodule
