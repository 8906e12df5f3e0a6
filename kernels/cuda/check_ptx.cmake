# SPDX-License-Identifier: MIT
# cmake -DNVCC=... -DFLAGS=... -DARCHITECTURES=compute_75,... -DSOURCE=... -DPTX=... -DROOT=... -P check_ptx.cmake
# Runs nvcc's front end on one file, with warnings as errors. For every architecture, its output must contain no
# operation that the contract forbids (flushed or approximate arithmetic, a rounding other than to nearest even,
# atomics), none that leaves the rounding to ptxas, which may then contract it, and no kernel that does nothing.
string(REPLACE "," ";" architectures "${ARCHITECTURES}")
if(NOT architectures)
  message(FATAL_ERROR "no architecture to look at")
endif()
foreach(architecture ${architectures})
  set(ptx ${PTX}.${architecture}.ptx)
  execute_process(COMMAND ${NVCC} ${FLAGS} -Werror all-warnings -arch=${architecture} -ptx -I${ROOT} ${SOURCE} -o ${ptx}
                  RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${architecture}: nvcc ends with ${status}")
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
