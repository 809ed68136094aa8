# What `make install` takes along besides the programs: man pages and completions, which `spate` writes itself from its option
# definitions, links under the names of Parasol's programs, units for systemd, documents and the example.

if(TARGET spate)
  set(made "${PROJECT_BINARY_DIR}/manual")
  set(spate_man_pages spate spate-run spate-submit spate-job spate-task spate-hub spate-node spate-top spate-report spate-sem spate-state)
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
    install(CODE "execute_process(COMMAND \"$<TARGET_FILE:spate>\" __completion ${shell} OUTPUT_FILE \"${made}/${shell}\"
      COMMAND_ERROR_IS_FATAL ANY)")
  endforeach()
  install(FILES "${made}/bash" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME spate)
  install(FILES "${made}/zsh" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" RENAME _spate)
  install(FILES "${made}/fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" RENAME spate.fish)
endif()
# The documents keep their places beside each other, so that their links lead somewhere.
set(spate_doc "${CMAKE_INSTALL_DATADIR}/doc/spate")
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md DESTINATION "${spate_doc}")
install(DIRECTORY docs examples DESTINATION "${spate_doc}" USE_SOURCE_PERMISSIONS)
install(FILES packaging/spate-hub.service packaging/spate-node.service DESTINATION lib/systemd/system)
