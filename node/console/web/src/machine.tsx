// SPDX-License-Identifier: MIT
// The page of one running agent, for its operator: what it earned, what it does, its self-test and its log.
import { render } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { coins, count, duration, figure, tame, time } from "./format";
import { Boundary } from "./boundary";
import { Agent, type Choice, Ended, forgetToken, kMissing, type LogPage, type Machine, type Sum, takeToken } from "./machine_api";
import { Coins, ErrorLine, Facts, Panel, Table, Tiles } from "./parts";
import "./style.css";

const kEveryMs = 2_000;
const kLogLines = 1_000;

/** Calls `tick` at once and then every two seconds while the tab is seen; never two at a time. Of null nothing is called. */
function usePoll(tick: (() => Promise<void>) | null): void {
    useEffect(() => {
        if (!tick) return undefined;
        let timer = 0;
        let ended = false;
        const go = async () => {
            if (!document.hidden) await tick();
            if (!ended) timer = window.setTimeout(() => void go(), kEveryMs);
        };
        void go();
        return () => {
            ended = true;
            clearTimeout(timer);
        };
    }, [tick]);
}

function Due({ at, ledger }: { at: number; ledger: Machine["ledger"] }) {
    if (at === 0) return <span class="dim">–</span>;
    const left = at - ledger.height;
    const seconds = left * ledger.pace_s;
    const when = ledger.pace_s > 0 ? `, about ${time(ledger.block_time + seconds)}` : "";
    return (
        <span class="num" title={`block ${at}${when}`}>
            {left < 0 ? "over" : `${count(left)} blocks`}
            {left >= 0 && ledger.pace_s > 0 ? `, ${duration(seconds)}` : ""}
        </span>
    );
}

/** The newest day that a Date can name. */
const kDaysMax = 100_000_000;
const day = (n: number) => (Math.abs(n) <= kDaysMax ? new Date(n * 86_400_000).toISOString().slice(0, 10) : "–");
const taskName = (id: number) => (id === 0 ? <span class="dim">–</span> : `task ${id}`);

function Sums({ label, rows }: { label: string; rows: [string, Sum][] }) {
    if (rows.length === 0) return null;
    return (
        <Table label={label} head={[[label], ["earned", "num"], ["segments", "num"], ["audits", "num"], ["lost", "num"]]}>
            {rows.map(([name, sum]) => (
                <tr key={name}>
                    <td>{name}</td>
                    <td class="num"><Coins of={sum.earned} /></td>
                    <td class="num">{count(sum.segments)}</td>
                    <td class="num">{count(sum.audits)}</td>
                    <td class="num"><Coins of={sum.lost} /></td>
                </tr>
            ))}
        </Table>
    );
}

function Earned({ of: { ledger, fees_since_start } }: { of: Machine }) {
    const { total } = ledger;
    const today = ledger.days.find((one) => day(one.day) === day(Math.floor(ledger.block_time / 86_400)));
    const blocks = ledger.income_last === 0 ? "nothing is read yet" : `blocks ${ledger.income_first} to ${ledger.income_last}${ledger.income_complete ? "" : ", older ones are being read"}`;
    return (
        <Panel title="Earnings" aside={blocks}>
            <Tiles
                rows={[
                    ["earned", <Coins of={total.earned} />, `coins for ${count(total.segments)} segments, ${count(total.audits)} audits`],
                    ["today", <Coins of={today?.earned ?? "0x0"} />, "coins, by the chain's clock in UTC"],
                    ["slashed", <Coins of={total.lost} />, "coins"],
                    ["locked", <Coins of={ledger.locked} />, `of ${coins(ledger.bonded)} coins of stake`],
                    ["balance", <Coins of={ledger.balance} />, `coins; fees since the start ${coins(fees_since_start)}`],
                ]}
            />
            <Sums label="day" rows={ledger.days.map((one) => [day(one.day), one])} />
            <Sums
                label="for"
                rows={[...ledger.tasks.map((one): [string, Sum] => [one.task === 0 ? "no task" : `task ${one.task}`, one]), ...ledger.audits.map((one): [string, Sum] => [`audit ${one.audit}`, one])]}
            />
        </Panel>
    );
}

function Doing({ of }: { of: Machine }) {
    return (
        <Panel title="Now and next" aside={of.draining ? "it is draining: it begins nothing new" : `block ${count(of.height)}`}>
            {of.work.length === 0 ? (
                <p>It computes nothing at the moment.</p>
            ) : (
                <ol class="work">
                    {of.work.map((item, i) => (
                        <li key={i}>{`${i === 0 ? "now: " : "then: "}${tame(item, 120)}`}</li>
                    ))}
                </ol>
            )}
            <Table label="What it owes" head={[["what"], ["for"], ["left", "num"]]} empty={of.duties.length === 0 && "it owes nothing"}>
                {of.duties.map((duty, i) => (
                    <tr key={i}>
                        <td>{tame(duty.what, 120)}</td>
                        <td>{taskName(duty.task)}</td>
                        <td class="num"><Due at={duty.due} ledger={of.ledger} /></td>
                    </tr>
                ))}
            </Table>
            {of.waiting.length > 0 && (
                <Table label="What failed and is tried again" head={[["failed"], ["for"], ["why"], ["next attempt", "num"]]}>
                    {of.waiting.map((one, i) => (
                        <tr key={i}>
                            <td>{tame(one.what, 80)}</td>
                            <td>{taskName(one.task)}</td>
                            <td>{tame(one.why, 300)}</td>
                            <td class="num"><Due at={one.next} ledger={of.ledger} /></td>
                        </tr>
                    ))}
                </Table>
            )}
        </Panel>
    );
}

function Choices({ of }: { of: Machine }) {
    const none = of.choices.length + of.earlier.length === 0;
    const row = (one: Choice, when: string) => (
        <tr key={`${one.task} ${when}`}>
            <td>{taskName(one.task)}</td>
            <td>{when}</td>
            <td>{one.taken ? "yes" : "no"}</td>
            <td class="num">{one.per_hour === null ? "–" : figure(Number(one.per_hour) / 1e18)}</td>
            <td>{tame(one.reason, 300)}</td>
        </tr>
    );
    return (
        <Panel title="Choices" aside="the same as retrace solver explain">
            <Table label="Choices" head={[["task"], ["when"], ["bids"], ["coins an hour", "num"], ["why"]]} empty={none && "no task takes bids"}>
                {of.choices.map((one) => row(one, "now"))}
                {of.earlier.map((one) => row(one, `until block ${one.height}`))}
            </Table>
        </Panel>
    );
}

const share = (part: number) => `${(100 * part).toFixed(0)} %`;

function Reserved({ of }: { of: Machine }) {
    if (of.reserved.length === 0) return null;
    return (
        <Panel title="Reserved time" aside="kept for tasks of others, whose stake is locked">
            <Table label="Reserved time" head={[["reservation"], ["begins from", "num"], ["and before", "num"], ["needs", "num"], ["is left then", "num"]]}>
                {of.reserved.map((one) => (
                    <tr key={one.reservation}>
                        <td class="num">{one.reservation}</td>
                        <td class="num"><Due at={one.from} ledger={of.ledger} /></td>
                        <td class="num"><Due at={one.until} ledger={of.ledger} /></td>
                        <td class="num">{share(one.load)}</td>
                        <td class="num">{share(one.left)}</td>
                    </tr>
                ))}
            </Table>
        </Panel>
    );
}

const kGrades: { [grade: string]: string } = { pass: "good", warn: "busy", fail: "bad" };

function SelfTest({ of, agent }: { of: Machine["self_test"]; agent: Agent | undefined }) {
    const [error, setError] = useState("");
    const start = () => {
        setError("");
        agent?.ask("/machine/self-test", "POST").catch((failed: Error) => setError(failed.message));
    };
    return (
        <Panel title="Self-test" aside={of.made ? `made ${time(of.made)}` : undefined}>
            <p>
                <button type="button" onClick={start} disabled={of.running}>
                    {of.running ? "Testing …" : "Test this machine"}
                </button>{" "}
                <span class="dim">It measures the processor and the disk for some seconds beside the work; at most once a minute.</span>
            </p>
            <ErrorLine text={error || (of.result?.error ? `The self-test failed: ${of.result.error}` : "")} />
            {of.result?.checks && (
                <Table label="Self-test" head={[["check"], ["result"], ["found"], ["required"], ["remedy"]]}>
                    {of.result.checks.map((one) => (
                        <tr key={one.name}>
                            <td>{one.name}{one.why && <div class="dim why">{tame(one.why, 300)}</div>}</td>
                            <td><span class={`state ${kGrades[one.grade] ?? "idle"}`}>{one.grade}</span></td>
                            <td>{tame(one.found, 300)}</td>
                            <td>{tame(one.required, 300)}</td>
                            <td>{one.remedy ? tame(one.remedy, 400) : <span class="dim">–</span>}</td>
                        </tr>
                    ))}
                </Table>
            )}
        </Panel>
    );
}

/** The newest lines that the agent has in memory. The list follows its end while the end is seen. */
function Log({ agent }: { agent: Agent | undefined }) {
    const [lines, setLines] = useState<string[]>([]);
    const next = useRef(0);
    const box = useRef<HTMLPreElement>(null);
    const follows = useRef(true);
    const tick = useCallback(async () => {
        if (!agent) return;
        try {
            const page = await agent.ask<LogPage>(`/machine/log?from=${next.current}`);
            const restarted = page.first < next.current;
            next.current = page.first + page.lines.length;
            if (page.lines.length > 0 || restarted) setLines((old) => [...(restarted ? [] : old), ...page.lines].slice(-kLogLines));
        } catch {
            // The state says that the agent does not answer.
        }
    }, [agent]);
    usePoll(agent ? tick : null);
    useEffect(() => {
        if (follows.current && box.current) box.current.scrollTop = box.current.scrollHeight;
    }, [lines]);
    return (
        <Panel title="Log" aside={`${count(lines.length)} lines`}>
            <pre
                class="log"
                ref={box}
                tabIndex={0}
                role="group"
                aria-label="Log"
                onScroll={({ currentTarget: at }) => {
                    follows.current = at.scrollHeight - at.scrollTop - at.clientHeight < 20;
                }}
            >
                {lines.map((line) => tame(line, 2_000)).join("\n")}
            </pre>
        </Panel>
    );
}

/** The button that ends the agent, which asks once more. */
function Stop({ of, agent }: { of: Machine; agent: Agent | undefined }) {
    const [asks, setAsks] = useState(false);
    const [said, setSaid] = useState("");
    const [error, setError] = useState("");
    const drains = of.role === "solver";
    const stop = () => {
        setAsks(false);
        agent?.ask("/machine/stop", "POST").then(
            () => setSaid(drains ? "It drains: it bids no more and ends at the next checkpoint of each task." : "It ends now."),
            (failed: Error) => setError(failed.message),
        );
    };
    const name = drains ? "Drain and end the agent" : "End the agent";
    return (
        <Panel title={drains ? "Drain" : "End"}>
            {said || of.draining ? (
                <p role="status">{said || "It drains: it bids no more and ends at the next checkpoint of each task."}</p>
            ) : asks ? (
                <p role="alertdialog" aria-label="Confirm">
                    {drains
                        ? "It will bid no more and end at the next checkpoint of each task. What it owes after that stays due: start it again in time. "
                        : "It will end at once. A verifier that is away misses its audits and its place in the beacon, and pays for them: start it again soon. "}
                    <button type="button" onClick={stop}>{drains ? "Drain" : "End"}</button>{" "}
                    <button type="button" class="quiet" onClick={() => setAsks(false)}>Go on</button>
                </p>
            ) : (
                <p>
                    <button type="button" onClick={() => setAsks(true)}>{name}</button> <span class="dim">Does what SIGTERM does.</span>
                </p>
            )}
            <ErrorLine text={error} />
        </Panel>
    );
}

function App() {
    const [token, setToken] = useState(takeToken);
    const agent = useMemo(() => (token ? new Agent(token) : undefined), [token]);
    const [machine, setMachine] = useState<Machine>();
    const [trouble, setTrouble] = useState(token ? "" : kMissing);
    // A link that is pasted into an open tab loads nothing.
    useEffect(() => {
        const change = () => setToken(takeToken());
        window.addEventListener("hashchange", change);
        return () => window.removeEventListener("hashchange", change);
    }, []);
    const tick = useCallback(async () => {
        if (!agent) return;
        try {
            const told = await agent.ask<Machine>("/machine/state");
            if (typeof told.ledger !== "object" || !told.ledger || typeof told.self_test !== "object" || !told.self_test)
                throw new Ended("Something else than the agent answers. Open the link that the agent prints at its start.");
            setMachine(told);
            setTrouble("");
        } catch (failed) {
            setTrouble((failed as Error).message);
            if (!(failed instanceof Ended)) return;
            forgetToken();
            setToken("");
        }
    }, [agent]);
    usePoll(agent ? tick : null);
    useEffect(() => {
        if (machine) document.title = `${machine.role} – Retrace agent`;
    }, [machine?.role]);
    return (
        <>
            <header class="top">
                <span class="name">Retrace</span>
                <span>{machine ? `this machine as a ${tame(machine.role, 20)}` : "this machine"}</span>
                <span class={trouble ? "link lost" : "link open"}>{trouble ? "not connected" : machine ? `block ${count(machine.ledger.height)}` : "connecting …"}</span>
            </header>
            {trouble && (
                <p class="banner" role="status">
                    {tame(trouble, 300)}
                    {machine ? " What is shown may be old." : ""}
                </p>
            )}
            <main id="main" tabIndex={-1}>
                <h1>My machine</h1>
                {machine && (
                    <>
                        {machine.ledger.trouble && <ErrorLine text={`The node: ${machine.ledger.trouble}`} />}
                        <Facts
                            rows={[
                                ["account", machine.address ? <a class="mono" href={`${machine.node}/#/account/${machine.address}`} rel="noreferrer">{machine.address}</a> : "opening …"],
                                ["node", <code>{tame(machine.node, 200)}</code>],
                                ["serves artifacts at", machine.endpoint ? <code>{tame(machine.endpoint, 200)}</code> : "opening …"],
                                ["calls under way", count(machine.pending_calls)],
                                ["problems since the start", count(machine.problems)],
                            ]}
                        />
                        {[
                            <Earned of={machine} />,
                            <Doing of={machine} />,
                            <Reserved of={machine} />,
                            machine.role === "solver" && <Choices of={machine} />,
                            <SelfTest of={machine.self_test} agent={agent} />,
                            <Log agent={agent} />,
                            <Stop of={machine} agent={agent} />,
                        ].map((panel, i) => (
                            <Boundary key={i} failed={(error) => <ErrorLine text={`A part of this page cannot be shown: ${error}`} />}>
                                {panel}
                            </Boundary>
                        ))}
                    </>
                )}
            </main>
            <footer>
                Served by the agent itself, on this machine only. Earnings and stake are as the agent's node tells them; the page checks no proofs.
            </footer>
        </>
    );
}

render(<App />, document.getElementById("app") as HTMLElement);
