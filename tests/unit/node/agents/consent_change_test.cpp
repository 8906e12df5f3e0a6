// SPDX-License-Identifier: MIT
// What a member and its auditors call about consents: never anything that the rules refuse (contracts 21.13.20 to 21.13.30).
#include "node/agents/consent_change.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace retrace::node {
namespace {

using ledger::Address;
using Accounts = std::vector<Address>;

Address account(std::uint8_t number) { return Address{{number}}; }
Accounts accounts(std::uint8_t first, std::uint8_t last) {
    Accounts out;
    for (std::uint8_t i = first; i <= last; ++i) out.push_back(account(i));
    return out;
}
const Address kSelf = account(200), kRequester = account(201);

TEST(ConsentChange, NamesWhoIsNewAndTakesBackWhoIsGone) {
    const ConsentChange change =
        consent_change(accounts(2, 4), market::Consent{accounts(1, 2), accounts(1, 1), {}}, 0, kSelf, kRequester);
    EXPECT_EQ(change.given, accounts(3, 4));
    EXPECT_EQ(change.taken_back, accounts(1, 1));
    const ConsentChange none =
        consent_change(accounts(1, 2), market::Consent{accounts(1, 2), {}, {}}, 0, kSelf, kRequester);
    EXPECT_TRUE(none.given.empty() && none.taken_back.empty()) << "it is not called again";
}

TEST(ConsentChange, LeavesOutWhatWouldHaveTheWholeCallRefused) {
    Accounts wanted = accounts(1, 2);
    wanted.push_back(kSelf);
    wanted.push_back(kRequester);
    std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(consent_change(wanted, {}, 0, kSelf, kRequester).given, accounts(1, 2));
    // Sixteen with those whose consent was taken back.
    market::Consent known{accounts(1, 10), {}, {{account(100), 7}, {account(101), 7}}};
    EXPECT_EQ(consent_change(accounts(1, 30), known, 6, kSelf, kRequester).given, accounts(11, 14));
    EXPECT_EQ(consent_change(accounts(1, 30), known, 7, kSelf, kRequester).given, accounts(11, 16))
        << "what those may audit is final";
    known.named = accounts(1, 16);
    EXPECT_TRUE(consent_change(accounts(1, 30), known, 0, kSelf, kRequester).given.empty());
}

TEST(ConsentChange, AnAuditorAcceptsOnlyWhatItsOperatorNamed) {
    const market::Consent named{{kSelf}, {}, {}}, accepted{{kSelf}, {kSelf}, {}}, former{{}, {}, {{kSelf, 3}}};
    EXPECT_EQ(consent_answer(named, 0, kSelf, true), ConsentAnswer::accept);
    EXPECT_EQ(consent_answer(named, 0, kSelf, false), ConsentAnswer::none)
        << "anybody may name it, with data that all have";
    EXPECT_EQ(consent_answer({}, 0, kSelf, true), ConsentAnswer::none);
    EXPECT_EQ(consent_answer(accepted, 0, kSelf, true), ConsentAnswer::none);
    EXPECT_EQ(consent_answer(accepted, 0, kSelf, false), ConsentAnswer::withdraw)
        << "it would be drawn without the data";
    EXPECT_EQ(consent_answer(former, 0, kSelf, false), ConsentAnswer::withdraw);
    EXPECT_EQ(consent_answer(former, 3, kSelf, false), ConsentAnswer::none) << "what it might audit is final";
    EXPECT_EQ(consent_answer(former, 0, kSelf, true), ConsentAnswer::none);
}

}  // namespace
}  // namespace retrace::node
