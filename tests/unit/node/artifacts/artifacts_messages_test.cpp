// SPDX-License-Identifier: MIT
// Messages of groups over real sockets, in their transport form, and plans beside programs.
#include <gmock/gmock.h>

#include "kernels/builder/rounds.hpp"
#include "node/artifacts/http_server.hpp"
#include "node/artifacts/peer_source.hpp"
#include "node/artifacts/tensor_layout.hpp"
#include "solver/artifacts/packed_tensor.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

using kernels::DType;
using kernels::Tensor;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

/// A member's store of messages behind an artifact server.
struct Author {
    std::unique_ptr<Store> store;
    std::unique_ptr<solver::MessageStore> messages;
    ArtifactServer server;
    std::unique_ptr<ArtifactHttpServer> http;
    std::vector<std::string> asked;

    explicit Author(const std::filesystem::path& folder)
        : store(test::open_store(folder / "store")),
          messages(std::move(solver::MessageStore::open(folder / "messages")).value()),
          server(*store, [](const Hash32&) { return false; }) {
        server.add_messages(*messages);
    }
    void start() { http = *ArtifactHttpServer::start(server, {}); }
};

struct MessagesTest : ::testing::Test {
    test::TemporaryFolder folder;
    Author author{folder.path() / "author"}, lister{folder.path() / "lister"};
    std::unique_ptr<Store> here = test::open_store(folder.path() / "here");
    ArtifactClient client{*here, {milliseconds(1500), 1, milliseconds(1)}};
    PeerSource source{*here, client, [] { return PeerList(); }};
    kernels::ThreadPool pool{1};

    MessagesTest() {
        source.ask_authors([this](const solver::RunKey&) { return PeerList{author.http->url(), lister.http->url()}; });
    }
    static Tensor codes(kernels::Dims dims) {
        Tensor out = test::random_tensor(DType::i32, std::move(dims), 3);
        for (std::uint64_t i = 0; i < out.elements(); ++i)
            store_u32(out.data.data() + 4 * i, load_u32(out.data.data() + 4 * i) & 511);
        return out;
    }
    Hash32 save(Author& at, const Tensor& tensor) {
        const Hash32 root = kernels::tensor_root(tensor, pool);
        EXPECT_TRUE(at.messages->save({7, 1, 2}, {root}, {tensor}).has_value());
        return root;
    }
};

TEST_F(MessagesTest, AreFetchedPackedAndChecked) {
    author.start();
    lister.start();
    for (const Tensor& tensor : {codes({40, 32}), codes({5000, 512}), test::random_tensor(DType::f32, {300, 32}, 1)}) {
        const Hash32 root = save(author, tensor);
        const auto came = source.message_tensor(root, test::record_of(tensor), 7, 2);
        ASSERT_TRUE(came.has_value()) << came.error().message;
        EXPECT_EQ(*came, tensor);
    }
}

TEST_F(MessagesTest, ComeFromAListerIfTheAuthorServesWrongBytesOrNothing) {
    const Tensor tensor = codes({64, 32});
    author.server.tamper_with_answers([](const HttpRequest&, HttpReply& reply) {
        if (!reply.body.empty()) reply.body.back() ^= 1;
    });
    author.start();
    lister.start();
    const Hash32 root = save(author, tensor);
    const auto alone = source.message_tensor(root, test::record_of(tensor), 7, 2);
    ASSERT_FALSE(alone.has_value());
    save(lister, tensor);
    const auto came = source.message_tensor(root, test::record_of(tensor), 7, 2);
    ASSERT_TRUE(came.has_value()) << came.error().message;
    EXPECT_EQ(*came, tensor);
}

struct WholeMessagesTest : MessagesTest {
    std::vector<Tensor> tensors{codes({64, 32}), codes({40, 32}), test::random_tensor(DType::f32, {30, 32}, 1)};
    std::vector<kernels::TensorRecord> records;
    std::vector<Hash32> roots;
    std::vector<std::string> asked;

    WholeMessagesTest() {
        for (const Tensor& tensor : tensors) {
            records.push_back(test::record_of(tensor));
            roots.push_back(kernels::tensor_root(tensor, pool));
        }
        for (Author* at : {&author, &lister}) EXPECT_TRUE(at->messages->save({7, 1, 2}, roots, tensors).has_value());
    }
    void start(std::function<void(HttpReply&)> change = [](HttpReply&) {}) {
        author.server.tamper_with_answers([this, change](const HttpRequest& request, HttpReply& reply) {
            asked.push_back(request.target.substr(request.target.rfind('/')));
            change(reply);
        });
        author.start();
        lister.start();
    }
    solver::MessageRecords of_message() const {
        solver::MessageRecords out;
        for (const kernels::TensorRecord& record : records) out.push_back(&record);
        return out;
    }
    std::vector<std::optional<Tensor>> fetch(PeerSource& from) {
        std::vector<std::optional<Tensor>> out(roots.size());
        from.messages({{roots, 7, 2}}, of_message(),
                      [&](std::size_t, std::vector<std::optional<Tensor>> tensors) { out = tensors; });
        return out;
    }
    std::vector<std::optional<Tensor>> fetch() { return fetch(source); }
    HttpReply get(const std::string& query) {
        return lister.server.handle({"GET", "/artifact/" + to_hex(view(roots[0])) + "/packed?at=0" + query, {}});
    }
};

TEST_F(WholeMessagesTest, ComeInOneRequest) {
    start();
    const auto came = fetch();
    for (std::size_t i = 0; i < tensors.size(); ++i) EXPECT_EQ(came[i], tensors[i]) << i;
    EXPECT_EQ(asked.size(), 1u);
}

TEST_F(WholeMessagesTest, OnlyWhatIsNotHereIsFetched) {
    start();
    const auto messages = *solver::MessageStore::open(folder.path() / "own");
    ASSERT_TRUE(messages->save({7, 1, 5}, {roots[1]}, {tensors[1]}).has_value());
    source.add_messages(*messages);
    const auto came = fetch();
    for (std::size_t i = 0; i < tensors.size(); ++i) EXPECT_EQ(came[i], tensors[i]) << i;
    ASSERT_EQ(asked.size(), 1u);
    EXPECT_THAT(asked[0], HasSubstr("&then=" + to_hex(view(roots[2]))));
}

TEST_F(WholeMessagesTest, AWrongTensorIsLeftOutAndTheOthersAreKept) {
    start([](HttpReply& reply) { reply.body.back() ^= 1; });
    const auto came = fetch();
    EXPECT_EQ(came[0], tensors[0]);
    EXPECT_EQ(came[1], tensors[1]);
    EXPECT_FALSE(came[2].has_value()) << "it is asked for alone, so that a report can name it";
    const auto alone = source.message_tensor(roots[2], records[2], 7, 2);
    ASSERT_TRUE(alone.has_value()) << alone.error().message;
    EXPECT_EQ(*alone, tensors[2]) << "from the lister";
}

TEST_F(WholeMessagesTest, AnotherPeerIsAskedWhereTheBytesEndEarlyOrLate) {
    start([](HttpReply& reply) { reply.body.resize(reply.body.size() + 1); });
    auto came = fetch();
    for (std::size_t i = 0; i < tensors.size(); ++i) EXPECT_EQ(came[i], tensors[i]) << i;
    ArtifactClient fresh(*here, {milliseconds(1500), 1, milliseconds(1)});
    PeerSource asking(*here, fresh, [] { return PeerList(); });
    asking.ask_authors([this](const solver::RunKey&) { return PeerList{author.http->url()}; });
    author.server.tamper_with_answers([](const HttpRequest&, HttpReply& reply) { reply.body.resize(1); });
    came = fetch(asking);
    for (std::size_t i = 0; i < tensors.size(); ++i) EXPECT_FALSE(came[i].has_value()) << i;
}

TEST_F(WholeMessagesTest, RequestsOfAnotherFormAreRefused) {
    const std::string second = to_hex(view(roots[1]));
    EXPECT_EQ(get("&count=99&then=" + second).status, 200u);
    EXPECT_EQ(get("&count=99&then=" + second + "," + to_hex(view(roots[2]))).status, 200u);
    EXPECT_EQ(get("&count=99&then=" + to_hex(view(Hash32{{1}}))).status, 404u);
    std::string many = second, upper = second;
    for (std::size_t i = 2; i < kPackedTensorsMax; ++i) many += "," + second;
    EXPECT_EQ(get("&count=99&then=" + many).status, 200u);
    for (char& digit : upper) digit = digit >= 'a' ? static_cast<char>(digit - 'a' + 'A') : digit;
    for (const std::string& bad : {std::string(), second.substr(1), second + ",", second + "&count=1", upper + "",
                                   second + ";" + second, many + "," + second})
        EXPECT_EQ(get("&count=99&then=" + bad).status, 400u) << bad;
    EXPECT_EQ(get("&then=" + second + "&count=99").status, 400u);
}

TEST_F(MessagesTest, OfAnotherLengthShapeOrWidthAreRefused) {
    author.start();
    lister.start();
    const Tensor tensor = codes({64, 32});
    const Hash32 root = save(author, tensor);
    // A peer that failed is skipped for a while by the client that asked it.
    const auto refused = [&](const Hash32& wanted, const kernels::TensorRecord& as) {
        ArtifactClient fresh(*here, {milliseconds(1500), 1, milliseconds(1)});
        PeerSource asking(*here, fresh, [] { return PeerList(); });
        asking.ask_authors([this](const solver::RunKey&) { return PeerList{author.http->url()}; });
        const auto came = asking.message_tensor(wanted, as, 7, 2);
        return came ? std::string("fetched") : came.error().message;
    };
    kernels::TensorRecord record = test::record_of(tensor);
    EXPECT_EQ(refused(root, record), "fetched");
    record.dims = {32, 16};  // The file is longer than such a tensor's: no more than its longest form is fetched.
    EXPECT_THAT(refused(root, record), HasSubstr("bytes, not"));
    record.dims = {65, 32};
    EXPECT_THAT(refused(root, record), HasSubstr("bytes, not"));
    record.dims = {32, 64};  // As many elements.
    EXPECT_THAT(refused(root, record), HasSubstr("wrong_root"));
    record = test::record_of(tensor);
    record.dtype = DType::boolean;
    EXPECT_THAT(refused(root, record), HasSubstr("width"));
    EXPECT_THAT(refused(Hash32{{1}}, test::record_of(tensor)), HasSubstr("not_found"));
}

TEST_F(MessagesTest, APlanIsStoredServedAndFetchedLikeAProgram) {
    author.start();
    kernels::ModelSpec model;
    model.hidden = {4};
    model.input = {8};
    model.classes = 2;
    kernels::TrainingSpec training;
    training.samples = 16;
    training.batch = 4;
    training.steps = 10;
    kernels::RoundsSpec spec;
    spec.inner = 2;
    spec.outer_rate = 0.7f;
    const auto programs = kernels::build_training(model, training, 16, 16);
    const auto plan = kernels::build_rounds(*programs, training, spec);
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    const Bytes file = kernels::encode(*plan);
    const auto root = author.store->put_program(file);
    ASSERT_TRUE(root.has_value()) << root.error().message;
    EXPECT_EQ(*root, kernels::plan_root(*plan));
    ASSERT_TRUE(client.fetch_program({author.http->url()}, *root).has_value());
    EXPECT_TRUE(here->has_program(*root));
    EXPECT_EQ(*here->program_file(*root), file);
    Bytes damaged = file;
    damaged[4] ^= 1;
    const auto refused = here->put_program(damaged);
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().message, HasSubstr("not a plan"));
}

}  // namespace
}  // namespace retrace::node
