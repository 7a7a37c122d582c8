# Installed packages first; where one is missing it is fetched. All but utf8proc and the threads are header-only here and
# private to the build: what links an installed rill needs none of them.
include(FetchContent)
find_package(Threads REQUIRED)

add_library(rill_dependencies INTERFACE)

# rill_find_header(NAME header repository tag subdirectory): RILL_NAME_INCLUDE_DIR is where `header` is, installed or fetched;
# of the repository nothing but its headers is used.
function(rill_find_header name header repository tag subdirectory)
  find_path(RILL_${name}_INCLUDE_DIR ${header} PATH_SUFFIXES eigen3)
  if(NOT RILL_${name}_INCLUDE_DIR)
    # A SOURCE_SUBDIR without a list file: nothing of the project is built.
    FetchContent_Declare(${name} GIT_REPOSITORY ${repository} GIT_TAG ${tag} SOURCE_SUBDIR headers-only)
    FetchContent_MakeAvailable(${name})
    string(TOLOWER ${name} lower)
    set(RILL_${name}_INCLUDE_DIR "${${lower}_SOURCE_DIR}/${subdirectory}" CACHE PATH "Where ${header} is" FORCE)
  endif()
  mark_as_advanced(RILL_${name}_INCLUDE_DIR)
endfunction()

# The same, for every source.
function(rill_header_only name)
  rill_find_header(${name} ${ARGN})
  target_include_directories(rill_dependencies SYSTEM INTERFACE ${RILL_${name}_INCLUDE_DIR})
endfunction()

rill_header_only(FMT fmt/format.h https://github.com/fmtlib/fmt.git 9.1.0 include)
rill_header_only(HIGHWAY hwy/highway.h https://github.com/google/highway.git 1.0.7 .)  # dispatch is ours: no libhwy
rill_header_only(JSON nlohmann/json.hpp https://github.com/nlohmann/json.git v3.11.2 include)
rill_header_only(XXHASH xxhash.h https://github.com/Cyan4973/xxHash.git v0.8.1 .)
rill_find_header(EIGEN Eigen/Core https://gitlab.com/libeigen/eigen.git 3.4.0 .)

# utf8proc: the one library that an installed static rill still needs.
function(rill_fetch_utf8proc)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # plain variables set its options, so that nothing enters the cache
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  set(BUILD_SHARED_LIBS OFF)
  set(UTF8PROC_INSTALL ${RILL_INSTALL})
  FetchContent_Declare(utf8proc GIT_REPOSITORY https://github.com/JuliaStrings/utf8proc.git GIT_TAG v2.8.0)
  FetchContent_MakeAvailable(utf8proc)
  # Imported, so that the export names it as FindUtf8proc.cmake does and does not ask for utf8proc's own export.
  add_library(Utf8proc::Utf8proc INTERFACE IMPORTED GLOBAL)
  target_link_libraries(Utf8proc::Utf8proc INTERFACE utf8proc)
endfunction()

if(RILL_EMULATED)  # the header alone: tests/support stands in for the library
  find_path(Utf8proc_INCLUDE_DIR utf8proc.h REQUIRED)
  target_include_directories(rill_dependencies SYSTEM INTERFACE ${Utf8proc_INCLUDE_DIR})
else()
  find_package(Utf8proc MODULE QUIET)
  if(NOT Utf8proc_FOUND)
    rill_fetch_utf8proc()
  endif()
  target_link_libraries(rill_dependencies INTERFACE Utf8proc::Utf8proc)
endif()
