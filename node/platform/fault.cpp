// SPDX-License-Identifier: MIT
#include "node/platform/fault.hpp"

#include <cerrno>
#include <utility>

namespace retrace::node {

std::string_view slug(Fault fault) noexcept {
    switch (fault) {
        case Fault::not_found: return "not_found";
        case Fault::incomplete: return "incomplete";
        case Fault::not_wanted: return "not_wanted";
        case Fault::malformed: return "malformed";
        case Fault::too_large: return "too_large";
        case Fault::wrong_root: return "wrong_root";
        case Fault::wrong_proof: return "wrong_proof";
        case Fault::bad_tile: return "bad_tile";
        case Fault::out_of_range: return "out_of_range";
        case Fault::corrupt: return "corrupt";
        case Fault::no_space: return "no_space";
        case Fault::io: return "io";
        case Fault::in_use: return "in_use";
        case Fault::unreachable: return "unreachable";
        case Fault::timeout: return "timeout";
        case Fault::refused: return "refused";
        case Fault::wrong_shape: return "wrong_shape";
        case Fault::over_quota: return "over_quota";
        case Fault::busy: return "busy";
        case Fault::no_tiles: return "no_tiles";
    }
    return "unknown";
}

Failure::Failure(FileError error) : fault(Fault::io), message(std::move(error.message)) {
    if (error.too_long)
        fault = Fault::too_large;
    else if (error.code == ENOSPC || error.code == EDQUOT)
        fault = Fault::no_space;
    else if (error.code == ENOENT)
        fault = Fault::not_found;
    else if (error.code == 0)
        fault = Fault::malformed;  // Not a regular file.
}

}  // namespace retrace::node
