// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

/// At 0x0000000000000000000000000000000000001004. What each method does: contracts/calls/calls.hpp.
interface IDisputes {
    struct Dispute {
        uint64 id;
        uint8 kind;
        uint8 state;
        uint64 task;
        uint32 run;
        uint64 segment;
        address solver;
        address challenger;
        uint64 audit;
        bytes32 claimedRoot;
        uint256 bond;
        uint64 solverClock;
        uint64 challengerClock;
        uint64 turnHeight;
        uint64 deadline;
        uint8 mover;
        uint64 openedHeight;
        uint8 ending;
        uint32 rounds;
        uint64 evidenceBytes;
        uint32 reports;
        uint32 moves;
        uint64 waitsUntil;
        uint64 solverDue;
        uint64 challengerDue;
    }
    function challengeSegment(uint64 task, uint32 run, uint64 segment, bytes32 root) external payable;
    function challengeInitial(uint64 task, uint32 run, bytes32 root) external payable;
    function move(uint64 dispute, bytes calldata move) external;
    function disputeOf(uint64 dispute) external view returns (Dispute memory);
    event DisputeOpened(
        uint64 indexed dispute,
        uint64 indexed task,
        uint32 run,
        uint64 segment,
        uint8 kind,
        address solver,
        address challenger
    );
    event DisputeMoved(
        uint64 indexed dispute,
        uint8 phase,
        uint8 mover,
        uint32 rounds,
        uint64 deadline
    );
    event DisputeDecided(
        uint64 indexed dispute,
        address indexed loser,
        uint64 task,
        uint8 ending,
        uint32 rounds,
        uint64 evidenceBytes,
        uint64 step,
        uint32 op,
        uint64 tile,
        uint64 link,
        uint64 element,
        uint32 claimedBits,
        uint32 refereeBits
    );
    error Refused(uint16 code, string slug);
}
