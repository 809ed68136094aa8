# What `make install` takes along besides the programs: man pages and completions, which `spate` writes itself from its option
# definitions, links under the names of Parasol's programs, units for systemd, documents, the examples and the Python helper; and
# the library of master-worker programs.

if(TARGET spate)
  set(made "${PROJECT_BINARY_DIR}/manual")
  set(spate_man_pages spate spate-run spate-submit spate-job spate-task spate-hub spate-node spate-pool spate-top spate-overseer spate-report spate-sem spate-simulate spate-state spate-ps spate-exec spate-ghost spate-shell)
  set(spate_links gensub2 para paraHub paraHubStop paraNode paraNodeStart paraNodeStatus paraNodeStop paraTestJob parasol)
  set(spate_completions bash zsh fish)
  foreach(page IN LISTS spate_man_pages spate_links)
    install(CODE "file(MAKE_DIRECTORY \"${made}\")
      execute_process(COMMAND \"$<TARGET_FILE:spate>\" __man ${page} OUTPUT_FILE \"${made}/${page}.1\" COMMAND_ERROR_IS_FATAL ANY)")
    install(FILES "${made}/${page}.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
  endforeach()
  foreach(link IN LISTS spate_links)
    install(CODE "file(CREATE_LINK spate \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/${link}\" SYMBOLIC)")
  endforeach()
  foreach(shell IN LISTS spate_completions)
    install(CODE "execute_process(COMMAND \"$<TARGET_FILE:spate>\" completion ${shell} OUTPUT_FILE \"${made}/${shell}\"
      COMMAND_ERROR_IS_FATAL ANY)")
  endforeach()
  # bash and fish look for a file of the command's name; in zsh's file all names stand.
  set(bash_dir "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  set(fish_dir "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
  install(FILES "${made}/bash" DESTINATION "${bash_dir}" RENAME spate)
  install(FILES "${made}/zsh" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" RENAME _spate)
  install(FILES "${made}/fish" DESTINATION "${fish_dir}" RENAME spate.fish)
  foreach(link IN LISTS spate_links)
    install(CODE "file(CREATE_LINK spate \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${bash_dir}/${link}\" SYMBOLIC)
      file(CREATE_LINK spate.fish \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${fish_dir}/${link}.fish\" SYMBOLIC)")
  endforeach()
endif()
# The documents keep their places beside each other, so that their links lead somewhere.
set(spate_doc "${CMAKE_INSTALL_DATADIR}/doc/spate")
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md DESTINATION "${spate_doc}")
install(DIRECTORY docs examples DESTINATION "${spate_doc}" USE_SOURCE_PERMISSIONS)
# Programs import it from there, or from a copy.
install(FILES python/spate_resident.py DESTINATION "${CMAKE_INSTALL_DATADIR}/spate/python")
install(FILES packaging/spate-hub.service packaging/spate-node.service packaging/spate-node@.service packaging/spate-node-tasks.service DESTINATION lib/systemd/system)

# The library, its headers, and what pkg-config and CMake are to know of it (--component library: these alone).
if(TARGET spate_mw)
  include(CMakePackageConfigHelpers)
  set(made "${PROJECT_BINARY_DIR}/packages")
  set(pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
  set(config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/spate-mw")
  # From each file's folder up to the prefix.
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}/${pc_dir}" OUTPUT_VARIABLE up)
  configure_file(packaging/spate-mw.pc.in "${made}/spate-mw.pc" @ONLY)
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}/${config_dir}" OUTPUT_VARIABLE up)
  configure_file(packaging/spate-mw-config.cmake.in "${made}/spate-mw-config.cmake" @ONLY)
  write_basic_package_version_file("${made}/spate-mw-config-version.cmake" COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/lib/libspate_mw.a" DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library)
  install(DIRECTORY include/spate DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT library FILES_MATCHING PATTERN "*.h")
  install(FILES "${made}/spate-mw.pc" DESTINATION "${pc_dir}" COMPONENT library)
  install(FILES "${made}/spate-mw-config.cmake" "${made}/spate-mw-config-version.cmake" DESTINATION "${config_dir}"
          COMPONENT library)
endif()
