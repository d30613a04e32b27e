# SPDX-License-Identifier: Apache-2.0
# Verilog as C++: Debian's verilator has a CMake package. Without it nothing here exists but verilator_FOUND, which is false,
# and whoever wants RTL leaves it out.
find_package(verilator 5 QUIET HINTS $ENV{VERILATOR_ROOT} /usr/share/verilator)
if(NOT verilator_FOUND)
  message(STATUS "Verilator 5 is not there: nothing is built of RTL")
endif()

# weft_verilate(NAME SOURCES a.sv ... TOP module [PARAMETERS N=V ...] [TRACE] [BENCH]): a static library with the class
# VNAME, of header VNAME.h. Modules that SOURCES lack are looked for in hw/rtl, each in a file of its name. TRACE: it can
# write VCD. BENCH: the top module has its own clock, and it is an executable that runs until $finish.
#
# The generated code is compiled without Weft's warnings and sanitizers: it is not ours, and its speed is needed.
function(weft_verilate name)
  cmake_parse_arguments(ARG "TRACE;BENCH" "TOP" "SOURCES;PARAMETERS" ${ARGN})
  list(TRANSFORM ARG_PARAMETERS PREPEND -G)
  set(options -Wall)
  if(ARG_BENCH)
    add_executable(${name})
    set(options --main --timing -Wno-lint -Wno-TIMESCALEMOD)
  else()
    add_library(${name} STATIC)
    set_target_properties(${name} PROPERTIES SYSTEM ON)
  endif()
  if(ARG_TRACE)
    set(trace TRACE)
  endif()
  verilate(${name} ${trace} SOURCES ${ARG_SOURCES} TOP_MODULE ${ARG_TOP} PREFIX V${name}
           INCLUDE_DIRS ${PROJECT_SOURCE_DIR}/hw/rtl VERILATOR_ARGS ${options} ${ARG_PARAMETERS})
endfunction()
