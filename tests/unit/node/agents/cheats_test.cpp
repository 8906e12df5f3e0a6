// SPDX-License-Identifier: MIT
// The effect of `--cheat NAME` on a solver and a verifier.
#include "node/agents/cheats.hpp"

#include <gmock/gmock.h>

#include <set>

#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

using solver::Fraud;
using solver::Trick;
using ::testing::HasSubstr;
using verifier::GameLie;
using verifier::VerifierFraud;

struct SolverCase {
    const char* name;
    std::optional<Fraud> fraud;
    std::optional<Trick> trick = std::nullopt;
    std::optional<GameLie> lie = std::nullopt;
};
const SolverCase kSolvers[] = {
    {"ulp", Fraud::ulp},
    {"skip_steps", Fraud::skip_steps},
    {"wrong_data", Fraud::wrong_data},
    {"data_order", Fraud::data_order},
    {"hyper_parameter", Fraud::hyper_parameter},
    {"stale_checkpoint", Fraud::stale_checkpoint},
    {"silent", Fraud::silent},
    {"commit_early", std::nullopt, Trick::commit_early},
    {"withhold", std::nullopt, Trick::withhold},
    {"hide", std::nullopt, Trick::hide},
    {"answer_late", std::nullopt, Trick::answer_late},
    {"wrong_tiles", std::nullopt, Trick::wrong_tiles},
    {"flood", std::nullopt, Trick::flood},
    {"lie_steps", Fraud::ulp, std::nullopt, GameLie::steps},
    {"lie_state", Fraud::ulp, std::nullopt, GameLie::state},
    {"lie_trace", Fraud::ulp, std::nullopt, GameLie::trace},
    {"lie_tiles", Fraud::ulp, std::nullopt, GameLie::tiles},
    {"lie_links", Fraud::ulp, std::nullopt, GameLie::links},
    {"lie_tile", Fraud::ulp, std::nullopt, GameLie::tile},
    {"lie_header", Fraud::ulp, std::nullopt, GameLie::header},
    {"stop_in_dispute", Fraud::ulp, std::nullopt, GameLie::stop},
};
const std::pair<const char*, VerifierFraud> kVerifiers[] = {
    {"false_accuser", VerifierFraud::false_accuser},
    {"copier", VerifierFraud::copier},
    {"guesser", VerifierFraud::guesser},
    {"never_reveals", VerifierFraud::never_reveals},
    {"no_show", VerifierFraud::no_show},
    {"false_reporter", VerifierFraud::false_reporter},
    {"griefer", VerifierFraud::griefer},
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
        EXPECT_EQ(cheat->fraud, wanted.fraud) << wanted.name;
        EXPECT_EQ(cheat->trick, wanted.trick) << wanted.name;
        EXPECT_EQ(cheat->lie, wanted.lie) << wanted.name;
        EXPECT_FALSE(cheat->segment.has_value()) << wanted.name;
    }
    EXPECT_EQ(names_of(solver_cheats()), names) << "--help lists what there is";
}

TEST(Cheats, OfVerifiersByName) {
    std::set<std::string_view> names;
    for (const auto& [name, fraud] : kVerifiers) {
        names.insert(name);
        const auto cheat = parse_verifier_cheat(name);
        ASSERT_TRUE(cheat.has_value()) << cheat.error().message;
        EXPECT_EQ(*cheat, fraud) << name;
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
    const auto served = [&](std::optional<Trick> trick, const std::string& what) {
        ArtifactServer server(*store, [](const Hash32&) { return false; });
        if (trick) server.tamper_with_answers(tamper_of(*trick));
        return server.handle({"GET", place + what, {}});
    };
    const std::string tiles = "/tiles?first=0&count=4";
    const auto honest = *wire::decode_tile_range(served(std::nullopt, tiles).body);
    for (const Trick trick : {Trick::withhold, Trick::hide, Trick::answer_late}) {
        EXPECT_EQ(served(trick, tiles).status, 404u);
        EXPECT_EQ(served(trick, "/info").status, 404u);
    }
    auto wrong = *wire::decode_tile_range(served(Trick::wrong_tiles, tiles).body);
    EXPECT_NE(wrong.tiles, honest.tiles);
    wrong.tiles.back() ^= 1;
    EXPECT_EQ(wrong, honest) << "one bit, and nothing else";
    EXPECT_EQ(served(Trick::wrong_tiles, "/info").body, served(std::nullopt, "/info").body);
    EXPECT_EQ(tamper_of(Trick::flood), nullptr);
    EXPECT_EQ(tamper_of(Trick::commit_early), nullptr);
}

}  // namespace
}  // namespace retrace::node
