// SPDX-License-Identifier: MIT
#include "tests/lint/tables.hpp"

#include <algorithm>
#include <array>

namespace retrace::lint {
namespace {

constexpr FolderRule kFolders[] = {
    {"merkle", "", true},
    {"kernels", "merkle", true},
    {"ledger", "merkle", true},
    {"market", "ledger merkle", true},
    {"solver", "kernels merkle", false},
    {"verifier", "solver kernels merkle", true},
    {"contracts", "verifier solver market ledger merkle", true},
    {"node", "contracts verifier solver market ledger kernels merkle", false},
    {"tests", "node contracts verifier solver market ledger kernels merkle", false},
};

constexpr SubfolderRule kSubfolders[] = {
    {"kernels/scalar", ""},
    {"kernels/random", "kernels/scalar"},
    {"kernels/reduce", "kernels/scalar"},
    {"kernels/program", ""},
    {"kernels/runtime", "kernels/program kernels/scalar"},
    {"kernels/matmul", "kernels/runtime kernels/scalar"},
    {"kernels/ops", "kernels/matmul kernels/runtime kernels/program kernels/random kernels/reduce kernels/scalar"},
    {"kernels/commit", "kernels/runtime kernels/program"},
    {"kernels/exec", "kernels/commit kernels/ops kernels/matmul kernels/runtime kernels/program kernels/scalar"},
    {"kernels/offload", "kernels/exec kernels/commit kernels/runtime kernels/program kernels/scalar"},
    {"kernels/builder", "kernels/plan kernels/ops kernels/matmul kernels/program kernels/reduce kernels/scalar"},
    {"kernels/plan", "kernels/exec kernels/commit kernels/ops kernels/runtime kernels/program"},
    {"kernels/cuda",
     "kernels/offload kernels/exec kernels/commit kernels/ops kernels/matmul kernels/runtime kernels/program "
     "kernels/random kernels/reduce kernels/scalar"},
    {"kernels/tools",
     "kernels/cuda kernels/exec kernels/ops kernels/matmul kernels/runtime kernels/program kernels/random "
     "kernels/reduce kernels/scalar"},
    {"contracts/abi", ""},
    {"contracts/calls", "contracts/abi"},
    {"contracts/records", "contracts/calls contracts/abi"},
    {"contracts/lifecycle", "contracts/records contracts/calls contracts/abi"},
    {"contracts/rules", "contracts/lifecycle contracts/records contracts/calls contracts/abi"},
    {"node/platform", ""},
    {"node/wire", ""},
    {"node/masks", ""},
    {"node/explain", "node/platform"},
    {"node/net", "node/platform"},
    {"node/console", "node/net"},
    {"node/wallet", "node/platform"},
    {"node/rpc_client", "node/net node/platform"},
    {"node/light", "node/net node/platform"},
    {"node/artifacts", "node/net node/platform node/wire"},
    {"node/tasks", "node/artifacts node/platform"},
    {"node/agents", "node/explain node/tasks node/artifacts node/rpc_client node/light node/net node/platform"},
    {"node/server", "node/explain node/artifacts node/console node/wallet node/light node/net node/platform"},
    {"node/cmd",
     "node/agents node/server node/console node/explain node/tasks node/artifacts node/wallet node/rpc_client "
     "node/light node/net node/platform"},
    {"node/server/config", ""},
    {"node/server/engine", ""},
    {"node/server/comet", "node/server/engine"},
    {"node/server/jsonrpc", ""},
    {"node/server/methods", "node/server/jsonrpc node/server/engine"},
    {"node/server/http", "node/server/methods node/server/jsonrpc"},
};

constexpr RetiredName kRetiredNames[] = {
    {"DueItem", "ScheduledItem"},
    {"DueKind", "ScheduledKind"},
    {"agenda", "scheduler"},
    {"run_agenda", "run_scheduler"},
    {"Janitor", "GarbageCollector"},
    {"janitor", "garbage_collector"},
    {"afterlife_blocks", "retention_blocks"},
    {"Shelf", "ArtifactProvider"},
    {"shelf", "provider"},
    {"Workshop", "TaskCache"},
    {"workshop", "task_cache"},
    {"workshop_", "task_cache_"},
    {"Desk", "DisputeReplays"},
    {"desk", "dispute_replays"},
    {"PagesAhead", "PagePrefetch"},
    {"PaidView", "MeteredView"},
    {"EndOfRequest", "RequestAborted"},
    {"Errand", "PooledTask"},
    {"Fate", "JobOutcome"},
    {"Ticket", "JobId"},
    {"HeldPart", "Reservation"},
    {"hands_on", "mutates_state"},
    {"gas_most", "max_gas"},
    {"with_recomputation", "rematerialise"},
    {"quarrel", "dispute"},
    {"Trick", "ProtocolAttack"},
    {"TrickyMoves", "AttackingMoves"},
    {"GameLie", "DisputeAttack"},
    {"VerifierFraud", "VerifierAttack"},
    {"Silence", "Unresponsive"},
    {"Band", "FusedRun"},
    {"bands", "fused_runs"},
    {"granules", "parts"},
    {"Crew", "WorkerProcesses"},
    {"crew", "workers"},
    {"lean", "rewritten"},
    {"patience", "timeout"},
    {"Patience", "StopToken"},
    {"crest", "outliers"},
    {"ProductCrest", "ProductOutliers"},
    {"Weigh", "CostFunction"},
    {"PartyOptions", "AgentOptions"},
    {"newest_clear_state", "newest_finalised_state"},
    {"BoastfulBench", "InflatedBenchmark"},
    {"tell_block", "notify_block"},
    {"GoOn", "StopToken"},
    {"GiveUp", "StopToken"},
    {"StepTimeout", "StopToken"},
    {"MakeRoom", "FreeMemory"},
    {"HttpResponse", "HttpReply"},
    {"Verdict", "CallStatus"},
    {"PutOff", "Preempted"},
    {"PlanStep", "PlanUnit"},
    {"TurnLock", "TicketLock"},
    {"kGasReminder", "kGasScheduledItem"},
    {"use_reminder", "take_scheduled_item"},
    {"Pace", "TimeAllowance"},
    {"Cast", "Member"},
    {"cast_", "network_"},
};

constexpr Library kLibraries[] = {
    {"OpenSSL", "openssl/", "merkle/hash/ ledger/crypto/ node/"},
    {"CUDA", "cuda cooperative_groups cub/ mma.h nvrtc", "kernels/cuda/"},
    {"libsecp256k1", "secp256k1", "ledger/crypto/"},
    {"Crypto++", "cryptopp/ crypto++/", "ledger/crypto/"},
    {"RocksDB", "rocksdb/", "ledger/storage/rocks_store.cpp"},
    {"LibTorch", "torch/ ATen/ c10/ caffe2/",
     "solver/torch/ tests/bench/peers/ tests/functional/torch/torch_peer.cpp "
     "tests/functional/torch/op_peer.cpp"},
    {"libseccomp", "seccomp.h", "solver/sandbox/"},
    {"Boost.JSON", "boost/json", "node/ tests/"},                 // Tests read their vectors with it.
    {"Boost.Multiprecision", "boost/multiprecision/", "tests/"},  // An independent twin of our 256-bit integers.
    {"Boost", "boost/", "node/ tests/functional/"},
    {"Protobuf", "google/protobuf/", "node/wire/ node/server/comet/"},
    {"zlib", "zlib.h", "node/tasks/data/"},
    {"ICU", "unicode/", "node/wallet/"},
    {"libpng", "png.h", "node/tasks/data/"},
    {"libjpeg", "jpeglib.h jerror.h", "node/tasks/data/"},
    {"CLI11", "CLI/", "node/cmd/"},
    {"spdlog", "spdlog/ fmt/", "node/"},
    {"toml++", "toml++/ toml.hpp", "node/"},
    {"prometheus-cpp", "prometheus/", "node/"},
    {"GoogleTest", "gtest/ gmock/", "tests/"},
    {"MPFR", "mpfr.h gmp.h", "tests/"},
    {"CuTe", "cute/", "tests/cuda/cute/"},
    {"oneDNN", "dnnl oneapi/", "tests/bench/peers/"},
    {"OpenBLAS", "cblas openblas lapacke", "tests/bench/peers/"},
    // No library, but a capability: solver and verifier know no sockets, and rules know no network.
    {"sockets", "sys/socket.h sys/un.h netinet/ arpa/ netdb.h ifaddrs.h net/", "node/ tests/"},
};

// C++20 headers; those of C in both spellings are told apart by is_system_header.
constexpr std::string_view kStandard =
    "algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes "
    "climits clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg "
    "cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception execution filesystem "
    "forward_list fstream functional future initializer_list iomanip ios iosfwd iostream istream iterator latch limits "
    "list locale map memory memory_resource mutex new numbers numeric optional ostream queue random ranges ratio regex "
    "scoped_allocator semaphore set shared_mutex source_location span sstream stack stdexcept stop_token streambuf "
    "string string_view strstream syncstream system_error thread tuple type_traits typeindex typeinfo unordered_map "
    "unordered_set utility valarray variant vector version";
constexpr std::string_view kSystem =
    "arm_neon.h cpuid.h cxxabi.h dirent.h dlfcn.h errno.h execinfo.h fcntl.h fenv.h getopt.h immintrin.h limits.h "
    "malloc.h math.h poll.h pthread.h pwd.h sched.h signal.h spawn.h stddef.h stdint.h stdio.h stdlib.h string.h "
    "termios.h time.h ucontext.h unistd.h wait.h x86intrin.h";

constexpr BannedWords kBanned[] = {
    {"ledger market contracts", "float double", "amounts are integers; floating point belongs to the kernels"},
    {"merkle ledger market verifier contracts", "unordered_map unordered_set unordered_multimap unordered_multiset",
     "iteration order differs between machines"},
    {"merkle ledger market verifier contracts",
     "system_clock steady_clock high_resolution_clock random_device getenv setlocale",
     "clock, chance and environment are injected"},
};

}  // namespace

std::span<const FolderRule> folder_rules() { return kFolders; }

std::span<const RetiredName> retired_names() { return kRetiredNames; }

std::span<const SubfolderRule> subfolder_rules() { return kSubfolders; }

const FolderRule* find_folder(std::string_view name) {
    const auto found = std::find_if(std::begin(kFolders), std::end(kFolders),
                                    [&](const FolderRule& rule) { return rule.name == name; });
    return found == std::end(kFolders) ? nullptr : found;
}

std::span<const Library> libraries() { return kLibraries; }

bool is_system_header(std::string_view name) {
    return contains_word(kStandard, name) || contains_word(kSystem, name) ||
           starts_with_one_of(name, "sys/ linux/ asm/ bits/ sanitizer/");
}

std::span<const BannedWords> banned_words() { return kBanned; }

void for_each_word(std::string_view list, const std::function<void(std::string_view)>& use) {
    for (std::size_t at = 0; at < list.size();) {
        const std::size_t end = std::min(list.find(' ', at), list.size());
        use(list.substr(at, end - at));
        at = end + 1;
    }
}

bool contains_word(std::string_view list, std::string_view item) {
    bool found = false;
    for_each_word(list, [&](std::string_view word) { found = found || word == item; });
    return found;
}

bool starts_with_one_of(std::string_view text, std::string_view list) {
    bool found = false;
    for_each_word(list, [&](std::string_view word) { found = found || text.starts_with(word); });
    return found;
}

}  // namespace retrace::lint
