// SPDX-License-Identifier: MIT
// How the files of the console are answered.
#include "node/console/console.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "node/tasks/data/gzip.hpp"

namespace retrace::node::test {
namespace {

using testing::HasSubstr;

constexpr std::uint8_t kPage[] = {'<', 'p', '>'};
constexpr std::uint8_t kScript[] = {0x1f, 0x8b, 8};
constexpr ConsoleFile kFiles[] = {
    {"/", "text/html; charset=utf-8", "\"a1\"", false, kPage},
    {"/machine", "text/html; charset=utf-8", "\"d4\"", false, kPage},
    {"/console/main-X.js", "text/javascript; charset=utf-8", "\"b2\"", true, kScript},
};
const EmbeddedConsole kConsole{kFiles, {}};

HttpReply get(const std::string& target, const std::string& if_none_match = "") {
    HttpRequest request{"GET", target, {}};
    request.if_none_match = if_none_match;
    return answer_with(kConsole, request);
}

std::string header(const HttpReply& reply, const std::string& name) {
    const auto found = std::ranges::find(reply.headers, name, &std::pair<std::string, std::string>::first);
    return found == reply.headers.end() ? std::string() : found->second;
}

TEST(Console, SendsItsFilesWithAPolicyThatForbidsAllOthers) {
    const HttpReply page = get("/?x=1");
    EXPECT_EQ(page.status, 200U);
    EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
    EXPECT_EQ(page.body, to_bytes(view(std::string("<p>"))));
    EXPECT_EQ(header(page, "Content-Encoding"), "");
    EXPECT_EQ(header(page, "Cache-Control"), "no-cache");
    EXPECT_EQ(header(page, "Content-Security-Policy"),
              "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
              "connect-src 'self' http: https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
              "require-trusted-types-for 'script'; trusted-types retrace");
    EXPECT_EQ(header(get("/machine"), "Content-Security-Policy"),
              "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
              "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
              "trusted-types 'none'");
    const HttpReply script = get("/console/main-X.js");
    EXPECT_EQ(script.status, 200U);
    for (const HttpReply& reply : {page, script}) {
        EXPECT_EQ(header(reply, "Cross-Origin-Opener-Policy"), "same-origin");
        EXPECT_EQ(header(reply, "Cross-Origin-Resource-Policy"), "same-origin");
    }
    EXPECT_EQ(header(script, "Content-Encoding"), "gzip");
    EXPECT_THAT(header(script, "Cache-Control"), HasSubstr("immutable"));
}

TEST(Console, SendsNothingTwice) {
    const HttpReply same = get("/", "\"a1\"");
    EXPECT_EQ(same.status, 304U);
    EXPECT_TRUE(same.body.empty());
    EXPECT_EQ(header(same, "ETag"), "\"a1\"");
    EXPECT_EQ(get("/", "W/\"a1\", \"c3\"").status, 304U);
    EXPECT_EQ(get("/", "\"b2\"").status, 200U);
}

TEST(Console, HasNoOtherPathsAndTakesNothing) {
    for (const char* path : {"/console/", "/console/main-Y.js", "/console/../rpc-token", "/console/main-X.js/"})
        EXPECT_EQ(get(path).status, 404U) << path;
    const HttpReply posted = answer_with(kConsole, {"POST", "/console/main-X.js", {}});
    EXPECT_EQ(posted.status, 405U);
    EXPECT_EQ(header(posted, "Allow"), "GET, HEAD");
}

TEST(Console, SaysWhyItIsMissing) {
    const HttpReply reply = answer_with({{}, "npm was not found"}, {"GET", "/", {}});
    EXPECT_EQ(reply.status, 501U);
    EXPECT_THAT(std::string(reply.body.begin(), reply.body.end()), HasSubstr("npm was not found"));
}

// Whatever this machine could build: either files, or the reason that there are none.
TEST(Console, TheEmbeddedOneIsWholeOrExplained) {
    const EmbeddedConsole console = embedded_console();
    if (console.files.empty()) {
        EXPECT_FALSE(console.failure.empty());
        return;
    }
    std::size_t sum = 0;
    for (const ConsoleFile& file : console.files) sum += file.content.size();
    EXPECT_LE(sum, 300'000U) << "bytes that a browser receives";
    std::string html;  // Of the pages of a node and of an agent, and the scripts that they load, which load others.
    for (const char* path : {"/", "/machine"}) {
        const HttpReply page = answer_console({"GET", path, {}});
        EXPECT_EQ(page.status, 200U) << path;
        EXPECT_EQ(header(page, "Cache-Control"), "no-cache") << path;
        html.append(page.body.begin(), page.body.end());
    }
    for (const ConsoleFile& file : console.files) {
        if (!file.path.ends_with(".js") || html.find(file.path) == std::string::npos) continue;
        const HttpReply script = answer_console({"GET", std::string(file.path), {}});
        const auto text =
            header(script, "Content-Encoding") == "gzip" ? gunzip(script.body, 4u << 20) : Result<Bytes>(script.body);
        ASSERT_TRUE(text.has_value()) << file.path;
        html.append(text->begin(), text->end());
    }
    for (const ConsoleFile& file : console.files) {
        constexpr std::string_view kFolder = "/console/";  // A script names others relative to its own folder.
        if (file.path.starts_with(kFolder)) {
            EXPECT_THAT(html, HasSubstr(std::string(file.path.substr(kFolder.size()))));
        }
    }
}

}  // namespace
}  // namespace retrace::node::test
