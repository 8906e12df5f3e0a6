// SPDX-License-Identifier: MIT
// Parses addresses of peers. Separate from the sockets, because the simulation's views use it too.
#include <algorithm>

#include "node/net/http_client.hpp"

namespace retrace::node {
namespace {

constexpr std::size_t kUrlBytesMax = 4096;

bool parse_trust(std::string_view fragment, tls::Trust& out) {
    constexpr std::string_view kFingerprint = "sha256=", kFile = "ca=";
    if (fragment.starts_with(kFingerprint)) {
        out.fingerprint = tls::parse_fingerprint(fragment.substr(kFingerprint.size()));
        return out.fingerprint.has_value();
    }
    if (!fragment.starts_with(kFile) || fragment.size() == kFile.size()) return false;
    out.ca_file = fragment.substr(kFile.size());
    return true;
}

bool is_port(std::string_view text) {
    if (text.empty() || text.size() > 5) return false;
    return text.find_first_not_of("0123456789") == std::string_view::npos && std::stoul(std::string(text)) <= 65535;
}

}  // namespace

Result<Url, Failure> parse_url(std::string_view text) {
    const auto bad = [&] {
        return failure(Fault::malformed,
                       "not an address of the form http://host:port or https://host:port: " + std::string(text));
    };
    constexpr std::string_view kPlain = "http://", kTls = "https://";
    Url out;
    out.tls = text.starts_with(kTls);
    if (!out.tls && !text.starts_with(kPlain)) return bad();
    if (text.size() > kUrlBytesMax) return bad();
    std::string_view rest = text.substr(out.tls ? kTls.size() : kPlain.size());
    if (const auto at = rest.find('#'); at != std::string_view::npos) {
        if (!out.tls || !parse_trust(rest.substr(at + 1), out.trust)) return bad();
        rest = rest.substr(0, at);
    }
    if (rest.ends_with('/')) rest.remove_suffix(1);
    // Control characters, which could control a terminal, are not allowed in a host name.
    const bool graphic = std::all_of(rest.begin(), rest.end(), [](char c) { return c > ' ' && c < 0x7f; });
    if (!graphic || rest.find_first_of("/?#@") != std::string_view::npos) return bad();
    std::string_view host = rest, port = out.tls ? "443" : "80";
    if (rest.starts_with('[')) {  // An IPv6 address.
        const auto end = rest.find(']');
        if (end == std::string_view::npos) return bad();
        host = rest.substr(1, end - 1);
        rest.remove_prefix(end + 1);
        if (!rest.empty() && rest.front() != ':') return bad();
        if (!rest.empty()) port = rest.substr(1);
    } else if (const auto at = rest.find(':'); at != std::string_view::npos) {
        host = rest.substr(0, at);
        port = rest.substr(at + 1);
    }
    if (host.empty() || !is_port(port)) return bad();
    out.host = host;
    out.port = port;
    return out;
}

Result<Url, Failure> parse_public_url(std::string_view text) {
    RETRACE_TRY(url, parse_url(text));
    if (!url.trust.ca_file.empty()) return failure(Fault::malformed, "a registered address names no file");
    return url;
}

}  // namespace retrace::node
