// SPDX-License-Identifier: Apache-2.0
// An arbiter of our own with the ports of Weft's (hw/rtl/voq_arbiter.sv): 32 inputs of two lanes. The lowest input of the
// lowest lane that has credit always goes first, so that the others may starve.
module my_arbiter (
    input         clk,
    input         reset,
    input  [63:0] waiting,
    input  [63:0] credit,
    input         take,
    output        grant_valid,
    output [ 0:0] grant_lane,
    output [ 4:0] grant_input
);
  wire unused = &{1'b0, clk, reset, take};
  wire [63:0] may = waiting & credit;
  wire [63:0] lowest = may & (~may + 64'b1);
  assign grant_valid = may != 0;

  genvar bit_number, queue;
  wire [5:0] number;  // of the queue: its lane, and the input in it
  generate
    for (bit_number = 0; bit_number < 6; bit_number = bit_number + 1) begin : number_bit
      wire [63:0] ones;
      for (queue = 0; queue < 64; queue = queue + 1) begin : of
        assign ones[queue] = lowest[queue] && ((queue >> bit_number) & 1) != 0;
      end
      assign number[bit_number] = ones != 0;
    end
  endgenerate
  assign {grant_lane, grant_input} = number;
endmodule
