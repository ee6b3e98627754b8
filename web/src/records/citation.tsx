import { jumpTo } from "../chat/open-session";

/** Whoever follows a citation goes on reading there, and may come back. */
const jumpFromSummary = (position: number) => jumpTo(position, { back: true, focus: `[data-position="${position}"]` });

/** Jumps to the message that a sentence comes from. */
export function Citation({ position, onJump = jumpFromSummary }: { position: number; onJump?: (position: number) => void }) {
  return (
    <button
      type="button"
      aria-label={`m${position}, go to message`}
      onClick={() => onJump(position)}
      className="ml-[3px] inline-flex h-[18px] items-center rounded-[5px] bg-text/7 px-[5px] align-[1px] font-mono text-[10.5px] font-medium text-text-2 hover:bg-accent-soft hover:text-accent"
    >
      m{position}
    </button>
  );
}
