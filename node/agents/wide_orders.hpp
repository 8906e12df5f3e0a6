// SPDX-License-Identifier: MIT
// A party has one thread for orders whose results are of several types.
#pragma once

#include <utility>

#include "solver/agent/work.hpp"

namespace retrace::node {

/// The order with its result as one of the alternatives of `Wide`.
template <class Wide, class Result>
solver::WorkOrder<Wide> widen(solver::WorkOrder<Result> order) {
    return {std::move(order.what), [run = std::move(order.run)] { return Wide(run()); }, order.fetch_by,
            std::move(order.stop), order.fetches_of};
}

}  // namespace retrace::node
