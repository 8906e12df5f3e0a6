// SPDX-License-Identifier: MIT
#include "node/agents/cheats.hpp"

#include <algorithm>

namespace retrace::node {
namespace {

using solver::ComputeAttack;
using solver::ProtocolAttack;
using verifier::DisputeAttack;
using verifier::VerifierAttack;

std::string unknown(std::string_view name, const std::vector<CheatName>& cheats) {
    std::string out = "--cheat: there is no \"" + std::string(name) + "\", but";
    for (const CheatName& cheat : cheats) out += (&cheat == &cheats.front() ? " " : ", ") + std::string(cheat.name);
    return out;
}

}  // namespace

const std::vector<CheatName>& solver_cheats() {
    static const std::vector<CheatName> all{
        {slug(ComputeAttack::ulp), "one number of one op in one step is off by one unit in the last place"},
        {slug(ComputeAttack::skip_steps), "the second half of a segment is not computed"},
        {slug(ComputeAttack::wrong_data), "a segment is trained on other samples"},
        {slug(ComputeAttack::data_order), "a segment is trained on the samples in another order"},
        {slug(ComputeAttack::hyper_parameter),
         "a segment is trained with other constants, the learning rate among them"},
        {slug(ComputeAttack::stale_checkpoint), "a segment ends with the state it began with"},
        {slug(ComputeAttack::silent), "stops answering half way through a task"},
        {slug(ProtocolAttack::commit_early), "commits to invented states at once and never trains"},
        {slug(ProtocolAttack::withhold), "serves nothing and answers reports on the ledger only"},
        {slug(ProtocolAttack::hide), "serves nothing and answers no report"},
        {slug(ProtocolAttack::answer_late), "serves nothing and answers each report just before its deadline"},
        {slug(ProtocolAttack::wrong_tiles), "serves tiles with one bit flipped"},
        {slug(ProtocolAttack::flood), "constantly sends calls that are refused"},
        {slug(ComputeAttack::poison_nan), "member of a group: a message has no number in it"},
        {slug(ComputeAttack::poison_norm), "member of a group: a message is very large"},
        {slug(ComputeAttack::copy_message), "member of a group: a message is another member's"},
        {slug(ComputeAttack::wrong_mask),
         "member of a group with masks: masks its messages otherwise than its keys say"},
        {slug(ProtocolAttack::wrong_message), "member of a group: sends the roots of another message than its own"},
        {slug(ProtocolAttack::hide_message), "member of a group: serves its messages to nobody"},
        {slug(ProtocolAttack::list_falsely), "member of a group: states to have every message"},
        {slug(DisputeAttack::steps), "ulp, and posts state roots that nothing hashes to"},
        {slug(DisputeAttack::state), "ulp, and posts other children of the state tree"},
        {slug(DisputeAttack::trace), "ulp, and posts other children of the trace"},
        {slug(DisputeAttack::tiles), "ulp, and posts other children of the tile tree"},
        {slug(DisputeAttack::links), "ulp, and posts partial tiles that nothing hashes to"},
        {slug(DisputeAttack::tile), "ulp, and opens another tile than it committed to"},
        {slug(DisputeAttack::header), "ulp, and opens the header of another step"},
        {slug(DisputeAttack::stop), "ulp, and stops after the first answer of a dispute"},
    };
    return all;
}

const std::vector<CheatName>& verifier_cheats() {
    static const std::vector<CheatName> all{
        {slug(VerifierAttack::false_accuser), "computes a wrong root for every segment and plays the dispute from it"},
        {slug(VerifierAttack::copier), "computes nothing and commits a copy of another auditor's commitment"},
        {slug(VerifierAttack::guesser), "computes nothing and claims that the segment left the state unchanged"},
        {slug(VerifierAttack::never_reveals), "computes and commits, and does not reveal"},
        {slug(VerifierAttack::no_show), "commits nothing"},
        {slug(VerifierAttack::false_reporter), "reports served data as unavailable"},
        {slug(VerifierAttack::griefer), "challenges every opened segment and plays no dispute"},
    };
    return all;
}

std::string list_cheats(const std::vector<CheatName>& cheats) {
    std::size_t width = 0;
    for (const CheatName& cheat : cheats) width = std::max(width, cheat.name.size());
    std::string out;
    for (const CheatName& cheat : cheats) {
        out += "  " + std::string(cheat.name) + std::string(width + 2 - cheat.name.size(), ' ') +
               std::string(cheat.does) + "\n";
    }
    return out;
}

Result<SolverCheat> parse_solver_cheat(std::string_view name) {
    SolverCheat out;
    out.compute_attack = solver::parse_compute_attack(name);
    out.protocol_attack = solver::parse_protocol_attack(name);
    out.dispute_attack = verifier::parse_dispute_attack(name);
    if (out.dispute_attack) out.compute_attack = ComputeAttack::ulp;
    if (!out.compute_attack && !out.protocol_attack) return error(unknown(name, solver_cheats()));
    return out;
}

Result<VerifierAttack> parse_verifier_cheat(std::string_view name) {
    const auto attack = verifier::parse_verifier_attack(name);
    if (!attack) return error(unknown(name, verifier_cheats()));
    return *attack;
}

ArtifactServer::Tamper tamper_of(ProtocolAttack attack) {
    if (attack == ProtocolAttack::withhold || attack == ProtocolAttack::hide || attack == ProtocolAttack::answer_late) {
        return [](const HttpRequest&, HttpReply& reply) {
            reply = refusal({Fault::not_found, "nothing is served here"});
        };
    }
    if (attack == ProtocolAttack::hide_message) {
        return [](const HttpRequest& request, HttpReply& reply) {
            if (request.target.find("/packed?") != std::string::npos)
                reply = refusal({Fault::not_found, "nothing is served here"});
        };
    }
    if (attack != ProtocolAttack::wrong_tiles) return nullptr;
    return [](const HttpRequest& request, HttpReply& reply) {
        if (request.target.find("/tiles?") == std::string::npos) return;
        auto range = wire::decode_tile_range(reply.body);
        if (!range || range->tiles.empty()) return;
        range->tiles.back() ^= 1;
        reply.body = wire::encode(*range);
    };
}

}  // namespace retrace::node
