// SPDX-License-Identifier: MIT
// An account: balance, stake, registrations, what is open, its tasks and its newest events.
import { useState } from "preact/hooks";
import { contractAt, eventOf } from "../abi";
import { coins, count, hex, num, parseCoins, tame, words } from "../format";
import { useContracts, useHead, useQuery, useTitle } from "../hooks";
import { usePagedLogs } from "../paged_logs";
import { BlockLink, Coins, ErrorLine, Facts, Hash, Panel, Pending, Tiles, TxLink } from "../parts";
import { proveAccount } from "../proof";
import type { Page, Party, TaskSummary } from "../records";
import { Send, useAccount } from "../actions";
import { LongTable } from "../windowed";
import { Duties, Income } from "./income";
import { Reservations } from "./reservations";
import { TaskTable } from "./tasks";

const kBlocks = 50_000;

/** The logs that name the address as one of their first two indexed arguments. */
function topicsOf(address: string) {
    const padded = `0x${address.slice(2).toLowerCase().padStart(64, "0")}`;
    return [[padded], [null, padded]].map((rest) => ({ topics: [null, ...rest] }));
}

/** The stake of the connected account. */
function Stake({ address }: { address: string }) {
    const account = useAccount();
    const [amount, setAmount] = useState("");
    if (account?.address !== address.toLowerCase()) return null;
    const wei = () => {
        const parsed = parseCoins(amount);
        if (!parsed) throw new Error("Give a number of coins above zero, such as 1.5.");
        return parsed;
    };
    return (
        <Panel title="Your stake">
            <p>
                <label>
                    coins <input value={amount} inputMode="decimal" maxLength={31} onInput={(event) => setAmount(event.currentTarget.value)} />
                </label>
            </p>
            <p><Send label="Stake" make={() => ({ contract: "IStaking", method: "deposit", args: [], value: wei() })} done="Staked" /></p>
            <p><Send label="Begin to unbond" make={() => ({ contract: "IStaking", method: "beginUnbond", args: [wei()] })} done="Unbonding" /></p>
            <p>All that is unbonding has one wait, which begins again with each "Begin to unbond": withdraw first what is free soon.</p>
            <p><Send label="Withdraw what is unbonded" make={() => ({ contract: "IStaking", method: "withdraw", args: [] })} done="Withdrawn" /></p>
        </Panel>
    );
}

/** The balance by a proof against a header, when the person asks. */
function ProvedBalance({ address }: { address: string }) {
    const [said, setSaid] = useState("");
    const [error, setError] = useState("");
    const go = () => {
        setError("");
        proveAccount(address).then(
            ({ value, height, block }) =>
                setSaid(`${coins(hex(value.balance))} coins and nonce ${value.nonce} are in the state of block ${count(height)}, ${block}. That this block is the chain's, the node says: compare its hash with another node's.`),
            (e: Error) => setError(e.message),
        );
    };
    return (
        <>
            <p>
                <button type="button" onClick={go}>Check the balance by a proof</button> <span role="status">{said}</span>
            </p>
            <ErrorLine text={error} />
        </>
    );
}

export function AccountPage({ address }: { address: string }) {
    const known = /^0x[0-9a-f]{40}$/i.test(address);
    useTitle(`account ${address.slice(0, 10)}`);
    const head = useHead();
    const tip = useQuery<string>("eth_blockNumber", []);
    const contracts = useContracts();
    const party = useQuery<Party>(known ? "retrace_party" : null, [address], "blocks");
    const tasks = useQuery<Page<TaskSummary>>(known ? "retrace_tasks" : null, [{ party: address, limit: 20 }], { task: 0 });
    const height = num(head?.number ?? tip.data);
    const { logs, error, readOlder, reading } = usePagedLogs(known ? address.toLowerCase() : "", topicsOf(address), height, kBlocks);
    if (!known) return <p class="error">An address has 40 hex digits.</p>;
    const contract = contractAt(contracts, address);
    const p = party.data;
    return (
        <>
            <h1>{contract ? `Contract ${contract.name.replace(/^I/, "")}` : "Account"}</h1>
            <p><Hash of={address} /></p>
            {!p && <Pending error={party.error} data={p} what="account" />}
            {p && (
                <>
                    <Tiles
                        rows={[
                            ["balance", <Coins of={p.balance} />, "coins"],
                            ["staked", <Coins of={p.stake.bonded} />, "coins"],
                            ["locked", <Coins of={p.stake.locked} />, "of the stake"],
                            ["unbonding", <Coins of={p.stake.unbonding} />, num(p.stake.unbondHeight) ? `until block ${count(p.stake.unbondHeight)}` : ""],
                            ["transactions", count(p.nonce)],
                        ]}
                    />
                    <ProvedBalance address={address} />
                    <Duties party={p} height={height} />
                    <Stake address={address} />
                    {p.solver && (
                        <Panel title="Solver">
                            <Facts
                                rows={[
                                    ["endpoint", <span class="mono break">{tame(p.solver.endpoint, 200)}</span>],
                                    ["measured speed", num(p.solver.capability) ? `${(num(p.solver.capability) / 1e9).toPrecision(3)} · 10⁹ multiply-adds a block` : "not measured"],
                                    ["measurement", p.challenge ? words(p.challenge.state) : "none"],
                                    ["record", `${p.solver.reputation.settled} runs settled, ${p.solver.reputation.faults} convicted, ${p.solver.reputation.silences} stopped; ${count(p.solver.reputation.segments)} segments`],
                                ]}
                            />
                        </Panel>
                    )}
                    {p.verifier && (
                        <Panel title="Verifier">
                            <Facts
                                rows={[
                                    ["endpoint", <span class="mono break">{tame(p.verifier.endpoint, 200)}</span>],
                                    ["takes part", p.verifier.retiring ? "is leaving" : p.verifier.member ? "yes" : "no"],
                                    ["record", `${count(p.verifier.audits)} audits, ${count(p.verifier.missed)} missed`],
                                ]}
                            />
                        </Panel>
                    )}
                </>
            )}
            {logs && <Income contracts={contracts} address={address} logs={logs.items} blocks={Math.max(0, height - logs.from + 1)} />}
            {tasks.data && tasks.data.items.length > 0 && (
                <Panel title="Tasks">
                    <TaskTable tasks={tasks.data.items} />
                </Panel>
            )}
            <Reservations party={address} />
            <Panel title="Newest events" aside={logs && (logs.whole ? `from block ${count(logs.from)} on` : `from block ${count(logs.from)} on: this node keeps no older ones`)}>
                {error && <Pending error={error} data={undefined} what="events" />}
                {logs && (
                    <LongTable
                        label="Newest events"
                        head={[["block", "num"], ["event"], ["transaction"]]}
                        empty="None."
                        rows={logs.items}
                        keyOf={(log) => `${log.blockNumber} ${log.logIndex}`}
                        cells={(log) => (
                            <>
                                <td class="num"><BlockLink of={log.blockNumber} /></td>
                                <td>{tame(eventOf(contracts, log)?.name ?? "unknown")}</td>
                                <td><TxLink of={log.transactionHash} /></td>
                            </>
                        )}
                    />
                )}
                {readOlder && (
                    <p>
                        <button type="button" disabled={reading} onClick={readOlder}>
                            {reading ? "Reading …" : `Read ${count(kBlocks)} older blocks`}
                        </button>
                    </p>
                )}
            </Panel>
        </>
    );
}
