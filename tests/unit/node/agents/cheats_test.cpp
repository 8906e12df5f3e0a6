// SPDX-License-Identifier: MIT
// The effect of `--cheat NAME` on a solver and a verifier.
#include "node/agents/cheats.hpp"

#include <gmock/gmock.h>

#include <set>

#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

using solver::ComputeAttack;
using solver::ProtocolAttack;
using ::testing::HasSubstr;
using verifier::DisputeAttack;
using verifier::VerifierAttack;

struct SolverCase {
    const char* name;
    std::optional<ComputeAttack> compute_attack;
    std::optional<ProtocolAttack> protocol_attack = std::nullopt;
    std::optional<DisputeAttack> dispute_attack = std::nullopt;
};
const SolverCase kSolvers[] = {
    {"ulp", ComputeAttack::ulp},
    {"skip_steps", ComputeAttack::skip_steps},
    {"wrong_data", ComputeAttack::wrong_data},
    {"data_order", ComputeAttack::data_order},
    {"hyper_parameter", ComputeAttack::hyper_parameter},
    {"stale_checkpoint", ComputeAttack::stale_checkpoint},
    {"silent", ComputeAttack::silent},
    {"poison_nan", ComputeAttack::poison_nan},
    {"poison_norm", ComputeAttack::poison_norm},
    {"copy_message", ComputeAttack::copy_message},
    {"wrong_mask", ComputeAttack::wrong_mask},
    {"wrong_message", std::nullopt, ProtocolAttack::wrong_message},
    {"hide_message", std::nullopt, ProtocolAttack::hide_message},
    {"list_falsely", std::nullopt, ProtocolAttack::list_falsely},
    {"commit_early", std::nullopt, ProtocolAttack::commit_early},
    {"withhold", std::nullopt, ProtocolAttack::withhold},
    {"hide", std::nullopt, ProtocolAttack::hide},
    {"answer_late", std::nullopt, ProtocolAttack::answer_late},
    {"wrong_tiles", std::nullopt, ProtocolAttack::wrong_tiles},
    {"flood", std::nullopt, ProtocolAttack::flood},
    {"lie_steps", ComputeAttack::ulp, std::nullopt, DisputeAttack::steps},
    {"lie_state", ComputeAttack::ulp, std::nullopt, DisputeAttack::state},
    {"lie_trace", ComputeAttack::ulp, std::nullopt, DisputeAttack::trace},
    {"lie_tiles", ComputeAttack::ulp, std::nullopt, DisputeAttack::tiles},
    {"lie_links", ComputeAttack::ulp, std::nullopt, DisputeAttack::links},
    {"lie_tile", ComputeAttack::ulp, std::nullopt, DisputeAttack::tile},
    {"lie_header", ComputeAttack::ulp, std::nullopt, DisputeAttack::header},
    {"stop_in_dispute", ComputeAttack::ulp, std::nullopt, DisputeAttack::stop},
};
const std::pair<const char*, VerifierAttack> kVerifiers[] = {
    {"false_accuser", VerifierAttack::false_accuser},
    {"copier", VerifierAttack::copier},
    {"guesser", VerifierAttack::guesser},
    {"never_reveals", VerifierAttack::never_reveals},
    {"no_show", VerifierAttack::no_show},
    {"false_reporter", VerifierAttack::false_reporter},
    {"griefer", VerifierAttack::griefer},
};

std::set<std::string_view> names_of(const std::vector<CheatName>& cheats) {
    std::set<std::string_view> out;
    for (const CheatName& cheat : cheats) {
        EXPECT_FALSE(cheat.does.empty()) << cheat.name;
        EXPECT_TRUE(out.insert(cheat.name).second) << cheat.name << " stands there twice";
    }
    return out;
}

TEST(Cheats, OfSolversByName) {
    std::set<std::string_view> names;
    for (const SolverCase& wanted : kSolvers) {
        names.insert(wanted.name);
        const auto cheat = parse_solver_cheat(wanted.name);
        ASSERT_TRUE(cheat.has_value()) << cheat.error().message;
        EXPECT_EQ(cheat->compute_attack, wanted.compute_attack) << wanted.name;
        EXPECT_EQ(cheat->protocol_attack, wanted.protocol_attack) << wanted.name;
        EXPECT_EQ(cheat->dispute_attack, wanted.dispute_attack) << wanted.name;
        EXPECT_FALSE(cheat->segment.has_value()) << wanted.name;
    }
    EXPECT_EQ(names_of(solver_cheats()), names) << "--help lists what there is";
}

TEST(Cheats, OfVerifiersByName) {
    std::set<std::string_view> names;
    for (const auto& [name, attack] : kVerifiers) {
        names.insert(name);
        const auto cheat = parse_verifier_cheat(name);
        ASSERT_TRUE(cheat.has_value()) << cheat.error().message;
        EXPECT_EQ(*cheat, attack) << name;
    }
    EXPECT_EQ(names_of(verifier_cheats()), names) << "--help lists what there is";
}

TEST(Cheats, UnknownNamesAreRefusedWithThoseThereAre) {
    for (const char* name : {"", "arson", "ULP", "ulp ", "false_accuser", "none"}) {
        const auto cheat = parse_solver_cheat(name);
        ASSERT_FALSE(cheat.has_value()) << name;
        for (const CheatName& known : solver_cheats())
            EXPECT_THAT(cheat.error().message, HasSubstr(std::string(known.name)));
    }
    for (const char* name : {"", "ulp", "honest"}) {
        const auto cheat = parse_verifier_cheat(name);
        ASSERT_FALSE(cheat.has_value()) << name;
        for (const CheatName& known : verifier_cheats())
            EXPECT_THAT(cheat.error().message, HasSubstr(std::string(known.name)));
    }
}

TEST(Cheats, TamperWithWhatIsServed) {
    const test::TemporaryFolder folder;
    const auto store = test::open_store(folder.path() / "store");
    const auto root = *store->put_tensor(test::random_tensor(kernels::DType::u8, {64, 64}, 1));
    const std::string place = "/artifact/" + to_hex(view(root));
    const auto served = [&](std::optional<ProtocolAttack> protocol_attack, const std::string& what) {
        ArtifactServer server(*store, [](const Hash32&) { return false; });
        if (protocol_attack) server.tamper_with_answers(tamper_of(*protocol_attack));
        return server.handle({"GET", place + what, {}});
    };
    const std::string tiles = "/tiles?first=0&count=4";
    const auto honest = *wire::decode_tile_range(served(std::nullopt, tiles).body);
    for (const ProtocolAttack protocol_attack :
         {ProtocolAttack::withhold, ProtocolAttack::hide, ProtocolAttack::answer_late}) {
        EXPECT_EQ(served(protocol_attack, tiles).status, 404u);
        EXPECT_EQ(served(protocol_attack, "/info").status, 404u);
    }
    auto wrong = *wire::decode_tile_range(served(ProtocolAttack::wrong_tiles, tiles).body);
    EXPECT_NE(wrong.tiles, honest.tiles);
    wrong.tiles.back() ^= 1;
    EXPECT_EQ(wrong, honest) << "one bit, and nothing else";
    EXPECT_EQ(served(ProtocolAttack::wrong_tiles, "/info").body, served(std::nullopt, "/info").body);
    EXPECT_EQ(served(ProtocolAttack::hide_message, tiles).body, served(std::nullopt, tiles).body);
    EXPECT_EQ(served(ProtocolAttack::hide_message, "/packed?at=0&count=8").status, 404u);
    EXPECT_EQ(tamper_of(ProtocolAttack::flood), nullptr);
    EXPECT_EQ(tamper_of(ProtocolAttack::commit_early), nullptr);
}

}  // namespace
}  // namespace retrace::node
