# SPDX-License-Identifier: Apache-2.0
# Installs the libraries and their headers and exports find_package(weft), a target for each folder: weft::core, weft::nic,
# ... Folders install their own data, and platforms/ the command. Of the command's own code, in platforms/cli and
# platforms/commands, one header is installed. What changes here must keep docs/example building: tests/package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY WEFT_LIBRARIES)
install(TARGETS ${libraries} EXPORT weftTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(folder hw sw traces platforms)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft
          FILES_MATCHING PATTERN "*.h" PATTERN "cli" EXCLUDE PATTERN "commands" EXCLUDE PATTERN "parts" EXCLUDE
          # These include what protoc generates, or are parts of one source.
          PATTERN "chakra/message.h" EXCLUDE PATTERN "chakra/check/parts.h" EXCLUDE PATTERN "chakra/repair/parts.h" EXCLUDE)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/platforms/commands/command_line.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft/platforms/commands)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/hw/rtl/ DESTINATION ${CMAKE_INSTALL_DATADIR}/weft/rtl FILES_MATCHING PATTERN "*.sv")
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
set(weft_data ${CMAKE_INSTALL_DATADIR}/weft)
set(weft_rtl ${weft_data}/rtl)
set(weft_program ${CMAKE_INSTALL_BINDIR}/weft)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/weftConfig.cmake.in ${PROJECT_BINARY_DIR}/weftConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weft PATH_VARS weft_data weft_rtl weft_program)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weftConfig.cmake ${PROJECT_BINARY_DIR}/weftConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindSystemC.cmake ${PROJECT_SOURCE_DIR}/cmake/WeftRtl.cmake ${PROJECT_SOURCE_DIR}/cmake/WeftRegress.cmake
              ${PROJECT_SOURCE_DIR}/cmake/package_data.cpp.in DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
