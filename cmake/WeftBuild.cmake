# SPDX-License-Identifier: Apache-2.0
# How every target of Weft is compiled.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# -O3 made the event queue 20 to 40 % slower than -O2; link-time optimisation is the builder's choice.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(weft_flags INTERFACE)
# Contraction to fused multiply-add would let results differ between processors.
target_compile_options(weft_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror -ffp-contract=off)
if(WEFT_SANITIZE)
  target_compile_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer
                                              -fno-sanitize-recover=all)
  target_link_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE})
endif()

# Compiles the files of a target together, in groups. Headers such as CLI11's and nlohmann's cost more than the code that uses
# them. Not for coroutines: GCC 12 warns of their frames' linkage in an included file.
function(weft_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${WEFT_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# weft_library(NAME SOURCES a.cpp ... DEPENDS weft::x ...): one folder, one library. Headers are included by their path from
# the top of the repository ("hw/core/dispatcher.h"). UNITY: see weft_unity.
function(weft_library name)
  cmake_parse_arguments(ARG "UNITY" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(weft_${name} STATIC ${ARG_SOURCES})
  add_library(weft::${name} ALIAS weft_${name})
  set_target_properties(weft_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_include_directories(weft_${name} INTERFACE $<INSTALL_INTERFACE:include/weft>)
  target_include_directories(weft_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_compile_features(weft_${name} PUBLIC cxx_std_20)
  target_link_libraries(weft_${name} PUBLIC ${ARG_DEPENDS} PRIVATE $<BUILD_INTERFACE:weft_flags>)
  if(ARG_UNITY)
    weft_unity(weft_${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY WEFT_LIBRARIES weft_${name})
endfunction()
