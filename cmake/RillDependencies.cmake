# Installed packages first; where one is missing it is fetched. All but utf8proc and the threads are header-only here and
# private to the build: what links an installed rill needs none of them.
include(FetchContent)
find_package(Threads REQUIRED)

add_library(rill_dependencies INTERFACE)

# fmt, header-only, so that no fmt symbol is left to find at link time.
find_package(fmt 9 QUIET)
if(NOT fmt_FOUND)
  FetchContent_Declare(fmt GIT_REPOSITORY https://github.com/fmtlib/fmt.git GIT_TAG 9.1.0)
  FetchContent_MakeAvailable(fmt)
endif()
target_link_libraries(rill_dependencies INTERFACE fmt::fmt-header-only)

# Highway: its headers alone. Dispatch is ours, so libhwy is not linked.
find_path(RILL_HIGHWAY_INCLUDE_DIR hwy/highway.h)
if(NOT RILL_HIGHWAY_INCLUDE_DIR)
  FetchContent_Declare(highway GIT_REPOSITORY https://github.com/google/highway.git GIT_TAG 1.0.7)
  FetchContent_GetProperties(highway)
  if(NOT highway_POPULATED)
    FetchContent_Populate(highway)
  endif()
  set(RILL_HIGHWAY_INCLUDE_DIR "${highway_SOURCE_DIR}" CACHE PATH "Highway's headers" FORCE)
endif()

find_path(RILL_JSON_INCLUDE_DIR nlohmann/json.hpp)
if(NOT RILL_JSON_INCLUDE_DIR)
  FetchContent_Declare(json GIT_REPOSITORY https://github.com/nlohmann/json.git GIT_TAG v3.11.2)
  FetchContent_GetProperties(json)
  if(NOT json_POPULATED)
    FetchContent_Populate(json)
  endif()
  set(RILL_JSON_INCLUDE_DIR "${json_SOURCE_DIR}/include" CACHE PATH "nlohmann-json's headers" FORCE)
endif()

find_path(RILL_XXHASH_INCLUDE_DIR xxhash.h)
if(NOT RILL_XXHASH_INCLUDE_DIR)
  FetchContent_Declare(xxhash GIT_REPOSITORY https://github.com/Cyan4973/xxHash.git GIT_TAG v0.8.1)
  FetchContent_GetProperties(xxhash)
  if(NOT xxhash_POPULATED)
    FetchContent_Populate(xxhash)
  endif()
  set(RILL_XXHASH_INCLUDE_DIR "${xxhash_SOURCE_DIR}" CACHE PATH "xxHash's header" FORCE)
endif()
target_include_directories(rill_dependencies SYSTEM INTERFACE
  ${RILL_HIGHWAY_INCLUDE_DIR} ${RILL_JSON_INCLUDE_DIR} ${RILL_XXHASH_INCLUDE_DIR})

# utf8proc: the one library that an installed static rill still needs.
find_package(Utf8proc MODULE QUIET)
if(NOT Utf8proc_FOUND)
  FetchContent_Declare(utf8proc GIT_REPOSITORY https://github.com/JuliaStrings/utf8proc.git GIT_TAG v2.8.0)
  set(UTF8PROC_INSTALL ON CACHE BOOL "" FORCE)
  FetchContent_MakeAvailable(utf8proc)
  add_library(Utf8proc::Utf8proc ALIAS utf8proc)
endif()
target_link_libraries(rill_dependencies INTERFACE Utf8proc::Utf8proc)
