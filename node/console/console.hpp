// SPDX-License-Identifier: MIT
// The console: the web pages of a node and of an agent, whose files are part of the executable.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "node/net/http_types.hpp"

namespace retrace::node {

/// A file of the page, as it is sent.
struct ConsoleFile {
    std::string_view path;  ///< "/", "/machine" (the page of an agent) or below "/console/".
    std::string_view content_type;
    std::string_view etag;  ///< In quotes.
    bool compressed;        ///< The content is gzip.
    std::span<const std::uint8_t> content;
};

/// What the build embedded (node/console/build.cmake writes the definitions).
struct EmbeddedConsole {
    std::span<const ConsoleFile> files;  ///< Empty if the page could not be built.
    std::string_view failure;            ///< Then why, with a remedy.
};
EmbeddedConsole embedded_console() noexcept;

/// Answers GET and HEAD of the paths of its files: 200, 304 for a current ETag, 404, or 405 for other
/// methods. Without files the answer is 501 and says why.
HttpReply answer_console(const HttpRequest& request);
/// Same for other files than the embedded ones.
HttpReply answer_with(const EmbeddedConsole& console, const HttpRequest& request);

}  // namespace retrace::node
