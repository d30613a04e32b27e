// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::rtl {

/// Provides the RTL that comes with Weft, the reduction lane of a switch and the arbiter of its outputs, under the name
/// that a platform gives either: `rtl`. Nothing if Weft was built without Verilator. Before a platform is built.
void provide_blocks();

}  // namespace weft::rtl
