# Libraries of others, each as one target spate::NAME. All come from Debian packages (tools/packages.txt) and link static.

function(spate_third_party name)
  cmake_parse_arguments(arg "" "HEADER;ARCHIVE" "DEFINES;OPTIONS;LIBS" ${ARGN})
  string(TOUPPER "SPATE_${name}" prefix)
  add_library(spate_third_party_${name} INTERFACE)
  add_library(spate::${name} ALIAS spate_third_party_${name})
  if(arg_HEADER)
    find_path(${prefix}_INCLUDE "${arg_HEADER}")
    mark_as_advanced(${prefix}_INCLUDE)
    if(NOT ${prefix}_INCLUDE)
      message(FATAL_ERROR "${arg_HEADER} is missing. Run `make build`, or `tools/setup build`, which install what is needed.")
    endif()
    # As a system include, so that its warnings are not ours; /usr/include is one already.
    if(NOT ${prefix}_INCLUDE STREQUAL "/usr/include")
      target_include_directories(spate_third_party_${name} SYSTEM INTERFACE "${${prefix}_INCLUDE}")
    endif()
  endif()
  if(arg_ARCHIVE)
    find_library(${prefix}_ARCHIVE "lib${arg_ARCHIVE}.a")
    mark_as_advanced(${prefix}_ARCHIVE)
    if(NOT ${prefix}_ARCHIVE)
      message(FATAL_ERROR "lib${arg_ARCHIVE}.a is missing. Run `make build`, or `tools/setup build`, which install what is needed.")
    endif()
    # A target of its own, so that CMake knows that it comes before the archives that it needs.
    add_library(spate_archive_${name} STATIC IMPORTED GLOBAL)
    set_target_properties(spate_archive_${name} PROPERTIES IMPORTED_LOCATION "${${prefix}_ARCHIVE}"
                          INTERFACE_LINK_LIBRARIES "${arg_LIBS}")
    target_link_libraries(spate_third_party_${name} INTERFACE spate_archive_${name})
  endif()
  target_compile_definitions(spate_third_party_${name} INTERFACE ${arg_DEFINES})
  target_compile_options(spate_third_party_${name} INTERFACE ${arg_OPTIONS})
  target_link_libraries(spate_third_party_${name} INTERFACE ${arg_LIBS})
endfunction()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

spate_third_party(fmt HEADER fmt/format.h)
add_library(spate_fmt_code STATIC "${PROJECT_SOURCE_DIR}/cmake/fmt_code.cc")
target_link_libraries(spate_fmt_code PRIVATE spate_options)
target_link_libraries(spate_third_party_fmt INTERFACE spate_fmt_code)
spate_third_party(cli11 HEADER CLI/CLI.hpp)
spate_third_party(json HEADER nlohmann/json.hpp)
spate_third_party(sqlite HEADER sqlite3.h ARCHIVE sqlite3 LIBS Threads::Threads ${CMAKE_DL_LIBS} m)
spate_third_party(crypto HEADER openssl/evp.h ARCHIVE crypto DEFINES OPENSSL_NO_DEPRECATED
  LIBS Threads::Threads ${CMAKE_DL_LIBS})
spate_third_party(ssl HEADER openssl/ssl.h ARCHIVE ssl LIBS spate::crypto)
spate_third_party(zstd HEADER zstd.h ARCHIVE zstd LIBS Threads::Threads)
spate_third_party(xxhash HEADER xxhash.h DEFINES XXH_INLINE_ALL=1)
# Boost 1.74's asio/awaitable.hpp uses std::exchange without including <utility>.
spate_third_party(asio HEADER boost/asio.hpp LIBS Threads::Threads
  DEFINES BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_BOOST_REGEX BOOST_BIND_GLOBAL_PLACEHOLDERS
  OPTIONS "SHELL:-include utility")
if(SPATE_SANITIZE MATCHES "thread")
  # g++ has no bare fences under TSan; Asio's queues have a mutex besides.
  target_compile_definitions(spate_third_party_asio INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
endif()
spate_third_party(threads LIBS Threads::Threads)
# CMake's own module: Debian has no package file of Protobuf's. It also finds protoc, for spate_proto().
set(Protobuf_USE_STATIC_LIBS ON)
find_package(Protobuf MODULE)
if(NOT Protobuf_FOUND OR NOT TARGET protobuf::protoc)
  message(FATAL_ERROR "Protocol Buffers or protoc is missing. Run `make build`, or `tools/setup build`, which install what is needed.")
endif()
spate_third_party(protobuf LIBS protobuf::libprotobuf-lite Threads::Threads)
# For tests only.
spate_third_party(protobuf_descriptors LIBS protobuf::libprotobuf Threads::Threads)
spate_third_party(gtest HEADER gtest/gtest.h ARCHIVE gtest LIBS Threads::Threads)
spate_third_party(gtest_main ARCHIVE gtest_main LIBS spate::gtest)
spate_third_party(rapidcheck HEADER rapidcheck.h ARCHIVE rapidcheck)
