// SPDX-License-Identifier: MIT
#include "node/platform/fault.hpp"

namespace retrace::node {

std::string_view slug(Fault fault) noexcept {
    switch (fault) {
        case Fault::not_found:
            return "not_found";
        case Fault::incomplete:
            return "incomplete";
        case Fault::not_wanted:
            return "not_wanted";
        case Fault::malformed:
            return "malformed";
        case Fault::too_large:
            return "too_large";
        case Fault::wrong_root:
            return "wrong_root";
        case Fault::wrong_proof:
            return "wrong_proof";
        case Fault::bad_tile:
            return "bad_tile";
        case Fault::out_of_range:
            return "out_of_range";
        case Fault::corrupt:
            return "corrupt";
        case Fault::no_space:
            return "no_space";
        case Fault::io:
            return "io";
        case Fault::in_use:
            return "in_use";
        case Fault::unreachable:
            return "unreachable";
        case Fault::timeout:
            return "timeout";
        case Fault::refused:
            return "refused";
        case Fault::wrong_shape:
            return "wrong_shape";
        case Fault::over_quota:
            return "over_quota";
    }
    return "unknown";
}

}  // namespace retrace::node
