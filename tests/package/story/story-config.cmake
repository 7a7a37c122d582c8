include(CMakeFindDependencyMacro)
find_dependency(rill 0.1)
include("${CMAKE_CURRENT_LIST_DIR}/story-targets.cmake")
