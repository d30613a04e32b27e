// SPDX-License-Identifier: Apache-2.0
// A lane for int32 with a queue at each input, whose adders take a beat every second cycle and whose results wait in a
// queue of three behind them: unlike hw/rtl/reduction_lane.sv its inputs take beats for themselves, and go on while the
// output is blocked. The test bench offers packets of one to five beats at random times, and takes sums now always, now
// seldom, now at random. `SEED` chooses which; +vcd=FILE is the waveform, of the pins at tb.lane.*.
`timescale 1ns / 1ps
module queued_lane #(
    parameter CHILDREN = 3,
    parameter BYTES = 8
) (
    input                             clk,
    input                             reset,
    input      [                 1:0] kind,
    input      [        CHILDREN-1:0] children,
    input      [        CHILDREN-1:0] in_valid,
    output     [        CHILDREN-1:0] in_ready,
    input      [CHILDREN*BYTES*8-1:0] in_data,
    input      [        CHILDREN-1:0] in_last,
    input      [        CHILDREN-1:0] in_adds,
    input      [     CHILDREN*32-1:0] in_id,
    output                            out_valid,
    input                             out_ready,
    output     [         BYTES*8-1:0] out_data,
    output                            out_last,
    output                            out_adds,
    output     [                31:0] out_id
);
  localparam QUEUE = 2;
  localparam ROOM = 3;
  localparam LATENCY = 3;
  localparam BITS = BYTES * 8;

  reg [2*8-1:0] held[0:CHILDREN-1];
  reg [BITS-1:0] queue[0:CHILDREN*QUEUE-1];
  reg [33:0] labels[0:CHILDREN*QUEUE-1];  // last, adds, id
  reg [BITS+33:0] store[0:ROOM];
  integer due[0:ROOM];
  integer count, now, pace, c, w, n;
  reg joined;
  reg [BITS-1:0] sum;
  reg any;

  genvar g;
  generate
    for (g = 0; g < CHILDREN; g = g + 1) begin : ready
      assign in_ready[g] = held[g] < QUEUE;
    end
  endgenerate
  assign out_valid = count > 0 && due[0] <= now;
  assign {out_last, out_adds, out_id, out_data} = store[0];

  always @(posedge clk)
    if (reset) begin
      for (c = 0; c < CHILDREN; c = c + 1) held[c] <= 0;
      count <= 0;
      now   <= 0;
      pace  <= 0;
    end else begin
      n = count;
      if (out_valid && out_ready) begin
        for (c = 0; c < ROOM; c = c + 1) begin
          store[c] <= store[c+1];
          due[c] <= due[c+1];
        end
        n = n - 1;
      end
      joined = n < ROOM && pace == 0;
      for (c = 0; c < CHILDREN; c = c + 1) joined = joined && held[c] > 0;
      sum = 0;
      any = 0;
      for (c = 0; c < CHILDREN; c = c + 1)
        if (labels[c*QUEUE][32]) begin
          for (w = 0; w < BITS; w = w + 32) sum[w+:32] = sum[w+:32] + queue[c*QUEUE][w+:32];
          any = 1;
        end
      if (joined) begin
        store[n] <= {labels[0][33], any, labels[0][31:0], sum};
        due[n] <= now + LATENCY;
        n = n + 1;
      end
      pace <= joined ? 1 : 0;
      for (c = 0; c < CHILDREN; c = c + 1) begin
        w = held[c];
        if (joined) begin
          queue[c*QUEUE]  <= queue[c*QUEUE+1];
          labels[c*QUEUE] <= labels[c*QUEUE+1];
          w = w - 1;
        end
        if (in_valid[c] && in_ready[c]) begin
          queue[c*QUEUE+w]  <= in_data[c*BITS+:BITS];
          labels[c*QUEUE+w] <= {in_last[c], in_adds[c], in_id[c*32+:32]};
          w = w + 1;
        end
        held[c] <= w;
      end
      count <= n;
      now   <= now + 1;
    end
endmodule

module tb;
  parameter SEED = 1;
  localparam CHILDREN = 3;
  localparam BYTES = 8;
  localparam PACKETS = 80;

  reg clk = 0, reset = 1;
  reg [1:0] kind = 2;
  reg [CHILDREN-1:0] children = 7, in_valid = 0, in_last = 0, in_adds = 0;
  wire [CHILDREN-1:0] in_ready;
  reg [CHILDREN*BYTES*8-1:0] in_data = 0;
  reg [CHILDREN*32-1:0] in_id = 0;
  wire out_valid, out_last, out_adds;
  reg out_ready = 0;
  wire [BYTES*8-1:0] out_data;
  wire [31:0] out_id;
  queued_lane #(.CHILDREN(CHILDREN), .BYTES(BYTES)) lane (
      .clk(clk), .reset(reset), .kind(kind), .children(children), .in_valid(in_valid), .in_ready(in_ready),
      .in_data(in_data), .in_last(in_last), .in_adds(in_adds), .in_id(in_id), .out_valid(out_valid),
      .out_ready(out_ready), .out_data(out_data), .out_last(out_last), .out_adds(out_adds), .out_id(out_id));

  always #5 clk = ~clk;

  integer packet[0:CHILDREN-1], beat[0:CHILDREN-1];
  integer seed = SEED, mood = 0, sums = 0, c, beats;
  reg [8*512-1:0] name;
  initial begin
    for (c = 0; c < CHILDREN; c = c + 1) begin
      packet[c] = 0;
      beat[c] = 0;
    end
    if ($value$plusargs("vcd=%s", name)) begin
      $dumpfile(name);
      $dumpvars(1, lane);
    end
    #200000 $fatal(1, "only %0d sums", sums);
  end

  always @(posedge clk) begin
    if ($time > 42) reset <= 0;
    if ($urandom(seed) % 64 == 0) mood <= $urandom(seed) % 3;
    out_ready <= mood == 0 || (mood == 1 ? $urandom(seed) % 8 == 0 : $urandom(seed) % 2 == 0);
    if (!reset)
      for (c = 0; c < CHILDREN; c = c + 1)
        if (!in_valid[c] || in_ready[c]) begin
          in_valid[c] <= 0;
          if (packet[c] < PACKETS && (mood == 0 || $urandom(seed) % 3 != 0)) begin
            beats = 1 + (packet[c] * 7 + SEED) % 5;
            in_valid[c] <= 1;
            in_id[c*32+:32] <= packet[c];
            in_adds[c] <= (packet[c] + c) % 4 != 0;
            in_last[c] <= beat[c] + 1 == beats;
            in_data[c*BYTES*8+:BYTES*8] <= {$urandom(seed), $urandom(seed)};
            beat[c] = beat[c] + 1;
            if (beat[c] == beats) begin
              beat[c] = 0;
              packet[c] = packet[c] + 1;
            end
          end
        end
    if (!reset && out_valid && out_ready && out_last) begin
      sums = sums + 1;
      if (sums == PACKETS) begin
        $display("done: %0d sums", sums);
        $finish;
      end
    end
  end
endmodule
