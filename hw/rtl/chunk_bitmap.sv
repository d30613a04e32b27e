// SPDX-License-Identifier: Apache-2.0
// The receive bitmap of a SmartNIC: which chunks of a multicast collective have come, how many are missing, and the next
// run of missing ones, which is what is fetched again. The model is weft::collectives::ChunkMap
// (sw/collectives/multicast/chunk_map.h): `begin_*` is its begin(), `set_*` set(), `find_*` next_hole().
//
//   begin  all of `begin_size` chunks are missing, of which `begin_own` are never sent: those of the member itself.
//          Clears a word of 64 chunks each cycle; `ready` is 0 meanwhile, and nothing is taken. Ends a find without answer.
//   set    chunk `set_number` has come, one a cycle. In the next cycle `set_done` is 1, and `set_had` if it had come before.
//   find   the first run of missing chunks in [find_from, find_end). Looks at a word a cycle; then `hole_valid` is 1 for a
//          cycle, with its first chunk and its length, 0 if there is none. The next find is taken after that. A chunk is
//          seen that came before the find was taken, and one that comes during it is seen or not.
//
// Requests are taken at a rising edge where `ready` (for find `find_ready`) is 1. Numbers below `begin_size` only.
// Left out: which source a chunk belongs to, and a count for each source (firmware asks for the range of a source), and
// the latency of an SRAM: the words are registers.
module chunk_bitmap #(
    parameter CHUNKS = 1024,               // a power of two, 128 or more
    parameter NUMBER = $clog2(CHUNKS) + 1  // bits of a number, up to and with CHUNKS
) (
    input                   clk,
    input                   reset,
    output                  ready,
    input                   begin_valid,
    input      [NUMBER-1:0] begin_size,
    input      [NUMBER-1:0] begin_own,
    input                   set_valid,
    input      [NUMBER-1:0] set_number,
    output reg              set_done,
    output reg              set_had,
    input                   find_valid,
    output                  find_ready,
    input      [NUMBER-1:0] find_from,
    input      [NUMBER-1:0] find_end,
    output reg              hole_valid,
    output reg [NUMBER-1:0] hole_first,
    output reg [NUMBER-1:0] hole_count,
    output reg [NUMBER-1:0] missing,
    output                  complete   // nothing is missing
);
  localparam WORDS = CHUNKS / 64;
  localparam WORD = NUMBER - 7;  // bits of a word's number

  reg [63:0] words[0:WORDS-1];
  reg clearing;
  reg [WORD-1:0] cleared;

  assign ready = !clearing;
  assign complete = missing == 0;

  // Set: read, changed and written in one cycle.
  wire sets = ready && set_valid && !begin_valid;
  wire [WORD-1:0] set_word = set_number[NUMBER-2:6];
  wire unused = &{1'b0, set_number[NUMBER-1]};
  wire [63:0] set_bit = 64'b1 << set_number[5:0];
  wire [63:0] set_old = words[set_word];
  wire had = (set_old & set_bit) != 0;
  always @(posedge clk) begin
    set_done <= sets && !reset;
    set_had <= had;
    if (reset) begin
      clearing <= 1;
      cleared <= 0;
      missing <= 0;
    end else if (clearing) begin
      words[cleared] <= 0;
      cleared <= cleared + 1'b1;
      clearing <= cleared != {WORD{1'b1}};
    end else if (begin_valid) begin
      clearing <= 1;
      cleared <= 0;
      missing <= begin_size - begin_own;
    end else if (sets && !had) begin
      words[set_word] <= set_old | set_bit;
      missing <= missing - 1'b1;
    end
  end

  // Find: in each word the first bit, from `at` on, that is not what has been seen so far.
  reg finding, in_hole;  // inside a run of missing chunks
  reg [NUMBER-1:0] at, last, start;
  wire [63:0] word = words[at[NUMBER-2:6]];
  wire [63:0] wanted = (in_hole ? word : ~word) & (~64'b0 << at[5:0]);

  function [6:0] lowest(input [63:0] bits);  // 64: none
    reg [63:0] rest;
    begin
      rest = bits;
      lowest[6] = rest == 0;
      lowest[5] = rest[31:0] == 0 && !lowest[6];
      if (lowest[5]) rest = rest >> 32;
      lowest[4] = rest[15:0] == 0 && !lowest[6];
      if (lowest[4]) rest = rest >> 16;
      lowest[3] = rest[7:0] == 0 && !lowest[6];
      if (lowest[3]) rest = rest >> 8;
      lowest[2] = rest[3:0] == 0 && !lowest[6];
      if (lowest[2]) rest = rest >> 4;
      lowest[1] = rest[1:0] == 0 && !lowest[6];
      if (lowest[1]) rest = rest >> 2;
      lowest[0] = !rest[0] && !lowest[6];
    end
  endfunction

  wire [6:0] place = lowest(wanted);
  wire [NUMBER:0] next = {1'b0, at[NUMBER-1:6], 6'b0} + {{(NUMBER - 6) {1'b0}}, place};
  wire ends = at >= last || next >= {1'b0, last};
  wire [NUMBER-1:0] stop = ends ? last : next[NUMBER-1:0];
  assign find_ready = ready && !finding;
  always @(posedge clk) begin
    hole_valid <= 0;
    if (reset || begin_valid) finding <= 0;
    else if (!finding) begin
      finding <= find_valid && ready;
      in_hole <= 0;
      at <= find_from;
      last <= find_end;
      start <= find_end;
    end else begin
      at <= stop;
      if (!in_hole && !place[6]) begin
        in_hole <= 1;
        start <= stop;
      end
      if (ends || (in_hole && !place[6])) begin
        finding <= 0;
        hole_valid <= 1;
        hole_first <= in_hole ? start : stop;
        hole_count <= in_hole ? stop - start : 0;
      end
    end
  end
endmodule
