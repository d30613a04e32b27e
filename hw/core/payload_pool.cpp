// SPDX-License-Identifier: Apache-2.0
#include "hw/core/payload_pool.h"

namespace weft {

PayloadPool::~PayloadPool() = default;

tlm::tlm_generic_payload* PayloadPool::take() {
  if (free_.empty()) {
    all_.push_back(std::make_unique<tlm::tlm_generic_payload>(this));
    free_.push_back(all_.back().get());
  }
  tlm::tlm_generic_payload* payload = free_.back();
  free_.pop_back();
  payload->acquire();
  ++outstanding_;
  return payload;
}

void PayloadPool::free(tlm::tlm_generic_payload* payload) {
  payload->reset();
  payload->set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  free_.push_back(payload);
  --outstanding_;
}

}  // namespace weft
