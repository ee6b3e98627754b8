import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState, type MouseEvent } from "react";
import { useKeys } from "../lib/keys";
import type { CompactionRecord, Message, MessagePart } from "../lib/types";
import { Button } from "../ui/button";
import { holder, type History } from "./history";
import { MessageView, type Shown } from "./message-view";
import { loadRange, useOpenSession } from "./open-session";
import { RecordsAfter } from "./records-after";
import type { ChatSession } from "./use-chat-session";
import { useStickToEnd } from "./use-stick-to-end";

interface Props {
  sessionId: string;
  chat: ChatSession;
  onPin: (position: number, pinned: boolean) => void;
  onEdit: (position: number, text: string) => void;
  onRetry: () => void;
  onUndo: (record: CompactionRecord) => void;
  onCompactAgain: () => void;
  openCards: Set<number>;
  onToggleCard: (step: number) => void;
}

const GUESS = 120;
const SCROLL_PADDING = 14;

/** The whole history, one row a message; only the rows on the screen exist. */
export function Thread(props: Props) {
  const { sessionId, chat, openCards } = props;
  const history = useOpenSession((state) => state.history);
  const records = useOpenSession((state) => state.records);
  const jump = useOpenSession((state) => state.jump);
  const scroller = useRef<HTMLDivElement>(null);
  const [flash, setFlash] = useState<number | null>(null);
  /** The row and how far into it: pixels alone would be wrong once rows above are measured. */
  const returnTo = useRef<{ index: number; into: number } | null>(null);
  const [canReturn, setCanReturn] = useState(false);

  // A reply on its way is shown from the stream, not from what is stored of it so far.
  const upTo = Math.min(history.last, chat.storedUpTo ?? history.last, ...chat.messages.map(lastBefore));
  const stored = Math.max(0, upTo - history.first + 1);
  const live = useMemo(
    () => withQuestion(chat.messages, upTo).filter((message) => message.role !== "user" || positionOf(message.id) === null || (positionOf(message.id) as number) > upTo),
    [chat.messages, upTo],
  );
  const busy = chat.status === "submitted" || chat.status === "streaming";
  const rows = stored + live.length;

  // The virtualizer lays out all rows again for another function: a scroll must not bring one, what was loaded must.
  const getItemKey = useCallback(
    // The same key for a message that streams and for what is stored of it: the row stays, with its size.
    (index: number) => (index < stored ? history.first + index : keyOf(live[index - stored]?.id ?? `row ${index}`)),
    [history, stored, live],
  );
  const virtual = useVirtualizer({
    count: rows,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => (index < stored && history.known.get(history.first + index) === null ? 0 : GUESS),
    getItemKey,
    overscan: 6,
    paddingStart: 18,
    paddingEnd: 24,
    scrollPaddingStart: SCROLL_PADDING,
  });
  const items = virtual.getVirtualItems();
  const size = virtual.getTotalSize();

  const from = items[0]?.index ?? 0;
  const to = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (stored > 0) void loadRange(history.first + Math.max(0, from - 10), history.first + Math.min(stored - 1, to + 10));
  }, [from, to, stored, history]);

  const { away, goToEnd, leaveEnd, onScroll, byHand } = useStickToEnd({ scroller, virtual, rows, sent: chat.status === "submitted" });

  /** Rows are measured on the way and move the target, or the view: looks again until it stands still at the top. */
  const goToRow = async (index: number, wanted: () => boolean) => {
    for (let look = 0, at = NaN; look < 60 && wanted(); look += 1) {
      virtual.scrollToIndex(index, { align: "start" });
      await new Promise(requestAnimationFrame);
      const box = scroller.current;
      const row = box?.querySelector(`[data-index="${index}"]`);
      const start = virtual.measurementsCache[index]?.start ?? 0;
      if (box && row && start === at && isAtTop(box, row)) return;
      at = start;
    }
  };

  /** What a click shortens may take the clicked control above the view: it comes back to where it was. */
  const keepInView = (event: MouseEvent) => {
    const control = (event.target as HTMLElement).closest("button");
    const row = control?.closest("[data-index]");
    const box = scroller.current;
    if (!control || !row || !box) return;
    // Within its row: a jump, which moves the whole row, is meant to.
    const into = () => control.getBoundingClientRect().top - row.getBoundingClientRect().top;
    const before = into();
    requestAnimationFrame(() => {
      const above = control.getBoundingClientRect().top < box.getBoundingClientRect().top;
      if (above && control.isConnected && into() < before) box.scrollTop -= before - into();
    });
  };

  const goBack = async () => {
    const place = returnTo.current;
    if (place) await goToRow(place.index, () => true);
    if (place && scroller.current) scroller.current.scrollTop = (virtual.measurementsCache[place.index]?.start ?? 0) + place.into;
    setCanReturn(false);
    scroller.current?.focus({ preventScroll: true });
  };
  useKeys({ b: () => canReturn && void goBack() });

  useEffect(() => {
    if (!jump || stored === 0) return;
    const element = scroller.current;
    const top = element ? virtual.getVirtualItemForOffset(element.scrollTop) : undefined;
    returnTo.current = top && element ? { index: top.index, into: element.scrollTop - top.start } : null;
    setCanReturn(jump.back);
    leaveEnd();
    let stopped = false;
    const go = async () => {
      await loadRange(jump.position - 20, jump.position + 20);
      const target = holder(useOpenSession.getState().history, jump.position) ?? jump.position;
      const index = Math.max(0, target - history.first);
      await goToRow(index, () => !stopped);
      if (stopped) return;
      if (jump.focus) element?.querySelector<HTMLElement>(jump.focus)?.focus({ preventScroll: true });
      setFlash(target);
      setTimeout(() => setFlash((now) => (now === target ? null : now)), 1200);
    };
    void go();
    return () => {
      stopped = true;
    };
    // A jump is an event: only a new request moves the thread.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [jump?.request, stored > 0]);

  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      <div
        ref={scroller}
        role="log"
        aria-label="Conversation"
        aria-live="off"
        aria-busy={busy}
        tabIndex={0}
        onScroll={onScroll}
        onClick={keepInView}
        {...byHand}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || (event.target as HTMLElement).closest("textarea")) return;
          document.getElementById("composer")?.focus();
        }}
        className="min-h-0 flex-1 overflow-auto px-3.5 -outline-offset-2 [overflow-anchor:none] md:px-5"
      >
        <div className="relative mx-auto w-full max-w-[780px]" style={{ height: size }}>
          {items.map((item) => {
            const position = history.first + item.index;
            const message = item.index < stored ? history.known.get(position) : undefined;
            if (item.index < stored && message === null) return null;
            const shown: Shown | undefined =
              item.index < stored ? message ?? undefined : liveShown(live[item.index - stored], busy && item.index === rows - 1);
            const last = item.index === stored - 1 || isLastMessage(history.known, position, upTo);
            return (
              <div
                key={item.key}
                ref={virtual.measureElement}
                data-index={item.index}
                className={`absolute inset-x-0 top-0 ${flash === position && item.index < stored ? "flash" : ""}`}
                style={{ transform: `translateY(${item.start}px)` }}
              >
                {shown ? (
                  <MessageView
                    message={shown}
                    sessionId={sessionId}
                    onPin={props.onPin}
                    onEdit={props.onEdit}
                    continued={item.index < stored && isContinued(history, message, records)}
                    onRetry={last && !busy && shown.role === "assistant" ? props.onRetry : undefined}
                  />
                ) : (
                  <div className="h-[102px] pb-4"><div className="h-full rounded-[10px] bg-sunk" /></div>
                )}
                {item.index < stored && (
                  <RecordsAfter
                    records={records}
                    history={history}
                    position={position}
                    openCards={openCards}
                    onToggle={props.onToggleCard}
                    onUndo={props.onUndo}
                    onCompactAgain={props.onCompactAgain}
                  />
                )}
              </div>
            );
          })}
        </div>
      </div>
      {/* On ground of its own: buttons on top of text hide half a word. */}
      {(away || canReturn) && (
        <div className="pointer-events-none absolute right-4 bottom-0 left-0 flex justify-center gap-2 bg-linear-to-t from-surface from-65% to-transparent pt-5 pb-1.5">
          {canReturn && (
            <Button
              small
              className="pointer-events-auto"
              onClick={() => void goBack()}
            >
              Back to summary
            </Button>
          )}
          {away && (
            <Button
              small
              icon
              aria-label="Go to the newest message"
              className="pointer-events-auto"
              onClick={() => {
                // Ends a jump that is still on its way.
                virtual.scrollToEnd();
                goToEnd();
                setCanReturn(false);
              }}
            >
              <ArrowDown size={14} aria-hidden />
            </Button>
          )}
        </div>
      )}
    </div>
  );
}

/** The row begins where a jump puts it, or as near to it as the two ends of the thread allow. */
function isAtTop(box: Element, row: Element): boolean {
  const below = row.getBoundingClientRect().top - box.getBoundingClientRect().top - SCROLL_PADDING;
  const atAnEnd = box.scrollTop < 1 || box.scrollHeight - box.scrollTop - box.clientHeight < 2;
  return Math.abs(below) < 2 || (atAnEnd && below > 0);
}

/** The server names a message by its position, `m41`; what the browser named has none yet. */
function positionOf(id: string): number | null {
  const found = /^m(\d+)$/.exec(id);
  return found ? Number(found[1]) : null;
}

function keyOf(id: string): number | string {
  return positionOf(id) ?? id;
}

/** After a reload the stream brings the reply alone; the message it answers stands before it. */
function withQuestion(messages: ChatSession["messages"], upTo: number): ChatSession["messages"] {
  const first = messages[0];
  const position = first?.role === "assistant" ? positionOf(first.id) : null;
  const question = (first?.metadata as { question?: string } | undefined)?.question;
  if (!question || position === null || upTo >= position - 1) return messages;
  return [{ id: `m${position - 1}`, role: "user", parts: [{ type: "text", text: question }] }, ...messages];
}

/** A reply of several steps is several messages of one turn; the first of them carries the name. */
function isContinued(history: History, message: Message | null | undefined, records: CompactionRecord[]): boolean {
  if (!message || message.role !== "assistant") return false;
  const before = holder(history, message.position - 1);
  const above = before === null ? null : history.known.get(before);
  // A card between the two steps begins a new block.
  if (before === null || records.some((record) => record.last_position !== null && record.last_position >= before && record.last_position < message.position)) return false;
  return above?.role === "assistant" && above.turn === message.turn && above.state === message.state && above.pinned === message.pinned;
}

function lastBefore(message: { id: string; role: string }): number {
  const position = positionOf(message.id);
  return message.role === "assistant" && position !== null ? position - 1 : Infinity;
}

function isLastMessage(known: Map<number, unknown>, position: number, upTo: number): boolean {
  for (let at = position + 1; at <= upTo; at += 1) if (known.get(at) !== null) return false;
  return true;
}

function liveShown(message: { id: string; role: string; parts: unknown[] } | undefined, streaming: boolean): Shown | undefined {
  if (!message) return undefined;
  return { id: message.id, role: message.role, parts: message.parts as MessagePart[], streaming: streaming && message.role === "assistant" };
}
