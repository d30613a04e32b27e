# SPDX-License-Identifier: Apache-2.0
# Verilog as C++: Debian's verilator has a CMake package. Without it nothing here exists but verilator_FOUND, which is false,
# and whoever wants RTL leaves it out. find_package(weft) brings this with it, for blocks of one's own.
find_package(verilator 5 QUIET HINTS $ENV{VERILATOR_ROOT} /usr/share/verilator)
if(NOT verilator_FOUND)
  message(STATUS "Verilator 5 is not there: nothing is built of RTL")
endif()

# weft_verilate(NAME SOURCES a.sv ... TOP module [PARAMETERS N=V ...] [TRACE] [SYSTEMC] [VERILATOR_ARGS ...]): a static library
# with the class VNAME, of header VNAME.h. Modules that SOURCES lack are looked for in WEFT_RTL_DIR, Weft's own, each in a file
# of its name. TRACE: it can write VCD. SYSTEMC: it is an sc_module.
#
# The generated code is compiled without Weft's warnings and sanitizers: it is not ours, and its speed is needed.
function(weft_verilate name)
  cmake_parse_arguments(ARG "TRACE;SYSTEMC" "TOP" "SOURCES;PARAMETERS;VERILATOR_ARGS" ${ARGN})
  list(TRANSFORM ARG_PARAMETERS PREPEND -G)
  set(options "")
  foreach(option TRACE SYSTEMC)
    if(ARG_${option})
      list(APPEND options ${option})
    endif()
  endforeach()
  add_library(${name} STATIC)
  set_target_properties(${name} PROPERTIES SYSTEM ON)
  verilate(${name} ${options} SOURCES ${ARG_SOURCES} TOP_MODULE ${ARG_TOP} PREFIX V${name}
           INCLUDE_DIRS ${WEFT_RTL_DIR} VERILATOR_ARGS -Wall ${ARG_VERILATOR_ARGS} ${ARG_PARAMETERS})
  if(ARG_SYSTEMC)
    # Weft's standard, and the headers of SystemC as Weft has them.
    target_compile_features(${name} PUBLIC cxx_std_20)
    target_link_libraries(${name} PUBLIC SystemC::systemc)
  endif()
  weft_share_verilator_runtime(${name} ${options})
  # Verilator's headers, and SystemC's, take longer than what it writes, which may be compiled as one file (its __ALL.cpp).
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# Verilator adds its runtime to the sources of each target: a minute of compiling for a handful of blocks. Here the targets that
# want the same runtime link one library of it. Not with --timing, which has options of the compiler of its own.
function(weft_share_verilator_runtime name)
  get_target_property(sources ${name} SOURCES)
  set(runtime ${sources})
  list(FILTER runtime INCLUDE REGEX "^${VERILATOR_ROOT}/include/.*\\.cpp$")
  if(NOT runtime OR runtime MATCHES "verilated_timing")
    return()
  endif()
  set(definitions "")
  foreach(kind COVERAGE SYSTEMC TRACE TRACE_VCD TRACE_FST)
    get_target_property(wanted ${name} VERILATOR_${kind})
    string(REPLACE SYSTEMC SC kind ${kind})
    list(APPEND definitions VM_${kind}=$<BOOL:${wanted}>)
  endforeach()
  string(MD5 key "${runtime} ${definitions}")
  string(SUBSTRING ${key} 0 8 key)
  set(library weft_verilator_${key})
  if(NOT TARGET ${library})
    add_library(${library} STATIC ${runtime})
    set_target_properties(${library} PROPERTIES SYSTEM ON)
    target_include_directories(${library} PRIVATE ${VERILATOR_ROOT}/include ${VERILATOR_ROOT}/include/vltstd)
    target_compile_definitions(${library} PRIVATE ${definitions})
    get_target_property(features ${name} COMPILE_FEATURES)
    target_compile_features(${library} PRIVATE ${features})
    if(SYSTEMC IN_LIST ARGN)
      target_link_libraries(${library} PRIVATE SystemC::systemc)
    endif()
  endif()
  list(REMOVE_ITEM sources ${runtime})
  set_target_properties(${name} PROPERTIES SOURCES "${sources}")
  target_link_libraries(${name} PUBLIC ${library})
endfunction()

# weft_rtl_block(NAME SOURCES a.sv ... TOP module [PARAMETERS N=V ...] [VERILATOR_ARGS ...]): a block to take a model's place. Link
# it, include VNAME.h and provide the class under a name, such as with weft::rtl::provide_reduction_lane
# (hw/rtl/reduction_lane.h). Verilator's warnings do not end the build.
function(weft_rtl_block name)
  if(NOT verilator_FOUND)
    message(FATAL_ERROR "weft_rtl_block(${name}) needs Verilator 5: install the package verilator")
  endif()
  cmake_parse_arguments(ARG "" "" "VERILATOR_ARGS" ${ARGN})
  weft_verilate(${name} SYSTEMC VERILATOR_ARGS -Wno-fatal ${ARG_VERILATOR_ARGS} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC weft::rtl)
endfunction()
