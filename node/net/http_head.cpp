// SPDX-License-Identifier: MIT
#include "node/net/http_head.hpp"

#include <algorithm>
#include <boost/beast/core/string.hpp>

namespace retrace::node {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

std::string_view text(beast::string_view v) { return {v.data(), v.size()}; }

bool is_port_or_empty(std::string_view port) {
    return port.size() <= 5 && port.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string lower(std::string_view name) {
    std::string out(name);
    for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
}

/// Strips the brackets of "[::1]", as host_of does.
std::string_view without_brackets(std::string_view name) {
    return name.starts_with('[') && name.ends_with(']') ? name.substr(1, name.size() - 2) : name;
}

bool is_of_proxy(std::string_view field) {
    const std::string name = lower(field);
    const auto begins = [&](const char* with) { return name.starts_with(with); };
    return name == "forwarded" || name == "via" || name == "x-real-ip" || name == "client-ip" ||
           name.ends_with("-client-ip") || begins("x-forwarded-") || begins("x-envoy-") || begins("cf-");
}

std::optional<HeadFault> fault_of_length(const http::fields& head, unsigned version) {
    const std::size_t encodings = head.count(http::field::transfer_encoding);
    if (encodings == 0) return std::nullopt;
    // Names of codings are case-insensitive (RFC 9112, 7).
    if (encodings != 1 || version < 11 || !beast::iequals(head[http::field::transfer_encoding], "chunked"))
        return HeadFault::transfer_encoding;
    if (head.count(http::field::content_length) != 0) return HeadFault::two_lengths;
    return std::nullopt;
}

}  // namespace

unsigned status_of(HeadFault fault) noexcept { return fault == HeadFault::host_not_listed ? 403 : 400; }

std::string_view text_of(HeadFault fault) noexcept {
    switch (fault) {
        case HeadFault::transfer_encoding: return "Transfer-Encoding is not chunked, or is used in HTTP/1.0";
        case HeadFault::two_lengths: return "the request has both Transfer-Encoding and Content-Length";
        case HeadFault::target: return "the request's target is neither a path nor *";
        case HeadFault::host: return "the request has no Host field, several, or a malformed one";
        case HeadFault::host_not_listed: return "this host name is not listed";
    }
    return "";
}

std::optional<HeadFault> fault_of_head(const http::fields& head, std::string_view target, unsigned version,
                                       const std::vector<std::string>& hosts) {
    if (const auto fault = fault_of_length(head, version)) return fault;
    // An absolute target could name another host than the Host field.
    if (!target.starts_with('/') && target != "*") return HeadFault::target;
    const std::size_t fields = head.count(http::field::host);
    if (fields > 1 || (fields == 0 && version >= 11)) return HeadFault::host;
    if (fields == 0) return std::nullopt;  // HTTP/1.0; no browser sends it.
    const auto host = host_of(text(head[http::field::host]));
    if (!host) return HeadFault::host;
    if (!hosts.empty() && !host_allowed(*host, hosts)) return HeadFault::host_not_listed;
    return std::nullopt;
}

bool came_by_proxy(const http::fields& head, unsigned version) {
    return version < 11 ||
           std::ranges::any_of(head, [](const auto& field) { return is_of_proxy(text(field.name_string())); });
}

std::optional<std::string> host_of(std::string_view field) {
    std::string_view host = field, port;
    if (field.starts_with('[')) {
        const auto end = field.find(']');
        if (end == std::string_view::npos) return std::nullopt;
        host = field.substr(1, end - 1);
        port = field.substr(end + 1);
        if (host.empty() || host.find_first_not_of("0123456789abcdefABCDEF:.") != std::string_view::npos)
            return std::nullopt;
    } else {
        const auto colon = std::min(field.find(':'), field.size());
        host = field.substr(0, colon);
        port = field.substr(colon);
        const bool graphic = std::all_of(host.begin(), host.end(), [](char c) { return c > ' ' && c < 0x7f; });
        if (!graphic || host.find_first_of("/\\?#@,<>\"[]") != std::string_view::npos) return std::nullopt;
    }
    if (!port.empty() && (port.front() != ':' || !is_port_or_empty(port.substr(1)))) return std::nullopt;
    return lower(host);
}

bool host_allowed(std::string_view host, const std::vector<std::string>& allowed) {
    return std::any_of(allowed.begin(), allowed.end(),
                       [&](const std::string& name) { return name == "*" || lower(without_brackets(name)) == host; });
}

bool is_loopback(std::string_view host) {
    const bool is_number = host.find_first_not_of("0123456789.") == std::string_view::npos;  // 127.a.example is a name.
    return host == "localhost" || host == "::1" || (host.starts_with("127.") && is_number);
}

std::vector<std::string> hosts_of(std::string_view address, const std::vector<std::string>& more) {
    std::vector<std::string> out = more;
    if (!is_loopback(address) && more.empty()) return out;
    for (const std::string_view name :
         {std::string_view("localhost"), std::string_view("127.0.0.1"), std::string_view("::1"), address}) {
        if (!host_allowed(lower(without_brackets(name)), out)) out.emplace_back(name);
    }
    return out;
}

}  // namespace retrace::node
