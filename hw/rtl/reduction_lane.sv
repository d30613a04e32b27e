// SPDX-License-Identifier: Apache-2.0
// The adders of a reduction tree's node: one beat from each child that takes part becomes their sum. The model is
// ReductionModel::add_up (hw/fabric/reduction/reduction_model.cpp), bit for bit: beats are added in the order of the children,
// ((c0 + c1) + c2) + ..., whatever order they come in; one with `in_adds` 0 counts and adds nothing.
//
// Streams have valid and ready: a beat is handed over at a rising edge at which both are 1, and valid, once 1, keeps its
// beat until then. The lane takes the beats of all children that take part at one edge: `in_ready` of each waits for
// `in_valid` of all. It takes a set of beats each cycle. The sum is at the output 3 * (CHILDREN - 1) cycles later; the
// whole pipeline stands while the output's beat is not taken.
//
//   kind      of the elements, as in weft::ElementType: 0 fp32, 1 bf16, 2 int32, 3 fp16
//   children  which of them take part; this and `kind` are stable while beats are inside
//   *_last    last beat of a packet, from the first child that takes part, as the id is
//   out_adds  0: no child added anything, and the data are zeros
//   error     ids or lasts of beats that were joined differed, since reset
module reduction_lane #(
    parameter CHILDREN = 4,
    parameter BYTES = 64,
    parameter ID = 32
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
  localparam BITS = BYTES * 8;
  localparam WORDS = BYTES / 4;
  localparam ADDER = 3;  // cycles
  localparam DEPTH = ADDER * (CHILDREN - 1);

  // What every child's beat says of itself, taken from the first child that takes part.
  wire [CHILDREN-1:0] first = children & (~children + 1'b1);
  wire [ID:0] label;
  wire [CHILDREN-1:0] differs;
  genvar c;
  generate
    for (c = 0; c < CHILDREN; c = c + 1) begin : child
      wire [ID:0] own = {in_last[c], in_id[c*ID+:ID]};
      wire [ID:0] upto;
      if (c == 0) begin : start
        assign upto = own & {(ID + 1) {first[c]}};
      end else begin : others
        assign upto = child[c-1].upto | (own & {(ID + 1) {first[c]}});
      end
      assign differs[c] = children[c] && own != label;
    end
  endgenerate
  assign label = child[CHILDREN-1].upto;

  wire joined = children != 0 && (children & ~in_valid) == 0;
  wire advance = !out_valid || out_ready;
  assign in_ready = joined && advance ? children : {CHILDREN{1'b0}};

  reg [DEPTH-1:0] valid;
  reg mismatch;
  always @(posedge clk)
    if (reset) begin
      valid <= 0;
      mismatch <= 0;
    end else if (advance) begin
      valid <= {valid[DEPTH-2:0], joined};
      if (joined && differs != 0) mismatch <= 1;
    end
  assign out_valid = valid[DEPTH-1];
  assign error = mismatch;

  delay_line #(
      .WIDTH(ID + 1),
      .DEPTH(DEPTH)
  ) labels (
      .clk(clk),
      .enable(advance),
      .in(label),
      .out({out_last, out_id})
  );

  // The chain of adders. Child k's beat waits for the sum of those before it.
  wire [CHILDREN*BITS-1:0] sums;
  wire [CHILDREN-1:0] sums_add;
  assign sums_add[0] = children[0] & in_adds[0];
  assign sums[BITS-1:0] = in_data[BITS-1:0];
  genvar k, w;
  generate
    for (k = 1; k < CHILDREN; k = k + 1) begin : add
      wire [BITS-1:0] operand;
      wire operand_adds;
      delay_line #(
          .WIDTH(BITS + 1),
          .DEPTH(ADDER * (k - 1))
      ) waiting (
          .clk(clk),
          .enable(advance),
          .in({children[k] & in_adds[k], in_data[k*BITS+:BITS]}),
          .out({operand_adds, operand})
      );
      delay_line #(
          .WIDTH(1),
          .DEPTH(ADDER)
      ) adds (
          .clk(clk),
          .enable(advance),
          .in(sums_add[k-1] | operand_adds),
          .out(sums_add[k])
      );
      for (w = 0; w < WORDS; w = w + 1) begin : word
        reduction_adder adder (
            .clk(clk),
            .enable(advance),
            .kind(kind),
            .a(sums[(k-1)*BITS+w*32+:32]),
            .a_adds(sums_add[k-1]),
            .b(operand[w*32+:32]),
            .b_adds(operand_adds),
            .sum(sums[k*BITS+w*32+:32])
        );
      end
    end
  endgenerate
  assign out_data = sums[(CHILDREN-1)*BITS+:BITS];
  assign out_adds = sums_add[CHILDREN-1];
endmodule
