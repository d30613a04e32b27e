# SPDX-License-Identifier: Apache-2.0
# Verilog as C++: Debian's verilator has a CMake package. Without it nothing here exists but verilator_FOUND, which is false,
# and whoever wants RTL leaves it out.
find_package(verilator 5 QUIET HINTS $ENV{VERILATOR_ROOT} /usr/share/verilator)
if(NOT verilator_FOUND)
  message(STATUS "Verilator 5 is not there: nothing is built of RTL")
endif()

# weft_verilate(NAME SOURCES a.sv ... TOP module [PARAMETERS N=V ...] [TRACE]): a static library with the class VNAME, of
# header VNAME.h. Modules that SOURCES lack are looked for in hw/rtl, each in a file of its name. TRACE: it can write VCD.
#
# The generated code is compiled without Weft's warnings and sanitizers: it is not ours, and its speed is needed.
function(weft_verilate name)
  cmake_parse_arguments(ARG "TRACE" "TOP" "SOURCES;PARAMETERS" ${ARGN})
  list(TRANSFORM ARG_PARAMETERS PREPEND -G)
  if(ARG_TRACE)
    set(options TRACE)
  endif()
  add_library(${name} STATIC)
  set_target_properties(${name} PROPERTIES SYSTEM ON)
  verilate(${name} ${options} SOURCES ${ARG_SOURCES} TOP_MODULE ${ARG_TOP} PREFIX V${name}
           INCLUDE_DIRS ${PROJECT_SOURCE_DIR}/hw/rtl VERILATOR_ARGS -Wall ${ARG_PARAMETERS})
endfunction()
