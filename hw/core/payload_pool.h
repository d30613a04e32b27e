// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <tlm>
#include <vector>

namespace weft {

/// Memory manager for generic payloads (IEEE 1666, 14.5): for initiators of the base protocol whose transactions
/// outlive a call. An initiator that only uses b_transport keeps one payload of its own and needs none of this.
class PayloadPool final : public tlm::tlm_mm_interface {
 public:
  PayloadPool() = default;
  ~PayloadPool() override;
  PayloadPool(const PayloadPool&) = delete;
  PayloadPool& operator=(const PayloadPool&) = delete;

  /// A payload with one reference held by the caller, who ends it with release().
  tlm::tlm_generic_payload* take();

  void free(tlm::tlm_generic_payload* payload) override;

  [[nodiscard]] std::int64_t outstanding() const { return outstanding_; }

 private:
  std::vector<std::unique_ptr<tlm::tlm_generic_payload>> all_;
  std::vector<tlm::tlm_generic_payload*> free_;
  std::int64_t outstanding_ = 0;
};

}  // namespace weft
