// SPDX-License-Identifier: Apache-2.0
// Plays what tests/rtl/recorder.h has written of a run with Verilator, and checks that every cycle's outputs are the same:
// +cycles=FILE, a line for each cycle, in hexadecimal digits: inputs, outputs, and mask of those outputs that mean
// something. The module `dut` is one of tests/rtl/play: it says which bits are which port.
`timescale 1ns / 1ps
module tb;
  reg clk = 0;
  reg [63:0] in, want, mask;
  wire [63:0] out;
  dut dut (
      .clk(clk),
      .in(in),
      .out(out)
  );

  reg [8*512-1:0] name;
  integer file, fields, cycles = 0;
  initial begin
    if (!$value$plusargs("cycles=%s", name)) $fatal(1, "+cycles=FILE is missing");
    file = $fopen(name, "r");
    if (file == 0) $fatal(1, "cannot open the file of cycles");
    fields = $fscanf(file, "%h %h %h\n", in, want, mask);
    while (fields == 3) begin
      #4;
      if (((out ^ want) & mask) !== 0) $fatal(1, "cycle %0d: got %h, expected %h in %h", cycles, out, want, mask);
      #1 clk = 1;
      #5 clk = 0;
      cycles = cycles + 1;
      fields = $fscanf(file, "%h %h %h\n", in, want, mask);
    end
    $display("done: %0d cycles", cycles);
    $finish;
  end
endmodule
