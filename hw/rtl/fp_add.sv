// SPDX-License-Identifier: Apache-2.0
// Sum of two floating-point numbers, three cycles later: one datapath for the formats of weft::ElementType (fp32 0,
// bf16 1, fp16 3). The model is weft::add (hw/core/element.h), with the same bits: IEEE 754 rounding to nearest even,
// subnormal numbers, infinities and signed zeros; a sum that is no number is the positive quiet NaN without payload.
//
// A number is taken apart into sign, biased exponent and a fraction that begins at the left, whatever its format. What
// the formats differ in is the exponent that means infinity and the place at which the sum is rounded. It is rounded
// once; the model's addition in fp32 before a second rounding gives the same, as fp32 has more than twice the bits of
// either (Figueroa, "When is double rounding innocuous?", 1995).
//
// WIDTH 16 has bf16 and fp16 only; of WIDTH 32, those lie in the low half, and the high half of the sum means nothing.
// With `bypass` the cycle yields `instead`. Registers move where `enable` is 1.
module fp_add #(
    parameter WIDTH = 32
) (
    input                  clk,
    input                  enable,
    input      [      1:0] kind,
    input      [WIDTH-1:0] a,
    input      [WIDTH-1:0] b,
    input                  bypass,
    input      [WIDTH-1:0] instead,
    output reg [WIDTH-1:0] sum
);
  localparam [1:0] BF16 = 1, FP16 = 3;
  localparam SIGNIFICAND = WIDTH == 32 ? 24 : 11;  // bits, with the leading 1
  localparam W = SIGNIFICAND + 3;  // and guard, round and sticky bit
  localparam N = SIGNIFICAND + 8;  // taken apart: sign, exponent, fraction
  localparam F = SIGNIFICAND - 1;  // of them

  // First cycle: the larger one, and the other one shifted to its exponent.
  wire [N-1:0] x, y;
  wire [7:0] top = kind == FP16 ? 8'd31 : 8'd255;
  wire x_special = x[N-2:F] == top;
  wire y_special = y[N-2:F] == top;
  wire subtracts = x[N-1] ^ y[N-1];
  wire is_nan = (x_special && x[F-1:0] != 0) || (y_special && y[F-1:0] != 0) || (x_special && y_special && subtracts);

  wire swapped = y[N-2:0] > x[N-2:0];
  wire [N-1:0] big = swapped ? y : x;
  wire [N-2:0] little = swapped ? x[N-2:0] : y[N-2:0];
  wire big_normal = big[N-2:F] != 0;
  wire little_normal = little[N-2:F] != 0;
  // A subnormal number has the exponent of the smallest normal ones, without their leading 1.
  wire [7:0] big_exponent = big_normal ? big[N-2:F] : 8'd1;
  wire [7:0] distance = big_exponent - (little_normal ? little[N-2:F] : 8'd1);
  wire [5:0] shift = distance > W ? W : distance[5:0];
  wire [2*W-1:0] shifted = {little_normal, little[F-1:0], {(3 + W) {1'b0}}} >> shift;

  reg sign_1, subtracts_1, bypass_1;
  reg [1:0] kind_1;
  reg [7:0] exponent_1;
  reg [SIGNIFICAND-1:0] big_1;
  reg [W-1:0] little_1;
  reg [WIDTH-1:0] instead_1;
  wire [WIDTH-1:0] nan;
  always @(posedge clk)
    if (enable) begin
      kind_1 <= kind;
      sign_1 <= big[N-1];
      subtracts_1 <= subtracts;
      exponent_1 <= big_exponent;
      big_1 <= {big_normal, big[F-1:0]};
      little_1 <= {shifted[2*W-1:W+1], |shifted[W:0]};
      bypass_1 <= bypass || x_special || y_special;
      instead_1 <= bypass ? instead : is_nan ? nan : x_special ? a : b;
    end

  // Second cycle: the sum, and how far it is from having a leading 1.
  wire [W:0] total = subtracts_1 ? {1'b0, big_1, 3'b0} - {1'b0, little_1} : {1'b0, big_1, 3'b0} + {1'b0, little_1};

  function [4:0] leading_zeros(input [31:0] bits);
    reg [31:0] rest;
    begin
      rest = bits;
      leading_zeros[4] = rest[31:16] == 0;
      if (leading_zeros[4]) rest = rest << 16;
      leading_zeros[3] = rest[31:24] == 0;
      if (leading_zeros[3]) rest = rest << 8;
      leading_zeros[2] = rest[31:28] == 0;
      if (leading_zeros[2]) rest = rest << 4;
      leading_zeros[1] = rest[31:30] == 0;
      if (leading_zeros[1]) rest = rest << 2;
      leading_zeros[0] = !rest[31];
    end
  endfunction

  reg sign_2, bypass_2;
  reg [1:0] kind_2;
  reg [7:0] exponent_2;
  reg [4:0] zeros_2;
  reg [W:0] total_2;
  reg [WIDTH-1:0] instead_2;
  always @(posedge clk)
    if (enable) begin
      kind_2 <= kind_1;
      sign_2 <= sign_1 && !(subtracts_1 && total == 0);  // x - x is +0
      exponent_2 <= exponent_1;
      zeros_2 <= leading_zeros({total[W-1:0], {(32 - W) {1'b1}}});
      total_2 <= total;
      bypass_2 <= bypass_1;
      instead_2 <= instead_1;
    end

  // Third cycle: the leading 1 goes to its place, but no further than the smallest exponent lets it, and rounding.
  wire [7:0] room = exponent_2 - 8'd1;
  wire [4:0] left = {3'b0, zeros_2} > room ? room[4:0] : zeros_2;
  wire [W-1:0] normal = total_2[W] ? {total_2[W:2], |total_2[1:0]} : total_2[W-1:0] << left;
  wire [7:0] exponent = total_2[W] ? exponent_2 + 8'd1 : normal[W-1] ? exponent_2 - {3'b0, left} : 8'd0;

  wire [4:0] cut = kind_2 == BF16 ? W - 8 : kind_2 == FP16 ? W - 11 : 3;  // bits that the format has no place for
  wire [W-1:0] off = normal << (W - cut);
  wire [W+6:0] kept = {exponent, normal[W-2:0]} >> cut;
  wire up;
  round_even rounding (
      .odd(kept[0]),
      .guard(off[W-1]),
      .sticky(|off[W-2:0]),
      .up(up)
  );
  wire [WIDTH-2:0] rounded = kept[WIDTH-2:0] + {{(WIDTH - 2) {1'b0}}, up};
  wire unused = &{1'b0, kept[W+6:WIDTH-1]};  // zeros where the format is narrower
  wire overflows = exponent == (kind_2 == FP16 ? 8'd31 : 8'd255);  // rounding up to there leaves no fraction by itself
  wire [WIDTH-1:0] packed_sum;

  // Into the common layout, and out of it.
  generate
    if (WIDTH == 32) begin : wide
      assign x = kind == BF16 ? {a[15:0], 16'b0} : kind == FP16 ? {a[15], 3'b0, a[14:0], 13'b0} : a;
      assign y = kind == BF16 ? {b[15:0], 16'b0} : kind == FP16 ? {b[15], 3'b0, b[14:0], 13'b0} : b;
      assign nan = kind == BF16 ? 32'h7fc0 : kind == FP16 ? 32'h7e00 : 32'h7fc0_0000;
      assign packed_sum = kind_2 == BF16 ? {16'b0, sign_2, overflows ? 15'h7f80 : rounded[14:0]} :
                          kind_2 == FP16 ? {16'b0, sign_2, overflows ? 15'h7c00 : rounded[14:0]} :
                          {sign_2, overflows ? 31'h7f80_0000 : rounded[30:0]};
    end else begin : narrow
      assign x = kind == BF16 ? {a, 3'b0} : {a[15], 3'b0, a[14:0]};
      assign y = kind == BF16 ? {b, 3'b0} : {b[15], 3'b0, b[14:0]};
      assign nan = kind == BF16 ? 16'h7fc0 : 16'h7e00;
      assign packed_sum = {sign_2, overflows ? (kind_2 == BF16 ? 15'h7f80 : 15'h7c00) : rounded[14:0]};
    end
  endgenerate
  always @(posedge clk) if (enable) sum <= bypass_2 ? instead_2 : packed_sum;
endmodule
