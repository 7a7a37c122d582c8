# Installs `rill`, its headers, its CMake package and its pkg-config file; the tree can be moved afterwards.
include(CMakePackageConfigHelpers)
set(RILL_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/rill)
get_filename_component(RILL_ROOT "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)

install(TARGETS rill EXPORT rill-targets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${RILL_ROOT}/include/rill DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT rill-targets NAMESPACE rill:: DESTINATION ${RILL_CMAKE_DIR})
configure_package_config_file(${RILL_ROOT}/cmake/rill-config.cmake.in ${PROJECT_BINARY_DIR}/rill-config.cmake
  INSTALL_DESTINATION ${RILL_CMAKE_DIR} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rill-config-version.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rill-config.cmake ${PROJECT_BINARY_DIR}/rill-config-version.cmake
  DESTINATION ${RILL_CMAKE_DIR})

# pkg-config. A static rill cannot be linked without what it needs, so that stands in the public fields: `--libs` is enough
# with and without `--static`. A shared one asks nothing of its users.
if(BUILD_SHARED_LIBS)
  set(RILL_PC_CFLAGS " -DRILL_SHARED")
  set(RILL_PC_REQUIRES "")
  set(RILL_PC_LIBS "")
else()
  set(RILL_PC_CFLAGS "")
  set(RILL_PC_REQUIRES "libutf8proc")
  set(RILL_PC_LIBS " -pthread")
  install(FILES ${RILL_ROOT}/cmake/FindUtf8proc.cmake DESTINATION ${RILL_CMAKE_DIR})
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(RILL_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH RILL_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" RILL_PC_PREFIX "\${pcfiledir}/${RILL_PC_PREFIX}")
endif()
foreach(dir LIB INCLUDE)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${dir}DIR}")
    set(RILL_PC_${dir}DIR "${CMAKE_INSTALL_${dir}DIR}")
  else()
    set(RILL_PC_${dir}DIR "\${prefix}/${CMAKE_INSTALL_${dir}DIR}")
  endif()
endforeach()
configure_file(${RILL_ROOT}/cmake/rill.pc.in ${PROJECT_BINARY_DIR}/rill.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rill.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
