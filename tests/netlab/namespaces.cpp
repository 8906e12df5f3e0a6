// SPDX-License-Identifier: MIT
#include "tests/netlab/namespaces.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "node/platform/process.hpp"

namespace retrace::node {
namespace {

namespace fs = std::filesystem;

std::string failure(const std::string& what) { return what + ": " + std::strerror(errno); }

Status<> write(const char* path, const std::string& text) {
    const int file = ::open(path, O_WRONLY | O_CLOEXEC);
    const bool written = file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const std::string why = failure(path);
    if (file >= 0) ::close(file);
    if (!written) return error(why);
    return Unit{};
}

/// Only root makes network namespaces; anybody is root in a user namespace of his own.
Status<> leave_those_of_others() {
    const auto user = ::geteuid(), group = ::getegid();
    const int flags = CLONE_NEWNS | CLONE_NEWNET | (user == 0 ? 0 : CLONE_NEWUSER);
    if (::unshare(flags) != 0) return error(failure("no new namespaces (unshare)"));
    if (user != 0) {
        RETRACE_CHECK(write("/proc/self/setgroups", "deny"));
        RETRACE_CHECK(write("/proc/self/uid_map", "0 " + std::to_string(user) + " 1"));
        RETRACE_CHECK(write("/proc/self/gid_map", "0 " + std::to_string(group) + " 1"));
    }
    // `ip netns` names namespaces by mounts in /run/netns, which are nobody else's.
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", "/run", "tmpfs", 0, nullptr) != 0)
        return error(failure("no private mounts"));
    return Unit{};
}

Status<> run_shell(const std::string& commands) {
    const fs::path log = fs::temp_directory_path() / ("retrace_netns_" + std::to_string(::getpid()) + ".log");
    auto shell = Process::start("/bin/sh", {"-ec", "PATH=$PATH:/usr/sbin:/sbin\n" + commands}, log);
    if (!shell) return error(shell.error().message);
    while (shell->running()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::ifstream in(log);
    const std::string said{std::istreambuf_iterator<char>(in), {}};
    std::error_code ignored;
    fs::remove(log, ignored);
    if (shell->exit_status() != 0) return error("ip (Debian package iproute2) failed: " + said);
    return Unit{};
}

std::string address(std::size_t node) { return Namespaces::kPrefix + std::to_string(node + 1); }

/// A route that drops what node `from` sends to node `to`.
std::string drop(const char* verb, std::size_t from, std::size_t to) {
    return "ip -n node" + std::to_string(from) + " route " + verb + " blackhole " + address(to) + "\n";
}

}  // namespace

Result<Namespaces> Namespaces::enter(std::size_t nodes) {
    RETRACE_CHECK(leave_those_of_others());
    std::string commands =
        "ip link set lo up\n"
        "ip link add bridge0 type bridge\n"
        "ip link set bridge0 up\n"
        "ip address add " +
        std::string(kPrefix) + "254/24 dev bridge0\n";
    for (std::size_t i = 0; i < nodes; ++i) {
        const std::string name = "node" + std::to_string(i), port = "port" + std::to_string(i);
        commands += "ip netns add " + name + "\n" +  //
                    "ip link add " + port + " type veth peer name eth0 netns " + name + "\n" + "ip link set " + port +
                    " master bridge0 up\n" +  //
                    "ip -n " + name + " address add " + address(i) + "/24 dev eth0\n" + "ip -n " + name +
                    " link set eth0 up\n" +  //
                    "ip -n " + name + " link set lo up\n";
    }
    RETRACE_CHECK(run_shell(commands));
    return Namespaces(nodes);
}

fs::path Namespaces::write_program(const fs::path& folder, const fs::path& program) const {
    const fs::path path = folder / "run_in_namespace";
    std::ofstream out(path);
    out << "#!/bin/sh\nPATH=$PATH:/usr/sbin:/sbin\ncase \"$*\" in\n";
    for (std::size_t i = 0; i < nodes_; ++i)
        out << "*/node" << i << "/*) exec ip netns exec node" << i << " \"" << program.string() << "\" \"$@\" ;;\n";
    out << "esac\nexit 2\n";
    out.close();
    fs::permissions(path, fs::perms::owner_all);
    return path;
}

Status<> Namespaces::cut(std::size_t a, std::size_t b) { return run_shell(drop("add", a, b) + drop("add", b, a)); }
Status<> Namespaces::join(std::size_t a, std::size_t b) { return run_shell(drop("del", a, b) + drop("del", b, a)); }

Status<> Namespaces::limit_rate(std::size_t node, std::uint64_t bytes_per_second) {
    const std::string i = std::to_string(node);
    const std::string filter = " root tbf rate " + std::to_string(8 * bytes_per_second) + "bit burst 32kb latency 1s\n";
    return run_shell("tc qdisc replace dev port" + i + filter + "tc -n node" + i + " qdisc replace dev eth0" + filter);
}

}  // namespace retrace::node
