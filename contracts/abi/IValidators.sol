// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

/// At 0x0000000000000000000000000000000000001005. What each method does: contracts/calls/calls.hpp.
interface IValidators {
    struct ValidatorInfo {
        bytes32 key;
        bytes vrfKey;
        uint256 stake;
        uint256 leaving;
        uint64 leavingHeight;
        uint64 granted;
        uint64 jailedUntil;
        bool doubleSigned;
        uint64 missedWindow;
        uint64 missed;
        uint64 missedEpoch;
        uint64 epochMissed;
    }
    struct SetMember {
        address account;
        bytes32 key;
        uint64 power;
    }
    struct ValidatorSet {
        SetMember[] members;
    }
    struct ValidatorRules {
        uint64 places;
        uint256 minStake;
        uint64 unbondBlocks;
        uint64 evidenceBlocks;
        uint64 downtimeBlocks;
        uint64 jailBlocks;
        uint64 downtimeBp;
        uint64 doubleSignBp;
    }
    struct UpgradeVote {
        address account;
        uint64 version;
        uint64 height;
    }
    struct Upgrade {
        uint64 current;
        uint64 version;
        uint64 height;
        UpgradeVote[] votes;
    }
    function registerValidator(
        bytes32 key,
        bytes calldata signature,
        bytes calldata vrfKey,
        bytes calldata vrfProof
    ) external;
    function bondValidator(uint256 amount) external;
    function unbondValidator(uint256 amount) external;
    function releaseValidator() external;
    function unjailValidator() external;
    function voteUpgrade(uint64 version, uint64 height) external;
    function validatorOf(address account) external view returns (ValidatorInfo memory);
    function validatorSet() external view returns (ValidatorSet memory);
    function validatorRules() external view returns (ValidatorRules memory);
    function upgrade() external view returns (Upgrade memory);
    event ValidatorRegistered(address indexed account, bytes32 key);
    event ValidatorStakeChanged(address indexed account, uint256 stake, uint256 leaving);
    event ValidatorPowerChanged(address indexed account, bytes32 key, uint64 power);
    event ValidatorJailed(address indexed account, uint64 until);
    event UpgradeDecided(uint64 indexed version, uint64 height);
    error Refused(uint16 code, string slug);
}
