// SPDX-License-Identifier: Apache-2.0
// Sum of two 32-bit words of elements of one kind, three cycles later: one fp32 or int32 element, or two of bf16 or
// fp16. A word whose `adds` is 0 counts as nothing: the other one comes out as it is, and of two of them zeros do. The
// model is weft::add (hw/core/element.h) and, for words that add nothing, ReductionModel::add_up
// (hw/fabric/reduction/reduction_model.cpp). Registers move where `enable` is 1.
module reduction_adder (
    input         clk,
    input         enable,
    input  [ 1:0] kind,
    input  [31:0] a,
    input         a_adds,
    input  [31:0] b,
    input         b_adds,
    output [31:0] sum
);
  localparam [1:0] FP32 = 0, INT32 = 2;
  wire both = a_adds & b_adds;
  wire bypass = !both || kind == INT32;
  wire [31:0] instead = both ? a + b : a_adds ? a : b_adds ? b : 32'b0;

  wire [31:0] word;
  wire [15:0] high;
  fp_add #(
      .WIDTH(32)
  ) word_add (
      .clk(clk),
      .enable(enable),
      .kind(kind),
      .a(a),
      .b(b),
      .bypass(bypass),
      .instead(instead),
      .sum(word)
  );
  fp_add #(
      .WIDTH(16)
  ) high_add (
      .clk(clk),
      .enable(enable),
      .kind(kind),
      .a(a[31:16]),
      .b(b[31:16]),
      .bypass(bypass),
      .instead(instead[31:16]),
      .sum(high)
  );
  // Not `kind` of three cycles ago: it is stable while words are inside.
  assign sum = kind == FP32 || kind == INT32 ? word : {high, word[15:0]};
endmodule
