# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE_DIR=... -DVERSION=... -DOUTPUT=FILE -P WeftVersion.cmake: writes a header with the version and the commit
# that is built, with a plus where files differ from it. The header is written anew only where it changes.
set(commit unknown)
find_program(git git)
if(git)
  execute_process(COMMAND ${git} -C ${SOURCE_DIR} describe --always --abbrev=12 --exclude=* --dirty=+
                  OUTPUT_VARIABLE described ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  if(NOT failed)
    set(commit ${described})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define WEFT_VERSION \"${VERSION}\"\n#define WEFT_COMMIT \"${commit}\"\n")
