// SPDX-License-Identifier: Apache-2.0
// The receiving end of a link with credits: a buffer for each lane, whose space is given back by the packet, when its
// last beat has been taken (as a switch does it: fabric::Switch::release in hw/fabric/switch/switch.cpp). The model of the
// protocol is fabric::Transmitter (hw/fabric/link.h).
//
// A lane's beat can be taken from the cycle after it came from the wire; `out_ready` has a bit for each lane, and so many
// may be taken in a cycle. Credits leave one lane a cycle, the lowest first; those of a lane that waits are added up.
// `overflow` stays 1 after a beat found no room, which a sender with credits cannot cause.
module credit_receiver #(
    parameter LANES = 2,
    parameter LANE = 1,                    // bits of a lane's number
    parameter BUFFER = 64,                 // beats of each lane at the receiver, a power of two
    parameter SIZE = $clog2(BUFFER) + 1,   // bits of a number of beats, up to and with BUFFER
    parameter WIDTH = 32
) (
    input                        clk,
    input                        reset,
    input                        wire_valid,
    input                        wire_last,
    input      [       LANE-1:0] wire_lane,
    input      [      WIDTH-1:0] wire_data,
    output     [      LANES-1:0] out_valid,
    input      [      LANES-1:0] out_ready,
    output     [      LANES-1:0] out_last,
    output     [LANES*WIDTH-1:0] out_data,
    output reg                   credit_valid,
    output reg [       LANE-1:0] credit_lane,
    output reg [       SIZE-1:0] credit_beats,
    output                       overflow
);
  localparam PLACE = SIZE - 1;                          // bits of a place in a buffer
  localparam [SIZE-1:0] FULL = {1'b1, {PLACE{1'b0}}};  // BUFFER

  wire [LANES-1:0] owes, turn, lost;
  wire [LANES*SIZE-1:0] owed;
  assign turn = owes & (~owes + 1'b1);
  assign overflow = lost != 0;

  genvar l;
  generate
    for (l = 0; l < LANES; l = l + 1) begin : lane
      reg [WIDTH:0] buffer[0:BUFFER-1];
      reg [PLACE-1:0] head, tail;
      reg [SIZE-1:0] held, part, due;  // beats: in the buffer, taken of a packet, and of packets taken whole
      reg too_many;
      wire comes = wire_valid && wire_lane == l && held != FULL;
      wire goes = out_valid[l] && out_ready[l];
      wire whole = goes && out_last[l];
      assign out_valid[l] = held != 0;
      assign {out_last[l], out_data[l*WIDTH+:WIDTH]} = buffer[head];
      assign owes[l] = due != 0;
      assign owed[l*SIZE+:SIZE] = due;
      assign lost[l] = too_many;
      always @(posedge clk)
        if (reset) begin
          head <= 0;
          tail <= 0;
          held <= 0;
          part <= 0;
          due <= 0;
          too_many <= 0;
        end else begin
          if (wire_valid && wire_lane == l && held == FULL) too_many <= 1;
          if (comes) begin
            buffer[tail] <= {wire_last, wire_data};
            tail <= tail + 1'b1;
          end
          if (goes) begin
            head <= head + 1'b1;
            part <= out_last[l] ? 0 : part + 1'b1;
          end
          held <= held + {{PLACE{1'b0}}, comes} - {{PLACE{1'b0}}, goes};
          due <= (turn[l] ? 0 : due) + (whole ? part + 1'b1 : 0);
        end
    end
  endgenerate

  integer i;
  always @(posedge clk) begin
    credit_valid <= !reset && owes != 0;
    credit_lane <= 0;
    credit_beats <= 0;
    for (i = 0; i < LANES; i = i + 1)
      if (turn[i]) begin
        credit_lane <= i[LANE-1:0];
        credit_beats <= owed[i*SIZE+:SIZE];
      end
  end
endmodule
