// SPDX-License-Identifier: MIT
#include "node/agents/cheats.hpp"

#include <algorithm>

namespace retrace::node {
namespace {

using solver::Fraud;
using solver::Trick;
using verifier::GameLie;
using verifier::VerifierFraud;

std::string unknown(std::string_view name, const std::vector<CheatName>& cheats) {
    std::string out = "--cheat: there is no \"" + std::string(name) + "\", but";
    for (const CheatName& cheat : cheats)
        out += (&cheat == &cheats.front() ? " " : ", ") + std::string(cheat.name);
    return out;
}

}  // namespace

const std::vector<CheatName>& solver_cheats() {
    static const std::vector<CheatName> all{
        {slug(Fraud::ulp), "one number of one op in one step is off by one unit in the last place"},
        {slug(Fraud::skip_steps), "the second half of a segment is not computed"},
        {slug(Fraud::wrong_data), "a segment is trained on other samples"},
        {slug(Fraud::data_order), "a segment is trained on the samples in another order"},
        {slug(Fraud::hyper_parameter),
         "a segment is trained with other constants, the learning rate among them"},
        {slug(Fraud::stale_checkpoint), "a segment ends with the state it began with"},
        {slug(Fraud::silent), "stops answering half way"},
        {slug(Trick::commit_early), "commits to made-up states at once and trains never"},
        {slug(Trick::withhold), "serves nothing, answers on the ledger alone"},
        {slug(Trick::hide), "serves nothing and answers no report"},
        {slug(Trick::answer_late), "serves nothing, answers each report as late as it dares"},
        {slug(Trick::wrong_tiles), "serves tiles with one bit turned"},
        {slug(Trick::flood), "sends calls that are refused all the time"},
        {slug(GameLie::steps), "ulp, and posts state roots that nothing hashes to"},
        {slug(GameLie::state), "ulp, and posts other children of the state tree"},
        {slug(GameLie::trace), "ulp, and posts other children of the trace"},
        {slug(GameLie::tiles), "ulp, and posts other children of the tile tree"},
        {slug(GameLie::links), "ulp, and posts partial tiles that nothing hashes to"},
        {slug(GameLie::tile), "ulp, and opens another tile than it committed to"},
        {slug(GameLie::header), "ulp, and opens the header of another step"},
        {slug(GameLie::stop), "ulp, and stops after the first answer of a dispute"},
    };
    return all;
}

const std::vector<CheatName>& verifier_cheats() {
    static const std::vector<CheatName> all{
        {slug(VerifierFraud::false_accuser), "finds every segment wrong and plays the dispute from that"},
        {slug(VerifierFraud::copier), "computes nothing, commits what another auditor has committed"},
        {slug(VerifierFraud::guesser), "computes nothing, bets that the segment changed nothing"},
        {slug(VerifierFraud::never_reveals), "computes and commits, and does not reveal"},
        {slug(VerifierFraud::no_show), "commits nothing"},
        {slug(VerifierFraud::false_reporter), "reports as not served what is served"},
        {slug(VerifierFraud::griefer), "challenges all that is opened and plays no dispute"},
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
    out.fraud = solver::parse_fraud(name);
    out.trick = solver::parse_trick(name);
    out.lie = verifier::parse_game_lie(name);
    if (out.lie) out.fraud = Fraud::ulp;
    if (!out.fraud && !out.trick) return error(unknown(name, solver_cheats()));
    return out;
}

Result<VerifierFraud> parse_verifier_cheat(std::string_view name) {
    const auto fraud = verifier::parse_verifier_fraud(name);
    if (!fraud) return error(unknown(name, verifier_cheats()));
    return *fraud;
}

ArtifactServer::Tamper tamper_of(Trick trick) {
    if (trick == Trick::withhold || trick == Trick::hide || trick == Trick::answer_late) {
        return [](const HttpRequest&, HttpReply& reply) {
            reply = refusal({Fault::not_found, "nothing is served here"});
        };
    }
    if (trick != Trick::wrong_tiles) return nullptr;
    return [](const HttpRequest& request, HttpReply& reply) {
        if (request.target.find("/tiles?") == std::string::npos) return;
        auto range = wire::decode_tile_range(reply.body);
        if (!range || range->tiles.empty()) return;
        range->tiles.back() ^= 1;
        reply.body = wire::encode(*range);
    };
}

}  // namespace retrace::node
