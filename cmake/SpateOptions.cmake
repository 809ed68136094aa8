# Language, build type, warnings, sanitizers and the way we link.

set(SPATE_SANITIZE "" CACHE STRING "Sanitizers for everything: address,undefined or thread; empty for none")
option(SPATE_WERROR "Warnings are errors" ON)
option(SPATE_FUZZ "Build the fuzzers with libFuzzer (needs clang)" OFF)
option(SPATE_LENIENT "Leave out files and dependencies that do not exist, with a warning (a tree that several people edit)" OFF)
if(SPATE_SANITIZE OR SPATE_FUZZ)
  set(static_default OFF)
else()
  set(static_default ON)
endif()
option(SPATE_STATIC "Link programs wholly static, C library too" ${static_default})
if(SPATE_STATIC AND (SPATE_SANITIZE OR SPATE_FUZZ))
  message(FATAL_ERROR "Sanitizers cannot be linked static: configure with -DSPATE_STATIC=OFF or without SPATE_SANITIZE.")
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT SPATE_SANITIZE AND NOT SPATE_FUZZ)
  set(precompile_default ON)
else()
  set(precompile_default OFF)
endif()
option(SPATE_PRECOMPILE "Parse the headers that most sources include once" ${precompile_default})

# As SPATE_UNITY, of a test: large groups would leave one of two cores without work at the end.
set(SPATE_UNITY_TESTS 6)
set(SPATE_UNITY 12 CACHE STRING "Sources of a library that are compiled together; 0: each by itself, for those who edit them")

# -g1: names and lines for stack traces, without the types that make linking slow. No NDEBUG: assert stays on.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(spate_options INTERFACE)
target_include_directories(spate_options INTERFACE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
target_compile_definitions(spate_options INTERFACE _GNU_SOURCE _FILE_OFFSET_BITS=64)
target_compile_options(spate_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wvla -Wundef
  -Wno-missing-field-initializers  # designated initializers leave the rest at its default on purpose
  -fno-omit-frame-pointer
  # What an assert or debug information names is a path below the sources, not the folder where somebody built a release.
  "-ffile-prefix-map=${CMAKE_BINARY_DIR}/=build/" "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/="
  # The linker leaves out what a program does not use.
  -ffunction-sections -fdata-sections)
if(SPATE_WERROR)
  target_compile_options(spate_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 warns falsely about std::string and std::expected at -O2 (GCC bugs 105651, 105562, 107138). In a build that is otherwise
  # silent such a warning reads like a fault, so these kinds are off; the sanitizers and clang look for what they are meant for.
  target_compile_options(spate_options INTERFACE
    -Wlogical-op -Wduplicated-cond -Wno-restrict -Wno-maybe-uninitialized -Wno-array-bounds
    -Wno-stringop-overflow -Wno-stringop-overread -Wno-free-nonheap-object
    # The compiler frees memory from 600 MB on, not from 128 MB: 4 % less time, at most 15 % more memory (1.3 GB for the largest group).
    --param=ggc-min-heapsize=600000)
  if(SPATE_UNITY)
    # It takes a source that another file includes for a header, whose anonymous namespaces would be many.
    target_compile_options(spate_options INTERFACE -Wno-subobject-linkage)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # libstdc++ 12 offers std::expected only to a compiler which claims C++20 concepts in full; clang 19 does not say so.
  # Its std::stable_sort calls a function that it calls deprecated itself.
  target_compile_options(spate_options INTERFACE
    -Wno-builtin-macro-redefined -D__cpp_concepts=202002L -Wno-missing-designated-field-initializers
    -Wno-deprecated-declarations)
endif()

set(sanitize_flags "")
if(SPATE_SANITIZE)
  list(APPEND sanitize_flags "-fsanitize=${SPATE_SANITIZE}" -fno-sanitize-recover=all)
  target_compile_definitions(spate_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(SPATE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "SPATE_FUZZ needs clang: configure with -DCMAKE_CXX_COMPILER=clang++-19.")
  endif()
  list(APPEND sanitize_flags -fsanitize=fuzzer-no-link)
endif()
target_compile_options(spate_options INTERFACE ${sanitize_flags})
target_link_options(spate_options INTERFACE ${sanitize_flags})

# Which program this is: ProductVersion() (src/base/product.h), looked up at each build, and SPATE_VERSION, the release alone.
set(product "${PROJECT_BINARY_DIR}/product.cc")
add_custom_target(spate_product BYPRODUCTS "${product}"
  COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DRELEASE=${PROJECT_VERSION}" "-DOUT=${product}"
          -P "${PROJECT_SOURCE_DIR}/cmake/product.cmake")
add_library(spate_version STATIC "${product}")
add_library(spate::version ALIAS spate_version)
add_dependencies(spate_version spate_product)
target_include_directories(spate_version PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(spate_version PRIVATE spate_options)
target_compile_definitions(spate_version INTERFACE "SPATE_VERSION=\"${PROJECT_VERSION}\"")
