// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <systemc>
#include <vector>

namespace weft::test {

/// Replaces the SystemC kernel by a new one at time zero without modules, for a test that builds more than one
/// platform. The modules of the one before must have been destroyed.
inline void fresh_kernel() {
  static std::vector<std::unique_ptr<sc_core::sc_simcontext>> kernels;
  kernels.push_back(std::make_unique<sc_core::sc_simcontext>());
  sc_core::sc_curr_simcontext = sc_core::sc_default_global_context = kernels.back().get();
}

}  // namespace weft::test
