// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

/// At 0x0000000000000000000000000000000000001002. What each method does: contracts/calls/calls.hpp.
interface IMarket {
    struct TaskSpec {
        string name;
        bytes32 programRoot;
        uint64 programBytes;
        bytes32 initRoot;
        bytes32 initialStateRoot;
        bytes32[] dataRoots;
        uint64 steps;
        uint64 interval;
        uint64 seed;
        bytes32 contractHash;
        uint256 priceCeiling;
        uint16 auditBp;
        uint8 auditors;
        uint8 replicas;
        uint8 hardwareClass;
        uint64 checkpointBlocks;
        uint64 replayBlocks;
        uint64 finishBlocks;
        uint64 stepCost;
        bool allowUnaudited;
        bool spot;
        uint256 lastCeiling;
        uint8 auctions;
        uint64 pauseBlocks;
    }
    struct Params {
        bytes32 contractHash;
        bool developerChain;
        uint64 epochBlocks;
        uint64 bidBlocks;
        uint64 revealBlocks;
        uint64 acceptBlocks;
        uint64 checkpointBlocks;
        uint64 openBlocks;
        uint64 verdictBlocks;
        uint64 revealSegmentBlocks;
        uint64 revealVerdictBlocks;
        uint64 challengeBlocks;
        uint64 deliverBlocks;
        uint64 answerBlocks;
        uint64 unbondBlocks;
        uint64 moveBlocks;
        uint64 moves;
        uint256 bidDeposit;
        uint256 minVerifierStake;
        uint256 minSolverStake;
        uint256 auditBond;
        uint256 challengeBond;
        uint256 reportFee;
        uint256 auditFee;
        uint256 beaconPenalty;
        uint64 auditFeeBp;
        uint64 challengerShareBp;
        uint64 silencePenaltyBp;
        uint64 solverCostBp;
        uint64 safetyBp;
        uint64 collusionBp;
        uint64 redraws;
        uint64 rounds;
        uint64 reports;
        uint64 capabilityBlocks;
        uint64 capabilityRestBlocks;
        uint256 capabilityPenalty;
        uint64 capabilityBp;
        uint64 capabilitySlackBp;
        uint64 capabilityDraws;
        uint64 unauditedBlocks;
    }
    struct TaskIds {
        uint64 count;
        uint64[] active;
    }
    struct Task {
        uint64 id;
        address requester;
        uint8 state;
        uint64 postedHeight;
        uint32 round;
        uint64 bidEnd;
        uint64 revealEnd;
        uint256 escrow;
        uint256 auditBudget;
        uint64 firstState;
        bytes32 resumeRoot;
        uint32 runs;
        uint32[] active;
        address[] bidders;
        address[] excluded;
        uint64 deliverEnd;
        uint8 wanted;
        uint64 joiningState;
        bytes32 joiningRoot;
    }
    struct Bid {
        bytes32 commitment;
        uint256 deposit;
        bool revealed;
        uint256 price;
        uint64 finishHeight;
        uint256 locked;
    }
    struct Run {
        uint64 task;
        uint32 index;
        address solver;
        uint8 state;
        uint256 price;
        uint64 assignedHeight;
        uint64 finishHeight;
        uint256 locked;
        uint64 firstState;
        uint64 nextState;
        uint64 deadline;
        uint64 clear;
        uint64 paid;
        uint64[] retained;
        uint32 openDisputes;
        uint256 earned;
        bytes32 firstRoot;
        uint64 notAwaitedBelow;
        uint32 reports;
        uint32 openReports;
        uint64 waitsUntil;
        uint64 waited;
        uint64 finishWaitsUntil;
        uint64 workCounted;
        uint32 challenges;
        uint64 heardUntil;
        bool joined;
        uint64 unauditedSince;
        uint64 unauditedFrom;
        bool paysUnaudited;
    }
    struct Checkpoint {
        bytes32 commitment;
        uint64 height;
        bool opened;
        uint64 openHeight;
        uint64 openDeadline;
        bytes32 salt;
        bytes32 root;
        address[] keepers;
        uint64[] keptSince;
    }
    struct Segment {
        uint8 state;
        uint64 commitHeight;
        uint64 drawEpoch;
        uint32 audits;
        uint32 postponed;
        uint64 audit;
        uint64 windowEnd;
        uint32 openDisputes;
        uint32 challenges;
        uint64 auditDispute;
        bool notAwaited;
        uint64 notPaid;
    }
    struct Places {
        uint64 taken;
        uint64 most;
        uint256 rent;
    }
    struct Place {
        uint256 rent;
        uint256 deposit;
    }
    struct NextAuction {
        uint256 ceiling;
        uint32 auctions;
    }
    struct Reservation {
        uint64 id;
        address requester;
        address solver;
        uint8 state;
        uint64 from;
        uint64 until;
        uint256 price;
        uint256 deposit;
        uint256 locked;
        uint64 task;
        uint64 offeredHeight;
    }
    function postTask(TaskSpec calldata spec) external payable;
    function cancelTask(uint64 task) external;
    function commitBid(uint64 task, bytes32 commitment) external payable;
    function revealBid(
        uint64 task,
        uint256 price,
        uint64 finishHeight,
        bytes32 salt
    ) external;
    function acceptData(uint64 task) external;
    function declineTask(uint64 task) external;
    function commitCheckpoint(uint64 task, uint32 run, uint64 index, bytes32 commitment) external;
    function openRoots(
        uint64 task,
        uint32 run,
        uint64 first,
        bytes32[] calldata salts,
        bytes32[] calldata roots
    ) external;
    function acceptModel(uint64 task) external;
    function raiseReplicas(uint64 task, uint8 replicas) external payable;
    function decideUnaudited(uint64 task, uint32 run, bool pay) external;
    function topUpTask(uint64 task, uint256 ceiling, uint32 auctions) external payable;
    function giveBack(uint64 task, uint32 run, uint64 index, bytes32 commitment) external;
    function reserve(
        TaskSpec calldata spec,
        address solver,
        uint256 price,
        uint64 from,
        uint64 until
    ) external payable;
    function acceptReservation(uint64 reservation) external;
    function beginReserved(uint64 reservation) external payable;
    function withdrawReservation(uint64 reservation) external;
    function params() external view returns (Params memory);
    function taskIds() external view returns (TaskIds memory);
    function specOf(uint64 task) external view returns (TaskSpec memory);
    function taskOf(uint64 task) external view returns (Task memory);
    function bidOf(uint64 task, address bidder) external view returns (Bid memory);
    function runOf(uint64 task, uint32 run) external view returns (Run memory);
    function checkpointOf(uint64 task, uint32 run, uint64 index) external view returns (Checkpoint memory);
    function segmentOf(uint64 task, uint32 run, uint64 index) external view returns (Segment memory);
    function places() external view returns (Places memory);
    function placeOf(uint64 task) external view returns (Place memory);
    function nextAuctionOf(uint64 task) external view returns (NextAuction memory);
    function reservationOf(uint64 reservation) external view returns (Reservation memory);
    function reservedSpecOf(uint64 reservation) external view returns (TaskSpec memory);
    event TaskPosted(
        uint64 indexed task,
        address indexed requester,
        string name,
        uint64 segments,
        uint256 priceCeiling,
        uint64 bidEnd,
        uint64 revealEnd
    );
    event TaskStateChanged(uint64 indexed task, uint8 from, uint8 to);
    event BidCommitted(uint64 indexed task, address indexed bidder, uint32 round);
    event BidRevealed(
        uint64 indexed task,
        address indexed bidder,
        uint256 price,
        uint64 finishHeight,
        uint256 locked
    );
    event BidForfeited(
        uint64 indexed task,
        address indexed bidder,
        uint256 deposit
    );
    event TaskAssigned(
        uint64 indexed task,
        address indexed solver,
        uint32 run,
        uint256 price,
        uint64 firstState
    );
    event DataAccepted(uint64 indexed task, address indexed solver, uint32 run);
    event CheckpointCommitted(
        uint64 indexed task,
        uint32 run,
        uint64 index,
        bytes32 commitment
    );
    event StateOpened(
        uint64 indexed task,
        uint32 run,
        uint64 index,
        bytes32 root
    );
    event SegmentDrawn(
        uint64 indexed task,
        uint32 run,
        uint64 segment,
        bool audited
    );
    event SegmentVerified(
        uint64 indexed task,
        uint32 run,
        uint64 segment,
        uint64 audit
    );
    event SegmentsPaid(
        uint64 indexed task,
        address indexed solver,
        uint32 run,
        uint64 first,
        uint64 count,
        uint256 amount
    );
    event RunEnded(
        uint64 indexed task,
        address indexed solver,
        uint32 run,
        uint8 state,
        string reason
    );
    event EscrowReturned(
        uint64 indexed task,
        address indexed requester,
        uint256 amount
    );
    event ReplicasWanted(
        uint64 indexed task,
        uint8 wanted,
        uint64 bidEnd,
        uint64 revealEnd
    );
    event UnauditedDecided(uint64 indexed task, uint32 run, uint64 segment, bool pay);
    event PlacePaid(uint64 indexed task, address indexed party, uint256 amount);
    event TaskToppedUp(
        uint64 indexed task,
        address indexed requester,
        uint256 ceiling,
        uint32 auctions,
        uint256 amount
    );
    event RunGivenBack(
        uint64 indexed task,
        address indexed solver,
        uint32 run,
        uint64 index
    );
    event TimeReserved(
        uint64 indexed reservation,
        address indexed requester,
        address indexed solver,
        uint256 price,
        uint64 from,
        uint64 until,
        uint256 deposit
    );
    event ReservationChanged(uint64 indexed reservation, uint8 state, uint64 task);
    event ReservationPaid(
        uint64 indexed reservation,
        address indexed solver,
        uint256 amount
    );
    error Refused(uint16 code, string slug);
}
