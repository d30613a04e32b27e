// SPDX-License-Identifier: Apache-2.0
// reduction_lane with something wrong at its output, for tests that must find it. FAULT: 1 the sum AT, counted from 0, is
// lost; 2 it comes a cycle late; 3 it has the next one's id, and that one its.
module faulty_lane #(
    parameter CHILDREN = 3,
    parameter BYTES = 8,
    parameter ID = 32,
    parameter FAULT = 1,
    parameter AT = 41
) (
    input                         clk,
    input                         reset,
    input  [                 1:0] kind,
    input  [        CHILDREN-1:0] children,
    input  [        CHILDREN-1:0] in_valid,
    output [        CHILDREN-1:0] in_ready,
    input  [CHILDREN*BYTES*8-1:0] in_data,
    input  [        CHILDREN-1:0] in_last,
    input  [        CHILDREN-1:0] in_adds,
    input  [     CHILDREN*ID-1:0] in_id,
    output                        out_valid,
    input                         out_ready,
    output [         BYTES*8-1:0] out_data,
    output                        out_last,
    output                        out_adds,
    output [              ID-1:0] out_id,
    output                        error
);
  wire valid;
  wire [ID-1:0] id;
  reg [31:0] taken, given;
  reg held;
  reg [ID-1:0] first, second;  // ids of the sums AT and AT + 1, noted as their beats come in
  wire here = valid && given == AT;
  wire drops = FAULT == 1 && here;
  wire holds = FAULT == 2 && here && !held;
  wire ready = drops || (out_ready && !holds);
  always @(posedge clk)
    if (reset) begin
      taken <= 0;
      given <= 0;
      held <= 0;
    end else begin
      held <= here;
      if (valid && ready) given <= given + 1;
      if (in_ready != 0) taken <= taken + 1;
      if (in_ready != 0 && taken == AT) first <= in_id[ID-1:0];
      if (in_ready != 0 && taken == AT + 1) second <= in_id[ID-1:0];
    end
  assign out_valid = valid && !drops && !holds;
  assign out_id = FAULT == 3 && here ? second : FAULT == 3 && given == AT + 1 ? first : id;

  reduction_lane #(
      .CHILDREN(CHILDREN),
      .BYTES(BYTES),
      .ID(ID)
  ) core (
      .clk(clk),
      .reset(reset),
      .kind(kind),
      .children(children),
      .in_valid(in_valid),
      .in_ready(in_ready),
      .in_data(in_data),
      .in_last(in_last),
      .in_adds(in_adds),
      .in_id(in_id),
      .out_valid(valid),
      .out_ready(ready),
      .out_data(out_data),
      .out_last(out_last),
      .out_adds(out_adds),
      .out_id(id),
      .error(error)
  );
endmodule
