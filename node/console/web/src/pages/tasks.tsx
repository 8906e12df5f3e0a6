// SPDX-License-Identifier: MIT
// The list of tasks.
import { useState } from "preact/hooks";
import { count, num, tame } from "../format";
import { useTitle } from "../hooks";
import { Address, BlockLink, Coins, type Columns, Panel, Pending, State, Table } from "../parts";
import type { TaskSummary } from "../records";
import { useAllTasks, useTasksIn } from "../task_rows";
import { WindowedTable } from "../windowed";

const kStates = ["", "bidding", "assigned", "running", "delivering", "settled", "cancelled", "expired", "forfeited"];

export function Bar({ done, of, label }: { done: number; of: number; label: string }) {
    const part = of > 0 ? Math.min(1, done / of) : 0;
    return (
        <span class="bar" role="img" aria-label={label} title={label}>
            <span style={{ width: `${100 * part}%` }} />
        </span>
    );
}

const kHead: Columns = [["task"], ["name"], ["state"], ["paid segments"], ["at most", "num"], ["requester"], ["posted", "num"]];

const cellsOf = (one: TaskSummary) => (
    <>
        <td><a class="num" href={`#/task/${num(one.id)}`}>{num(one.id)}</a></td>
        <td class="name"><a href={`#/task/${num(one.id)}`}>{tame(one.name, 40)}</a></td>
        <td><State of={one.state} /></td>
        <td>
            <Bar done={num(one.paid)} of={num(one.segments)} label={`${count(one.paid)} of ${count(one.segments)} segments are paid`} />{" "}
            <span class="num">{count(one.paid)}/{count(one.segments)}</span>
        </td>
        <td class="num"><Coins of={one.priceCeiling} /></td>
        <td><Address of={one.requester} /></td>
        <td class="num"><BlockLink of={one.postedHeight} /></td>
    </>
);

export function TaskTable({ tasks }: { tasks: TaskSummary[] }) {
    return (
        <Table label="Tasks" head={kHead} empty={tasks.length === 0 && "There are no tasks."}>
            {tasks.map((one) => <tr key={one.id}>{cellsOf(one)}</tr>)}
        </Table>
    );
}

export function TasksPage() {
    useTitle("Tasks");
    const [state, setState] = useState("");
    const [all, some] = [useAllTasks(state === ""), useTasksIn(state)];
    const { total, at, look, error } = state ? some : all;
    return (
        <>
            <h1>Tasks</h1>
            <Panel
                title="Newest first"
                aside={
                    <label>
                        state{" "}
                        <select value={state} onChange={(event) => setState(event.currentTarget.value)}>
                            {kStates.map((one) => (
                                <option key={one} value={one}>
                                    {one || "any"}
                                </option>
                            ))}
                        </select>
                    </label>
                }
            >
                <Pending error={error} data={total} what="tasks" />
                {total !== undefined && (
                    <WindowedTable
                        key={state}
                        label="Tasks"
                        head={kHead}
                        total={total}
                        cells={(row) => {
                            const one = at(row);
                            return one && cellsOf(one);
                        }}
                        look={look}
                        empty="There are no tasks."
                    />
                )}
            </Panel>
        </>
    );
}

/** Buttons between pages of a list; `go` gets the `before` of the older page, or null for the newer one. */
export function Pager({ newer, older, go }: { newer: boolean; older: string | null; go: (before: number | null) => void }) {
    if (!newer && older === null) return null;
    return (
        <p class="pager">
            <button type="button" disabled={!newer} onClick={() => go(null)}>
                newer
            </button>{" "}
            <button type="button" disabled={older === null} onClick={() => go(num(older))}>
                older
            </button>
        </p>
    );
}
