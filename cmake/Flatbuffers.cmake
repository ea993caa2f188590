# gaudi_flatbuffers(TARGET schema.fbs): header-only interface target with the generated header (object API included).
find_program(FLATC flatc REQUIRED)
function(gaudi_flatbuffers name schema)
  get_filename_component(stem ${schema} NAME_WE)
  file(RELATIVE_PATH dir ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${stem}_generated.h)
  add_custom_command(OUTPUT ${out}
    COMMAND ${FLATC} --cpp --cpp-std c++17 --gen-object-api --scoped-enums -o ${CMAKE_CURRENT_BINARY_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${schema}
    DEPENDS ${schema} COMMENT "flatc ${schema}")
  add_custom_target(${name}_gen DEPENDS ${out})
  add_library(${name} INTERFACE)
  add_dependencies(${name} ${name}_gen)
  target_include_directories(${name} SYSTEM INTERFACE ${PROJECT_BINARY_DIR})
endfunction()
