// SPDX-License-Identifier: MIT
// The account of a validator: bonds its stake, and ends its jail. Its votes and blocks are the committee's.
#pragma once

#include "tests/simulation/committee.hpp"
#include "tests/simulation/party.hpp"

namespace retrace::sim {

class ValidatorParty final : public Party {
public:
    ValidatorParty(World& world, NodeId id, std::string name, ValidatorRole role);

    bool is_at_node() const override { return true; }

private:
    void boot() override {}
    void halt() override {}
    void act(const ledger::StateView& view, std::uint64_t height) override;

    ValidatorRole role_;
    std::uint64_t sent_height_ = 0;
};

}  // namespace retrace::sim
