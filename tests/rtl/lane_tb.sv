// SPDX-License-Identifier: Apache-2.0
// Plays a file of beats through reduction_lane, in Icarus or Verilator, and checks its sums against a second file:
//
//   +stimulus=FILE  a line for each beat of the children, of words in hexadecimal digits:
//                     kind      0 fp32, 1 bf16, 2 int32, 3 fp16
//                     children  mask of those that take part; the lane runs empty before a line that changes it or kind
//                     adds      mask of those whose beat is added
//                     gaps      cycles that each child waits before it offers the beat, a byte each, child 0 lowest
//                     stall     cycles that the sum waits at the output until it is taken
//                     last id   of the beats of all children
//                     data      of all children, child 0 lowest
//   +expect=FILE    a line for each sum, which it must equal: last adds id data. Not checked if absent.
//   +vcd=FILE       the waveform: tb.* and the ports and registers at the top of tb.lane.*. Rising edges of tb.clk are
//                   10 ns apart; signals change with them.
//
// Ends with a line "done: N beats", or $fatal at the first sum that differs, and when nothing moves: for 1,000 cycles, or
// 100,000 while a sum waits to be taken.
//
// With FAULT defined the lane is tests/rtl/faults/faulty_lane.sv with that number as its parameter.
`timescale 1ns / 1ps
module tb;
  parameter CHILDREN = 3;
  parameter BYTES = 8;
  parameter ID = 32;
  localparam DATA = BYTES * 8;

  reg clk = 0, reset = 1;
  reg [1:0] kind = 0;
  reg [CHILDREN-1:0] children = 0, in_adds = 0;
  reg [CHILDREN-1:0] in_valid = 0;
  wire [CHILDREN-1:0] in_ready;
  reg [CHILDREN*DATA-1:0] in_data = 0;
  reg in_last = 0;
  reg [ID-1:0] in_id = 0;
  wire out_valid, out_last, out_adds, error;
  reg out_ready = 0;
  wire [DATA-1:0] out_data;
  wire [ID-1:0] out_id;

`ifdef FAULT
  faulty_lane #(.CHILDREN(CHILDREN), .BYTES(BYTES), .ID(ID), .FAULT(`FAULT)) lane
`else
  reduction_lane #(.CHILDREN(CHILDREN), .BYTES(BYTES), .ID(ID)) lane
`endif
      (.clk(clk), .reset(reset), .kind(kind), .children(children), .in_valid(in_valid), .in_ready(in_ready),
       .in_data(in_data), .in_last({CHILDREN{in_last}}), .in_adds(in_adds), .in_id({CHILDREN{in_id}}),
       .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data), .out_last(out_last), .out_adds(out_adds),
       .out_id(out_id), .error(error));

  always #5 clk = ~clk;

  reg [8*512-1:0] name;
  integer stimulus, expect_file, fields;
  reg checks = 0;
  integer i;
  initial begin
    for (i = 0; i < 256; i = i + 1) stalls[i] = 0;
    if ($value$plusargs("vcd=%s", name)) begin
      $dumpfile(name);
      $dumpvars(1, tb);
      $dumpvars(1, lane);
    end
    if (!$value$plusargs("stimulus=%s", name)) $fatal(1, "+stimulus=FILE is missing");
    stimulus = $fopen(name, "r");
    if (stimulus == 0) $fatal(1, "cannot open the stimulus");
    if ($value$plusargs("expect=%s", name)) begin
      expect_file = $fopen(name, "r");
      if (expect_file == 0) $fatal(1, "cannot open the file of expected sums");
      checks = 1;
    end
  end

  // The line that is offered, or waits for the lane to run empty.
  reg have = 0, ended = 0;
  reg [1:0] next_kind;
  reg [CHILDREN-1:0] next_children, next_adds;
  reg [CHILDREN*8-1:0] gaps;
  reg [15:0] stall;
  reg next_last;
  reg [ID-1:0] next_id;
  reg [CHILDREN*DATA-1:0] next_data;
  reg [31:0] age = 0;  // cycles since the line could have been offered

  // Of sums that are inside: how long they stall. What is expected of the next one.
  reg [15:0] stalls[0:255];
  reg [7:0] taken = 0, given = 0;
  reg [15:0] waited = 0;
  reg want_last, want_adds;
  reg [ID-1:0] want_id;
  reg [DATA-1:0] want_data;
  integer beats = 0, idle = 0;

  wire takes = in_ready != 0;
  wire gives = out_valid && out_ready;
  wire [7:0] taken_then = taken + {7'b0, takes};
  wire [7:0] given_then = given + {7'b0, gives};

  always @(posedge clk) begin
    reset <= 0;
    if (takes === 1'b1 || gives === 1'b1) idle = 0;
    else idle = idle + 1;
    if (idle >= (out_valid === 1'b1 ? 100_000 : 1000)) $fatal(1, "nothing moves after %0d beats", beats);

    if (!reset && gives) begin
      if (checks) begin
        fields = $fscanf(expect_file, "%h %h %h %h\n", want_last, want_adds, want_id, want_data);
        if (fields != 4) $fatal(1, "beat %0d: more sums than expected", beats);
        if (out_last !== want_last || out_adds !== want_adds || out_id !== want_id || out_data !== want_data)
          $fatal(1, "beat %0d: got %h %h %h %h, expected %h %h %h %h", beats, out_last, out_adds, out_id, out_data,
                 want_last, want_adds, want_id, want_data);
      end
      beats = beats + 1;
    end
    taken <= taken_then;
    given <= given_then;
    waited <= gives || !out_valid ? 0 : waited + 1;
    out_ready <= stalls[given_then] <= (gives || !out_valid ? 0 : waited + 1);

    if (!reset && (takes || !have) && !ended) begin
      fields = $fscanf(stimulus, "%h %h %h %h %h %h %h %h\n", next_kind, next_children, next_adds, gaps, stall,
                       next_last, next_id, next_data);
      have = fields == 8;
      ended = !have;
      age = 0;
    end else age = age + 1;
    if (takes && ended) have = 0;

    if (!have) in_valid <= 0;
    else if ((next_kind != kind || next_children != children) && (taken_then != given_then || takes)) begin
      in_valid <= 0;
      age = 0;
    end else begin
      kind <= next_kind;
      children <= next_children;
      in_adds <= next_adds;
      in_last <= next_last;
      in_id <= next_id;
      in_data <= next_data;
      stalls[taken_then] = stall;
      for (i = 0; i < CHILDREN; i = i + 1) in_valid[i] <= next_children[i] && age >= gaps[i*8+:8];
    end
    if (ended && taken_then == given_then) begin
      if (checks) begin
        fields = $fscanf(expect_file, "%h", want_last);
        if (fields == 1) $fatal(1, "fewer sums than expected: %0d", beats);
      end
      if (error) $fatal(1, "beats that were joined differed in id or last");
      $display("done: %0d beats", beats);
      $finish;
    end
  end
endmodule
