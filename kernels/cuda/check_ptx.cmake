# SPDX-License-Identifier: MIT
# cmake -DNVCC=... -DFLAGS=... -DARCHITECTURES=compute_75,... -DSOURCE=... -DPTX=... -DROOT=... -P check_ptx.cmake
# Runs nvcc's front end, or clang's (-DCLANG=... in place of NVCC), on one file, with warnings as errors. For every architecture, its output must contain no
# operation that the contract forbids (flushed or approximate arithmetic, a rounding other than to nearest even,
# atomics), none that leaves the rounding to ptxas, which may then contract it, and no kernel that does nothing.
string(REPLACE "," ";" architectures "${ARCHITECTURES}")
if(NOT architectures)
  message(FATAL_ERROR "no architecture to look at")
endif()
foreach(architecture ${architectures})
  set(ptx ${PTX}.${architecture}.ptx)
  if(CLANG)
    string(REPLACE "compute_" "sm_" code ${architecture})
    set(compiler ${CLANG} ${FLAGS} -Werror --cuda-gpu-arch=${code} --cuda-device-only -S)
  else()
    set(compiler ${NVCC} ${FLAGS} -Werror all-warnings -arch=${architecture} -ptx)
  endif()
  execute_process(COMMAND ${compiler} -I${ROOT} ${SOURCE} -o ${ptx} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${architecture}: the compiler ends with ${status}")
  endif()
  file(READ ${ptx} text)
  if(NOT text MATCHES "\\.entry ")
    message(FATAL_ERROR "${SOURCE}, ${architecture}: no kernel")
  endif()
  foreach(forbidden "\\.ftz" "\\.approx" "\\.full"
          "[\t ](add|sub|mul|div|sqrt|fma)\\.r[zmp]" "\tatom\\." "\tred\\." "\\.f64"
          "\t(add|sub|mul|mad)\\.f32" "\\.entry [^{]*{[ \t\n]*ret;")
    if(text MATCHES "[^\n]*${forbidden}[^\n]*")
      message(FATAL_ERROR "${SOURCE}, ${architecture}: ${CMAKE_MATCH_0}")
    endif()
  endforeach()
endforeach()
