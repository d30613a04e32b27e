// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>
#include <systemc>

#include "hw/core/fields.h"
#include "hw/core/quantity.h"
#include "traces/files/format_error.h"

namespace weft {

/// What a user's own code has thrown, behind whose code it is: "schedule my-steps: I quit".
class OwnFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What `action` returns. An exception that says nothing of the platform becomes an OwnFailure, which begins with what
/// `whose()` returns.
template <typename Whose, typename Action>
auto blaming(const Whose& whose, const Action& action) -> decltype(action()) {
  try {
    return action();
  } catch (const ConfigError&) {
    throw;
  } catch (const QuantityOverflow&) {
    throw;
  } catch (const OwnFailure&) {
    throw;
  } catch (const traces::FormatError&) {
    throw;
  } catch (const std::domain_error&) {
    throw;  // numbers of training that mean nothing
  } catch (const std::length_error&) {
    throw;  // a memory that is too small
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::system_error&) {
    throw;  // a file or standard output that cannot be written
  } catch (const sc_core::sc_report&) {
    throw;
  } catch (const std::exception& error) {
    throw OwnFailure(whose() + ": " + error.what());
  }
}

}  // namespace weft
