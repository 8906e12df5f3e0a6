// SPDX-License-Identifier: MIT
// Each rule is fed a tree that breaks it, and one that nearly does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lint/rules.hpp"
#include "tests/lint/tables.hpp"

namespace retrace::lint {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kLicense = "// SPDX-License-Identifier: MIT\n";

std::string cpp(const std::string& body) { return kLicense + body; }
std::string include(const std::string& target) { return "#include \"" + target + "\"\n"; }
std::string system_include(const std::string& target) { return "#include <" + target + ">\n"; }

Tree good_tree() {
    Tree tree;
    for (const char* folder :
         {"merkle", "kernels", "ledger", "market", "solver", "verifier", "contracts", "node", "tests"}) {
        tree[std::string(folder) + "/README.md"] = "# here\n";
        tree[std::string(folder) + "/SPEC.md"] = "# rules\n";
        tree[std::string(folder) + "/a.hpp"] = cpp("#pragma once\n");
    }
    return tree;
}

// "path:line rule" of each finding, so that a test reads as a list.
std::vector<std::string> brief(const Findings& findings) {
    std::vector<std::string> out;
    for (const Finding& f : findings) out.push_back(f.path + ":" + std::to_string(f.line) + " " + f.rule);
    return out;
}

std::vector<std::string> with(const std::string& path, const std::string& text) {
    Tree tree = good_tree();
    tree[path] = text;
    return brief(check_all(tree));
}

TEST(Lint, AGoodTreeHasNoFindings) { EXPECT_THAT(brief(check_all(good_tree())), IsEmpty()); }

TEST(Lint, ArrowsAreThoseOfTheTable) {
    const std::map<std::string, std::string> allowed = {
        {"merkle", ""},
        {"kernels", "merkle"},
        {"ledger", "merkle"},
        {"market", "ledger merkle"},
        {"solver", "kernels merkle"},
        {"verifier", "kernels merkle solver"},
        {"contracts", "ledger market merkle solver verifier"},
        {"node", "contracts kernels ledger market merkle solver verifier"},
        {"tests", "contracts kernels ledger market merkle node solver verifier"},
    };
    for (const auto& [from, targets] : allowed) {
        for (const auto& [to, unused] : allowed) {
            const bool fine = from == to || contains_word(targets, to);
            const auto found = with(from + "/b.cpp", cpp(include(to + "/a.hpp")));
            if (fine) {
                EXPECT_THAT(found, IsEmpty()) << from << " -> " << to;
            } else {
                EXPECT_THAT(found, ElementsAre(from + "/b.cpp:2 include_arrow")) << from << " -> " << to;
            }
        }
    }
}

TEST(Lint, ArrowsBetweenRoomsPointOneWay) {
    const auto found = [](const std::string& from, const std::string& to) {
        Tree tree = good_tree();
        tree[to] = cpp("#pragma once\n");
        tree[from] = cpp(include(to));
        return brief(check_all(tree));
    };
    EXPECT_THAT(found("node/cmd/b.cpp", "node/net/a.hpp"), IsEmpty());
    EXPECT_THAT(found("node/net/b.cpp", "node/cmd/a.hpp"), ElementsAre("node/net/b.cpp:2 include_arrow"));
    EXPECT_THAT(found("node/server/http/b.cpp", "node/server/methods/a.hpp"), IsEmpty());
    EXPECT_THAT(found("node/server/methods/b.cpp", "node/server/http/a.hpp"),
                ElementsAre("node/server/methods/b.cpp:2 include_arrow"));
    EXPECT_THAT(found("node/server/http/b.cpp", "node/server/a.hpp"),
                ElementsAre("node/server/http/b.cpp:2 include_arrow"))
        << "what lies beside the subfolders";
    EXPECT_THAT(found("node/server/b.cpp", "node/server/http/a.hpp"), IsEmpty());
    EXPECT_THAT(found("node/server/http/b.cpp", "node/platform/a.hpp"), IsEmpty());
    EXPECT_THAT(found("node/cellar/b.cpp", "merkle/a.hpp"), ElementsAre("node/cellar/b.cpp:0 subfolder_unknown"));
}

TEST(Lint, AnIncludeNamesAFileFromTheRoot) {
    EXPECT_THAT(with("merkle/b.cpp", cpp(include("a.hpp"))), ElementsAre("merkle/b.cpp:2 include_missing"));
    EXPECT_THAT(with("merkle/b.cpp", cpp(include("../merkle/a.hpp"))), ElementsAre("merkle/b.cpp:2 include_missing"));
    EXPECT_THAT(with("merkle/b.cpp", cpp("  #  include  \"none.hpp\"\n")),
                ElementsAre("merkle/b.cpp:2 include_missing"));
    EXPECT_THAT(with("merkle/b.cpp", cpp(system_include("merkle/a.hpp"))),
                ElementsAre("merkle/b.cpp:2 include_quotes"));
    EXPECT_THAT(with("merkle/b.cpp", cpp("// #include \"kernels/a.hpp\"\n")), IsEmpty());
}

TEST(Lint, CirclesAreFoundOnce) {
    Tree tree = good_tree();
    tree["ledger/x.hpp"] = cpp(include("ledger/y.hpp"));
    tree["ledger/y.hpp"] = cpp(include("ledger/z.hpp"));
    tree["ledger/z.hpp"] = cpp(include("ledger/x.hpp") + include("merkle/a.hpp"));
    const Findings found = check_cycles(tree);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].message, "ledger/x.hpp -> ledger/y.hpp -> ledger/z.hpp -> ledger/x.hpp");
}

TEST(Lint, RoomsFormNoCircle) {
    Tree tree = good_tree();
    tree["ledger/chain/a.hpp"] = cpp("#pragma once\n" + include("ledger/state/a.hpp"));
    tree["ledger/state/a.hpp"] = cpp("#pragma once\n");
    EXPECT_THAT(check_cycles(tree), IsEmpty());
    tree["ledger/state/b.cpp"] = cpp(include("ledger/chain/c.hpp"));
    tree["ledger/chain/c.hpp"] = cpp("#pragma once\n");
    EXPECT_THAT(brief(check_cycles(tree)), ElementsAre("ledger/chain:0 subfolder_cycle")) << "though no files do";
}

TEST(Lint, AFileThatIncludesItselfIsACircle) {
    EXPECT_THAT(with("node/x.cpp", cpp(include("node/x.cpp"))), ElementsAre("node/x.cpp:0 include_cycle"));
}

TEST(Lint, LibrariesStayAtHome) {
    struct Row {
        const char* header;
        const char* home;
        const char* elsewhere;
    };
    const Row rows[] = {
        {"openssl/evp.h", "merkle/hash/x.cpp", "merkle/tree/x.cpp"},
        {"openssl/ssl.h", "node/net/x.cpp", "ledger/chain/x.cpp"},
        {"cuda_runtime.h", "kernels/cuda/x.cu", "kernels/runtime/x.cpp"},
        {"secp256k1_recovery.h", "ledger/crypto/x.cpp", "ledger/tx/x.cpp"},
        {"cryptopp/keccak.h", "ledger/crypto/x.cpp", "node/wallet/x.cpp"},
        {"rocksdb/db.h", "ledger/storage/rocks_store.cpp", "ledger/storage/store.cpp"},
        {"torch/torch.h", "solver/torch/x.cpp", "solver/run/x.cpp"},
        {"ATen/ATen.h", "tests/bench/peers/x.cpp", "tests/bench/x.cpp"},
        {"boost/asio.hpp", "node/net/x.cpp", "tests/unit/node/x.cpp"},
        {"boost/json.hpp", "tests/unit/ledger/x.cpp", "ledger/tx/x.cpp"},
        {"google/protobuf/message.h", "node/wire/x.cpp", "node/net/x.cpp"},
        {"zlib.h", "node/tasks/data/x.cpp", "node/net/x.cpp"},
        {"spdlog/spdlog.h", "node/x.cpp", "solver/x.cpp"},
        {"gtest/gtest.h", "tests/unit/x.cpp", "node/x.cpp"},
        {"cblas.h", "tests/bench/peers/x.cpp", "kernels/runtime/x.cpp"},
        {"sys/socket.h", "node/x.cpp", "solver/x.cpp"},
    };
    for (const Row& row : rows) {
        EXPECT_THAT(with(row.home, cpp(system_include(row.header))), IsEmpty()) << row.header;
        EXPECT_THAT(with(row.elsewhere, cpp(system_include(row.header))),
                    ElementsAre(std::string(row.elsewhere) + ":2 third_party_home"))
            << row.header;
    }
}

TEST(Lint, GeneratedProtobufStaysAtHome) {
    EXPECT_THAT(with("node/wire/x.cpp", cpp(include("wire/artifact.pb.h"))), IsEmpty());
    EXPECT_THAT(with("node/net/x.cpp", cpp(include("wire/artifact.pb.h"))),
                ElementsAre("node/net/x.cpp:2 third_party_home"));
    EXPECT_THAT(with("node/server/comet/x.cpp", cpp(include("wire/artifact.pb.h"))),
                ElementsAre("node/server/comet/x.cpp:2 third_party_home"));
    EXPECT_THAT(with("tests/unit/node/x.cpp", cpp(include("wire/artifact.pb.h"))), IsEmpty());
    EXPECT_THAT(with("tests/fuzz/node/x.cpp", cpp(include("wire/artifact.pb.h"))), IsEmpty());
    EXPECT_THAT(with("tests/fuzz/ledger/x.cpp", cpp(include("wire/artifact.pb.h"))),
                ElementsAre("tests/fuzz/ledger/x.cpp:2 third_party_home"));
}

TEST(Lint, ALibraryOutsideTheTableIsRefused) {
    EXPECT_THAT(with("node/x.cpp", cpp(system_include("nlohmann/json.hpp"))),
                ElementsAre("node/x.cpp:2 third_party_unknown"));
    EXPECT_THAT(with("node/x.cpp", cpp(system_include("vector") + system_include("sys/mman.h"))), IsEmpty());
}

TEST(Lint, ConsensusCodeIsDeterministic) {
    EXPECT_THAT(with("ledger/b.cpp", cpp("double x = 0;\n")), ElementsAre("ledger/b.cpp:2 determinism"));
    EXPECT_THAT(with("kernels/b.cpp", cpp("double x = 0;\n")), IsEmpty());
    EXPECT_THAT(with("verifier/b.cpp", cpp("\nstd::unordered_map<int, int> x;\n")),
                ElementsAre("verifier/b.cpp:3 determinism"));
    EXPECT_THAT(with("market/b.cpp", cpp("auto t = std::chrono::system_clock::now();\n")),
                ElementsAre("market/b.cpp:2 determinism"));
    EXPECT_THAT(with("node/b.cpp", cpp("auto t = std::chrono::system_clock::now();\n")), IsEmpty());
    EXPECT_THAT(with("ledger/b.cpp", cpp("int double_spend; // a double\n/* float\n double */ char c = '\"';\n"
                                         "auto s = \"a double\"; int n = 1'000; auto r = R\"(double\n)\";\n")),
                IsEmpty());
    EXPECT_THAT(with("ledger/b.cpp", cpp("int n = 1'000; double d; int m = 1'000;\n")),
                ElementsAre("ledger/b.cpp:2 determinism"));
}

TEST(Lint, CommentsAndLiteralsAreBlankedInPlace) {
    EXPECT_EQ(without_comments("a /* b\nc */ d // e\n\"\\\"f\" g"), "a     \n     d     \n      g");
    EXPECT_EQ(without_comments("\"open"), "     ");
    EXPECT_EQ(without_comments("/* open"), "       ");
}

TEST(Lint, HeadersAreReadOnce) {
    EXPECT_THAT(with("merkle/b.hpp", kLicense), ElementsAre("merkle/b.hpp:0 pragma_once"));
}

TEST(Lint, EveryCodeFileNamesItsLicense) {
    for (const char* path : {"merkle/b.cpp", "merkle/CMakeLists.txt", "tests/x.py", "dev", ".ci/run"}) {
        EXPECT_THAT(with(path, "\n"), ElementsAre(std::string(path) + ":1 spdx"));
        EXPECT_THAT(with(path, ""), ElementsAre(std::string(path) + ":1 spdx"));
    }
    EXPECT_THAT(with("dev", "#!/usr/bin/env bash\n# SPDX-License-Identifier: MIT\n"), IsEmpty());
    EXPECT_THAT(with("docs/page.md", "no license needed\n"), IsEmpty());
}

TEST(Lint, TabsAndTrailingSpaces) {
    EXPECT_THAT(with("merkle/b.cpp", cpp("\tint x;\nint y; \n")),
                ElementsAre("merkle/b.cpp:2 tab", "merkle/b.cpp:3 trailing_space"));
    EXPECT_THAT(with("docs/page.md", "a\r\n"), ElementsAre("docs/page.md:1 trailing_space"));
}

TEST(Lint, FilesOver400LinesAreAdvice) {
    EXPECT_THAT(with("merkle/b.cpp", cpp(std::string(399, '\n'))), IsEmpty());
    EXPECT_THAT(with("merkle/b.cpp", cpp(std::string(400, '\n'))), ElementsAre("merkle/b.cpp:0 long_file"));
    EXPECT_TRUE(is_advice({"merkle/b.cpp", 0, "long_file", ""}));
    EXPECT_FALSE(is_advice({"merkle/b.cpp", 1, "tab", ""}));
}

TEST(Lint, NothingIsLeftForLater) {
    // clang-format off
    for (const std::string word : {"TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK"}) {
        // clang-format on
        EXPECT_THAT(with("merkle/b.cpp", cpp("// " + word + ": later\n")), ElementsAre("merkle/b.cpp:2 unfinished"));
        EXPECT_THAT(with("docs/page.md", word + "\n"), ElementsAre("docs/page.md:1 unfinished"));
        EXPECT_THAT(with("merkle/b.cpp", cpp("// " + word + "X\n")), IsEmpty());
    }
}

TEST(Lint, NoPathOfOneMachine) {
    EXPECT_THAT(with("docs/page.md",
                     "see /wo"
                     "rk/main/x\n"),
                ElementsAre("docs/page.md:1 machine_path"));
}

TEST(Lint, FoldersExplainThemselves) {
    Tree tree = good_tree();
    tree.erase("merkle/README.md");
    tree.erase("contracts/SPEC.md");
    tree.erase("solver/SPEC.md");  // Has rules of its own nowhere.
    EXPECT_THAT(brief(check_all(tree)), ElementsAre("merkle:0 readme_missing", "contracts:0 spec_missing"));
}

TEST(Lint, ThereIsNoTenthFolder) { EXPECT_THAT(with("util/x.cpp", kLicense), ElementsAre("util:0 folder_unknown")); }

TEST(Lint, TheThreatModelNamesTestsThatExist) {
    Tree tree = good_tree();
    tree["tests/unit/market/a_test.cpp"] = cpp("TEST(A, Holds) {}\n");
    tree["docs/threat-model.md"] = "`price` is paid | `unit/market/a_test.cpp` `Holds`, `unit/market`\n`Gone`\n";
    EXPECT_THAT(brief(check_all(tree)), IsEmpty());
    tree["docs/threat-model.md"] = "x\n| `unit/market/a_test.cpp` `Gone` |\n| `unit/market/b_test.cpp` `Holds` |\n";
    EXPECT_THAT(brief(check_all(tree)),
                ElementsAre("docs/threat-model.md:2 named_test", "docs/threat-model.md:3 named_test",
                            "docs/threat-model.md:3 named_file"));
}

TEST(Lint, PagesAndCommentsNameFilesThatExist) {
    Tree tree = good_tree();
    tree["merkle/a.hpp"] = cpp("#pragma once\n// See merkle/README.md, a.hpp, *_avx2.cpp and std::move.\n");
    tree["docs/page.md"] = "[a](../merkle/README.md#b) `merkle/a.hpp`, `a.{hpp,cpp}`, [web](https://x.org/a.md)\n";
    EXPECT_THAT(brief(check_all(tree)), IsEmpty());
    tree["merkle/a.hpp"] = cpp("#pragma once\n// See gone.cpp.\n");
    tree["docs/page.md"] = "[read](merkle/README.md)\n`merkle/b.hpp`\n";
    EXPECT_THAT(brief(check_all(tree)),
                ElementsAre("docs/page.md:1 named_file", "docs/page.md:2 named_file", "merkle/a.hpp:3 named_file"));
}

TEST(Lint, PagesAndCommentsNameFoldersAndModulesThatExist) {
    Tree tree = good_tree();
    tree["merkle/hash/sha256.hpp"] = cpp("#pragma once\n// As merkle/hash and merkle/hash/sha256 do.\n");
    tree["merkle/decisions/007-why.md"] = "text\n";
    tree["docs/page.md"] =
        "`merkle/hash/`, `merkle/hash/sha256`, `merkle/decisions/007`, `other/folder`, `merkle/*.cpp`\n";
    EXPECT_THAT(brief(check_all(tree)), IsEmpty());
    tree["docs/page.md"] = "`merkle/hashes`\n`merkle/hash/sha512`\n`merkle/decisions/008`\n";
    tree["merkle/hash/sha256.hpp"] = cpp("#pragma once\n// As merkle/hashes does.\n");
    EXPECT_THAT(brief(check_all(tree)),
                ElementsAre("docs/page.md:1 named_file", "docs/page.md:2 named_file", "docs/page.md:3 named_file",
                            "merkle/hash/sha256.hpp:3 named_file"));
}

TEST(Lint, CitedDocumentsAreInTheTree) {
    const std::string page = "PROTOCOL";  // In two parts, so that this file cites nothing.
    EXPECT_THAT(with("merkle/x.hpp", cpp("#pragma once\n// As " + page + " 5 says.\n")),
                ElementsAre("merkle/x.hpp:3 unknown_document"));
    EXPECT_THAT(with("merkle/x.hpp", cpp("#pragma once\n// A " + page + " of 5.\n")), IsEmpty());
}

TEST(Lint, NamesOfTestsAreInCamelCase) {
    const auto file = [](const std::string& name) { return cpp("TEST(Suite, " + name + ") {}\n"); };
    EXPECT_THAT(with("tests/unit/merkle/x_test.cpp", file("ItHolds")), IsEmpty());
    EXPECT_THAT(with("tests/unit/merkle/x_test.cpp", file("it_holds")),
                ElementsAre("tests/unit/merkle/x_test.cpp:2 test_name"));
}

TEST(Lint, RetiredNamesStayAway) {
    EXPECT_THAT(with("merkle/x.cpp", cpp("int workshop = 1;\n")), ElementsAre("merkle/x.cpp:2 retired_name"));
    EXPECT_THAT(with("merkle/x.cpp", cpp("int task_cache = 1;  // no workshop\n")), IsEmpty());
}

TEST(Lint, LimitsOfThePageAreThoseOfTheCode) {
    Tree tree = good_tree();
    tree["node/a.hpp"] = cpp("#pragma once\nstruct A {\n    int depth{\n        32};\n    int batch = 1000;\n};\n");
    const std::string head = "| limit | is | by | in |\n| --- | --- | --- | --- |\n";
    tree["docs/limits.md"] =
        head + "| depth | 32 | `depth{ 32}`, `batch = 1000` | `node/a.hpp` |\n" +
        "\n| limit | is | beyond it | by | in |\n| depth | 32 | -32700 | `depth{ 32}` | `node/a.hpp` |\n";
    EXPECT_THAT(brief(check_limits(tree)), IsEmpty());
    tree["docs/limits.md"] = head + "| requests | 100 | `batch = 100;` | `node/a.hpp` |\n| depth | 32 | 32 | node |\n";
    EXPECT_THAT(brief(check_limits(tree)), ElementsAre("docs/limits.md:3 limit", "docs/limits.md:4 limit"));
}

TEST(Lint, RuleNumbersAreThoseOfTheSpec) {
    Tree tree = good_tree();
    tree["contracts/SPEC.md"] = "## 12. Tasks\n12.1 Bids. 12.2 More, after 12.1.1.\n- 12.1.1 One: `x`. 12.1.2 Two.\n";
    tree["market/SPEC.md"] = "## 5. Odds\n5.2 Least.\n5.2.1 And.\n";
    tree["contracts/a.cpp"] =
        cpp("int x = 1;  // 12.1.1\n// SPEC 12 and 12.1.2, market 5.2.1, SPEC 12.1, `market/SPEC.md` 5.2.\n"
            "auto s = \"12.9.9\";  // Not 127.0.0.1, contracts 0x12 or RFC 5.1.\n");
    tree["merkle/b.cpp"] = cpp("// FIPS 180-4, 4.2.2; contracts 12.2\n");
    tree["tests/unit/contracts/a_test.cpp"] = cpp("// SPEC 12.1.1.\n");
    EXPECT_THAT(brief(check_all(tree)), IsEmpty());
    const std::pair<const char*, const char*> dangling[] = {
        {"contracts/a.cpp", "int x = 1;  // 12.1.3"},
        {"contracts/b/a.cpp", "// SPEC 12.1 and 12.1.1 to 12.3."},
        {"contracts/a.cpp", "// SPEC 7."},
        {"contracts/decisions/001-x.md", "(a) as 12.1.14 says"},
        {"contracts/SPEC.md", "12.1 Bids.\n12.2 Not after 12.1.1."},
        {"docs/page.md", "contracts 12.1.1, 12.1.14"},
        {"node/a.cpp", "// Refused (contracts SPEC 12.1.4)."},
        {"node/a.cpp", "// Refused (contracts/SPEC 12.1.4)."},
        {"market/SPEC.md", "5.1 As `../contracts/SPEC.md` 12.4 says."},
        {"merkle/b.cpp", "// Market 5.2.2: no."},
        {"tests/unit/contracts/a_test.cpp", "// SPEC 12.1.4."},
    };
    for (const auto& row : dangling) {
        Tree bad = tree;
        bad.erase("contracts/a.cpp");
        bad[row.first] = is_cpp(row.first) ? cpp(row.second) : std::string(row.second);
        const Findings found = check_rule_numbers(bad);
        ASSERT_FALSE(found.empty()) << row.second;
        EXPECT_EQ(found[0].path, row.first) << row.second;
        EXPECT_EQ(found[0].rule, "rule_number");
    }
}

}  // namespace
}  // namespace retrace::lint
