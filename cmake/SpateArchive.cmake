# What users link into programs of their own:
#
#   spate_archive(spate_mw ROOTS doors_mw_run NAMESPACE spate::mw::v1)
#       build/lib/libspate_mw.a, a part of `all` and of spate_apps: the libraries ROOTS and all that they need, of others too,
#       but not the C and C++ libraries. Nothing has a name that users' code sees but what is in NAMESPACE, so that they may link
#       what we link in other versions. To be called after spate_finish().
#
# It is left out under sanitizers and fuzzers, where a root is missing, and without GNU ld.

# All static libraries behind `target`, as its links tell; each once.
function(_spate_archives_behind target out)
  get_property(found GLOBAL PROPERTY "${out}")
  if(target IN_LIST found)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY "${out}" "${target}")
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  foreach(link IN LISTS links)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" link "${link}")
    if(TARGET "${link}")  # else a part of the C library: m, dl
      get_target_property(name ${link} ALIASED_TARGET)
      if(NOT name)
        set(name "${link}")
      endif()
      _spate_archives_behind(${name} "${out}")
    endif()
  endforeach()
endfunction()

function(spate_archive name)
  cmake_parse_arguments(arg "" "NAMESPACE" "ROOTS" ${ARGN})
  if(SPATE_SANITIZE OR SPATE_FUZZ)
    return()
  endif()
  foreach(root IN LISTS arg_ROOTS)
    if(NOT TARGET ${root})
      message(STATUS "No lib${name}.a, as there is no ${root}")
      return()
    endif()
  endforeach()
  execute_process(COMMAND "${CMAKE_LINKER}" --help OUTPUT_VARIABLE help ERROR_QUIET)
  if(NOT help MATCHES "force-group-allocation")
    message(STATUS "No lib${name}.a, as ${CMAKE_LINKER} cannot make it (GNU ld 2.29 or later can)")
    return()
  endif()

  foreach(root IN LISTS arg_ROOTS)
    _spate_archives_behind(${root} "SPATE_BEHIND_${name}")
  endforeach()
  get_property(behind GLOBAL PROPERTY "SPATE_BEHIND_${name}")
  set(whole "")
  set(others "")
  foreach(target IN LISTS behind)
    get_target_property(type ${target} TYPE)
    if(target IN_LIST arg_ROOTS)
      list(APPEND whole "$<TARGET_FILE:${target}>")
    elseif(type MATCHES "^(STATIC|UNKNOWN)_LIBRARY$")
      list(APPEND others "$<TARGET_FILE:${target}>")
    elseif(NOT type STREQUAL "INTERFACE_LIBRARY")
      message(FATAL_ERROR "lib${name}.a needs ${target}, which is no static library.")
    endif()
  endforeach()

  add_library(${name}_no_dlopen OBJECT "${PROJECT_SOURCE_DIR}/cmake/no_dlopen.cc")
  target_link_libraries(${name}_no_dlopen PRIVATE spate_options)
  list(APPEND whole "$<TARGET_OBJECTS:${name}_no_dlopen>")
  set(file "${PROJECT_BINARY_DIR}/lib/lib${name}.a")
  set(script "${PROJECT_SOURCE_DIR}/cmake/one_archive")
  add_custom_command(OUTPUT "${file}"
    COMMAND ${CMAKE_COMMAND} -E env "LD=${CMAKE_LINKER}" "OBJCOPY=${CMAKE_OBJCOPY}" "NM=${CMAKE_NM}" "AR=${CMAKE_AR}"
            sh "${script}" "${file}" ${arg_NAMESPACE} ${whole} -- ${others}
    DEPENDS "${script}" ${whole} ${others}
    COMMENT "One archive lib/lib${name}.a" VERBATIM COMMAND_EXPAND_LISTS)
  add_custom_target(${name} ALL DEPENDS "${file}")
  add_dependencies(spate_apps ${name})
endfunction()
