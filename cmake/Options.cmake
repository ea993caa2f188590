# Compile options and the two functions every folder uses.

add_library(gaudi_options INTERFACE)
target_compile_options(gaudi_options INTERFACE
  -Wall -Wextra -Wpedantic -Wno-unused-parameter -Wno-gnu-zero-variadic-macro-arguments
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)
if(GAUDI_WERROR)
  target_compile_options(gaudi_options INTERFACE -Werror)
endif()
if(GAUDI_SANITIZE)
  target_compile_options(gaudi_options INTERFACE -fsanitize=${GAUDI_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(gaudi_options INTERFACE -fsanitize=${GAUDI_SANITIZE})
endif()
target_include_directories(gaudi_options INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})

# gaudi_library(NAME SRC... [LINK lib...]): a static library without MLIR.
function(gaudi_library name)
  cmake_parse_arguments(A "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${A_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC gaudi_options ${A_LINK})
endfunction()

# gaudi_unit_test(NAME SRC... [LINK lib...] [LABELS label...]): a GoogleTest binary as one CTest entry.
function(gaudi_unit_test name)
  cmake_parse_arguments(A "" "" "LINK;LABELS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${A_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE gaudi_options ${A_LINK} GTest::gtest GTest::gtest_main Threads::Threads)
  add_test(NAME unit.${name} COMMAND ${name})
  set_tests_properties(unit.${name} PROPERTIES LABELS "fast;${A_LABELS}" TIMEOUT 600)
endfunction()
