// SPDX-License-Identifier: MIT
// A compiled task from the person's disk: posted, and its files uploaded to this node.
import { useEffect, useRef, useState } from "preact/hooks";
import { type CompiledTask, readCompiled } from "../compiled";
import { bytes, count, duration, hex, num, tame } from "../format";
import { useQuery, useTitle } from "../hooks";
import { ErrorLine, Panel, Pending, TaskLink, TxLink } from "../parts";
import type { Task, TxExplanation } from "../records";
import { node } from "../rpc";
import { upload } from "../upload";
import { Terms } from "./post";
import { Bar } from "./tasks";

/** A field for a folder; browsers call it so although no other folder than the chosen one is read. */
function FolderField({ take }: { take: (files: File[]) => void }) {
    return (
        <label>
            folder of the compiled task{" "}
            <input
                type="file"
                multiple
                ref={(input) => input?.setAttribute("webkitdirectory", "")}
                onChange={(event) => take([...(event.currentTarget.files ?? [])])}
            />
        </label>
    );
}

/**
 * The chosen folder once it was read and hashed; undefined before, so that nothing is posted of the one chosen earlier. `given` may
 * refuse it by throwing a sentence.
 */
function Chooser({ given }: { given: (task: CompiledTask | undefined) => void }) {
    const [part, setPart] = useState<number>();
    const [error, setError] = useState("");
    const running = useRef<AbortController>();
    useEffect(() => () => running.current?.abort(), []);
    const take = (files: File[]) => {
        running.current?.abort();
        const controller = new AbortController();
        running.current = controller;
        setError("");
        setPart(0);
        given(undefined);
        const isCurrent = () => running.current === controller;
        readCompiled(files, controller.signal, (done) => isCurrent() && setPart(done))
            .then((task) => isCurrent() && given(task))
            .catch((e: Error) => isCurrent() && setError(e.message))
            .finally(() => isCurrent() && setPart(undefined));
    };
    return (
        <>
            <p>
                <FolderField take={take} />{" "}
                <span role="status">{part !== undefined && `reading and hashing: ${Math.floor(100 * part)} %`}</span>{" "}
                {part !== undefined && <button type="button" onClick={() => running.current?.abort()}>Cancel</button>}
            </p>
            <ErrorLine text={error} />
        </>
    );
}

/** Sends the files of a posted task as soon as it is shown. */
function Upload({ task, id }: { task: CompiledTask; id: number }) {
    const [part, setPart] = useState(0);
    const [error, setError] = useState("");
    const [turn, setTurn] = useState(0);
    const [done, setDone] = useState(false);
    const running = useRef<AbortController>();
    const began = useRef(0);
    useEffect(() => {
        const controller = new AbortController();
        running.current = controller;
        began.current = Date.now();
        let current = true;
        setError("");
        setDone(false);
        setPart(0);
        upload(task, controller.signal, (now) => current && setPart(now))
            .then(() => current && setDone(true))
            .catch((e: Error) => current && setError(controller.signal.aborted ? "Cancelled. What has arrived stays and is not sent again." : e.message));
        return () => {
            current = false;
            controller.abort();
        };
    }, [task, turn]);
    const left = (1 / part - 1) * ((Date.now() - began.current) / 1000);
    return (
        <>
            <p>
                <Bar done={done ? 1 : part} of={1} label="sent to this node" />{" "}
                <span role="status">
                    {done ? <>The node has all files of <TaskLink of={id} />.</> : <>Sending {bytes(task.bytes)} for task {id}: {Math.floor(100 * part)} %{part > 0.01 && !error && `, about ${duration(left)} left`}</>}
                </span>{" "}
                {!done && !error && <button type="button" onClick={() => running.current?.abort()}>Cancel</button>}
            </p>
            {!done && !error && <p class="caption">Keep this page open. If it closes, go on at #/upload/{id} with the same folder; what has arrived is not sent again.</p>}
            <ErrorLine text={error} />
            {error && <button type="button" onClick={() => setTurn(turn + 1)}>Go on</button>}
        </>
    );
}

/** The task that a transaction posted. */
async function taskOf(hash: string): Promise<number> {
    const found = await node.call<TxExplanation | null>("retrace_explainTransaction", [hash]);
    const id = num(found?.events.find(({ event }) => event === "TaskPosted")?.task);
    if (!Number.isSafeInteger(id)) throw new Error(`The node does not say which task ${hash} posted; look for it in the list of tasks and go on at #/upload/ and its number.`);
    return id;
}

export function NewTask() {
    const [task, setTask] = useState<CompiledTask>();
    const [hash, setHash] = useState("");
    const [id, setId] = useState<number>();
    const [error, setError] = useState("");
    const given = (next: CompiledTask | undefined) => {
        setId(undefined);
        setHash("");
        setTask(next);
    };
    // Once it is posted there is no button that posts it again, also if the node does not say under which number.
    const posted = (now: string) => {
        setHash(now);
        setError("");
        taskOf(now).then(setId, (e: Error) => setError(e.message));
    };
    return (
        <>
            <p>
                Choose the folder that <code>retrace task compile</code> wrote. It is read here; this node gets its program and
                its training data, which then are public, once the task is posted. Test data stays on your disk.
            </p>
            {id === undefined && <Chooser given={given} />}
            <ErrorLine text={error} />
            {hash && id === undefined && (
                <p>
                    Posted: <TxLink of={hash} /> <button type="button" onClick={() => posted(hash)}>Ask again which task it is</button>
                </p>
            )}
            {task && !hash && (
                <Terms key={JSON.stringify(task.spec)} of={task} from="the folder" posted={posted}>
                    <p class="caption">{bytes(task.bytes)} in {count(task.artifacts.length)} artifacts will be sent to this node.</p>
                </Terms>
            )}
            {task && id !== undefined && <Upload task={task} id={id} />}
        </>
    );
}

/** Why the folder is not what the task was posted from; empty if it is. */
function difference(task: CompiledTask, wanted: Task["spec"]): string {
    const same = task.spec.programRoot === wanted.programRoot && task.spec.initRoot === wanted.initRoot &&
        task.spec.initialStateRoot === wanted.initialStateRoot && task.spec.dataRoots.join() === wanted.dataRoots.join();
    return same ? "" : "The folder is not what this task was posted from.";
}

export function UploadPage({ id }: { id: number }) {
    useTitle(`Upload task ${id}`);
    const known = Number.isSafeInteger(id) && id > 0;
    const posted = useQuery<Task | null>(known ? "retrace_task" : null, [hex(known ? id : 0)]);
    const [task, setTask] = useState<CompiledTask>();
    const wrong = task && posted.data ? difference(task, posted.data.spec) : "";
    return (
        <>
            <h1>Upload the files of task {id}</h1>
            {!known && <p class="error">A task has a number.</p>}
            <Panel title={posted.data ? tame(posted.data.spec.name, 80) : "Task"}>
                {known && <Pending error={posted.error} data={posted.data} what={`task ${id}`} />}
                {posted.data && <Chooser given={setTask} />}
                <ErrorLine text={wrong} />
                {task && posted.data && !wrong && <Upload task={task} id={id} />}
            </Panel>
        </>
    );
}
