import { Component, type ReactNode } from "react";
import { Button } from "./button";

/** A part of the page that fails leaves the rest usable and says so. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return (
      <div role="alert" className="m-4 rounded-[12px] border border-red-line bg-red-soft p-4 text-dense">
        <b className="font-semibold text-red">This part of the page stopped working.</b>
        <p className="mt-1 break-words text-text-2">{this.state.error.message} Your conversation is safe on the server.</p>
        <Button small className="mt-2" onClick={() => this.setState({ error: null })}>Try again</Button>
      </div>
    );
  }
}
