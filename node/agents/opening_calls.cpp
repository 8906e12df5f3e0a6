// SPDX-License-Identifier: MIT
#include "node/agents/opening_calls.hpp"

namespace retrace::node {

std::vector<contracts::OpenRoots> opening_calls(const solver::OpenRoots& move) {
    std::vector<contracts::OpenRoots> calls;
    for (const solver::Opening& opening : move.openings) {
        const bool follows = !calls.empty() && calls.back().first + calls.back().roots.size() == opening.index &&
                             calls.back().roots.size() < kOpeningsACall;
        if (!follows) calls.push_back({move.task, move.run, opening.index, {}, {}});
        calls.back().salts.push_back(opening.salt);
        calls.back().roots.push_back(opening.root);
    }
    return calls;
}

}  // namespace retrace::node
