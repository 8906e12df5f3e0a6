// SPDX-License-Identifier: MIT
// Keeps what fails to one part of a page.
import { Component, type ComponentChildren } from "preact";

/** Shows what `failed` makes of an error in place of children that threw one, until other children come. */
export class Boundary extends Component<{ failed: (error: string) => ComponentChildren; children: ComponentChildren }, { error: string }> {
    state = { error: "" };
    componentDidCatch(error: Error) {
        this.setState({ error: error.message || "no reason" });
    }
    componentDidUpdate(before: { children: ComponentChildren }) {
        if (this.state.error && before.children !== this.props.children) this.setState({ error: "" });
    }
    render() {
        return this.state.error ? this.props.failed(this.state.error) : this.props.children;
    }
}
