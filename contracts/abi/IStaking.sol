// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

/// At 0x0000000000000000000000000000000000001001. What each method does: contracts/calls/calls.hpp.
interface IStaking {
    struct Stake {
        uint256 bonded;
        uint256 locked;
        uint256 unbonding;
        uint64 unbondHeight;
    }
    struct Reputation {
        uint32 settled;
        uint32 faults;
        uint32 silences;
        uint64 segments;
    }
    struct SolverInfo {
        string endpoint;
        uint8 hardwareClass;
        uint64 height;
        uint64 capability;
        Reputation reputation;
        uint64 capabilityHeight;
        uint64 challenge;
        uint64 challengeHeight;
    }
    struct VerifierInfo {
        string endpoint;
        bool member;
        bool retiring;
        bytes32 head;
        bytes32 pendingHead;
        uint64 joinedEpoch;
        uint64 revealedEpoch;
        uint64 audits;
        uint64 missed;
        uint256 weight;
        uint256 nextWeight;
    }
    struct Challenge {
        uint64 id;
        address solver;
        uint8 state;
        uint64 openedHeight;
        uint64 seed;
        uint64 seedHeight;
        uint64 deadline;
        uint64 rounds;
        bytes32 root;
        uint64 answerHeight;
        bytes32 drawBeacon;
        uint64 score;
    }
    struct Beacon {
        uint64 epoch;
        bytes32 value;
    }
    struct Standing {
        uint256 verified;
        uint256 lost;
        uint64 height;
    }
    function deposit() external payable;
    function beginUnbond(uint256 amount) external;
    function withdraw() external;
    function registerSolver(string calldata endpoint, uint8 hardwareClass) external;
    function registerVerifier(string calldata endpoint, bytes32 chainHead) external;
    function retireVerifier() external;
    function revealBeacon(bytes32 preimage) external;
    function answerCapability(uint64 challenge, uint64 rounds, bytes32 root) external;
    function proveCapability(uint64 challenge, bytes calldata proof) external;
    function stakeOf(address party) external view returns (Stake memory);
    function solverOf(address party) external view returns (SolverInfo memory);
    function verifierOf(address party) external view returns (VerifierInfo memory);
    function challengeOf(address solver) external view returns (Challenge memory);
    function beacon() external view returns (Beacon memory);
    function standingOf(address party) external view returns (Standing memory);
    event StakeChanged(
        address indexed party,
        uint256 bonded,
        uint256 locked,
        uint256 unbonding
    );
    event Slashed(
        address indexed party,
        uint64 indexed task,
        uint256 amount,
        uint256 burned,
        uint256 toOthers,
        string reason
    );
    event SolverRegistered(
        address indexed solver,
        string endpoint,
        uint8 hardwareClass
    );
    event VerifierRegistered(
        address indexed verifier,
        string endpoint,
        uint64 joinedEpoch
    );
    event VerifierLeft(address indexed verifier, bool dropped);
    event BeaconMixed(uint64 indexed epoch, bytes32 value, uint32 reveals);
    event CapabilityChallenged(
        address indexed solver,
        uint64 indexed challenge,
        uint64 seedHeight
    );
    event CapabilityAnswered(
        address indexed solver,
        uint64 indexed challenge,
        uint64 rounds,
        bytes32 root
    );
    event CapabilityMeasured(
        address indexed solver,
        uint64 indexed challenge,
        uint64 score,
        uint8 state
    );
    error Refused(uint16 code, string slug);
}
