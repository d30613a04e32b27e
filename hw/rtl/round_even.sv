// SPDX-License-Identifier: Apache-2.0
// Whether a number is rounded up, to nearest, ties to even (IEEE 754-2019, 4.3.1): `guard` is the first bit that is cut
// off, `sticky` says that a later one is 1, and `odd` is the last bit that stays.
module round_even (
    input  odd,
    input  guard,
    input  sticky,
    output up
);
  assign up = guard & (sticky | odd);
endmodule
