// SPDX-License-Identifier: MIT
// Headers, commits and validators that a node shows to a light client. What is verified has the hash of the block that
// CometBFT's validators signed: no other one of the same height is believed.
#include <boost/json.hpp>

#include "node/light/verify.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace node;
namespace json = boost::json;

/// The case "three of four signed" of tests/vectors/comet.
constexpr std::string_view kSigned =
    R"({"trusted":{"commit":{"signed_header":{"header":{"version":{"block":"11","app":"1"},"chain_id":"retrace-7298-v)"
    R"(ectors","height":"5","time":"2026-11-28T20:00:05.123456789Z","last_block_id":{"hash":"3547CB112AC4489AF2310C06)"
    R"(26CDBA6F3097A2AD5A3B42DDD3B59C76C7A079A3","parts":{"total":3,"hash":"D887DB09649DAB0D83951D8D5D69B2E7D8BB70E79)"
    R"(DAA2A3A279B4FD6B8346CEA"}},"last_commit_hash":"9505CACB7C710ED17125FCC6CB3669E8DDCA6C8CD8AF6A31F6B3CD64604C309)"
    R"(8","data_hash":"3A6EB0790F39AC87C94F3856B2DD2C5D110E6811602261A9A923D3BB23ADC8B7","validators_hash":"9F5D0B9EC)"
    R"(5A8EF4012A009134A5C2744F2D19FB5418E4E712A535007EF2DF36A","next_validators_hash":"9F5D0B9EC5A8EF4012A009134A5C2)"
    R"(744F2D19FB5418E4E712A535007EF2DF36A","consensus_hash":"C983C585AC3C40D920834F96200066352FF58E323DA4DADAE1D948F)"
    R"(B27E63F82","app_hash":"6AEDE3E5D69E277440451272E2B9844BE25E6245470A3B8FC618A7C7DDD426D5","last_results_hash":")"
    R"(C099142BC3186DED72786BA27E9EA6D2DA240FB9FD3FE79B479ECF8E734B2850","evidence_hash":"EE8250FB76E094B34B471F13A73)"
    R"(DBBE51D1AE142E9DF59D7C0D31EC20F0A0A8E","proposer_address":"0438C94DF9F3A482EF5A4A02E7FB9FB9A24ECA92"},"commit")"
    R"(:{"height":"5","round":0,"block_id":{"hash":"5EECF759C370A7D258E09855CFC3A1D5306A40731B5DD6568FA02446BB177D45")"
    R"(,"parts":{"total":300,"hash":"532AAC061904E59C04EF13E4238882BF02D739898E5B359D6BC230870946883C"}},"signatures")"
    R"(:[{"block_id_flag":2,"validator_address":"0438C94DF9F3A482EF5A4A02E7FB9FB9A24ECA92","timestamp":"2026-11-28T20)"
    R"(:00:05.124456789Z","signature":"m+6wV6oMqtuFWkoK6sqd1ngnsZpq3TH0BKPi38I/uW9S1E/tRiYbhQ6ezc93/qaqhi+bcWFpc5zFcS)"
    R"(XSxAlECg=="},{"block_id_flag":2,"validator_address":"2299B08CD8D78CD43F822EEE3EBDBA8F8AAC0E13","timestamp":"20)"
    R"(26-11-28T20:00:05.126456789Z","signature":"eLfdYh33kEW7RfzIrFniqBbRLeHlLOj7AE7b4y7jj2MlUxs9ztDTioVwbp3ixc1W5RJ)"
    R"(ckW7WfOEO1W2zrY6GAg=="},{"block_id_flag":2,"validator_address":"40652B3DC9EC7BE0ECB4F9C15B6AF90F5459763E","tim)"
    R"(estamp":"2026-11-28T20:00:05.127456789Z","signature":"hE6TLe7JGlWldGID+PISUj6bsVqTZSwv7SCkPP+cjDffLCBiRefAAmAf)"
    R"(MBSpllnD4ESgRNs1X5FWuesJhWwVCQ=="},{"block_id_flag":2,"validator_address":"A7C04C016C478C1ACC9BCA1DA4820B39408)"
    R"(4FCEF","timestamp":"2026-11-28T20:00:05.125456789Z","signature":"mSAYIRAnk/ilupsIRIRb2sApn9rOuArympy9glzQs66kQ)"
    R"(Yd8Vx7iDMQ8d2rg7IWNcDdQoPfS5NUitsg3BzHcDw=="}]}},"canonical":true},"validators":{"block_height":"5","validator)"
    R"(s":[{"address":"0438C94DF9F3A482EF5A4A02E7FB9FB9A24ECA92","pub_key":{"type":"tendermint/PubKeyEd25519","value")"
    R"(:"GZ0NKf/G4wEzJDQ9Vy1ktDJHkZ0D94Z+SlKyZ1MhJSI="},"voting_power":"10","proposer_priority":"-30"},{"address":"22)"
    R"(99B08CD8D78CD43F822EEE3EBDBA8F8AAC0E13","pub_key":{"type":"tendermint/PubKeyEd25519","value":"++l4s1JX5nQ2HjO+)"
    R"(Z8kZcDGfgwFQF8tFtlZr1bDw0Ss="},"voting_power":"10","proposer_priority":"10"},{"address":"40652B3DC9EC7BE0ECB4F)"
    R"(9C15B6AF90F5459763E","pub_key":{"type":"tendermint/PubKeyEd25519","value":"pM1mmc52bQS282P/NkkQ6KyV56SdlGMqXE8)"
    R"(mtcXtzOo="},"voting_power":"10","proposer_priority":"10"},{"address":"A7C04C016C478C1ACC9BCA1DA4820B394084FCEF)"
    R"(","pub_key":{"type":"tendermint/PubKeyEd25519","value":"2riTOM1fjkputmNfTxhBTen1IFJMeJ8A663by12zQKY="},"voting)"
    R"(_power":"10","proposer_priority":"10"}],"count":"4","total":"4"}},"new":{"commit":{"signed_header":{"header":{)"
    R"("version":{"block":"11","app":"1"},"chain_id":"retrace-7298-vectors","height":"6","time":"2026-11-28T20:00:06.)"
    R"(123456789Z","last_block_id":{"hash":"3547CB112AC4489AF2310C0626CDBA6F3097A2AD5A3B42DDD3B59C76C7A079A3","parts")"
    R"(:{"total":3,"hash":"D887DB09649DAB0D83951D8D5D69B2E7D8BB70E79DAA2A3A279B4FD6B8346CEA"}},"last_commit_hash":"95)"
    R"(05CACB7C710ED17125FCC6CB3669E8DDCA6C8CD8AF6A31F6B3CD64604C3098","data_hash":"3A6EB0790F39AC87C94F3856B2DD2C5D1)"
    R"(10E6811602261A9A923D3BB23ADC8B7","validators_hash":"9F5D0B9EC5A8EF4012A009134A5C2744F2D19FB5418E4E712A535007EF)"
    R"(2DF36A","next_validators_hash":"9F5D0B9EC5A8EF4012A009134A5C2744F2D19FB5418E4E712A535007EF2DF36A","consensus_h)"
    R"(ash":"C983C585AC3C40D920834F96200066352FF58E323DA4DADAE1D948FB27E63F82","app_hash":"298FCFE1C2427E70570CD954FC)"
    R"(D6C07A0341985D371AB9212B4323F938781B0A","last_results_hash":"C099142BC3186DED72786BA27E9EA6D2DA240FB9FD3FE79B4)"
    R"(79ECF8E734B2850","evidence_hash":"EE8250FB76E094B34B471F13A73DBBE51D1AE142E9DF59D7C0D31EC20F0A0A8E","proposer_)"
    R"(address":"0438C94DF9F3A482EF5A4A02E7FB9FB9A24ECA92"},"commit":{"height":"6","round":0,"block_id":{"hash":"0D81)"
    R"(D36C623935272025EBC313D60260191C5C7126DE67A22654285427CD82EB","parts":{"total":300,"hash":"532AAC061904E59C04E)"
    R"(F13E4238882BF02D739898E5B359D6BC230870946883C"}},"signatures":[{"block_id_flag":2,"validator_address":"0438C94)"
    R"(DF9F3A482EF5A4A02E7FB9FB9A24ECA92","timestamp":"2026-11-28T20:00:06.124456789Z","signature":"tmX8oa7PBIoemDm4+)"
    R"(TzFzacE+rCm/Ne8kLfa0hUrFWXhfkJ4IVqC5NR8xYv4N7+k9+bdaJKQnHihkj7ESlDQCQ=="},{"block_id_flag":2,"validator_addres)"
    R"(s":"2299B08CD8D78CD43F822EEE3EBDBA8F8AAC0E13","timestamp":"2026-11-28T20:00:06.126456789Z","signature":"R1jL8s)"
    R"(I+dvSrn54aWFozasYqRe7KrrmcEUHl4HCgWkQDadTyEp/t1d/h4Bf2A6OIc7nFxGGFOU10gOgvI+4yAg=="},{"block_id_flag":2,"valid)"
    R"(ator_address":"40652B3DC9EC7BE0ECB4F9C15B6AF90F5459763E","timestamp":"2026-11-28T20:00:06.127456789Z","signatu)"
    R"(re":"McxBjqGlvfy8fwkO2BNjhyEe4SKYR4B9jtm9trOvkuLiIxaDxKDGSAcOTcPO/C6p1ZOcvnu/LWOW/9tCQuyqCg=="},{"block_id_fla)"
    R"(g":1,"validator_address":"","timestamp":"0001-01-01T00:00:00Z","signature":null}]}},"canonical":true},"validat)"
    R"(ors":{"block_height":"6","validators":[{"address":"0438C94DF9F3A482EF5A4A02E7FB9FB9A24ECA92","pub_key":{"type")"
    R"(:"tendermint/PubKeyEd25519","value":"GZ0NKf/G4wEzJDQ9Vy1ktDJHkZ0D94Z+SlKyZ1MhJSI="},"voting_power":"10","propo)"
    R"(ser_priority":"-30"},{"address":"2299B08CD8D78CD43F822EEE3EBDBA8F8AAC0E13","pub_key":{"type":"tendermint/PubKe)"
    R"(yEd25519","value":"++l4s1JX5nQ2HjO+Z8kZcDGfgwFQF8tFtlZr1bDw0Ss="},"voting_power":"10","proposer_priority":"10")"
    R"(},{"address":"40652B3DC9EC7BE0ECB4F9C15B6AF90F5459763E","pub_key":{"type":"tendermint/PubKeyEd25519","value":")"
    R"(pM1mmc52bQS282P/NkkQ6KyV56SdlGMqXE8mtcXtzOo="},"voting_power":"10","proposer_priority":"10"},{"address":"A7C04)"
    R"(C016C478C1ACC9BCA1DA4820B394084FCEF","pub_key":{"type":"tendermint/PubKeyEd25519","value":"2riTOM1fjkputmNfTxh)"
    R"(BTen1IFJMeJ8A663by12zQKY="},"voting_power":"10","proposer_priority":"10"}],"count":"4","total":"4"}}})";
constexpr light::Time kNow{1'795'896'100, 0};

std::optional<light::LightBlock> block_of(const json::value& both) {
    const json::object* const object = both.if_object();
    const json::value* const commit = object != nullptr ? object->if_contains("commit") : nullptr;
    const json::value* const validators = object != nullptr ? object->if_contains("validators") : nullptr;
    if (commit == nullptr || validators == nullptr) return std::nullopt;
    const auto block = light::parse_light_block(*commit, *validators);
    if (!block) {
        require(!block.error().message.empty(), "a refusal says why");
        return std::nullopt;
    }
    return *block;
}

}  // namespace

std::vector<Bytes> seeds() {
    const json::value both = json::parse({kSigned.data(), kSigned.size()});
    std::vector<Bytes> out;
    for (const char* one : {"trusted", "new"})
        out.push_back(to_bytes(view(std::string_view(json::serialize(both.at(one))))));
    return out;
}

void run(View input) {
    static const json::value both = json::parse({kSigned.data(), kSigned.size()});
    static const light::LightBlock trusted = *block_of(both.at("trusted")), good = *block_of(both.at("new"));
    static const bool checked = [] {
        require(light::verify(trusted, good, kNow).has_value(), "the real block is verified");
        return true;
    }();
    (void)checked;
    boost::system::error_code failed;
    const json::value parsed = json::parse({reinterpret_cast<const char*>(input.data()), input.size()}, failed);
    if (failed) return;
    const auto block = block_of(parsed);
    if (!block) return;
    (void)light::verify_alone(*block).has_value();
    if (light::verify(trusted, *block, kNow))
        require(light::hash_of(block->header) == light::hash_of(good.header), "only the signed block is believed");
}

}  // namespace retrace::fuzz
