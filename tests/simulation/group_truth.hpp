// SPDX-License-Identifier: MIT
// The right states of a group's member: what follows from its first state, the records and its data.
#pragma once

#include <map>

#include "kernels/plan/mask_table.hpp"
#include "ledger/state/view.hpp"
#include "market/types.hpp"
#include "tests/simulation/group_kind.hpp"

namespace retrace::sim {

/// Tensors that members committed to, by root: their messages and shared tensors.
using SentTensors = std::map<Hash32, kernels::Tensor>;

/// Masks over messages, by the root that was committed with the message.
using SentMasks = std::map<Hash32, std::vector<kernels::MaskRow>>;
struct Sent {
    const SentTensors& tensors;
    const SentMasks& masks;
};

/// Roots of the states of a member that trains on `sets`, from its state 0 on. Ends before the first state that follows from a tensor or masks
/// that are not among `sent`.
std::vector<Hash32> true_roots_of_member(const GroupKind& kind, const ledger::StateView& view, const market::Run& run,
                                         const Sent& sent, const std::vector<kernels::Tensor>& sets,
                                         kernels::ThreadPool& pool);

}  // namespace retrace::sim
