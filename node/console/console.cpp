// SPDX-License-Identifier: MIT
#include "node/console/console.hpp"

#include <algorithm>

namespace retrace::node {
namespace {

/// Scripts and styles come from this origin's files alone, so text that a stranger got into the page could not run, and
/// no text becomes markup or the address of a script but by the page's policy "retrace" (src/compiled.ts: its worker).
/// The page connects to its node, and for a model to the parties that keep it, wherever they are. No other page may
/// frame this one (clickjacking).
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' http: https:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types retrace";

/// The page of an agent connects to its agent alone.
constexpr const char* kAgentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'";
constexpr std::string_view kAgentPage = "/machine";

/// The name of a file below it holds a hash of its content.
constexpr std::string_view kHashed = "/console/";

HttpReply plain(unsigned status, std::string_view text) {
    return {status, "text/plain; charset=utf-8", to_bytes(view(std::string(text) + "\n"))};
}

}  // namespace

HttpReply answer_console(const HttpRequest& request) { return answer_with(embedded_console(), request); }

HttpReply answer_with(const EmbeddedConsole& console, const HttpRequest& request) {
    if (request.method != "GET" && request.method != "HEAD") {
        HttpReply reply = plain(405, "the console is read by GET");
        reply.headers = {{"Allow", "GET, HEAD"}};
        return reply;
    }
    if (console.files.empty()) {
        return plain(501,
                     "This is a Retrace node. JSON-RPC is served here by POST and WebSocket (docs/json-rpc.md). "
                     "The console is not part of this executable: " +
                         std::string(console.failure));
    }
    const std::string_view target = request.target;
    const std::string_view path = target.substr(0, target.find('?'));
    const auto file = std::ranges::find(console.files, path, &ConsoleFile::path);
    if (file == console.files.end()) return plain(404, "the console has no such file");
    HttpReply reply;
    reply.content_type = std::string(file->content_type);
    reply.headers = {{"ETag", std::string(file->etag)},
                     {"Cache-Control", path.starts_with(kHashed) ? "public, max-age=31536000, immutable" : "no-cache"},
                     {"Content-Security-Policy", path == kAgentPage ? kAgentPolicy : kPolicy},
                     {"Cross-Origin-Opener-Policy", "same-origin"},
                     {"Cross-Origin-Resource-Policy", "same-origin"},
                     {"Referrer-Policy", "no-referrer"},
                     {"X-Frame-Options", "DENY"}};
    if (request.if_none_match.find(file->etag) != std::string::npos) {
        reply.status = 304;
        return reply;
    }
    if (file->compressed) reply.headers.emplace_back("Content-Encoding", "gzip");
    reply.body.assign(file->content.begin(), file->content.end());
    return reply;
}

}  // namespace retrace::node
