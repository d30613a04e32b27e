// SPDX-License-Identifier: Apache-2.0
// A lane of our own with the ports of Weft's (hw/rtl/reduction_lane.sv): four children, 64 bytes a beat, int32 alone. The
// order of integer additions does not matter, so that a tree of adders will do where floating point needs a chain: two
// additions deep, each with a register behind it.
module my_lane (
    input           clk,
    input           reset,
    input  [   1:0] kind,
    input  [   3:0] children,
    input  [   3:0] in_valid,
    output [   3:0] in_ready,
    input  [2047:0] in_data,
    input  [   3:0] in_last,
    input  [   3:0] in_adds,
    input  [ 127:0] in_id,
    output          out_valid,
    input           out_ready,
    output [ 511:0] out_data,
    output          out_last,
    output          out_adds,
    output [  31:0] out_id,
    output          error
);
  localparam [1:0] INT32 = 2;

  // A beat of every child that takes part, or none. All registers move together.
  wire joined = children != 0 && (children & ~in_valid) == 0;
  wire advance = !out_valid || out_ready;
  assign in_ready = joined && advance ? children : 4'b0;

  // What belongs to the beats comes from the first child that takes part.
  wire [1:0] first = children[0] ? 0 : children[1] ? 1 : children[2] ? 2 : 3;
  wire [3:0] adds = children & in_adds;

  reg [511:0] left, right, sum;
  reg [1:0] valid, last, any;
  reg [31:0] id[2];
  reg wrong;

  integer i;
  always @(posedge clk) begin
    if (advance) begin
      for (i = 0; i < 512; i = i + 32) begin
        left[i+:32]  <= (adds[0] ? in_data[i+:32] : 0) + (adds[1] ? in_data[512+i+:32] : 0);
        right[i+:32] <= (adds[2] ? in_data[1024+i+:32] : 0) + (adds[3] ? in_data[1536+i+:32] : 0);
        sum[i+:32]   <= left[i+:32] + right[i+:32];
      end
      valid <= {valid[0], joined};
      last  <= {last[0], in_last[first]};
      any   <= {any[0], |adds};
      id[0] <= in_id[first*32+:32];
      id[1] <= id[0];
      if (joined && |adds && kind != INT32) wrong <= 1;
    end
    if (reset) begin
      valid <= 0;
      wrong <= 0;
    end
  end

  assign out_valid = valid[1];
  assign out_last = last[1];
  assign out_adds = any[1];
  assign out_data = sum;
  assign out_id = id[1];
  assign error = wrong;
endmodule
