# Debian's and Ubuntu's cross compiler for 64-bit ARM (g++-aarch64-linux-gnu); tests run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)

# Header-only packages of the host serve as they are. Its googletest does not: that is built from the sources it comes with.
set(CMAKE_DISABLE_FIND_PACKAGE_GTest ON)
set(FETCHCONTENT_SOURCE_DIR_GOOGLETEST /usr/src/googletest)
set(INSTALL_GTEST OFF)
set(BUILD_GMOCK OFF)
