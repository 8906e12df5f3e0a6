// SPDX-License-Identifier: MIT
// The numbers of the members of a training in rounds: a point for each segment, which says whose it is and who checked it.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Chart } from "../chart";
import { count, figure, num, save } from "../format";
import { csvOf, forgetFailures, type Slot, slotsOf } from "../numbers";
import { Address, ErrorLine, State } from "../parts";
import type { StateTensor } from "../program";
import type { Dispute, Group, Task } from "../records";
import { fetchMembers, type MemberPoint, memberStates, type Standing, standings } from "../round_numbers";
import type { TaskEvent } from "../rpc";
import { LongTable } from "../windowed";
import { kNoLoss, SlotChoice } from "./kept_numbers";
import { Bar } from "./tasks";

const kPauseMs = 3000; // between two looks for newer states

interface Known extends MemberPoint {
    standing: Standing;
}

/** The mean of a round's numbers that are finite, at the first point of the round. */
function means(points: Known[], place: number): (number | null)[] {
    const sums = new Map<number, { sum: number; count: number }>();
    for (const { round, values } of points) {
        const value = values.get(place) ?? NaN;
        if (!Number.isFinite(value)) continue;
        const one = sums.get(round) ?? { sum: 0, count: 0 };
        sums.set(round, { sum: one.sum + value, count: one.count + 1 });
    }
    return points.map(({ round }, i) => {
        const one = sums.get(round);
        return one && points[i - 1]?.round !== round ? one.sum / one.count : null;
    });
}

function Curve({ slot, points }: { slot: Slot; points: Known[] }) {
    const { x, of, mean } = useMemo(() => ({
        x: points.map(({ round }) => round),
        of: (wanted: Standing[]) => points.map(({ standing, values }) => (wanted.includes(standing) ? (values.get(slot.place) ?? null) : null)),
        mean: means(points, slot.place),
    }), [points, slot.place]);
    return (
        <Chart
            label={`${slot.label} of the members' last steps in each round`}
            x={x}
            xName="round"
            series={[
                { name: `${slot.label}, replayed by auditors`, values: of(["verified"]), points: true, filled: true },
                { name: "not verified", values: of(["claimed", "disputed", "convicted"]), points: true },
                { name: "mean of these members", values: mean, spans: true },
            ]}
            height={180}
        />
    );
}

function Curves({ points, slots, task }: { points: Known[]; slots: Slot[]; task: Task }) {
    const many = (standing: Standing) => count(points.filter((one) => one.standing === standing).length);
    const missing = points.filter(({ values }) => slots.some(({ place }) => !Number.isFinite(values.get(place)))).length;
    const csv = () => {
        const rows = points.map(({ round, run, solver, segment, steps, standing, values }) =>
            [round, run, solver, segment, steps, ...slots.map(({ place }) => values.get(place) ?? ""), standing]);
        save(`task-${num(task.task.id)}-members.csv`, csvOf(["round", "run", "solver", "segment", "steps", ...slots.map(({ label }) => label), "standing"], rows));
    };
    return (
        <>
            {slots.map((slot) => <Curve key={slot.place} slot={slot} points={points} />)}
            <p class="caption">
                {`${many("verified")} points are verified, ${many("claimed")} are claimed, ${many("disputed")} are disputed, ${many("convicted")} are of convicted members`}
                {missing > 0 && `; ${count(missing)} without a finite value`}{" "}
                <button type="button" onClick={csv}>Save them as CSV</button>
            </p>
        </>
    );
}

function Points({ points, slots }: { points: Known[]; slots: Slot[] }) {
    return (
        <LongTable
            label="Metrics of members"
            head={[["round", "num"], ["member"], ["steps", "num"], ...slots.map(({ label }) => [label, "num"] as [string, "num"]), ["state"]]}
            rows={[...points].reverse()}
            keyOf={(one) => `${one.run} ${one.segment}`}
            cells={(one) => (
                <>
                    <td class="num">{count(one.round)}</td>
                    <td>run {one.run}, <Address of={one.solver} /></td>
                    <td class="num">{count(one.steps)}</td>
                    {slots.map(({ place }) => <td class="num" key={place}>{figure(one.values.get(place) ?? NaN)}</td>)}
                    <td><State of={one.standing === "claimed" ? "not verified" : one.standing} /></td>
                </>
            )}
        />
    );
}

export function RoundNumbers({ task, group, events, disputes }: { task: Task; group: Group; events: TaskEvent[]; disputes: Dispute[] }) {
    const [all, setAll] = useState<MemberPoint[]>([]);
    const [states, setStates] = useState<StateTensor[]>();
    const [chosen, setChosen] = useState<number[]>([]);
    const [progress, setProgress] = useState<{ done: number; of: number }>();
    const [error, setError] = useState("");
    const [follows, setFollows] = useState(false);
    const [shown, setShown] = useState("all");
    const running = useRef<AbortController>();
    const latest = useRef({ task, chosen });
    latest.current = { task, chosen };
    useEffect(() => () => running.current?.abort(), []);
    const look = async (stop: AbortSignal) => {
        const tensors = states ?? (await memberStates(task, stop));
        setStates(tensors);
        const { task: now, chosen: more } = latest.current;
        const places = slotsOf(tensors).filter(({ isMetric, place }) => isMetric || more.includes(place)).map(({ place }) => place);
        if (places.length === 0) return "";
        return fetchMembers(now, tensors, places, stop, (points, of) => {
            if (stop.aborted) return;
            setAll(points);
            setProgress({ done: points.length, of });
        });
    };
    const go = () => {
        const controller = new AbortController();
        running.current = controller;
        setProgress({ done: 0, of: 0 });
        look(controller.signal)
            .then(setError, (e: Error) => {
                if (controller.signal.aborted) return;
                setError(e.message);
                setFollows(false);
            })
            .finally(() => setProgress(undefined));
    };
    useEffect(() => {
        if (!follows || progress) return undefined;
        const timer = window.setTimeout(go, kPauseMs);
        return () => clearTimeout(timer);
    }, [follows, progress, events]);
    const slots = useMemo(() => slotsOf(states ?? []), [states]);
    const columns = slots.filter(({ isMetric, place }) => isMetric || chosen.includes(place));
    const points = useMemo(() => {
        const standing = standings(events, group, disputes);
        const wanted = all.filter(({ run }) => shown === "all" || String(run) === shown);
        return wanted.map((one) => ({ ...one, standing: standing(one) })).sort((a, b) => a.round - b.round || a.run - b.run);
    }, [all, events, group, disputes, shown]);
    return (
        <>
            <p class="caption">
                Each segment of a member commits to the numbers of its last step. A point is <strong>verified</strong> if auditors replayed that segment
                and got the same bits; the others are what their member claims. They are fetched from members once their states are open, the
                newest first, and compared with the roots on the ledger.
            </p>
            <p>
                <button
                    type="button"
                    disabled={progress !== undefined && !follows}
                    onClick={() => {
                        forgetFailures();
                        if (!follows) go();
                        else running.current?.abort();
                        setFollows(!follows);
                    }}
                >
                    {follows ? "Stop following" : all.length ? "Follow the metrics again" : "Fetch the metrics, and follow"}
                </button>{" "}
                {all.length > 0 && (
                    <label>
                        of{" "}
                        <select value={shown} onChange={(event) => setShown(event.currentTarget.value)}>
                            <option value="all">all members</option>
                            {group.members.map(({ run }) => <option key={run} value={String(run)}>run {run}</option>)}
                        </select>
                    </label>
                )}{" "}
                {progress && progress.of > 0 && <Bar done={progress.done} of={progress.of} label={`${progress.done} of ${progress.of} segments`} />}{" "}
                <span role="status">{progress && `${count(progress.done)} of ${count(progress.of)} segments`}</span>
            </p>
            {states && !columns.some(({ label }) => label === "loss") && <p>{kNoLoss}</p>}
            {states && <SlotChoice slots={slots} chosen={chosen} choose={setChosen} />}
            {points.length > 0 && <Curves points={points} slots={columns} task={task} />}
            {points.length > 0 && <Points points={points} slots={columns} />}
            {follows && all.length === 0 && !progress && <p class="dim">No member's state is open yet that somebody sends.</p>}
            <ErrorLine text={error} />
            {num(group.group.round) > 0 || <p class="dim">No round was closed yet.</p>}
        </>
    );
}
