# SPDX-License-Identifier: MIT
# Builds the console and writes it as C++ to OUT. Run at build time: cmake -DWEB=… -DWORK=… -DOUT=… -DNPM=… -P
#   WEB: the sources (node/console/web)   WORK: a folder for a copy of them with its packages
#   NPM: the program, or a false value    OUT: the file that defines embedded_console()
# A build never fails for want of npm or of its packages: OUT then holds no files, and says why. It fails if a package
# has another hash than the lock file's (EINTEGRITY), because that is an attack or a broken cache.
set(failure "")
if(NOT NPM)
  set(failure "npm was not found when it was built. Install Debian's packages nodejs and npm and build again.")
else()
  file(MAKE_DIRECTORY ${WORK})
  file(GLOB_RECURSE old RELATIVE ${WORK} ${WORK}/src/*)
  file(COPY ${WEB}/ DESTINATION ${WORK} PATTERN node_modules EXCLUDE PATTERN build EXCLUDE)
  foreach(name ${old})
    if(NOT EXISTS ${WEB}/${name})
      file(REMOVE ${WORK}/${name})
    endif()
  endforeach()
  # Packages are fetched again only when the lock file names others.
  file(SHA256 ${WEB}/package-lock.json lock)
  set(installed "")
  if(EXISTS ${WORK}/installed)
    file(READ ${WORK}/installed installed)
  endif()
  if(NOT installed STREQUAL lock)
    file(REMOVE ${WORK}/installed)
    execute_process(
      COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-timeout=20000
      WORKING_DIRECTORY ${WORK} TIMEOUT 300 RESULT_VARIABLE result OUTPUT_VARIABLE log ERROR_VARIABLE log)
    if(result EQUAL 0)
      file(WRITE ${WORK}/installed ${lock})
    elseif(log MATCHES "EINTEGRITY")
      message(FATAL_ERROR "The console is not built: a package that npm fetched is not the one whose hash is in \
node/console/web/package-lock.json. Remove npm's cache (npm cache clean --force) and build again; if that does not \
help, the registry serves changed packages.\n${log}")
    else()
      set(failure "npm could not fetch its packages when it was built. With a network, touch \
node/console/web/package.json and build again.")
    endif()
  endif()
  if(NOT failure)
    execute_process(
      COMMAND ${NPM} run --silent build -- ${OUT}
      WORKING_DIRECTORY ${WORK} TIMEOUT 300 RESULT_VARIABLE result OUTPUT_VARIABLE log ERROR_VARIABLE log)
    if(NOT result EQUAL 0)
      set(failure "Vite could not build it: run npm run build in node/console/web, which says why. Node.js 18 or newer \
is needed.")
    endif()
  endif()
endif()
if(failure)
  message(WARNING "The console is left out: ${failure}\n${log}")
  file(WRITE ${OUT} "// Written by node/console/build.cmake.
#include \"node/console/console.hpp\"
namespace retrace::node {
EmbeddedConsole embedded_console() noexcept {
    return {{}, \"${failure}\"};
}
}  // namespace retrace::node
")
endif()
