// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::rtl {

/// Provides the RTL that comes with Weft under the names that a platform gives it: `rtl`, the reduction lane. Nothing
/// if Weft was built without Verilator. Before a platform is built.
void provide_blocks();

}  // namespace weft::rtl
