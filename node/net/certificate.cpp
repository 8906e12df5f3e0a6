// SPDX-License-Identifier: MIT
#include "node/net/certificate.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/verify_context.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <mutex>

#include "merkle/base/bytes.hpp"
#include "merkle/base/durable_file.hpp"
#include "node/platform/permissions.hpp"

namespace retrace::node::tls {
namespace {

namespace ssl = boost::asio::ssl;

constexpr long kLifeSeconds = 10L * 365 * 24 * 3600;
constexpr std::size_t kPemMax = std::size_t{1} << 20;

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Memory = std::unique_ptr<BIO, decltype(&BIO_free)>;

Unexpected<Error> failed(const std::string& what) {
    char reason[256] = "unknown reason";
    if (const unsigned long code = ERR_get_error(); code != 0) ERR_error_string_n(code, reason, sizeof reason);
    ERR_clear_error();
    return error("TLS: " + what + ": " + reason);
}

bool add_extension(X509* certificate, int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    const bool added = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return added;
}

/// The certificate's subject alternative names in OpenSSL's format.
std::string names_of(const std::string& host) {
    std::string names = "DNS:localhost,IP:127.0.0.1,IP:::1";
    boost::system::error_code no_address;
    boost::asio::ip::make_address(host, no_address);
    const bool plain = host.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:-") ==
                       std::string::npos;
    if (!host.empty() && plain && host != "localhost") names += (no_address ? ",DNS:" : ",IP:") + host;
    return names;
}

Result<Certificate> make_certificate(EVP_PKEY* key, const std::string& host) {
    Certificate out(X509_new(), X509_free);
    std::array<std::uint8_t, 16> serial{};
    if (!out || RAND_bytes(serial.data(), serial.size()) != 1) return failed("no certificate can be made");
    serial[0] &= 0x7f;
    BIGNUM* number = BN_bin2bn(serial.data(), serial.size(), nullptr);
    BN_to_ASN1_INTEGER(number, X509_get_serialNumber(out.get()));
    BN_free(number);
    X509_set_version(out.get(), X509_VERSION_3);
    X509_gmtime_adj(X509_getm_notBefore(out.get()), -3600);  // tolerates clock skew
    X509_gmtime_adj(X509_getm_notAfter(out.get()), kLifeSeconds);
    X509_set_pubkey(out.get(), key);
    X509_NAME* name = X509_get_subject_name(out.get());
    const auto* text = reinterpret_cast<const unsigned char*>("retrace node");
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, text, -1, -1, 0);
    X509_set_issuer_name(out.get(), name);
    // Not a CA: a client that trusts the certificate does not trust other certificates signed by its key.
    const bool extended = add_extension(out.get(), NID_subject_alt_name, names_of(host)) &&
                          add_extension(out.get(), NID_basic_constraints, "critical,CA:FALSE") &&
                          add_extension(out.get(), NID_ext_key_usage, "serverAuth");
    if (!extended || X509_sign(out.get(), key, EVP_sha256()) == 0) return failed("the certificate cannot be signed");
    return out;
}

using Authorities = std::shared_ptr<X509_STORE>;

/// The system's authorities. All contexts share them, because reading a bundle takes milliseconds; they are read again after an hour, so that
/// a long process learns what the system no longer trusts.
Authorities system_authorities() {
    using Clock = std::chrono::steady_clock;
    static std::mutex mutex;
    static Authorities kept;
    static Clock::time_point read;
    const std::lock_guard lock(mutex);
    if (!kept || Clock::now() - read > std::chrono::hours(1)) {
        Authorities fresh(X509_STORE_new(), X509_STORE_free);
        // Without a bundle nobody is trusted.
        if (fresh) X509_STORE_set_default_paths(fresh.get());
        ERR_clear_error();
        kept = std::move(fresh);
        read = Clock::now();
    }
    return kept;
}

Status<> write_pem(const std::string& path, unsigned mode, const std::function<int(BIO*)>& write) {
    const Memory memory(BIO_new(BIO_s_mem()), BIO_free);
    char* text = nullptr;
    if (!memory || write(memory.get()) != 1) return failed(path + " cannot be written");
    const long size = BIO_get_mem_data(memory.get(), &text);
    RETRACE_CHECK(write_durably(path, {view(std::string_view(text, static_cast<std::size_t>(size)))}, mode));
    return Unit{};
}

}  // namespace

Result<Files> self_signed(const std::string& folder, const std::string& host) {
    const Files files{folder + "/tls-cert.pem", folder + "/tls-key.pem"};
    const bool has_certificate = std::filesystem::exists(files.certificate);
    const bool has_key = std::filesystem::exists(files.key);
    if (has_key) {
        RETRACE_CHECK(close_to_others(files.key));
    }
    if (has_certificate && has_key) return files;
    // The key is written first, so a key without a certificate is left by an interrupted first start and is replaced.
    if (has_certificate) return error(files.certificate + " is there without " + files.key + "; remove or complete it");
    const Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
    if (!key) return failed("no key can be made");
    RETRACE_TRY(certificate, make_certificate(key.get(), host));
    RETRACE_CHECK(write_pem(files.key, 0600, [&](BIO* out) {
        return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    }));
    RETRACE_CHECK(
        write_pem(files.certificate, 0644, [&](BIO* out) { return PEM_write_bio_X509(out, certificate.get()); }));
    return files;
}

Result<Fingerprint> fingerprint_of(const std::string& certificate_file) {
    const auto pem = read_file(certificate_file, kPemMax);
    if (!pem) return error("cannot read the certificate: " + pem.error().message);
    const Memory memory(BIO_new_mem_buf(pem->data(), static_cast<int>(pem->size())), BIO_free);
    const Certificate certificate(PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr), X509_free);
    if (!certificate) return failed(certificate_file + " holds no certificate");
    Fingerprint out{};
    unsigned size = 0;
    X509_digest(certificate.get(), EVP_sha256(), out.data(), &size);
    return out;
}

Result<std::shared_ptr<ssl::context>> server_context(const Files& files) {
    auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
    SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
    SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    // Group access is allowed, as some distributions use it (ssl-cert); access for others is not.
    std::error_code unknown;
    const auto open = std::filesystem::status(files.key, unknown).permissions() & std::filesystem::perms::others_all;
    if (!unknown && open != std::filesystem::perms::none)
        return error("TLS: everybody may read or change the key " + files.key + "; chmod o-rwx it");
    boost::system::error_code code;
    context->use_certificate_chain_file(files.certificate, code);
    if (code) return error("TLS: the certificate " + files.certificate + " cannot be used: " + code.message());
    context->use_private_key_file(files.key, ssl::context::pem, code);
    if (code) return error("TLS: the key " + files.key + " cannot be used: " + code.message());
    return context;
}

Result<std::shared_ptr<ssl::context>> client_context(const Trust& trust, const std::string& host) {
    auto context = std::make_shared<ssl::context>(ssl::context::tls_client);
    SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
    context->set_verify_mode(ssl::verify_peer);
    if (trust.fingerprint) {
        context->set_verify_callback([wanted = *trust.fingerprint](bool, ssl::verify_context& at) {
            if (X509_STORE_CTX_get_error_depth(at.native_handle()) != 0)
                return true;  // only the node's own certificate is checked
            Fingerprint seen{};
            unsigned size = 0;
            X509* shown = X509_STORE_CTX_get_current_cert(at.native_handle());
            return shown != nullptr && X509_digest(shown, EVP_sha256(), seen.data(), &size) == 1 && seen == wanted;
        });
        return context;
    }
    boost::system::error_code code;
    if (trust.ca_file.empty()) {
        const Authorities authorities = system_authorities();
        if (!authorities) return failed("no memory for authorities");
        SSL_CTX_set1_cert_store(context->native_handle(), authorities.get());
    } else {
        // Reading a pipe or a terminal would block.
        std::error_code ignored;
        if (!std::filesystem::is_regular_file(trust.ca_file, ignored))
            return error("TLS: the authorities " + trust.ca_file + " are no regular file");
        context->load_verify_file(trust.ca_file, code);
    }
    if (code) return error("TLS: the authorities " + trust.ca_file + " cannot be used: " + code.message());
    context->set_verify_callback(ssl::host_name_verification(host));
    return context;
}

}  // namespace retrace::node::tls
