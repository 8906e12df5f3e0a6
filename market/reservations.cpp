// SPDX-License-Identifier: MIT
#include "market/reservations.hpp"

namespace retrace::market {

std::string_view slug(ReservationState state) noexcept {
    switch (state) {
        case ReservationState::offered: return "offered";
        case ReservationState::accepted: return "accepted";
        case ReservationState::begun: return "begun";
        case ReservationState::honoured: return "honoured";
        case ReservationState::broken: return "broken";
        case ReservationState::unused: return "unused";
        case ReservationState::lapsed: return "lapsed";
        case ReservationState::withdrawn: return "withdrawn";
        case ReservationState::released: return "released";
    }
    return "invalid";
}

}  // namespace retrace::market
