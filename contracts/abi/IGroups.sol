// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

/// At 0x0000000000000000000000000000000000001007. What each method does: contracts/calls/calls.hpp.
interface IGroups {
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
    struct PhaseRoot {
        uint8 phase;
        bool memberSeed;
        bytes32 programRoot;
    }
    struct GroupSpec {
        uint32 rounds;
        uint32 stepsMax;
        uint32 shared;
        uint32[] publicTensors;
        PhaseRoot[] phases;
        uint8 least;
        uint64 roundBlocks;
        uint64 graceBlocks;
        uint64 fetchBlocks;
        uint64 revealBlocks;
        uint32 absenceLimit;
        uint32 keepRounds;
        uint32 catchUpMax;
        uint8 maskBits;
        uint64 maskBlocks;
        uint32 maxAge;
        uint8 rollbacks;
        uint32 ahead;
        uint8 privateSets;
        uint8 regions;
        uint64 mergeBlocks;
    }
    struct Group {
        uint64 task;
        uint8 phase;
        uint32 round;
        uint64 deadline;
        bool extended;
        uint32[] committed;
        uint32[] listed;
        uint32[] revealed;
        uint32 committedBefore;
        uint256 price;
        uint32 senders;
    }
    struct RoundEntry {
        uint32 run;
        uint32 steps;
        uint32 age;
        uint32 weight;
        uint32 region;
        uint32 place;
    }
    struct MaskTerm {
        bytes32 seed;
        bool added;
    }
    struct Round {
        uint32 index;
        uint64 height;
        uint32 committed;
        RoundEntry[] entries;
        uint32 total;
        uint32[] holds;
        MaskTerm[] masks;
        bytes32 terms;
    }
    struct RoundMessage {
        uint64 segment;
        uint32 steps;
        bytes32[] tensors;
        bool recorded;
        uint32 age;
        bool unpaid;
        bool standby;
        bytes32 maskRoot;
        bytes32 dealers;
        MaskTerm[] masks;
    }
    struct Holding {
        bytes32 commitment;
        bytes bitmap;
    }
    struct RoundMasks {
        uint8 step;
        uint64 deadline;
        uint64 keysEnd;
        uint32[] cohort;
        uint32[] dealt;
        uint32[] recorded;
        uint32[] revealed;
        MaskTerm[] terms;
        uint32 opened;
    }
    struct MemberMasks {
        bytes keys;
        bytes shares;
        bytes revealed;
    }
    struct Member {
        uint32 base;
        uint32 entered;
        bytes32[] anchor;
        uint64 messages;
        uint32 lastRound;
        uint32 absent;
        bool leaving;
        bytes32[] data;
        bytes32[] start;
    }
    struct MemberSegment {
        uint32 from;
        uint32 base;
        uint32 steps;
        uint64 omitted;
        uint64 positions;
        bytes32[] shared;
        uint32 age;
        uint32 masks;
    }
    struct Rollback {
        uint32 run;
        uint32 first;
        uint32 last;
        bool ended;
    }
    struct Rollbacks {
        Rollback[] noted;
        uint32 finalRounds;
        uint64 opened;
    }
    struct MemberAttempt {
        uint64 segment;
        uint64 start;
        uint8 attempt;
    }
    struct MemberAttempts {
        MemberAttempt[] items;
    }
    struct AdmittedAccounts {
        address[] accounts;
    }
    struct FormerAuditor {
        address account;
        uint64 segments;
    }
    struct Consent {
        address[] named;
        address[] accepted;
        FormerAuditor[] former;
    }
    struct Division {
        uint32 epoch;
        uint32 regions;
        uint32[] order;
        uint64 due;
    }
    function postGroup(TaskSpec calldata spec, GroupSpec calldata group) external payable;
    function commitRound(
        uint64 task,
        uint32 run,
        uint64 index,
        uint32 base,
        uint32 steps,
        bytes32 commitment,
        bytes32[] calldata message,
        bytes32 masks
    ) external;
    function commitHoldings(uint64 task, uint32 run, uint32 round, bytes32 commitment) external;
    function revealHoldings(
        uint64 task,
        uint32 run,
        uint32 round,
        bytes calldata bitmap,
        bytes32 salt
    ) external;
    function openMember(
        uint64 task,
        uint32 run,
        uint64 index,
        bytes32 salt,
        bytes32 root,
        bytes calldata leaves
    ) external;
    function joinTask(uint64 task, uint32 anchor, uint64 index) external payable;
    function leaveTask(uint64 task, uint32 run) external;
    function maskKeys(uint64 task, uint32 run, uint32 round, bytes calldata keys) external;
    function maskShares(
        uint64 task,
        uint32 run,
        uint32 round,
        bytes calldata shares
    ) external;
    function unmask(
        uint64 task,
        uint32 run,
        uint32 round,
        bytes calldata shares
    ) external;
    function complainOfShare(
        uint64 task,
        uint32 run,
        uint32 round,
        uint32 dealer,
        bytes calldata complaint
    ) external;
    function admitMembers(uint64 task, address[] calldata accounts) external;
    function commitData(uint64 task, uint32 run, bytes32[] calldata data) external;
    function consent(uint64 task, uint32 run, address[] calldata accounts) external;
    function acceptConsent(uint64 task, uint32 run) external;
    function withdrawConsent(uint64 task, uint32 run, address account) external;
    function showMasks(
        uint64 task,
        uint32 run,
        uint64 segment,
        bytes calldata masks
    ) external;
    function groupSpecOf(uint64 task) external view returns (GroupSpec memory);
    function groupOf(uint64 task) external view returns (Group memory);
    function roundOf(uint64 task, uint32 round) external view returns (Round memory);
    function messageOf(uint64 task, uint32 round, uint32 run) external view returns (RoundMessage memory);
    function holdingOf(uint64 task, uint32 round, uint32 run) external view returns (Holding memory);
    function masksOf(uint64 task, uint32 round) external view returns (RoundMasks memory);
    function memberMasksOf(uint64 task, uint32 round, uint32 run) external view returns (MemberMasks memory);
    function memberOf(uint64 task, uint32 run) external view returns (Member memory);
    function memberSegmentOf(uint64 task, uint32 run, uint64 index) external view returns (MemberSegment memory);
    function rollbacksOf(uint64 task) external view returns (Rollbacks memory);
    function memberAttemptsOf(uint64 task, uint32 run) external view returns (MemberAttempts memory);
    function admittedOf(uint64 task) external view returns (AdmittedAccounts memory);
    function consentOf(uint64 task, uint32 run) external view returns (Consent memory);
    function divisionOf(uint64 task) external view returns (Division memory);
    event RoundPhaseChanged(
        uint64 indexed task,
        uint32 indexed round,
        uint8 phase,
        uint64 deadline
    );
    event SegmentCommitted(
        uint64 indexed task,
        uint32 indexed run,
        uint32 indexed base,
        uint64 segment,
        uint32 steps
    );
    event RoundClosed(
        uint64 indexed task,
        uint32 indexed round,
        uint32 committed,
        uint32 recorded,
        uint32 revealed,
        uint32 total
    );
    event MasksChanged(
        uint64 indexed task,
        uint32 indexed round,
        uint8 step,
        uint32 members,
        uint64 deadline
    );
    event MemberJoined(
        uint64 indexed task,
        address indexed solver,
        uint32 run,
        uint32 base
    );
    event MemberLeaves(
        uint64 indexed task,
        uint32 indexed run,
        uint32 round,
        bool absent
    );
    event GroupRolledBack(
        uint64 indexed task,
        uint32 indexed run,
        uint32 first,
        uint32 last
    );
    event UndoneRepaid(
        uint64 indexed task,
        uint32 indexed run,
        address indexed requester,
        uint256 amount
    );
    event MembersAdmitted(uint64 indexed task, address[] accounts);
    event DataCommitted(uint64 indexed task, uint32 indexed run, bytes32[] data);
    event ConsentGiven(
        uint64 indexed task,
        uint32 indexed run,
        address[] accounts
    );
    event ConsentAccepted(uint64 indexed task, uint32 indexed run, address auditor);
    event ConsentWithdrawn(
        uint64 indexed task,
        uint32 indexed run,
        address auditor,
        bool byMember
    );
    error Refused(uint16 code, string slug);
}
