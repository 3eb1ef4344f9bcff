# dynrun's manual page and what shells complete its words by, made by dynrun of its own definition (src/cli/help).

set(manual ${PROJECT_BINARY_DIR}/generated/manual)
file(MAKE_DIRECTORY ${manual})
add_custom_command(OUTPUT ${manual}/dynrun.1.gz ${manual}/dynrun ${manual}/_dynrun ${manual}/dynrun.fish
  COMMAND dynrun help --man > dynrun.1
  COMMAND gzip -9nf dynrun.1
  COMMAND dynrun help --completion bash > dynrun
  COMMAND dynrun help --completion zsh > _dynrun
  COMMAND dynrun help --completion fish > dynrun.fish
  WORKING_DIRECTORY ${manual} DEPENDS dynrun VERBATIM COMMENT "Writing the manual")
set(pages ${manual}/dynrun.1.gz)
function(dyn_page_of_help program summary)
  set(page ${manual}/${program}.1)
  add_custom_command(OUTPUT ${page}.gz
    COMMAND bash ${PROJECT_SOURCE_DIR}/cmake/man_of_help.sh $<TARGET_FILE:${program}> ${PROJECT_VERSION} ${summary} > ${page}
    COMMAND gzip -9nf ${page}
    DEPENDS ${program} ${PROJECT_SOURCE_DIR}/cmake/man_of_help.sh VERBATIM)
  set(pages ${pages} ${page}.gz PARENT_SCOPE)
endfunction()
dyn_page_of_help(dyn-peak "measures the limits of this machine")
dyn_page_of_help(dyn-peer "times another library for dynrun")
add_custom_target(dyn_manual ALL DEPENDS ${pages})

if(DYN_INSTALL)
  set(zsh_folder site-functions)
  if(EXISTS /etc/debian_version)
    set(zsh_folder vendor-completions)
  endif()
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
  install(FILES ${manual}/dynrun DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tools)
  install(FILES ${manual}/_dynrun DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${zsh_folder} COMPONENT tools)
  install(FILES ${manual}/dynrun.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT tools)
endif()
