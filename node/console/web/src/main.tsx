// SPDX-License-Identifier: MIT
// The frame of every page: navigation, search, the state of the connection. Every page has a URL behind "#".
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Outbox, WalletButton } from "./actions";
import { Boundary } from "./boundary";
import { watchChain } from "./chain";
import { count, tame } from "./format";
import { useHead, useLink, useQuery, useRoute, useTitle } from "./hooks";
import { AccountPage } from "./pages/account";
import { AuditPage } from "./pages/audit";
import { BlockPage, BlocksPage, TxPage } from "./pages/blocks";
import { UploadPage } from "./pages/compiled";
import { DisputePage, DisputesPage } from "./pages/dispute";
import { NetworkPage } from "./pages/network";
import { PostPage } from "./pages/post";
import { ReservationPage } from "./pages/reservation";
import { SearchPage } from "./pages/search";
import { TaskPage } from "./pages/task";
import { TasksPage } from "./pages/tasks";
import type { Status } from "./records";
import { node } from "./rpc";
import "./style.css";

const kPages: [path: string, name: string][] = [
    ["", "Network"],
    ["tasks", "Tasks"],
    ["disputes", "Disputes"],
    ["blocks", "Blocks"],
    ["post", "Post"],
];

function Page({ parts }: { parts: string[] }) {
    const [page = "", id = ""] = parts;
    switch (page) {
        case "":
            return <NetworkPage />;
        case "tasks":
            return <TasksPage />;
        case "task":
            return <TaskPage key={id} id={Number(id)} />;
        case "disputes":
            return <DisputesPage />;
        case "dispute":
            return <DisputePage key={id} id={Number(id)} />;
        case "audit":
            return <AuditPage key={id} id={Number(id)} />;
        case "blocks":
            return <BlocksPage />;
        case "block":
            return <BlockPage key={id} id={id} />;
        case "tx":
            return <TxPage key={id} hash={id} />;
        case "account":
            return <AccountPage key={id} address={id} />;
        case "post":
            return <PostPage key={id} like={id} />;
        case "upload":
            return <UploadPage key={id} id={Number(id)} />;
        case "reservation":
            return <ReservationPage key={id} id={Number(id)} />;
        case "search":
            return <SearchPage key={id} what={id} />;
        default:
            return <NotFound />;
    }
}

/** In place of a page that failed, e.g. on an answer that no node should give. */
const notUnderstood = (error: string) => (
    <>
        <h1>This page cannot be shown</h1>
        <p class="error" role="alert">
            The node gave an answer that the page does not understand ({tame(error, 200)}). Load it again, or use a node of the
            version that this console came with.
        </p>
    </>
);

function NotFound() {
    useTitle("no such page");
    return (
        <>
            <h1>There is no such page</h1>
            <p>
                Search above, or go to the <a href="#/">network</a>.
            </p>
        </>
    );
}

function Connection() {
    const link = useLink();
    const head = useHead();
    const { data } = useQuery<Status>("retrace_status", [], undefined);
    const height = head ? head.number : data?.height;
    if (link === "open")
        return (
            <span class="link open" title={data ? `chain ${data.chain_id}, node ${data.version}` : ""}>
                block <span class="num">{count(height)}</span>
            </span>
        );
    return <span class="link lost">{link === "connecting" ? "connecting …" : "not connected"}</span>;
}

function Search() {
    const [text, setText] = useState("");
    const field = useRef<HTMLInputElement>(null);
    useEffect(() => {
        const press = (event: KeyboardEvent) => {
            const typing = event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
            if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
            event.preventDefault();
            field.current?.focus();
        };
        window.addEventListener("keydown", press);
        return () => window.removeEventListener("keydown", press);
    }, []);
    const go = (event: Event) => {
        event.preventDefault();
        if (text.trim()) location.hash = `#/search/${encodeURIComponent(text.trim())}`;
    };
    return (
        <form role="search" onSubmit={go}>
            <input
                ref={field}
                type="search"
                value={text}
                aria-label="Search a task, block, transaction, address or root"
                placeholder="task, block, hash, address, name  ( / )"
                maxLength={200}
                spellcheck={false}
                autocomplete="off"
                onInput={(event) => setText(event.currentTarget.value)}
            />
        </form>
    );
}

function App() {
    const parts = useRoute();
    const link = useLink();
    const main = useRef<HTMLElement>(null);
    const first = useRef(true);
    const path = parts.join("/");
    useEffect(() => {
        // A reader is told of the new page; at the first one nothing was left behind.
        if (!first.current) {
            main.current?.focus();
            window.scrollTo(0, 0);
        }
        first.current = false;
    }, [path]);
    return (
        <>
            <a
                class="skip"
                href="#main"
                onClick={(event) => {
                    event.preventDefault();
                    main.current?.focus();
                }}
            >
                Skip to the content
            </a>
            <header class="top">
                <a class="name" href="#/">
                    Retrace
                </a>
                <nav aria-label="Pages">
                    {kPages.map(([page, name]) => (
                        <a key={page} href={`#/${page}`} aria-current={(parts[0] ?? "") === page ? "page" : undefined}>
                            {name}
                        </a>
                    ))}
                </nav>
                <Search />
                <Connection />
                <WalletButton />
            </header>
            {link === "lost" && (
                <p class="banner" role="status">
                    {node.trouble || "The node cannot be reached; trying again."} What is shown may be old.
                </p>
            )}
            <Outbox />
            <main id="main" ref={main} tabIndex={-1}>
                <Boundary key={path} failed={notUnderstood}>
                    <Page parts={parts} />
                </Boundary>
            </main>
            <footer>
                Shown as this node tells it. Only the roots of fetched models, receipts and, when asked, balances are proved, against this node's own
                header; <code>retrace task fetch</code> and <code>retrace receipt verify</code> check more.
            </footer>
        </>
    );
}

watchChain(() => location.reload());
render(<App />, document.getElementById("app") as HTMLElement);
