import { useKeys } from "../lib/keys";
import { jumpTo } from "./open-session";

interface Actions {
  togglePanel: () => void;
  compact: () => void;
  pin: (position: number) => void;
  openSummary: () => void;
  boundaries: number[];
}

function articles(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("[role=log] article[data-position]")].sort(
    (a, b) => Number(a.dataset.position) - Number(b.dataset.position),
  );
}

function focused(): HTMLElement | null {
  return document.activeElement?.closest<HTMLElement>("article[data-position]") ?? null;
}

/** J and K walk over messages that are on the screen; the thread loads more as it scrolls. */
function step(by: number) {
  const all = articles();
  const at = focused();
  const index = at ? all.indexOf(at) + by : by > 0 ? 0 : all.length - 1;
  const next = all[Math.max(0, Math.min(all.length - 1, index))];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
}

function boundary(positions: number[], by: number) {
  if (!positions.length) return;
  const here = Number((focused() ?? articles()[0])?.dataset.position ?? 0);
  const sorted = [...positions].sort((a, b) => a - b);
  const next = by > 0 ? sorted.find((position) => position > here) : sorted.reverse().find((position) => position < here);
  jumpTo(next ?? (sorted[0] as number));
}

export function useChatKeys({ togglePanel, compact, pin, openSummary, boundaries }: Actions) {
  useKeys({
    "mod+.": togglePanel,
    "shift+c": compact,
    e: openSummary,
    j: () => step(1),
    k: () => step(-1),
    p: () => {
      const position = focused()?.dataset.position;
      if (position) pin(Number(position));
    },
    "[": () => boundary(boundaries, -1),
    "]": () => boundary(boundaries, 1),
  });
}
