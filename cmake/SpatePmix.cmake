# libpmix, whose server spate-pmix is: for programs of Open MPI without mpirun. Without it the rest builds.
#
# SPATE_PMIX: whether spate-pmix is built; -DSPATE_PMIX=OFF leaves it out where libpmix is.
# spate::pmix: how to use it.
option(SPATE_PMIX "Build spate-pmix, if libpmix (version 4 or later) is found" ON)
if(SPATE_PMIX AND NOT SPATE_SANITIZE AND NOT SPATE_FUZZ)
  # Debian keeps it in a folder of its own, since libpmi is another one's.
  find_path(SPATE_PMIX_INCLUDE pmix_server.h PATH_SUFFIXES pmix
            HINTS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pmix2/include)
  find_library(SPATE_PMIX_LIBRARY pmix HINTS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pmix2/lib)
  mark_as_advanced(SPATE_PMIX_INCLUDE SPATE_PMIX_LIBRARY)
  set(spate_pmix_version "")
  if(SPATE_PMIX_INCLUDE AND SPATE_PMIX_LIBRARY)
    file(STRINGS "${SPATE_PMIX_INCLUDE}/pmix_version.h" line REGEX "^#define PMIX_VERSION_MAJOR ")
    string(REGEX MATCH "[0-9]+" spate_pmix_version "${line}")
  endif()
  if(spate_pmix_version AND spate_pmix_version GREATER_EQUAL 4)
    message(STATUS "PMIx: ${SPATE_PMIX_LIBRARY}, version ${spate_pmix_version}")
    add_library(spate_third_party_pmix INTERFACE)
    add_library(spate::pmix ALIAS spate_third_party_pmix)
    target_include_directories(spate_third_party_pmix SYSTEM INTERFACE "${SPATE_PMIX_INCLUDE}")
    target_link_libraries(spate_third_party_pmix INTERFACE "${SPATE_PMIX_LIBRARY}")
    return()
  endif()
endif()
message(STATUS "PMIx: switched off, or no libpmix of version 4 or later, so there will be no spate-pmix")
# Not the cached one: libpmix that is installed later is found by the next build.
set(SPATE_PMIX OFF)
