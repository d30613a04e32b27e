// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/implementations.h"

#include <algorithm>
#include <cstdlib>
#include <systemc>

#include "hw/core/fields.h"

namespace weft::fabric {

void check_implementation(const std::vector<std::string>& known, const std::string& name, const std::string& path) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  std::string all;
  for (const std::string& each : known) all += (all.empty() ? "" : ", ") + each;
  std::string expected = "expected one of " + all + ", got " + name;
  if (name == "rtl") {
    expected +=
        ", which this program does not provide: the command weft does if Verilator was installed when it was built, "
        "and "
        "a program of your own provides its RTL by names of its own (docs/developer/rtl.md)";
  }
  throw ConfigError(path, expected);
}

void fail_block(const std::string& name, Time now, const std::string& what) {
  const std::string text = name + ": at " + to_text(now) + " " + what;
  SC_REPORT_FATAL("weft.rtl", text.c_str());
  std::abort();  // whoever handles reports lets it go on
}

bool is_chosen(const std::vector<std::string>& switches, const std::string& name) {
  return switches.empty() || std::find(switches.begin(), switches.end(), name) != switches.end();
}

}  // namespace weft::fabric
