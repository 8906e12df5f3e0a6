// SPDX-License-Identifier: MIT
// What the record of an auction means, in words.
#pragma once

#include <string>

#include "node/explain/auction_record.hpp"

namespace retrace::node {

/// "1 segment", "2 segments"
std::string plural(std::uint64_t count, const std::string& noun);
/// Which solvers did not bid, and the rules that kept them from it.
std::string words_of(const AuctionRecord& auction);
/// What a requester can do so that these solvers bid. Where some have too little stake for the ceiling and others want a
/// higher one, it follows the larger group.
std::string remedy_for(const OtherSolvers& others);

}  // namespace retrace::node
