// SPDX-License-Identifier: MIT
// Answers of the retrace_ methods, as far as the page reads them (rpc.discover has the schemas). Quantities are "0x…".
import type { TaskEvent } from "./rpc";

export interface Status {
    version: string;
    chain_id: number;
    engine: string;
    height: number;
    block_time: number;
    genesis_hash: string;
    oldest_state: number;
    oldest_block: number;
    syncing: boolean;
    peers: number;
    stalled: boolean;
    halted: boolean;
    reason?: string;
    pool: { pending: number; queued: number; bytes: number };
}

export interface Page<T> {
    items: T[];
    next: string | null;
}

export interface TaskSummary {
    id: string;
    name: string;
    state: string;
    requester: string;
    postedHeight: string;
    segments: string;
    paid: string;
    priceCeiling: string;
}

export interface Reservation {
    id: string;
    requester: string;
    solver: string;
    state: string;
    from: string;
    until: string;
    price: string;
    deposit: string;
    locked: string;
    task: string;
    offeredHeight: string;
}

export interface ReservationAnswer {
    reservation: Reservation;
    /** null once the task has begun, or the reservation is over. */
    spec: Spec | null;
    height: string;
    why: string;
    remedy: string;
    next: string;
    nextHeight: string | null;
}

export interface Run {
    index: number;
    solver: string;
    state: string;
    price: string;
    assignedHeight: string;
    finishHeight: string;
    locked: string;
    firstState: string;
    nextState: string;
    deadline: string;
    clear: string;
    paid: string;
    openDisputes: number;
    earned: string;
}

export interface Spec {
    name: string;
    programRoot: string;
    programBytes: string;
    initRoot: string;
    initialStateRoot: string;
    dataRoots: string[];
    steps: string;
    interval: string;
    seed: string;
    contractHash: string;
    priceCeiling: string;
    auditBp: number;
    auditors: number;
    replicas: number;
    hardwareClass: number;
    checkpointBlocks: string;
    replayBlocks: string;
    finishBlocks: string;
    stepCost: string;
    allowUnaudited: boolean;
    spot: boolean;
    /** Of a segment in the last of the auctions; 0: as in the first. */
    lastCeiling: string;
    auctions: number;
    /** Blocks after an auction without winners before the next one takes bids. */
    pauseBlocks: string;
}

export interface Task {
    task: {
        id: string;
        requester: string;
        state: string;
        postedHeight: string;
        round: number;
        bidEnd: string;
        revealEnd: string;
        escrow: string;
        auditBudget: string;
        runs: number;
        active: number[];
        deliverEnd: string;
    };
    spec: Spec;
    segments: string;
    committed: string;
    clear: string;
    paid: string;
    runs: Run[];
}

export interface Checkpoint {
    commitment: string;
    height: string;
    opened: boolean;
    openHeight: string;
    root: string;
    keepers: string[];
}

export interface Segment {
    index: string;
    segment: { state: string; commitHeight: string; audits: number; audit: string; windowEnd: string; openDisputes: number };
    start: Checkpoint | null;
    end: Checkpoint | null;
    /** Of a training in rounds. */
    member: { base: number; steps: number; age: number } | null;
    /** By a rollback. */
    undone: boolean;
}

export interface ExplainedBid {
    bidder: string;
    outcome: string;
    revealed: boolean;
    price: string;
    paid: string;
    rank: number;
    finishHeight: string;
    capability: string;
    measured: string;
    why: string;
}

export interface Bids {
    round: number;
    closed: boolean;
    examinedHeight: string;
    bidBegin: string;
    bidEnd: string;
    revealEnd: string;
    priceCeiling: string;
    stakeFloor: string | null;
    auctionsLeft: number;
    nextCeiling: string | null;
    nextBegin: string | null;
    bids: ExplainedBid[];
}

export interface Audit {
    id: string;
    task: string;
    run: number;
    segment: string;
    phase: string;
    deadline: string;
    seats: { auditor: string; state: string; root: string; paid: boolean; due: string }[];
}

export interface Dispute {
    id: string;
    kind: string;
    state: string;
    task: string;
    run: number;
    segment: string;
    solver: string;
    challenger: string;
    audit: string;
    claimedRoot: string;
    bond: string;
    solverClock: string;
    challengerClock: string;
    turnHeight: string;
    deadline: string;
    mover: number;
    openedHeight: string;
    ending: number;
    rounds: number;
    evidenceBytes: string;
}

export interface Position {
    phase: string;
    firstStep: string;
    lastStep: string;
    low: string;
    high: string;
    step: string;
    stateTensor: number;
    op: number;
    opName: string;
    outputDims: string[];
    tile: string;
    link: string;
    element: string;
    rounds: number;
    evidenceBytes: string;
}

export interface DisputeAnswer {
    dispute: Dispute;
    phase: string | null;
    position: Position | null;
    decision: TaskEvent | null;
    why: string;
}

export interface GroupSpec {
    rounds: number;
    stepsMax: number;
    shared: number;
    publicTensors: number[];
    phases: { phase: number; memberSeed: boolean; programRoot: string }[];
    least: number;
    roundBlocks: string;
    graceBlocks: string;
    fetchBlocks: string;
    revealBlocks: string;
    absenceLimit: number;
    keepRounds: number;
    catchUpMax: number;
    maskBits: number;
    maskBlocks: string;
    maxAge: number;
    rollbacks: number;
    ahead: number;
    privateSets: number;
    regions: number;
    mergeBlocks: string;
}

export interface Group {
    spec: GroupSpec;
    group: { phase: string; round: number; deadline: string; committed: number[]; listed: number[]; revealed: number[]; price: string };
    members: {
        run: number;
        solver: string;
        state: string;
        earned: string;
        member: { base: number; messages: string; lastRound: number; absent: number; leaving: boolean };
    }[];
}

export interface Stake {
    bonded: string;
    locked: string;
    unbonding: string;
    unbondHeight: string;
}

export interface SolverInfo {
    endpoint: string;
    hardwareClass: number;
    height: string;
    capability: string;
    reputation: { settled: number; faults: number; silences: number; segments: string };
    capabilityHeight: string;
}

export interface VerifierInfo {
    endpoint: string;
    member: boolean;
    retiring: boolean;
    joinedEpoch: string;
    revealedEpoch: string;
    audits: string;
    missed: string;
    weight: string;
}

export interface Party {
    address: string;
    nonce: string;
    balance: string;
    stake: Stake;
    solver: SolverInfo | null;
    verifier: VerifierInfo | null;
    challenge: { state: string; score: string } | null;
    openRuns: { task: string; run: number }[];
    openAudits: string[];
    openDisputes: string[];
}

export interface Verifier {
    verifier: string;
    info: VerifierInfo;
    stake: Stake;
}

/** One on the chain's list, which has 1,024 places. */
export interface Solver {
    solver: string;
    info: SolverInfo;
    stake: Stake;
    runs: string;
}

export interface Log {
    address: string;
    topics: string[];
    data: string;
    blockNumber: string;
    transactionHash: string;
    logIndex: string;
}

export interface Tx {
    hash: string;
    nonce: string;
    from: string;
    to: string | null;
    gas: string;
    value: string;
    input: string;
    blockHash: string | null;
    blockNumber: string | null;
    transactionIndex: string | null;
    type: string;
    gasPrice: string;
}

export interface Block {
    number: string;
    hash: string;
    parentHash: string;
    timestamp: string;
    gasLimit: string;
    gasUsed: string;
    baseFeePerGas: string;
    miner: string;
    stateRoot: string;
    transactionsRoot: string;
    receiptsRoot: string;
    size: string;
    transactions: Tx[];
}

export interface TxReceipt {
    status: string;
    gasUsed: string;
    effectiveGasPrice: string;
    blockNumber: string;
    logs: Log[];
    error?: string;
}

export interface TaskExplanation {
    reason: string;
    why: string;
    remedy: string;
    next: string;
    nextHeight: string | null;
}

export interface TxExplanation {
    success: boolean;
    refusal: { code: number; slug: string; sentence: string } | null;
    why: string;
    events: TaskEvent[];
}

export interface Contract {
    name: string;
    address: string;
    abi: unknown[];
}
