// SPDX-License-Identifier: MIT
// The group of a training in rounds: its open round, and what its members did.
import { count, num, words } from "../format";
import { useQuery } from "../hooks";
import { Address, BlockLink, Coins, Panel, State, Table, Tiles } from "../parts";
import type { Group } from "../records";
import { Bar } from "./tasks";

export function GroupPanel({ task }: { task: string }) {
    const { data } = useQuery<Group | null>("retrace_group", [task], { task: num(task) });
    if (!data?.group || !data.spec || !Array.isArray(data.members)) return null; // most tasks have none
    const { spec, group, members } = data;
    const done = group.phase === "over" ? spec.rounds : Math.max(0, group.round - 1);
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
            <Table label="Members" head={[["run", "num"], ["solver"], ["state"], ["base", "num"], ["messages", "num"], ["last round", "num"], ["absent", "num"], ["earned", "num"]]}>
                {members.map((one) => (
                    <tr key={one.run}>
                        <td class="num">{one.run}</td>
                        <td><Address of={one.solver} /></td>
                        <td><State of={one.member.leaving ? "leaving" : one.state} /></td>
                        <td class="num">{count(one.member.base)}</td>
                        <td class="num">{count(one.member.messages)}</td>
                        <td class="num">{count(one.member.lastRound)}</td>
                        <td class="num">{count(one.member.absent)}</td>
                        <td class="num"><Coins of={one.earned} /></td>
                    </tr>
                ))}
            </Table>
        </Panel>
    );
}
