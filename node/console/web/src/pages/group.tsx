// SPDX-License-Identifier: MIT
// The group of a training in rounds: its terms, its open round, and what its members did.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { Chart } from "../chart";
import { count, figure, many, num, words } from "../format";
import { Address, BlockLink, Coins, Panel, State, Tiles } from "../parts";
import type { Group, GroupSpec, Spec, Task } from "../records";
import type { TaskEvent } from "../rpc";
import { LongTable } from "../windowed";
import { Bar } from "./tasks";

const closedOf = ({ spec, group }: Group) => (group.phase === "over" ? spec.rounds : Math.max(0, group.round));

export const tilesOfRounds = (spec: Spec, of: Group): [string, ComponentChildren, string][] => [
    ["rounds", `${count(closedOf(of))} / ${count(of.spec.rounds)}`, "are closed"],
    ["members", `${count(of.members.filter(({ state }) => state !== "forfeited" && state !== "left").length)} / ${count(spec.replicas)}`, `${count(of.spec.least)} to begin`],
    ["steps", count(of.spec.stepsMax), "a round and member"],
    ["at most", <Coins of={spec.priceCeiling} />, "coins a round and member"],
    ["audited", `${figure(spec.auditBp / 100)} %`, `${spec.auditors} auditors each`],
];

/** What becomes of the rounds that a convicted member took part in. */
export const onFraud = ({ rollbacks, ahead }: GroupSpec): [string, string] => [
    "after a member is convicted",
    rollbacks
        ? `the group goes back, at most ${many(rollbacks, "time")}, and what others trained since is void; a round opens when all messages of ${many(ahead, "round")} before are final`
        : "its recorded messages stand",
];

export const termsOfRounds = (of: GroupSpec): [string, string][] => [
    ["a round has", `${count(of.roundBlocks)} blocks to train, ${count(of.fetchBlocks)} to fetch, ${count(of.revealBlocks)} to say what came`],
    ["left to the others", `${count(of.graceBlocks)} blocks, once 80 % of the members of the round before have sent`],
    ["a member leaves at", `${count(of.absenceLimit)} absences`],
    ["messages are kept for", `${count(of.keepRounds)} rounds`],
    ["a segment takes in at most", `${count(of.catchUpMax)} messages`],
    ["a message may be", `${count(of.maxAge)} rounds old`],
    onFraud(of),
];

/** Rounds by block: closed, and messages that their records have. */
export function RoundsProgress({ of, task, events }: { of: Group; task: Task; events: TaskEvent[] }) {
    const { x, closed, recorded } = useMemo(() => {
        const ends = events.filter(({ event }) => event === "RoundClosed");
        return {
            x: [num(task.task.postedHeight), ...ends.map(({ height }) => num(height))],
            closed: [0, ...ends.map(({ arguments: a }) => num(a.round) + 1)],
            recorded: [null, ...ends.map(({ arguments: a }) => num(a.recorded))],
        };
    }, [events, task.task.postedHeight]);
    if (x.length < 2) return <p class="dim">No round was closed yet.</p>;
    return (
        <Chart
            label={`Rounds of ${count(of.spec.rounds)}`}
            x={x}
            xName="block"
            series={[
                { name: "rounds closed", values: closed, step: true },
                { name: "messages in the round's record", values: recorded, points: true, filled: true },
            ]}
            height={180}
        />
    );
}

export function GroupPanel({ of: data }: { of: Group | null | undefined }) {
    if (!data?.group || !data.spec || !Array.isArray(data.members)) return null; // most tasks have none
    const { spec, group, members } = data;
    const done = closedOf(data);
    return (
        <Panel title="Rounds" aside={words(group.phase)}>
            <Tiles
                rows={[
                    ["round", `${count(group.round)} / ${count(spec.rounds)}`, <Bar done={done} of={spec.rounds} label={`${done} of ${spec.rounds} rounds are closed`} />],
                    ["committed", count(group.committed.length), "members in this round"],
                    ["listed", count(group.listed.length), "fetched the messages"],
                    ["revealed", count(group.revealed.length)],
                    ["price", <Coins of={group.price} />, "coins a segment"],
                    ["due in block", num(group.deadline) ? <BlockLink of={group.deadline} /> : "–"],
                ]}
            />
            {spec.privateSets ? (
                <p>
                    Members train on data of their own that nobody else needs to have. Everybody can check which messages they took
                    in. What they did on their data is checked only by accounts to which a member gave them, which may be its own,
                    and is otherwise unverified.
                </p>
            ) : null}
            <LongTable
                label="Members"
                head={[["run", "num"], ["solver"], ["state"], ["base", "num"], ["messages", "num"], ["last round", "num"], ["absent", "num"], ["earned", "num"]]}
                rows={members}
                keyOf={(one) => one.run}
                cells={(one) => (
                    <>
                        <td class="num">{one.run}</td>
                        <td><Address of={one.solver} /></td>
                        <td><State of={one.member.leaving ? "leaving" : one.state} /></td>
                        <td class="num">{count(one.member.base)}</td>
                        <td class="num">{count(one.member.messages)}</td>
                        <td class="num">{count(one.member.lastRound)}</td>
                        <td class="num">{count(one.member.absent)}</td>
                        <td class="num"><Coins of={one.earned} /></td>
                    </>
                )}
            />
        </Panel>
    );
}
