// SPDX-License-Identifier: MIT
// Writes light.json: pairs of light blocks with CometBFT's own verdict about the second one, given that the first is
// trusted. Keys are made from fixed seeds, so that the file is always the same.
// Run in an empty folder with this file:
//   go mod init vectors && go get github.com/cometbft/cometbft@v0.38.25 && go run . > light.json
package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	cmtjson "github.com/cometbft/cometbft/libs/json"
	"github.com/cometbft/cometbft/light"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	cmtversion "github.com/cometbft/cometbft/proto/tendermint/version"
	"github.com/cometbft/cometbft/types"
)

const chainID = "retrace-7298-vectors"

var start = time.Date(2026, 11, 28, 20, 0, 0, 123456789, time.UTC)

type member struct {
	seed  int
	power int64
}

func keyOf(seed int) ed25519.PrivKey {
	return ed25519.GenPrivKeyFromSecret([]byte(fmt.Sprintf("retrace vector %d", seed)))
}

func set(members []member) *types.ValidatorSet {
	var out []*types.Validator
	for _, m := range members {
		out = append(out, types.NewValidator(keyOf(m.seed).PubKey(), m.power))
	}
	return types.NewValidatorSet(out)
}

func digest(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// What a case changes of a correct block.
type change struct {
	chain    string
	sparse   bool                           // Hashes that a header may leave out are left out.
	round    int32                          //
	flags    func(seed int) types.BlockIDFlag // nil: all commit
	vote     func(*types.Vote)              // before it is signed
	header   func(*types.Header)            // before its hash is taken
	after    func(*types.SignedHeader)      // when all is signed
	supplied []member                       // validators that are shown instead of the right ones
}

type block struct {
	header *types.SignedHeader
	vals   *types.ValidatorSet
}

func make_(height int64, at time.Time, members, next []member, c change) block {
	vals := set(members)
	chain := chainID
	if c.chain != "" {
		chain = c.chain
	}
	header := &types.Header{
		Version:            cmtversion.Consensus{Block: 11, App: 1},
		ChainID:            chain,
		Height:             height,
		Time:               at,
		ValidatorsHash:     vals.Hash(),
		NextValidatorsHash: set(next).Hash(),
		ConsensusHash:      digest("consensus"),
		AppHash:            digest(fmt.Sprint("app ", height)),
		ProposerAddress:    vals.Validators[0].Address,
	}
	if !c.sparse {
		header.LastBlockID = types.BlockID{Hash: digest("last"), PartSetHeader: types.PartSetHeader{Total: 3, Hash: digest("parts")}}
		header.LastCommitHash = digest("commit")
		header.DataHash = digest("data")
		header.LastResultsHash = digest("results")
		header.EvidenceHash = digest("evidence")
	}
	if c.header != nil {
		c.header(header)
	}
	id := types.BlockID{Hash: header.Hash(), PartSetHeader: types.PartSetHeader{Total: 300, Hash: digest("own parts")}}
	seeds := map[string]int{}
	for _, m := range members {
		seeds[string(keyOf(m.seed).PubKey().Address())] = m.seed
	}
	commit := &types.Commit{Height: height, Round: c.round, BlockID: id}
	for i, v := range vals.Validators {
		seed := seeds[string(v.Address)]
		flag := types.BlockIDFlagCommit
		if c.flags != nil {
			flag = c.flags(seed)
		}
		if flag == types.BlockIDFlagAbsent {
			commit.Signatures = append(commit.Signatures, types.NewCommitSigAbsent())
			continue
		}
		vote := &types.Vote{Type: cmtproto.PrecommitType, Height: height, Round: c.round,
			Timestamp: at.Add(time.Duration(seed) * time.Millisecond), ValidatorAddress: v.Address, ValidatorIndex: int32(i)}
		if flag == types.BlockIDFlagCommit {
			vote.BlockID = id
		}
		if c.vote != nil {
			c.vote(vote)
		}
		signature, err := keyOf(seed).Sign(types.VoteSignBytes(chain, vote.ToProto()))
		if err != nil {
			panic(err)
		}
		commit.Signatures = append(commit.Signatures, types.CommitSig{BlockIDFlag: flag, ValidatorAddress: v.Address,
			Timestamp: vote.Timestamp, Signature: signature})
	}
	out := block{&types.SignedHeader{Header: header, Commit: commit}, vals}
	if c.supplied != nil {
		out.vals = set(c.supplied)
	}
	if c.after != nil {
		c.after(out.header)
	}
	return out
}

type jsonBlock struct {
	Commit     json.RawMessage `json:"commit"`
	Validators json.RawMessage `json:"validators"`
}

func encode(b block) jsonBlock {
	commit, err := cmtjson.Marshal(struct {
		SignedHeader *types.SignedHeader `json:"signed_header"`
		Canonical    bool                `json:"canonical"`
	}{b.header, true})
	if err != nil {
		panic(err)
	}
	vals, err := cmtjson.Marshal(struct {
		BlockHeight int64              `json:"block_height"`
		Validators  []*types.Validator `json:"validators"`
		Count       int                `json:"count"`
		Total       int                `json:"total"`
	}{b.header.Height, b.vals.Validators, len(b.vals.Validators), len(b.vals.Validators)})
	if err != nil {
		panic(err)
	}
	return jsonBlock{commit, vals}
}

type jsonCase struct {
	Name    string    `json:"name"`
	Trusted jsonBlock `json:"trusted"`
	New     jsonBlock `json:"new"`
	Now     int64     `json:"now"` // seconds since 1970
	Verdict string    `json:"verdict"`
	Reason  string    `json:"reason"`
}

func main() {
	four := []member{{1, 10}, {2, 10}, {3, 10}, {4, 10}}
	three := []member{{1, 1}, {2, 1}, {3, 1}}
	uneven := []member{{1, 1}, {2, 7}, {3, 1 << 40}, {4, (1 << 40) + 9}}
	others := []member{{11, 10}, {12, 10}, {13, 10}, {14, 10}}
	var hundred []member
	for i := 0; i < 100; i++ {
		hundred = append(hundred, member{100 + i, int64(1 + i%7)})
	}
	absent := func(seeds ...int) func(int) types.BlockIDFlag {
		return func(seed int) types.BlockIDFlag {
			for _, s := range seeds {
				if s == seed {
					return types.BlockIDFlagAbsent
				}
			}
			return types.BlockIDFlagCommit
		}
	}
	week := 7 * 24 * time.Hour
	var cases []jsonCase
	add := func(name string, trusted, fresh block, now time.Time) {
		err := light.Verify(trusted.header, trusted.vals, fresh.header, fresh.vals, week, now, 10*time.Second,
			light.DefaultTrustLevel)
		verdict, reason := "success", ""
		if err != nil {
			verdict, reason = "invalid", err.Error()
			var trust light.ErrNewValSetCantBeTrusted
			if errors.As(err, &trust) {
				verdict = "not enough trust"
			}
			var old light.ErrOldHeaderExpired
			if errors.As(err, &old) {
				verdict = "expired"
			}
		}
		cases = append(cases, jsonCase{name, encode(trusted), encode(fresh), now.Unix(), verdict, reason})
	}
	at := func(height int64) time.Time { return start.Add(time.Duration(height) * time.Second) }
	now := at(100)
	first := make_(5, at(5), four, four, change{})
	add("adjacent", first, make_(6, at(6), four, four, change{}), now)
	add("adjacent, with the set that the trusted header announced", make_(5, at(5), four, others, change{}),
		make_(6, at(6), others, others, change{}), now)
	add("adjacent, with another set than announced", first, make_(6, at(6), others, others, change{}), now)
	add("skipping, same set", first, make_(60, at(60), four, others, change{}), now)
	add("skipping, in a later round, with the least header", first,
		make_(61, at(61), four, four, change{round: 7, sparse: true}), now)
	add("skipping, half of the set is new", first,
		make_(60, at(60), []member{{1, 10}, {2, 10}, {11, 10}, {12, 10}}, four, change{}), now)
	add("skipping, a third of the trusted power", make_(5, at(5), three, three, change{}),
		make_(60, at(60), []member{{1, 1}, {11, 1}, {12, 1}}, three, change{}), now)
	add("skipping, two thirds of the trusted power", make_(5, at(5), three, three, change{}),
		make_(60, at(60), []member{{1, 1}, {2, 1}, {12, 1}}, three, change{}), now)
	add("skipping, a quarter of the trusted power", first,
		make_(60, at(60), []member{{1, 10}, {11, 10}, {12, 10}, {13, 10}}, four, change{}), now)
	add("skipping, nobody of the trusted set", first, make_(60, at(60), others, others, change{}), now)
	add("trusted ones are in the set and did not sign", first,
		make_(60, at(60), []member{{1, 1}, {2, 1}, {11, 10}, {12, 10}}, four, change{flags: absent(1, 2)}), now)
	add("uneven powers", make_(5, at(5), uneven, uneven, change{}), make_(9, at(9), uneven, uneven, change{}), now)
	add("uneven powers, the large ones are gone", make_(5, at(5), uneven, uneven, change{}),
		make_(9, at(9), uneven, uneven, change{flags: absent(4)}), now)
	add("three of four signed", first, make_(6, at(6), four, four, change{flags: absent(2)}), now)
	add("two of three signed", make_(5, at(5), three, three, change{}),
		make_(6, at(6), three, three, change{flags: absent(3)}), now)
	add("two of three signed, skipping", make_(5, at(5), three, three, change{}),
		make_(7, at(7), three, three, change{flags: absent(3)}), now)
	add("one vote for nil", first, make_(6, at(6), four, four, change{flags: func(seed int) types.BlockIDFlag {
		if seed == 3 {
			return types.BlockIDFlagNil
		}
		return types.BlockIDFlagCommit
	}}), now)
	add("two votes for nil", first, make_(6, at(6), four, four, change{flags: func(seed int) types.BlockIDFlag {
		if seed > 2 {
			return types.BlockIDFlagNil
		}
		return types.BlockIDFlagCommit
	}}), now)
	add("a forged signature", first, make_(6, at(6), four, four, change{after: func(h *types.SignedHeader) {
		h.Commit.Signatures[0].Signature[5] ^= 1
	}}), now)
	add("a signature's time was changed", first, make_(6, at(6), four, four, change{after: func(h *types.SignedHeader) {
		h.Commit.Signatures[0].Timestamp = h.Commit.Signatures[0].Timestamp.Add(1)
	}}), now)
	add("votes of another round", first, make_(6, at(6), four, four, change{vote: func(v *types.Vote) { v.Round = 1 }}), now)
	add("votes of another height", first, make_(6, at(6), four, four, change{vote: func(v *types.Vote) { v.Height = 7 }}), now)
	add("prevotes", first, make_(6, at(6), four, four, change{vote: func(v *types.Vote) { v.Type = cmtproto.PrevoteType }}), now)
	add("the header was changed afterwards", first, make_(6, at(6), four, four, change{after: func(h *types.SignedHeader) {
		h.Header.AppHash = digest("lie")
	}}), now)
	add("the commit is for another block", first, make_(6, at(6), four, four, change{after: func(h *types.SignedHeader) {
		h.Commit.BlockID.Hash = digest("other")
	}}), now)
	add("the commit is of another height", first, make_(6, at(6), four, four, change{after: func(h *types.SignedHeader) {
		h.Commit.Height = 7
	}}), now)
	add("a signature is missing", first, make_(6, at(6), four, four, change{after: func(h *types.SignedHeader) {
		h.Commit.Signatures = h.Commit.Signatures[:3]
	}}), now)
	add("signatures in another order", first, make_(6, at(6), four, four, change{after: func(h *types.SignedHeader) {
		s := h.Commit.Signatures
		s[0], s[1] = s[1], s[0]
	}}), now)
	add("another chain", first, make_(6, at(6), four, four, change{chain: "retrace-1-other"}), now)
	add("validators that the header does not name", first, make_(6, at(6), four, four, change{supplied: others}), now)
	add("more power than the header gives", first,
		make_(6, at(6), four, four, change{supplied: []member{{1, 11}, {2, 10}, {3, 10}, {4, 10}}}), now)
	add("the same height", first, make_(5, at(6), four, four, change{}), now)
	add("an earlier height", first, make_(4, at(6), four, four, change{}), now)
	add("the same time", first, make_(6, at(5), four, four, change{}), now)
	add("nine seconds in the future", first, make_(6, at(109), four, four, change{}), now)
	add("eleven seconds in the future", first, make_(6, at(111), four, four, change{}), now)
	add("just within the trusting period", first, make_(6, at(6), four, four, change{}), at(5).Add(week-time.Second))
	add("after the trusting period", first, make_(6, at(6), four, four, change{}), at(5).Add(week+time.Second))
	add("a hundred validators", make_(5, at(5), hundred, hundred, change{}), make_(70, at(70), hundred, hundred, change{}), now)

	fmt.Printf("{\"chain_id\": %q, \"cases\": [\n", chainID)
	for i, c := range cases {
		line, err := json.Marshal(c)
		if err != nil {
			panic(err)
		}
		separator := ","
		if i+1 == len(cases) {
			separator = ""
		}
		fmt.Printf("%s%s\n", line, separator)
	}
	fmt.Println("]}")
}
