# Each examples/NN_name.cpp, or .c in C11, is a program of its own that an embedder could have written: it sees libdyn only.

file(GLOB example_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/[0-9]*.cpp ${PROJECT_SOURCE_DIR}/examples/[0-9]*.c)
foreach(source ${example_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE dyn::dyn Threads::Threads)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic)
  set_target_properties(${name} PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
endforeach()

if(EXISTS ${PROJECT_SOURCE_DIR}/examples/language_id/main.cpp)
  file(GLOB language_id_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/language_id/*.cpp)
  add_executable(language_id ${language_id_sources})
  target_link_libraries(language_id PRIVATE dyn::dyn)
  target_compile_options(language_id PRIVATE -Wall -Wextra -Wpedantic)
  target_compile_definitions(language_id PRIVATE
    LANGUAGE_ID_MODEL_DIR="${PROJECT_SOURCE_DIR}/examples/language_id")
  set_target_properties(language_id PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endif()
