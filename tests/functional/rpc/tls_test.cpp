// SPDX-License-Identifier: MIT
// HTTPS and WSS on the node's port, and the client that verifies the server.
#include <sys/stat.h>

#include <boost/asio/ssl.hpp>
#include <boost/beast/ssl.hpp>
#include <filesystem>
#include <fstream>

#include "node/rpc_client/rpc_client.hpp"
#include "tests/functional/rpc/served.hpp"

namespace retrace::node::test {
namespace {

struct TlsServed {
    explicit TlsServed(rpc::ServerOptions options = {}) {
        options.tls = *tls::self_signed(folder.path(), "127.0.0.1");
        certificate = options.tls->certificate;
        served = std::make_unique<Served>(std::move(options));
    }
    std::string url(const std::string& trust) const {
        return "https://127.0.0.1:" + std::to_string(served->port) + trust;
    }
    std::string fingerprint() const { return to_hex(*tls::fingerprint_of(certificate)); }

    TempFolder folder;
    std::string certificate;
    std::unique_ptr<Served> served;
};

Result<std::uint64_t, RpcFailure> chain_id(const std::string& url) {
    auto client = RpcClient::connect(url);
    if (!client) return Unexpected{RpcFailure{0, client.error().message, {}}};
    return client->chain_id();
}

TEST(RpcTls, TheClientTakesThePinnedCertificate) {
    const TlsServed node;
    auto client = RpcClient::connect(node.url("#sha256=" + node.fingerprint()));
    ASSERT_TRUE(client.has_value());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(*client->chain_id(), 7298U);
}

TEST(RpcTls, TheClientTakesACertificateOfItsAuthorities) {
    const TlsServed node;
    EXPECT_EQ(*chain_id(node.url("#ca=" + node.certificate)), 7298U);
}

TEST(RpcTls, TheClientTakesNoOther) {
    const TlsServed node, other;
    const auto nobody = chain_id(node.url(""));
    ASSERT_FALSE(nobody.has_value());
    EXPECT_THAT(nobody.error().message, HasSubstr("not the one that is trusted"));
    EXPECT_FALSE(chain_id(node.url("#sha256=" + other.fingerprint())).has_value());
    EXPECT_FALSE(chain_id(node.url("#ca=" + other.certificate)).has_value());
    EXPECT_FALSE(chain_id(node.url("#ca=/no/such/file")).has_value());
    EXPECT_FALSE(chain_id("http://127.0.0.1:" + std::to_string(node.served->port)).has_value());
    EXPECT_EQ(*chain_id(node.url("#sha256=" + node.fingerprint())), 7298U);
}

TEST(RpcTls, AddressesThatNameNoTrustAreRefused) {
    for (const char* bad : {"https://a#", "https://a#sha256=12", "https://a#ca=", "https://a#x=1", "http://a#ca=f",
                            "https://", "ftp://a"}) {
        EXPECT_FALSE(RpcClient::connect(bad).has_value()) << bad;
    }
    EXPECT_EQ(parse_url("https://a")->port, "443");
}

TEST(RpcTls, WebSocketsToo) {
    const TlsServed node;
    net::io_context io;
    net::ssl::context context(net::ssl::context::tls_client);
    beast::websocket::stream<beast::ssl_stream<tcp::socket>> ws(io, context);
    beast::get_lowest_layer(ws).connect({net::ip::make_address("127.0.0.1"), node.served->port});
    ws.next_layer().handshake(net::ssl::stream_base::client);
    ws.handshake("localhost", "/");
    const std::string subscribe = R"({"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]})";
    ws.write(net::buffer(subscribe));
    beast::flat_buffer buffer;
    ws.read(buffer);
    buffer.clear();
    node.served->world.mine();
    ws.read(buffer);
    const json::value event = json::parse(beast::buffers_to_string(buffer.data()));
    EXPECT_EQ(event.at("params").at("result").at("number"), "0x1");
}

TEST(RpcTls, HalfAHandshakeIsCutOff) {
    rpc::ServerOptions options;
    options.read_timeout = std::chrono::seconds(1);
    const TlsServed node(options);
    Client silent(node.served->port);
    Client babbling(node.served->port);
    babbling.write(std::string("\x16\x03\x01\x02\x00\x01", 6));
    Client wrong(node.served->port);
    wrong.write(std::string(1000, 'x'));
    EXPECT_TRUE(silent.closed());
    EXPECT_TRUE(babbling.closed());
    EXPECT_EQ(*chain_id(node.url("#sha256=" + node.fingerprint())), 7298U);
}

TEST(RpcTls, TheSelfSignedCertificateStays) {
    const TempFolder folder;
    const auto first = tls::self_signed(folder.path(), "node.example");
    ASSERT_TRUE(first.has_value());
    struct stat info {};
    ASSERT_EQ(::stat(first->key.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
    const auto digest = tls::fingerprint_of(first->certificate);
    ASSERT_TRUE(tls::self_signed(folder.path(), "node.example").has_value());
    EXPECT_EQ(*tls::fingerprint_of(first->certificate), *digest);
    std::filesystem::remove(first->key);
    EXPECT_FALSE(tls::self_signed(folder.path(), "node.example").has_value());
}

// If the certificate is added to the authorities, for example of a browser, its key must not gain any other power.
TEST(RpcTls, TheSelfSignedCertificateIsNoAuthority) {
    const TempFolder folder;
    const auto files = tls::self_signed(folder.path(), "");
    ASSERT_TRUE(files.has_value());
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(files->certificate.c_str(), "r"),
                                                               std::fclose);
    ASSERT_TRUE(file);
    const std::unique_ptr<X509, void (*)(X509*)> certificate(PEM_read_X509(file.get(), nullptr, nullptr, nullptr),
                                                             X509_free);
    ASSERT_TRUE(certificate);
    EXPECT_EQ(X509_check_ca(certificate.get()), 0);
}

TEST(RpcTls, UnusableFilesAreNamed) {
    const TempFolder folder;
    const auto files = tls::self_signed(folder.path(), "");
    ASSERT_TRUE(files.has_value());
    const TempFolder second;
    const auto others = tls::self_signed(second.path(), "");
    EXPECT_THAT(tls::server_context({files->certificate, others->key}).error().message, HasSubstr(others->key));
    std::ofstream(folder.file("text")) << "no certificate";
    EXPECT_FALSE(tls::server_context({folder.file("text"), files->key}).has_value());
    EXPECT_FALSE(tls::fingerprint_of(folder.file("text")).has_value());
    EXPECT_FALSE(tls::fingerprint_of(folder.file("absent")).has_value());
}

}  // namespace
}  // namespace retrace::node::test
