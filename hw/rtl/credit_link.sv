// SPDX-License-Identifier: Apache-2.0
// One direction of a link: credit_transmitter and credit_receiver with FLIGHT cycles of wire between them each way. See
// those for the ports. From a beat's take at the input until it can be taken at the output: FLIGHT + 2 cycles. From the
// take of a packet's last beat until its room can be used: FLIGHT + 3.
module credit_link #(
    parameter LANES = 2,
    parameter LANE = 1,                    // bits of a lane's number
    parameter BUFFER = 64,                 // beats of each lane at the receiver, a power of two
    parameter SIZE = $clog2(BUFFER) + 1,   // bits of a number of beats, up to and with BUFFER
    parameter WIDTH = 32,
    parameter FLIGHT = 10
) (
    input                    clk,
    input                    reset,
    input                    in_valid,
    output                   in_ready,
    input                    in_first,
    input                    in_last,
    input  [       LANE-1:0] in_lane,
    input  [       SIZE-1:0] in_size,
    input  [      WIDTH-1:0] in_data,
    output [ LANES*SIZE-1:0] credits,
    output [      LANES-1:0] out_valid,
    input  [      LANES-1:0] out_ready,
    output [      LANES-1:0] out_last,
    output [LANES*WIDTH-1:0] out_data,
    output                   overflow
);
  wire sent, sent_last, given;
  wire [LANE-1:0] sent_lane, given_lane;
  wire [WIDTH-1:0] sent_data;
  wire [SIZE-1:0] given_beats;
  wire came, came_last, back;
  wire [LANE-1:0] came_lane, back_lane;
  wire [WIDTH-1:0] came_data;
  wire [SIZE-1:0] back_beats;

  credit_transmitter #(
      .LANES(LANES),
      .LANE(LANE),
      .BUFFER(BUFFER),
      .SIZE(SIZE),
      .WIDTH(WIDTH)
  ) transmitter (
      .clk(clk),
      .reset(reset),
      .in_valid(in_valid),
      .in_ready(in_ready),
      .in_first(in_first),
      .in_last(in_last),
      .in_lane(in_lane),
      .in_size(in_size),
      .in_data(in_data),
      .credits(credits),
      .wire_valid(sent),
      .wire_last(sent_last),
      .wire_lane(sent_lane),
      .wire_data(sent_data),
      .credit_valid(back),
      .credit_lane(back_lane),
      .credit_beats(back_beats)
  );
  // While reset lasts, which takes FLIGHT cycles or more, what was on the way leaves the wire.
  delay_line #(
      .WIDTH(2 + LANE + WIDTH),
      .DEPTH(FLIGHT)
  ) there (
      .clk(clk),
      .enable(1'b1),
      .in({sent, sent_last, sent_lane, sent_data}),
      .out({came, came_last, came_lane, came_data})
  );
  delay_line #(
      .WIDTH(1 + LANE + SIZE),
      .DEPTH(FLIGHT)
  ) back_again (
      .clk(clk),
      .enable(1'b1),
      .in({given, given_lane, given_beats}),
      .out({back, back_lane, back_beats})
  );
  credit_receiver #(
      .LANES(LANES),
      .LANE(LANE),
      .BUFFER(BUFFER),
      .SIZE(SIZE),
      .WIDTH(WIDTH)
  ) receiver (
      .clk(clk),
      .reset(reset),
      .wire_valid(came),
      .wire_last(came_last),
      .wire_lane(came_lane),
      .wire_data(came_data),
      .out_valid(out_valid),
      .out_ready(out_ready),
      .out_last(out_last),
      .out_data(out_data),
      .credit_valid(given),
      .credit_lane(given_lane),
      .credit_beats(given_beats),
      .overflow(overflow)
  );
endmodule
