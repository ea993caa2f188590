# LLVM/MLIR 22 from Debian's packages, linked through the shared libraries only (never mixed with the static ones).
# The five catches of this are in knowledge/cpu.md 6; the PCH figures in knowledge/style.md 3.1 (ADR 0003).
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

separate_arguments(GAUDI_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
list(FILTER GAUDI_LLVM_DEFINITIONS EXCLUDE REGEX "_GLIBCXX_USE_CXX11_ABI") # else redefined in every file

add_library(gaudi_mlir INTERFACE)
target_include_directories(gaudi_mlir SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_compile_definitions(gaudi_mlir INTERFACE ${GAUDI_LLVM_DEFINITIONS})
target_link_libraries(gaudi_mlir INTERFACE gaudi_options MLIR LLVM)

# The one precompiled header; every MLIR library reuses it, so all of them must have equal flags.
file(WRITE ${PROJECT_BINARY_DIR}/pch_dummy.cpp "")
add_library(gaudi_pch OBJECT ${PROJECT_BINARY_DIR}/pch_dummy.cpp)
target_link_libraries(gaudi_pch PRIVATE gaudi_mlir)
target_precompile_headers(gaudi_pch PRIVATE ${PROJECT_SOURCE_DIR}/cmake/Pch.h)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # Timestamps in the PCH would make every ccache look-up a miss.
  target_compile_options(gaudi_pch PRIVATE -Xclang -fno-pch-timestamp)
endif()

# gaudi_mlir_library(NAME SRC... [LINK lib...] [DEPENDS target...])
function(gaudi_mlir_library name)
  cmake_parse_arguments(A "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${A_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC gaudi_mlir ${A_LINK})
  if(A_DEPENDS)
    add_dependencies(${name} ${A_DEPENDS})
  endif()
  target_precompile_headers(${name} REUSE_FROM gaudi_pch)
endfunction()

# gaudi_tablegen(TARGET td [gen flag, output]...): runs mlir-tblgen in the current folder.
function(gaudi_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(rest ${ARGN})
  while(rest)
    list(POP_FRONT rest out gen)
    separate_arguments(gen NATIVE_COMMAND "${gen}")
    mlir_tablegen(${out} ${gen} EXTRA_INCLUDES ${PROJECT_SOURCE_DIR} ${MLIR_INCLUDE_DIRS})
  endwhile()
  add_public_tablegen_target(${target})
  set_property(GLOBAL APPEND PROPERTY GAUDI_TABLEGEN_TARGETS ${target})
endfunction()
