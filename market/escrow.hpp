// SPDX-License-Identifier: MIT
// Where coins go. SPEC 6. Every split is exact: the parts sum to the whole.
#pragma once

#include <optional>

#include "market/params.hpp"
#include "market/types.hpp"

namespace retrace::market {

/// What postTask must bring. Overflow: nullopt (the ceiling is refused before).
struct Escrow {
    U256 work;      ///< ceiling · n · r
    U256 audits;    ///< audit fee · v · n · r
    U256 total() const { return work + audits; }
};
std::optional<Escrow> escrow_of(const TaskSpec& spec, const Params& params);

/// A slashed amount: a share to somebody, the rest burned.
struct Split {
    U256 share, burned;
};
Split split(const U256& amount, std::uint64_t share_bp);

}  // namespace retrace::market
