# weft_install(): manual pages and completion scripts, and where everything goes:
#   bin/weft, bin/weft-git, share/man/man{1,5,7}, share/bash-completion/completions/weft,
#   share/zsh/site-functions/_weft, share/fish/vendor_completions.d/weft.fish
include(GNUInstallDirs)

# The scdoc source of every page, out of the table of commands and docs/man; then scdoc, where it is installed.
function(weft_man_pages)
  set(out ${CMAKE_BINARY_DIR}/man)
  file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/man/*.scd)
  add_executable(weft-man EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/tools/man_pages/main.cc)
  target_link_libraries(weft-man PRIVATE weft_cli)
  find_program(SCDOC scdoc)
  if(NOT SCDOC)
    message(WARNING "scdoc is missing: no manual pages are built")
    return()
  endif()
  add_custom_command(OUTPUT ${out}/stamp
    COMMAND weft-man ${CMAKE_SOURCE_DIR}/docs/man ${out}
    COMMAND ${CMAKE_COMMAND} -DSCDOC=${SCDOC} -DDIRECTORY=${out} -P ${CMAKE_SOURCE_DIR}/cmake/RunScdoc.cmake
    COMMAND ${CMAKE_COMMAND} -E touch ${out}/stamp
    DEPENDS weft-man ${pages} ${CMAKE_SOURCE_DIR}/cmake/RunScdoc.cmake
    COMMENT "Building manual pages" VERBATIM)
  add_custom_target(man_pages ALL DEPENDS ${out}/stamp)
  foreach(section 1 5 7)
    install(DIRECTORY ${out}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section}
      FILES_MATCHING PATTERN "*.${section}")
  endforeach()
endfunction()

# NAME is what a shell looks for in DIRECTORY.
function(weft_completion shell directory name)
  set(out ${CMAKE_BINARY_DIR}/completions/${shell})
  file(MAKE_DIRECTORY ${out})
  add_custom_command(OUTPUT ${out}/${name}
    COMMAND weft completion ${shell} > ${out}/${name}
    DEPENDS weft VERBATIM)
  add_custom_target(completion_${shell} ALL DEPENDS ${out}/${name})
  install(FILES ${out}/${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/${directory})
endfunction()

function(weft_install)
  install(TARGETS weft weft-git RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  weft_man_pages()
  weft_completion(bash bash-completion/completions weft)
  weft_completion(zsh zsh/site-functions _weft)
  weft_completion(fish fish/vendor_completions.d weft.fish)
endfunction()
