# SPDX-License-Identifier: Apache-2.0
# Regression on hardware configurations, with ctest. find_package(weft) brings this with it.
#
# weft_add_regression(NAME FOLDER [PROGRAM program] [LABELS label ...] [TIMEOUT seconds]): a test NAME.CASE for each
# CASE.regress.json below the folder, and a target NAME_update that writes what comes out into the cases as their golden values.
# PROGRAM: a target or a file, for a simulator of one's own; the weft of the package if left out. Cases that are added later are
# seen when the project is built again.
function(weft_add_regression name folder)
  cmake_parse_arguments(ARG "" "PROGRAM;TIMEOUT" "LABELS" ${ARGN})
  get_filename_component(folder ${folder} ABSOLUTE)
  if(NOT IS_DIRECTORY ${folder})
    message(FATAL_ERROR "weft_add_regression: expected a folder of cases, got ${folder}")
  endif()
  set(program ${ARG_PROGRAM})
  if(NOT program)
    set(program ${WEFT_PROGRAM})
  endif()
  if(NOT program)
    set(program weft)  # Weft itself is built
  endif()
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  file(GLOB_RECURSE entries LIST_DIRECTORIES true RELATIVE ${folder} ${folder}/*)
  set(cases "")
  # A folder changes with the files that are in it.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder})
  foreach(entry IN LISTS entries)
    if(IS_DIRECTORY ${folder}/${entry})
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${entry})
    elseif(entry MATCHES "\\.regress\\.json$")
      list(APPEND cases ${entry})
    endif()
  endforeach()
  if(NOT cases)
    message(FATAL_ERROR "weft_add_regression: expected files NAME.regress.json below ${folder}, got none")
  endif()
  foreach(case IN LISTS cases)
    string(REGEX REPLACE "\\.regress\\.json$" "" test ${case})
    add_test(NAME ${name}.${test} COMMAND ${program} regress ${folder}/${case})
    if(ARG_LABELS)
      set_tests_properties(${name}.${test} PROPERTIES LABELS "${ARG_LABELS}")
    endif()
    if(ARG_TIMEOUT)
      set_tests_properties(${name}.${test} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
    endif()
  endforeach()
  add_custom_target(${name}_update COMMAND ${program} regress --update ${folder} VERBATIM)
endfunction()
