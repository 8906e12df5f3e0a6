// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "node/net/certificate.hpp"
#include "node/net/exchange.hpp"
#include "node/platform/fault.hpp"

namespace retrace::node {

/// "http://host[:port]" or "https://host[:port]", without a path; malformed otherwise. Behind "https" a fragment, which
/// never leaves this machine, may say whom to trust: "#sha256=" and the certificate's fingerprint, or "#ca=" and a file
/// of authorities.
struct Url {
    std::string host;
    std::string port;
    bool tls = false;
    tls::Trust trust;
    bool operator==(const Url&) const = default;
};
Result<Url, Failure> parse_url(std::string_view text);
/// The same of an address that a stranger registered: it names no file of this machine, so "#ca=" is malformed.
Result<Url, Failure> parse_public_url(std::string_view text);

/// One kept-alive connection to one peer. Blocks; not thread-safe.
class HttpConnection {
public:
    /// Whether nobody waits for the reply any more; asked several times a second while there is none.
    using GiveUp = std::function<bool()>;

    explicit HttpConnection(Url url);
    ~HttpConnection();
    HttpConnection(HttpConnection&&) noexcept;
    HttpConnection& operator=(HttpConnection&&) noexcept;

    /// Sends and waits for the whole reply. `deadline` is for everything together, so a peer that drips bytes
    /// gains nothing; of it a name that is not resolved takes eight seconds, a connection that does not come about
    /// three. A connection that the peer closed meanwhile is opened again, once. unreachable, timeout (also when
    /// `give_up` says so); too_large when the reply is over `reply_limit`; malformed when it is not HTTP.
    Result<HttpReply, Failure> exchange(const HttpRequest& request, std::size_t reply_limit,
                                        std::chrono::milliseconds deadline, const GiveUp& give_up = {});

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace retrace::node
