// SPDX-License-Identifier: MIT
#include "node/cmd/quickstart_endpoint.hpp"

#include <filesystem>
#include <iostream>
#include <thread>

#include "node/cmd/doctor/sockets.hpp"
#include "node/net/http_client.hpp"
#include "node/platform/permissions.hpp"

namespace retrace::node::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint16_t kFirstPort = 9000;
constexpr unsigned kPortsTried = 16;
/// A node connects back to an address once in ten seconds, and another agent of this machine may have asked.
constexpr unsigned kBusyTries = 4;
constexpr std::chrono::seconds kBusyPause{5};

fs::path kept_file(const AgentOptions& options) { return options.data_dir / "endpoint"; }

/// The endpoint that an earlier start of this folder has found; nullopt: none.
std::optional<Url> kept_endpoint(const fs::path& kept) {
    const auto text = read_file(kept, 256);
    if (!text) return std::nullopt;
    auto url = parse_url(std::string(text->begin(), text->end()));
    return url ? std::optional(std::move(*url)) : std::nullopt;
}

/// The port of an earlier start, or the first free one from kFirstPort on; 0: none is free.
std::uint16_t port_to_listen(const std::optional<Url>& kept) {
    if (kept) return static_cast<std::uint16_t>(std::stoul(kept->port));
    for (unsigned i = 0; i < kPortsTried; ++i) {
        const auto port = static_cast<std::uint16_t>(kFirstPort + i);
        const doctor::Addresses here = doctor::resolve("0.0.0.0", std::to_string(port), 0);
        int problem = 0;
        if (here && doctor::bound(*here, problem)) return port;
    }
    return 0;
}

}  // namespace

Result<std::optional<doctor::Reachability>> take_endpoint(AgentOptions& options) {
    const auto node = parse_url(options.node_url);
    if (!node || doctor::is_own(node->host)) return std::optional<doctor::Reachability>();
    const fs::path file = kept_file(options);
    const auto kept = kept_endpoint(file);
    options.listen = "0.0.0.0";
    if (options.port == 0) options.port = port_to_listen(kept);
    if (options.port == 0)
        return error("no port from " + std::to_string(kFirstPort) + " on is free: name one that is, with --port");
    doctor::Reachability found = doctor::find_endpoint(doctor::question_of(options, false));
    for (unsigned i = 0; i < kBusyTries && found.busy && found.endpoint.empty(); ++i) {
        std::this_thread::sleep_for(kBusyPause);
        found = doctor::find_endpoint(doctor::question_of(options, false));
    }
    const std::string by_hand = "name the URL at which others reach this machine: --listen 0.0.0.0 --port " +
                                std::to_string(options.port) +
                                " --endpoint http://ADDRESS:" + std::to_string(options.port);
    if (found.endpoint.empty() && !kept)
        return error("the node at " + options.node_url + " does not tell this machine's address (" + found.why_not +
                     "); " + by_hand);
    // An address that the node did not reach replaces none that was reached before: the way out may be another than the way in.
    const bool known = !found.endpoint.empty() && (found.reached != false || !kept);
    options.endpoint = known ? found.endpoint : doctor::endpoint_at(kept->host, options.port);
    if (known && found.reached == true) {
        const auto written = write_durably(file, {view(std::string_view(options.endpoint))}, 0600);
        if (!written) return error(written.error().message);
    }
    std::cout << "others reach this machine at " << options.endpoint
              << (known                    ? ", its address as the node sees it"
                  : found.endpoint.empty() ? ", its address at an earlier start"
                                           : ", where it was reached at an earlier start; at " + found.endpoint +
                                                 " the node does not reach it")
              << (known && found.reached == false ? "; the node did not reach it there" : "") << std::endl;
    return known ? std::optional(std::move(found)) : std::nullopt;
}

Status<> take_reached_endpoint(AgentOptions& options) {
    const auto node = parse_url(options.node_url);
    if (!node || doctor::is_own(node->host)) return Unit{};
    RETRACE_CHECK(make_private_folder(options.data_dir.string()));
    RETRACE_TRY(client, RpcClient::connect(options.node_url));
    RETRACE_CHECK(wait_for_node(client, options.timeout));
    const bool was_reached = kept_endpoint(kept_file(options)).has_value();
    RETRACE_TRY(found, take_endpoint(options));
    if (!found) return Unit{};
    const doctor::Check check = doctor::judge(*found);
    if (check.grade == doctor::Grade::fail && !was_reached)
        return error("others cannot reach this machine, and who serves nothing loses stake: " + check.found + "; " +
                     check.remedy);
    if (check.grade != doctor::Grade::pass)
        std::cout << check.found << (check.remedy.empty() ? "" : "; ") << check.remedy << std::endl;
    return Unit{};
}

}  // namespace retrace::node::cli
