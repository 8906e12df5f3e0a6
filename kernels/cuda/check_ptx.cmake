# SPDX-License-Identifier: MIT
# cmake -DNVCC=... -DFLAGS=... -DSOURCE=... -DPTX=... -DROOT=... -P check_ptx.cmake
# nvcc's front end on one file, its warnings counting as errors; then what it made may hold no operation that the
# contract forbids: flushed or approximate arithmetic, a rounding other than to nearest even, atomics; and none that
# leaves the rounding to ptxas, which may then contract it.
execute_process(COMMAND ${NVCC} ${FLAGS} -Werror all-warnings -arch=compute_90a -ptx -I${ROOT} ${SOURCE} -o ${PTX}
                RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "nvcc ends with ${status}")
endif()
file(READ ${PTX} text)
foreach(forbidden "\\.ftz" "\\.approx" "\\.full"
        "[\t ](add|sub|mul|div|sqrt|fma)\\.r[zmp]" "\tatom\\." "\tred\\." "\\.f64"
        "\t(add|sub|mul|mad)\\.f32")
  if(text MATCHES "[^\n]*${forbidden}[^\n]*")
    message(FATAL_ERROR "${SOURCE}: ${CMAKE_MATCH_0}")
  endif()
endforeach()
