// SPDX-License-Identifier: MIT
// Texts with characters that shells and roff read as their own. tests/install/manual.sh has the program's own tree.
#include <gmock/gmock.h>

#include "node/cmd/manual/completion.hpp"
#include "node/cmd/manual/man_page.hpp"

namespace retrace::node::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CommandInfo tree_with(const std::string& summary) {
    CommandInfo command;
    command.path = "retrace buy";
    command.name = "buy";
    command.summary = summary;
    command.footer = ".hidden\n'quoted";
    command.flags = {{{"--key", "-k"}, summary, false, true, true, {}}, {{"FILE"}, "", true, true, false, {"a", "b"}}};
    CommandInfo out;
    out.path = out.name = "retrace";
    out.commands.push_back(std::move(command));
    return out;
}

TEST(Completion, QuotesOfSummariesEndNoString) {
    const CommandInfo tree = tree_with("the node's \\path");
    EXPECT_THAT(completion(tree, Shell::zsh), HasSubstr("'buy:the node'\\''s \\path'"));
    EXPECT_THAT(completion(tree, Shell::fish), HasSubstr("-l key -s k -r -d 'the node\\'s \\\\path'"));
    EXPECT_THAT(completion(tree, Shell::bash), HasSubstr("'retrace buy --key' | 'retrace buy -k')"));
}

TEST(Completion, AnArgumentWithAListOfValuesOffersThem) {
    EXPECT_THAT(completion(tree_with(""), Shell::bash), HasSubstr("'retrace buy')\n        commands='a b'\n"));
}

TEST(Completion, OtherShellsAreNone) { EXPECT_EQ(shell_of("csh"), std::nullopt); }

TEST(ManPages, NoTextBecomesARequestOfRoff) {
    const auto pages = man_pages(tree_with("a\\b - c"), "1.2.3", 0);
    ASSERT_EQ(pages.size(), 2u);
    EXPECT_EQ(pages[0].file, "retrace-buy.1");
    EXPECT_THAT(pages[0].text, HasSubstr(".TH RETRACE-BUY 1 1970-01-01 \"retrace 1.2.3\""));
    EXPECT_THAT(pages[0].text, HasSubstr("a\\eb \\- c (required)"));
    EXPECT_THAT(pages[0].text, HasSubstr("\\&.hidden\n\\&'quoted\n"));
    EXPECT_THAT(pages[0].text, Not(HasSubstr("\n.hidden")));
    EXPECT_EQ(pages[1].file, "retrace.1");
}

}  // namespace
}  // namespace retrace::node::cli
