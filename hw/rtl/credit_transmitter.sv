// SPDX-License-Identifier: Apache-2.0
// The sending end of a link with credits: a packet starts when the receiver has room for all of it in the buffer of its
// lane, and then goes on without a pause, a beat a cycle. The model is fabric::Transmitter (hw/fabric/link.h), which
// counts bytes where this counts beats.
//
// `in_size` is the packet's length in beats, of 1 to BUFFER, with each of its beats; `in_first` its first one. A beat is
// taken at a rising edge where `in_valid` and `in_ready` are 1, and is on the wire in the next cycle. A packet of one
// lane is not interrupted by others: who offers it chooses (voq_arbiter.sv). `credits` tells it what may start.
// A credit gives `credit_beats` of a lane back; it can be used in the next cycle.
module credit_transmitter #(
    parameter LANES = 2,
    parameter LANE = 1,                    // bits of a lane's number
    parameter BUFFER = 64,                 // beats of each lane at the receiver, a power of two
    parameter SIZE = $clog2(BUFFER) + 1,   // bits of a number of beats, up to and with BUFFER
    parameter WIDTH = 32
) (
    input                       clk,
    input                       reset,
    input                       in_valid,
    output                      in_ready,
    input                       in_first,
    input                       in_last,
    input      [      LANE-1:0] in_lane,
    input      [      SIZE-1:0] in_size,
    input      [     WIDTH-1:0] in_data,
    output [LANES*SIZE-1:0]     credits,
    output reg                  wire_valid,
    output reg                  wire_last,
    output reg [      LANE-1:0] wire_lane,
    output reg [     WIDTH-1:0] wire_data,
    input                       credit_valid,
    input      [      LANE-1:0] credit_lane,
    input      [      SIZE-1:0] credit_beats
);
  localparam [SIZE-1:0] FULL = {1'b1, {(SIZE - 1) {1'b0}}};  // BUFFER
  wire [LANES-1:0] enough;
  genvar l;
  generate
    for (l = 0; l < LANES; l = l + 1) begin : lane
      reg [SIZE-1:0] available;
      wire spends = in_valid && in_ready && in_first && in_lane == l;
      wire gains = credit_valid && credit_lane == l;
      assign enough[l] = in_lane == l && in_size <= available;
      assign credits[l*SIZE+:SIZE] = available;
      always @(posedge clk)
        if (reset) available <= FULL;
        else available <= available - (spends ? in_size : 0) + (gains ? credit_beats : 0);
    end
  endgenerate
  assign in_ready = !reset && (!in_first || enough != 0);

  always @(posedge clk) begin
    wire_valid <= !reset && in_valid && in_ready;
    wire_last <= in_last;
    wire_lane <= in_lane;
    wire_data <= in_data;
  end
endmodule
