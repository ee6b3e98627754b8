import type { Kind } from "./spans";

export const kindLook: Record<Kind, string> = {
  model: "bg-accent",
  tool: "bg-teal-fill",
  summary: "hatch-amber",
  prune: "bg-yellow-fill",
  archive: "bg-violet-fill",
  decision: "bg-slate-fill",
  other: "bg-text/32",
};

/** The same colors for a canvas, by the name of the token. */
export const kindToken: Record<Kind | "error", string> = {
  model: "--color-accent",
  tool: "--color-teal-fill",
  summary: "--color-amber-fill",
  prune: "--color-yellow-fill",
  archive: "--color-violet-fill",
  decision: "--color-slate-fill",
  other: "--color-line-2",
  error: "--color-red-fill",
};

export function spanLook(kind: Kind, status: string): string {
  return status === "error" ? "hatch-red" : kindLook[kind];
}

/** A token's color as a canvas can use it; light-dark() is resolved by the browser. */
export function resolveColor(element: HTMLElement, token: string): string {
  const before = element.style.color;
  element.style.color = `var(${token})`;
  const color = getComputedStyle(element).color;
  element.style.color = before;
  return color;
}
