// SPDX-License-Identifier: Apache-2.0
// The arbiter of a switch's output over virtual output queues: a lane in turn, then an input of that lane in turn. The
// model is fabric::Switch::serve (hw/fabric/switch/switch.cpp), without weights, flow queues and limits of the crossbar.
//
// An input waits in a lane if its bit of `waiting` is 1; its first packet may be sent if that of `credit` is. Bits are
// numbered lane * INPUTS + input. In a lane the input is chosen before its credit is looked at: a lane whose next input
// has no credit is passed over, and keeps its turn, as it is the packet's size that decides. When the output takes a
// packet (`take` while `grant_valid`), the turn goes on to the next input of the lane and to the next lane.
//
// The grant is combinational: it is there in the cycle in which the requests are, and a take counts at its end.
module voq_arbiter #(
    parameter INPUTS = 8,
    parameter LANES = 2,
    parameter INPUT = INPUTS > 1 ? $clog2(INPUTS) : 1,  // bits of an input's number
    parameter LANE = LANES > 1 ? $clog2(LANES) : 1      // of a lane's
) (
    input                     clk,
    input                     reset,
    input  [LANES*INPUTS-1:0] waiting,
    input  [LANES*INPUTS-1:0] credit,
    input                     take,
    output                    grant_valid,
    output [        LANE-1:0] grant_lane,
    output [       INPUT-1:0] grant_input
);
  // A `turn` has a 1 at the input, or lane, whose turn it is and at all above it.
  wire [LANES-1:0] may;
  wire [LANES*INPUTS-1:0] chosen;  // one bit of each lane
  wire [LANES-1:0] granted;        // one lane

  genvar l;
  generate
    for (l = 0; l < LANES; l = l + 1) begin : lane
      reg [INPUTS-1:0] turn;
      wire [INPUTS-1:0] requests = waiting[l*INPUTS+:INPUTS];
      wire [INPUTS-1:0] later = requests & turn;
      wire [INPUTS-1:0] from = later != 0 ? later : requests;
      wire [INPUTS-1:0] one = from & (~from + 1'b1);
      assign chosen[l*INPUTS+:INPUTS] = one;
      assign may[l] = (one & credit[l*INPUTS+:INPUTS]) != 0;
      // All above the one chosen; above the last of them come all.
      wire [INPUTS-1:0] above = ~(one | (one - 1'b1));
      always @(posedge clk)
        if (reset) turn <= {INPUTS{1'b1}};
        else if (take && granted[l]) turn <= above != 0 ? above : {INPUTS{1'b1}};
    end
  endgenerate

  reg [LANES-1:0] lane_turn;
  wire [LANES-1:0] lanes_later = may & lane_turn;
  wire [LANES-1:0] lanes_from = lanes_later != 0 ? lanes_later : may;
  assign granted = lanes_from & (~lanes_from + 1'b1);
  wire [LANES-1:0] lanes_above = ~(granted | (granted - 1'b1));
  always @(posedge clk)
    if (reset) lane_turn <= {LANES{1'b1}};
    else if (take && grant_valid) lane_turn <= lanes_above != 0 ? lanes_above : {LANES{1'b1}};

  assign grant_valid = may != 0;

  // Numbers from the one-hot bits: those of the inputs of the granted lane, joined.
  genvar b, i, j;
  generate
    for (b = 0; b < LANE; b = b + 1) begin : lane_bit
      wire [LANES-1:0] ones;
      for (i = 0; i < LANES; i = i + 1) begin : of
        assign ones[i] = granted[i] && ((i >> b) & 1) != 0;
      end
      assign grant_lane[b] = ones != 0;
    end
    for (b = 0; b < INPUT; b = b + 1) begin : input_bit
      wire [LANES*INPUTS-1:0] ones;
      for (i = 0; i < LANES; i = i + 1) begin : in
        for (j = 0; j < INPUTS; j = j + 1) begin : of
          assign ones[i*INPUTS+j] = granted[i] && chosen[i*INPUTS+j] && ((j >> b) & 1) != 0;
        end
      end
      assign grant_input[b] = ones != 0;
    end
  endgenerate
endmodule
