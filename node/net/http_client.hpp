// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/runtime/stop_token.hpp"
#include "node/net/certificate.hpp"
#include "node/net/http_types.hpp"
#include "node/platform/fault.hpp"

namespace retrace::node {

/// "http://host[:port]" or "https://host[:port]", without a path; malformed otherwise. An "https" address may end with
/// a fragment, which is never sent, that sets the trust: "#sha256=" and the certificate's fingerprint, or "#ca=" and a
/// file of authorities.
struct Url {
    std::string host;
    std::string port;
    bool tls = false;
    tls::Trust trust;
    bool operator==(const Url&) const = default;
};
Result<Url, Failure> parse_url(std::string_view text);
/// Same for an address that another party registered: it must not name a file of this machine, so "#ca=" is malformed.
Result<Url, Failure> parse_public_url(std::string_view text);

/// A kept-alive connection to one peer. Blocking; not thread-safe.
class HttpConnection {
public:
    explicit HttpConnection(Url url);
    /// Connects to this IP address, whatever the host's name leads to; the name is still what TLS checks and HTTP says.
    HttpConnection(Url url, std::string address);
    ~HttpConnection();
    HttpConnection(HttpConnection&&) noexcept;
    HttpConnection& operator=(HttpConnection&&) noexcept;

    /// Sends the request and waits for the whole reply. The deadline of `stop` limits the whole exchange, so a peer that
    /// sends slowly cannot extend it; within it, resolving a name times out after 8 seconds and connecting after 3. If
    /// the peer has closed the kept connection, it is reopened once. Errors: unreachable; timeout (also if `stop`,
    /// which is polled several times a second, requests a stop); refused if TLS fails; too_large if the reply is over
    /// `reply_limit`; malformed if it is not HTTP.
    Result<HttpReply, Failure> exchange(const HttpRequest& request, std::size_t reply_limit,
                                        const kernels::StopToken& stop);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace retrace::node
