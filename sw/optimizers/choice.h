// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw/core/config/named.h"
#include "hw/core/fields.h"

namespace weft::optimizers {

/// An optimizer by its name, which is one of methods() (sw/optimizers/optimizer.h).
struct Method;
[[nodiscard]] const Names& registered(const Method* kind);
using MethodName = NameOf<Method>;

/// `optimizer` of a workload, with the fields that optimizers have for themselves beside it.
struct Choice {
  MethodName name;
  Sections own{names_for<Method>()};

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("optimizer", name, "What updates parameters at the end of a step. " + names_for<Method>().doc());
    own.fields(visit);
  }
};

}  // namespace weft::optimizers
