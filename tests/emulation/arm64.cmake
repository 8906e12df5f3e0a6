# SPDX-License-Identifier: MIT
# Toolchain of the preset `arm64`: Debian's cross compiler, the libraries that arm64_libraries.sh fetched, and
# qemu-aarch64, by which CTest runs the programs.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
get_filename_component(libraries ${CMAKE_CURRENT_LIST_DIR}/../../build/arm64-libraries ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH ${libraries})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CXX_FLAGS_INIT "-isystem ${libraries}/usr/include/aarch64-linux-gnu")
# The programs are static, so that nothing of this machine's own libraries takes part.
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(OPENSSL_USE_STATIC_LIBS ON)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-cpu;max")
