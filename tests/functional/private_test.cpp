// SPDX-License-Identifier: MIT
// A training on data that its members keep to themselves, with real processes: three members with different data, one of
// which gives them to an auditor. Contracts 21.13.
#include "contracts/records/group_views.hpp"
#include "ledger/crypto/eip55.hpp"
#include "node/net/http_client.hpp"
#include "node/platform/json_values.hpp"
#include "tests/functional/market_fixture.hpp"

namespace retrace::testing {
namespace {

constexpr std::uint32_t kMembers = 3, kVerifiers = 2;
constexpr std::uint32_t kConsenting = 2;  ///< The account of the member that lets verifier 1 audit it.

class Private : public MarketTest {
protected:
    void TearDown() override {
        if (HasFailure() && network_)
            for (const node::Party& party : parties())
                if (const fs::path log = network_->log_of(party.name); fs::exists(log))
                    std::cout << "--- " << party.name << "\n" << tail(log);
        MarketTest::TearDown();
    }
    static std::vector<node::Party> parties() {
        std::vector<node::Party> out{{node::Party::Kind::requester, "requester"}};
        for (std::uint32_t i = 1; i <= kMembers; ++i)
            out.push_back({node::Party::Kind::solver, "member " + std::to_string(i)});
        for (std::uint32_t i = 1; i <= kVerifiers; ++i)
            out.push_back({node::Party::Kind::verifier, "verifier " + std::to_string(i)});
        return out;
    }
    /// Bytes in each sample of a member's data, and nowhere else.
    static std::string marker_of(std::uint32_t member) { return "private data of member " + std::to_string(member); }
    /// A folder outside those of the parties. Member 0: data of the same shapes without a marker, which the requester has.
    std::string data_of(std::uint32_t member) {
        const fs::path folder = path("data-" + std::to_string(member));
        if (fs::exists(folder)) return folder.string();
        auto data = node::load_dataset(images_);
        EXPECT_TRUE(data.has_value());
        const std::string marker = marker_of(member);
        std::vector<node::DataSet::Part> parts;
        for (node::DataSet::Part& part : data->parts) {
            kernels::Tensor tensor = std::move(part.tensor);
            const std::size_t sample = tensor.data.size() / tensor.dims[0];
            for (std::uint64_t i = 0; part.name == "x" && member != 0 && i < tensor.dims[0]; ++i) {
                std::copy(marker.begin(), marker.end(), tensor.data.begin() + static_cast<std::ptrdiff_t>(i * sample));
                tensor.data[(i + 1) * sample - 1] = static_cast<std::uint8_t>(17 * member + i);
            }
            parts.push_back(node::make_part(part.name, std::move(tensor)));
        }
        data->parts = std::move(parts);
        EXPECT_TRUE(node::save_dataset(*data, folder));
        return folder.string();
    }
    std::string account(std::uint32_t number) const { return ledger::to_checksum(network_->address(Role{number})); }
    std::vector<std::string> member_arguments(std::uint32_t member, const std::string& data_for) {
        std::vector<std::string> out{"--price",       "0.5" + std::to_string(member),
                                     "--stake",       "200",
                                     "--groups",      "--data",
                                     data_of(member), "--data-for",
                                     data_for};
        if (member == kConsenting) out.insert(out.end(), {"--consent", account(kMembers + 1)});
        return out;
    }
    void start_all() {
        images_ = small_images(64);
        auto network =
            node::LocalNetwork::assemble(path("network"), RETRACE_PROGRAM, kBlockMs,
                                         {{"unbond_blocks", 50'000}, {"bid_blocks", 40}}, false, 0, parties());
        ASSERT_TRUE(network.has_value()) << network.error().message;
        network_ = std::move(*network);
        start_node();
        for (std::uint32_t member = 1; member <= kMembers; ++member)
            start_party(Role{member}, member_arguments(member, account(0)));
        // The first task of the chain.
        start_party(Role{kMembers + 1}, {"--data", "1:" + account(kConsenting) + "=" + data_of(kConsenting)});
        start_party(Role{kMembers + 2}, {"--watch", "10000"});
        until("everybody has registered", [&](const node::RemoteState& state) {
            bool there = true;
            for (std::uint32_t i = 1; i <= kMembers; ++i)
                there = there && views::solver(state, network_->address(Role{i}));
            return there && views::verifiers(state).size() == kVerifiers;
        });
    }
    void compile_private(int rounds) {
        say("task compile mlp --data " + data_of(0) + " -o " + path("task").string() +
            " --hidden 16 --batch 16 --price-ceiling 1 --audit-percent 50 --auditors 1 --rounds " +
            std::to_string(rounds) +
            " --members 3 --least-members 3 --inner 4 --round-blocks 400 --grace-blocks 300 --fetch-blocks 100"
            " --reveal-blocks 100 --absence-limit 4 --private");
        (void)with_short_replays(path("task").string(), 20);
    }
    std::uint64_t post(const std::string& who = " --dev-account 0", const std::string& folder_of = "requester") {
        const std::string folder = path("task").string();
        std::string admitted;
        for (std::uint32_t i = 1; i <= kMembers; ++i) admitted += " " + account(i);
        const json::object posted = say("task submit " + folder + node() + who + " --data-dir " +
                                        path(folder_of).string() + " --admit" + admitted);
        return posted.empty() ? 0 : posted.at("task").to_number<std::uint64_t>();
    }
    /// All blocks with their transactions, and all events, as the node tells them to anybody.
    std::string told_by_node() const {
        auto rpc = client();
        std::string out;
        const std::uint64_t height = rpc.height().value();
        for (std::uint64_t block = 0; block <= height; ++block) {
            const std::string at = node::rpc::quantity(block);
            const auto whole = rpc.call("eth_getBlockByNumber", {at, true});
            const auto events = rpc.call("eth_getLogs", {json::object{{"fromBlock", at}, {"toBlock", at}}});
            EXPECT_TRUE(whole && events) << block;
            if (whole && events) out += json::serialize(*whole) + json::serialize(*events);
        }
        return out;
    }
    /// Whether the kernel writes no core file of the process, nor of one that it started.
    static bool dumps_nothing(int pid) {
        const std::string own = text_of("/proc/" + std::to_string(pid) + "/limits");
        return own.find("Max core file size        0                    0 ") != std::string::npos;
    }
    static std::vector<int> children_of(int parent) {
        std::vector<int> out;
        for (const auto& entry : fs::directory_iterator("/proc")) {
            const std::string name = entry.path().filename().string();
            if (name.find_first_not_of("0123456789") != std::string::npos) continue;
            const std::string stat = text_of(entry.path() / "stat");
            const std::size_t after = stat.rfind(')');  // The name before it is the program's own.
            if (after == std::string::npos) continue;
            if (std::atoi(stat.c_str() + after + 4) == parent) out.push_back(std::stoi(name));
        }
        return out;
    }
    /// The files below a folder that hold these bytes.
    static std::vector<std::string> files_with(const fs::path& folder, const std::string& bytes) {
        std::vector<std::string> out;
        for (const auto& entry : fs::recursive_directory_iterator(folder))
            if (entry.is_regular_file() && text_of(entry.path()).find(bytes) != std::string::npos)
                out.push_back(entry.path().string());
        return out;
    }
    /// Whether the party at this endpoint serves an artifact.
    static bool serves(const std::string& endpoint, const Hash32& root) {
        auto url = node::parse_url(endpoint);
        if (!url) return true;
        node::HttpConnection connection(std::move(*url));
        node::HttpRequest request;
        request.method = "GET";
        request.target = "/artifact/" + to_hex(view(root)) + "/info";
        const auto answer = connection.exchange(request, 1 << 16, {});
        return !answer || answer->status != 404;
    }

    fs::path images_;
};

TEST_F(Private, MembersTrainOnTheirOwnDataAndNobodyElseGetsThem) {
    start_all();
    compile_private(3);
    const json::object odds = say("task odds " + path("task").string() + node());
    EXPECT_TRUE(odds.at("private_data").as_bool()) << "it is said before posting";
    EXPECT_EQ(odds.at("segments").to_number<int>(), 3) << "of a member, those that take in records";
    EXPECT_EQ(odds.at("unverified_segments").to_number<int>(), 3);
    const std::uint64_t task = post();
    ASSERT_NE(task, 0u);
    until("members train", [&](const node::RemoteState& state) {
        const auto run = views::run(state, task, 0);
        return run && run->next_state >= 2;
    });
    for (std::uint32_t i = 1; i <= kMembers + 1; ++i) {
        const int pid = network_->process(Role{i}).pid();
        EXPECT_TRUE(dumps_nothing(pid)) << i;
        for (const int worker : children_of(pid)) EXPECT_TRUE(dumps_nothing(worker)) << i;
    }
    until("the model is there", [&](const node::RemoteState& state) {
        const auto now = views::task(state, task);
        return now && (now->state == market::TaskState::delivering || now->state == market::TaskState::settled);
    });
    std::string folders;  // By run.
    read([&](const node::RemoteState& state) {
        folders.clear();
        for (std::uint32_t index = 0; index < kMembers; ++index) {
            const auto run = views::run(state, task, index);
            for (std::uint32_t i = 1; run && i <= kMembers; ++i)
                if (run->solver == network_->address(Role{i})) folders += " " + data_of(i);
        }
    });
    const json::object local =
        say("task run " + path("task").string() + " --local --threads 1 --member-data" + folders);
    EXPECT_EQ(fetched_root(task), local.at("state_root").as_string()) << "the bits are those of one process";

    const json::object receipt = say("receipt verify " + (path("model") / "receipt.json").string() + node());
    EXPECT_TRUE(receipt.at("private_data").as_bool());
    EXPECT_FALSE(receipt.at("audited").as_bool()) << "what members did on their data counts as audited by nobody";
    std::uint64_t consented = 0, unverified = 0;
    for (const json::value& member : receipt.at("members").as_array()) {
        const auto number = [&](const char* key) { return member.at(key).to_number<std::uint64_t>(); };
        consented += number("consented_segments");
        unverified += number("unverified_segments");
        const bool consents = member.at("solver").as_string() == account(kConsenting);
        EXPECT_EQ(number("consented_segments") != 0, consents) << "its first segment is always audited";
        EXPECT_EQ(number("consented_segments") + number("unverified_segments"), 3u) << "one a round";
        EXPECT_GE(number("verified_segments"), 1u) << "what takes in the last records is always audited";
    }
    EXPECT_EQ(consented + unverified, 9u);
    const json::object why = say("task explain " + std::to_string(task) + node());
    std::uint64_t explained = 0;
    for (const json::value& member : why.at("members").as_array()) {
        EXPECT_EQ(member.at("data").as_array().size(), 2u);
        explained += member.at("unverified_segments").to_number<std::uint64_t>();
    }
    EXPECT_EQ(explained, unverified);
    const json::object statement = say("task statement " + std::to_string(task) + node());
    const auto wei = [&](const char* key) {
        return ledger::U256::from_decimal(std::string(statement.at(key).as_string())).value();
    };
    EXPECT_FALSE(wei("paid_for_consented").is_zero());
    EXPECT_FALSE(wei("paid_for_unverified").is_zero());

    read([&](const node::RemoteState& state) {
        for (std::uint32_t index = 0; index < kMembers; ++index) {
            const auto member = views::member(state, task, index);
            ASSERT_TRUE(member && member->data.size() == 2);
            for (std::uint32_t i = 1; i <= kMembers; ++i) {
                const auto solver = views::solver(state, network_->address(Role{i}));
                EXPECT_FALSE(serves(solver->endpoint, member->data[0])) << "run " << index << ", member " << i;
            }
            EXPECT_FALSE(serves(network_->node_url(), member->data[0]));
        }
    });
    const std::string told = told_by_node();
    read([&](const node::RemoteState& state) {
        const auto member = views::member(state, task, 0);
        ASSERT_TRUE(member && !member->data.empty());
        EXPECT_NE(told.find(to_hex(view(member->data[0]))), std::string::npos) << "the search finds what is public";
    });
    for (std::uint32_t i = 1; i <= kMembers; ++i) {
        EXPECT_EQ(told.find(to_hex(view(std::string_view(marker_of(i))))), std::string::npos) << "nor has the ledger";
        EXPECT_EQ(text_of(network_->log_of(network_->name(Role{i}))).find("event=train "), std::string::npos)
            << "no metric of a private training is logged";
        EXPECT_EQ(files_with(path("network"), marker_of(i)), std::vector<std::string>{}) << "no party's folder has it";
        EXPECT_EQ(files_with(path("requester"), marker_of(i)), std::vector<std::string>{});
        EXPECT_EQ(files_with(path("data-" + std::to_string(i)), marker_of(i)).size(), 1u) << "the search finds it";
    }
}

/// The number of a task is anybody's, and a requester that is taken out gets no more than it has.
TEST_F(Private, AStrangersTaskGetsNoDataAndWhoIsTakenOutNoMore) {
    start_all();
    compile_private(60);
    // Task 1, which the operator of verifier 1 expects to be another's.
    const std::uint64_t strange = post(" --dev-account 6", "stranger");
    ASSERT_EQ(strange, 1u);
    until("all have looked at it", [&](const node::RemoteState&) {
        for (std::uint32_t i = 1; i <= kMembers; ++i) {
            const std::string log = text_of(network_->log_of(network_->name(Role{i})));
            if (log.find("event=no_bid task=1 ") == std::string::npos) return false;
        }
        return true;
    });
    const std::uint64_t task = post();
    ASSERT_EQ(task, 2u);
    std::uint32_t messages = 0, run = 0;
    const auto of_member = [&](const node::RemoteState& state) {
        for (std::uint32_t index = 0; index < kMembers; ++index) {
            const auto now = views::run(state, task, index);
            if (now && now->solver == network_->address(Role{1})) run = index;
        }
        return views::run(state, task, run);
    };
    until("members train", [&](const node::RemoteState& state) {
        const auto now = of_member(state);
        return now && now->next_state >= 4;
    });
    network_->kill(Role{1});
    read([&](const node::RemoteState& state) { messages = views::member(state, task, run)->messages; });
    start_party(Role{1}, member_arguments(1, account(6)));
    until("the member has left", [&](const node::RemoteState& state) {
        const auto now = of_member(state);
        return now && market::is_over(now->state);
    });
    read([&](const node::RemoteState& state) {
        EXPECT_EQ(of_member(state)->state, market::RunState::left) << "it lost nothing";
        EXPECT_EQ(views::member(state, task, run)->messages, messages) << "nothing of its data since";
        EXPECT_EQ(views::stake(state, network_->address(Role{1})).bonded,
                  ledger::U256(200) * ledger::U256(1'000'000'000'000'000'000));
        EXPECT_EQ(views::task(state, strange)->runs, 0u) << "nobody trains for a stranger";
        for (std::uint32_t index = 0; index < kMembers; ++index) {
            EXPECT_TRUE(views::consent(state, task, index).accepted.empty()) << "the auditor was given data for task 1";
            if (index != run) {
                EXPECT_EQ(views::run(state, task, index)->state, market::RunState::running);
            }
        }
    });
    EXPECT_NE(text_of(network_->log_of(network_->name(Role{1}))).find("event=data_withheld"), std::string::npos);
}

}  // namespace
}  // namespace retrace::testing
