# Toolchain for 64-bit ARM from another machine: gcc-aarch64-linux-gnu, the libraries of Debian's arm64 (dpkg
# --add-architecture arm64; scripts/setup cross), and qemu-user for the tests.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
# Without -L: the loader of Debian's arm64, which belongs to its C library. That of the cross compiler's own folder is another
# version's, with which each thread hangs as it is made.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
