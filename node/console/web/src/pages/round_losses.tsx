// SPDX-License-Identifier: MIT
// The losses of the members of a training in rounds: a point for each segment, which says whose it is and who checked it.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Chart } from "../chart";
import { count, figure, num } from "../format";
import { kPointsMax } from "../losses";
import { Address, ErrorLine, State, Table } from "../parts";
import type { Group, Task } from "../records";
import { fetchRoundLosses, type MemberLoss, type Standing, standings } from "../round_losses";
import type { TaskEvent } from "../rpc";

const kRows = 100;
const kPauseMs = 3000; // between two looks for newer losses

interface Known extends MemberLoss {
    standing: Standing;
}

/** The mean of a round's losses that are finite, at the first point of the round. */
function means(points: Known[]): (number | null)[] {
    const sums = new Map<number, { sum: number; count: number }>();
    for (const { round, loss } of points) {
        if (!Number.isFinite(loss)) continue;
        const one = sums.get(round) ?? { sum: 0, count: 0 };
        sums.set(round, { sum: one.sum + loss, count: one.count + 1 });
    }
    return points.map(({ round }, i) => {
        const one = sums.get(round);
        return one && points[i - 1]?.round !== round ? one.sum / one.count : null;
    });
}

function Curve({ points }: { points: Known[] }) {
    const { x, of, mean } = useMemo(() => ({
        x: points.map(({ round }) => round),
        of: (wanted: Standing[]) => points.map(({ standing, loss }) => (wanted.includes(standing) ? loss : null)),
        mean: means(points),
    }), [points]);
    const many = (standing: Standing) => count(points.filter((one) => one.standing === standing).length);
    const missing = points.filter(({ loss }) => !Number.isFinite(loss)).length;
    return (
        <>
            <Chart
                label="Loss of the members' last steps in each round"
                x={x}
                xName="round"
                series={[
                    { name: "replayed by auditors", values: of(["verified"]), points: true, filled: true },
                    { name: "not verified", values: of(["claimed", "convicted"]), points: true },
                    { name: "mean of these members", values: mean, spans: true },
                ]}
                height={180}
            />
            <p class="caption">
                {`${many("verified")} points are verified, ${many("claimed")} are claimed, ${many("convicted")} are of convicted members`}
                {missing > 0 && `; ${count(missing)} without a finite value`}
            </p>
        </>
    );
}

function Points({ points }: { points: Known[] }) {
    return (
        <Table label="Losses of members" head={[["round", "num"], ["member"], ["steps", "num"], ["loss", "num"], ["state"]]}>
            {[...points].reverse().slice(0, kRows).map((one) => (
                <tr key={`${one.run} ${one.segment}`}>
                    <td class="num">{count(one.round)}</td>
                    <td>run {one.run}, <Address of={one.solver} /></td>
                    <td class="num">{count(one.steps)}</td>
                    <td class="num">{figure(one.loss)}</td>
                    <td><State of={one.standing === "claimed" ? "not verified" : one.standing} /></td>
                </tr>
            ))}
        </Table>
    );
}

export function RoundLosses({ task, group, events }: { task: Task; group: Group; events: TaskEvent[] }) {
    const [all, setAll] = useState<ReadonlyMap<string, MemberLoss>>(new Map());
    const [progress, setProgress] = useState("");
    const [error, setError] = useState("");
    const [follows, setFollows] = useState(false);
    const [shown, setShown] = useState("all");
    const running = useRef<AbortController>();
    const latest = useRef({ task, group, events });
    latest.current = { task, group, events };
    useEffect(() => () => running.current?.abort(), []);
    const go = (again: boolean) => {
        const controller = new AbortController();
        running.current = controller;
        const { task: now, group: members, events: list } = latest.current;
        setProgress("asking the members …");
        // What was fetched stays, also when nobody has it any more.
        const tell = (found: MemberLoss[]) => setAll((old) => new Map([...old, ...found.map((one) => [`${one.run} ${one.segment}`, one] as const)]));
        fetchRoundLosses(now, members, list, again, controller.signal, tell)
            .then(setError, (e: Error) => {
                if (controller.signal.aborted) return;
                setError(e.message);
                setFollows(false);
            })
            .finally(() => setProgress(""));
    };
    useEffect(() => {
        if (!follows || progress) return undefined;
        const timer = window.setTimeout(() => go(false), kPauseMs);
        return () => clearTimeout(timer);
    }, [follows, progress, events]);
    const points = useMemo(() => {
        const standing = standings(events, group);
        const chosen = [...all.values()].filter(({ run }) => shown === "all" || String(run) === shown);
        return chosen.map((one) => ({ ...one, standing: standing(one) })).sort((a, b) => a.round - b.round || a.run - b.run);
    }, [all, events, group, shown]);
    return (
        <>
            <p class="caption">
                Each segment of a member commits to the loss of its last step. A point is <strong>verified</strong> if auditors replayed that segment
                and got the same bits; the others are what their member claims. The newest, at most {kPointsMax} in all, are fetched from members once
                their states are open, and compared with the roots on the ledger.
            </p>
            <p>
                <button
                    type="button"
                    disabled={progress !== "" && !follows}
                    onClick={() => {
                        if (!follows) go(true);
                        else running.current?.abort();
                        setFollows(!follows);
                    }}
                >
                    {follows ? "Stop following" : all.size ? "Follow the losses again" : "Fetch the losses, and follow"}
                </button>{" "}
                {all.size > 0 && (
                    <label>
                        of{" "}
                        <select value={shown} onChange={(event) => setShown(event.currentTarget.value)}>
                            <option value="all">all members</option>
                            {group.members.map(({ run }) => <option key={run} value={String(run)}>run {run}</option>)}
                        </select>
                    </label>
                )}{" "}
                <span role="status">{progress}</span>
            </p>
            {points.length > 0 && <Curve points={points} />}
            {points.length > 0 && <Points points={points} />}
            {follows && all.size === 0 && !progress && <p class="dim">No member's state is open yet that somebody sends.</p>}
            <ErrorLine text={error} />
            {num(group.group.round) > 0 || <p class="dim">No round was closed yet.</p>}
        </>
    );
}
