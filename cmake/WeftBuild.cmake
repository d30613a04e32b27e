# SPDX-License-Identifier: Apache-2.0
# How every target of Weft is compiled.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# -O3 made the event queue 20 to 40 % slower than -O2; link-time optimisation is the builder's choice. Two neighbours that
# are read as one vector right after they were written one by one make the processor wait for both.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG -fno-tree-slp-vectorize")

find_program(CCACHE ccache)
if(CCACHE)
  # One that cannot keep anything, such as below a home that nobody may write to, compiles nothing.
  set(probe ${PROJECT_BINARY_DIR}/CMakeFiles/ccache_probe)
  file(WRITE ${probe}.cpp "int probe;\n")
  execute_process(COMMAND ${CCACHE} ${CMAKE_CXX_COMPILER} -c ${probe}.cpp -o ${probe}.o RESULT_VARIABLE failed
                  OUTPUT_QUIET ERROR_VARIABLE why OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
  set(WEFT_CCACHE ${CCACHE})
  if(failed)
    set(WEFT_CCACHE)
    message(STATUS "Compiling without ccache: ${why}")
  endif()
endif()
if(WEFT_CCACHE)
  # With precompiled headers ccache does nothing unless it is told that no file's macros or times matter to it.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${WEFT_CCACHE})
endif()

add_library(weft_flags INTERFACE)
# Contraction to fused multiply-add would let results differ between processors.
target_compile_options(weft_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor $<$<BOOL:${WEFT_WERROR}>:-Werror> -ffp-contract=off)
if(WEFT_UNITY)
  # Clang takes a local constant for one that shadows that of another file of its group (weft_unity).
  target_compile_options(weft_flags INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-shadow>)
endif()
if(WEFT_SANITIZE)
  # Left out are checks of every access through a pointer, a quarter of the compile time: the address sanitizer sees what is null or
  # beyond an object.
  target_compile_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer
                                              -fno-sanitize-recover=all
                                              -fno-sanitize=null,alignment,object-size,vptr
                                              # Clang 14 cannot assemble coroutines with it.
                                              $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  # Each suite of tests is a process: one at a fixed address starts in three quarters of the time.
  target_link_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE} -no-pie)
endif()

# Headers cost more than the code that includes them: SystemC's 2 s a file, CLI11's 7. So files are compiled in groups, each after
# headers that are compiled once. WEFT_UNITY=OFF compiles each file alone, with what it includes itself.
#
# weft_precompile(NAME [PIC] HEADERS <a> ... DEPENDS x ...): headers, compiled with the flags of x, and PIC as for libraries. A
# target can begin with them if it has the same flags, and other macros only where these headers do not look at them.
function(weft_precompile name)
  if(NOT WEFT_UNITY)
    return()
  endif()
  cmake_parse_arguments(ARG "PIC" "" "HEADERS;DEPENDS" ${ARGN})
  file(CONFIGURE OUTPUT ${name}.cpp CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ${ARG_PIC})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} weft_flags)
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

# weft_unity(TARGET [HEADERS name] [BYTES n]): compiles files in groups of at most so many bytes (a group takes about as long as
# its largest file would alone, so that a change of one file waits no longer), or eight at a time if none are given; after the
# headers of weft_precompile(name), if one is.
function(weft_unity target)
  if(NOT WEFT_UNITY)
    return()
  endif()
  cmake_parse_arguments(ARG "" "HEADERS;BYTES" "" ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  if(ARG_BYTES)
    get_target_property(sources ${target} SOURCES)
    set(group 0)
    set(bytes 0)
    foreach(source ${sources})
      get_filename_component(path ${source} ABSOLUTE)
      if(EXISTS ${path})
        file(SIZE ${path} size)
        math(EXPR bytes "${bytes} + ${size}")
        if(bytes GREATER ARG_BYTES)
          math(EXPR group "${group} + 1")
          set(bytes ${size})
        endif()
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
      endif()
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  endif()
  if(ARG_HEADERS)
    # GCC 12 takes the frames of an included file's coroutines for types of a header, and warns of std::string(a) + "b" (its bugs
    # 105329 and 105651) in more places the more it sees at once.
    target_compile_options(${target} PRIVATE
      $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage;-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>)
    target_precompile_headers(${target} REUSE_FROM ${ARG_HEADERS})
  endif()
endfunction()

# weft_library(NAME SOURCES a.cpp ... DEPENDS weft::x ... [UNITY | GROUPS | HEADERS name BYTES n]): one folder, one library. Headers
# are included by their path from the top of the repository ("hw/core/dispatcher.h"). UNITY: weft_unity. GROUPS: the same after
# SystemC's headers. HEADERS: after others.
function(weft_library name)
  cmake_parse_arguments(ARG "UNITY;GROUPS" "HEADERS;BYTES" "SOURCES;DEPENDS" ${ARGN})
  add_library(weft_${name} STATIC ${ARG_SOURCES})
  add_library(weft::${name} ALIAS weft_${name})
  set_target_properties(weft_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_include_directories(weft_${name} INTERFACE $<INSTALL_INTERFACE:include/weft>)
  target_include_directories(weft_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_compile_features(weft_${name} PUBLIC cxx_std_20)
  target_link_libraries(weft_${name} PUBLIC ${ARG_DEPENDS} PRIVATE $<BUILD_INTERFACE:weft_flags>)
  if(ARG_HEADERS)
    weft_unity(weft_${name} HEADERS ${ARG_HEADERS} BYTES ${ARG_BYTES})
  elseif(ARG_GROUPS)
    weft_unity(weft_${name} HEADERS weft_systemc_headers BYTES 32000)
  elseif(ARG_UNITY)
    weft_unity(weft_${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY WEFT_LIBRARIES weft_${name})
endfunction()
