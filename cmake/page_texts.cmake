# src/cli/page/*.html, *.css and *.js, compiled in.
set(page_folder ${PROJECT_SOURCE_DIR}/src/cli/page)
set(page_files page.html page.css charts.js report.js comparison.js)
list(TRANSFORM page_files PREPEND ${page_folder}/)
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page_files})
file(READ ${page_folder}/page.html page_skeleton)
file(READ ${page_folder}/page.css page_style)
set(page_scripts)
foreach(script charts report comparison)
  file(READ ${page_folder}/${script}.js page_script)
  string(APPEND page_scripts "R\"page(${page_script})page\"\n")
endforeach()
set(page_texts ${PROJECT_BINARY_DIR}/generated/page_texts.cpp)
file(CONFIGURE OUTPUT ${page_texts} @ONLY CONTENT [[
// From src/cli/page.
#include "src/cli/page/page_texts.hpp"

namespace dyn::cli {

const char* const page_skeleton = R"page(@page_skeleton@)page";
const char* const page_style = R"page(@page_style@)page";
const char* const page_scripts = @page_scripts@;

}  // namespace dyn::cli
]])
target_sources(dyn_cli PRIVATE ${page_texts})
