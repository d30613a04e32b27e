// SPDX-License-Identifier: Apache-2.0
// For play_tb.sv.
module dut (
    input         clk,
    input  [63:0] in,
    output [63:0] out
);
  wire reset, begin_valid, set_valid, find_valid;
  wire [8:0] begin_size, begin_own, set_number, find_from, find_end;
  wire ready, set_done, set_had, find_ready, hole_valid, complete;
  wire [8:0] hole_first, hole_count, missing;
  assign {reset, begin_valid, begin_size, begin_own, set_valid, set_number, find_valid, find_from, find_end} = in[48:0];
  assign out = {31'b0, ready, set_done, set_had, find_ready, hole_valid, hole_first, hole_count, missing, complete};
  chunk_bitmap #(
      .CHUNKS(256)
  ) bitmap (
      .clk(clk),
      .reset(reset),
      .ready(ready),
      .begin_valid(begin_valid),
      .begin_size(begin_size),
      .begin_own(begin_own),
      .set_valid(set_valid),
      .set_number(set_number),
      .set_done(set_done),
      .set_had(set_had),
      .find_valid(find_valid),
      .find_ready(find_ready),
      .find_from(find_from),
      .find_end(find_end),
      .hole_valid(hole_valid),
      .hole_first(hole_first),
      .hole_count(hole_count),
      .missing(missing),
      .complete(complete)
  );
endmodule
