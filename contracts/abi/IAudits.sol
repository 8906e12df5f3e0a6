// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

/// At 0x0000000000000000000000000000000000001003. What each method does: contracts/calls/calls.hpp.
interface IAudits {
    struct Seat {
        address auditor;
        uint8 state;
        uint256 bond;
        bytes32 commitment;
        bytes32 root;
        bool paid;
        uint32 reports;
        uint32 moves;
        uint64 due;
    }
    struct Audit {
        uint64 id;
        uint64 task;
        uint32 run;
        uint64 segment;
        uint8 phase;
        uint64 deadline;
        uint64 redraws;
        Seat[] seats;
        uint32[] waiting;
    }
    struct Report {
        uint64 id;
        uint8 kind;
        uint8 state;
        address reporter;
        uint64 task;
        uint32 run;
        uint64 index;
        uint32 tensor;
        uint64 tile;
        uint64 deadline;
        uint256 fee;
    }
    struct Retention {
        uint64 id;
        uint8 state;
        uint64 task;
        uint32 run;
        uint64 index;
        address solver;
        address keeper;
        uint256 fee;
    }
    function openSegment(
        uint64 task,
        uint32 run,
        uint64 segment,
        bytes32 salt,
        bytes32 root
    ) external;
    function commitVerdict(uint64 audit, bytes32 commitment) external;
    function revealSegment(
        uint64 task,
        uint32 run,
        uint64 segment,
        bytes32 salt,
        bytes32 root
    ) external;
    function revealVerdict(uint64 audit, bytes32 root, bytes32 salt) external;
    function attestRetention(uint64 task, uint32 run, uint64 index) external;
    function requestRetention(uint64 task, uint32 run, uint64 index) external payable;
    function reportUnavailable(
        uint8 kind,
        uint64 task,
        uint32 run,
        uint64 index,
        uint32 tensor,
        uint64 tile
    ) external payable;
    function answerUnavailable(uint64 report, bytes calldata proof) external;
    function auditOf(uint64 audit) external view returns (Audit memory);
    function reportOf(uint64 report) external view returns (Report memory);
    function retentionOf(uint64 retention) external view returns (Retention memory);
    event AuditorsDrawn(
        uint64 indexed audit,
        uint64 indexed task,
        uint32 run,
        uint64 segment,
        address[] auditors
    );
    event AuditPhaseChanged(
        uint64 indexed audit,
        uint64 indexed task,
        uint8 phase,
        uint64 deadline
    );
    event VerdictCommitted(uint64 indexed audit, address indexed auditor);
    event VerdictRevealed(
        uint64 indexed audit,
        address indexed auditor,
        bytes32 root,
        bool matches
    );
    event AuditPaid(
        uint64 indexed audit,
        address indexed auditor,
        uint256 amount
    );
    event RetentionAttested(
        uint64 indexed task,
        address indexed keeper,
        uint32 run,
        uint64 index
    );
    event ReportOpened(
        uint64 indexed report,
        uint64 indexed task,
        uint8 kind,
        uint32 run,
        uint64 index,
        uint32 tensor,
        uint64 tile,
        uint64 deadline
    );
    event ReportClosed(uint64 indexed report, uint64 indexed task, bool answered);
    event RetentionRequested(
        uint64 indexed retention,
        uint64 indexed task,
        uint32 run,
        uint64 index,
        uint256 fee
    );
    event RetentionClosed(
        uint64 indexed retention,
        uint64 indexed task,
        address keeper
    );
    error Refused(uint16 code, string slug);
}
