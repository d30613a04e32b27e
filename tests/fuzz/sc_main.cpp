// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/fuzz.h"

extern "C" int sc_main(int, char**) {
  return 0;
}
