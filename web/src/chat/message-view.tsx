import { ChevronRight, Copy, Pencil, Pin, PinOff, RotateCw } from "lucide-react";
import { memo, useState, type ReactNode } from "react";
import { clock, seconds } from "../lib/format";
import type { MessagePart, MessageState } from "../lib/types";
import { Button, LinkButton } from "../ui/button";
import { copyText } from "../ui/copy";
import { Markdown } from "../ui/markdown";
import { isToolPart, ToolBlock, type ToolPart } from "./tool-block";

export interface Shown {
  id: string;
  role: string;
  parts: MessagePart[];
  position?: number;
  created_at?: number | null;
  state?: MessageState;
  pinned?: boolean;
  error?: string | null;
  finish_reason?: string | null;
  streaming?: boolean;
}

interface Props {
  message: Shown;
  sessionId: string;
  onPin?: (position: number, pinned: boolean) => void;
  onEdit?: (position: number, text: string) => void;
  onRetry?: () => void;
  /** A further step of the reply above it: its name and time stand there already. */
  continued?: boolean;
}

const stateWords: Record<MessageState, string> = {
  sent: "",
  summarized: "in summary",
  cleared: "",
  dropped: "not in the prompt",
};

export function messageText(parts: MessagePart[]): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).filter(Boolean).join("\n\n");
}

function Reasoning({ text, streaming, duration }: { text: string; streaming: boolean; duration?: number }) {
  const [open, setOpen] = useState(false);
  const label = streaming ? "Thinking…" : duration ? `Thought for ${duration < 1 ? seconds(duration) : `${Math.round(duration)} s`}` : "Thought";
  return (
    <div>
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="inline-flex min-h-6 items-center gap-1.5 text-dense text-text-3 hover:text-text"
      >
        <ChevronRight size={12} aria-hidden className={open ? "rotate-90" : ""} />
        {label}
      </button>
      {open && <div className="border-l-2 border-line pl-3 text-dense whitespace-pre-wrap text-text-2">{text}</div>}
    </div>
  );
}

function Parts({ message, sessionId }: { message: Shown; sessionId: string }) {
  const { parts, streaming } = message;
  return (
    <>
      {parts.map((part, index): ReactNode => {
        const last = index === parts.length - 1;
        if (part.type === "text") {
          if (!part.text) return null;
          if (message.role === "user") return <p key={index} className="text-message break-words whitespace-pre-wrap">{part.text}</p>;
          const first = parts.slice(0, index).every((other) => other.type === "step-start");
          return <div key={index} className={first ? "" : "mt-2"}><Markdown text={part.text} streaming={streaming && last} /></div>;
        }
        if (part.type === "reasoning") {
          return <Reasoning key={index} text={part.text} streaming={!!streaming && last} duration={part.duration} />;
        }
        if (isToolPart(part)) return <ToolBlock key={index} part={part as unknown as ToolPart} sessionId={sessionId} />;
        if (part.type === "file") return <p key={index} className="text-dense text-text-2">File: {part.filename ?? part.mediaType}</p>;
        return null;
      })}
      {streaming && <span className="caret-block" aria-hidden />}
    </>
  );
}

function Editing({ text, onSave, onCancel }: { text: string; onSave: (text: string) => void; onCancel: () => void }) {
  const [draft, setDraft] = useState(text);
  return (
    <div>
      <textarea
        autoFocus
        aria-label="New wording"
        value={draft}
        rows={Math.min(12, draft.split("\n").length + 1)}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && onCancel()}
        className="w-full resize-y rounded-[8px] border border-line-2 bg-surface p-2 text-message"
      />
      <div className="mt-2 flex gap-2">
        <Button small variant="primary" disabled={!draft.trim()} onClick={() => onSave(draft)}>
          Send again
        </Button>
        <Button small onClick={onCancel}>Cancel</Button>
      </div>
    </div>
  );
}

function railOf(message: Shown): string {
  if (message.pinned) return "pinned";
  if (message.state === "summarized" || message.state === "dropped") return message.state;
  const changed = message.parts.some((part) => part.compact);
  return changed || message.state === "cleared" ? "cleared" : "sent";
}

export const MessageView = memo(function MessageView({ message, sessionId, onPin, onEdit, onRetry, continued = false }: Props) {
  const [editing, setEditing] = useState(false);
  // One stop a message would be hundreds on the way through a thread: Tab visits the actions of the focused one.
  const [inside, setInside] = useState(false);
  const tabIndex = inside ? 0 : -1;
  const { position, role, state = "sent", pinned = false } = message;
  const mine = role === "user";
  const who = mine ? "You" : role === "system" ? "System" : "Assistant";
  const stopped = message.finish_reason === "interrupted";
  const actions = position !== undefined && !message.streaming;
  return (
    <article
      aria-label={`${who}${position === undefined ? "" : `, m${position}`}`}
      data-position={position}
      tabIndex={-1}
      onFocus={() => setInside(true)}
      onBlur={(event) => !event.currentTarget.contains(event.relatedTarget) && setInside(false)}
      className={`group relative grid grid-cols-1 pb-[18px] md:grid-cols-[44px_minmax(0,1fr)] ${continued ? "-mt-2" : ""}`}
    >
      <div className="hidden font-mono text-axis leading-6 font-medium text-text-3 md:block">{position === undefined ? "" : `m${position}`}</div>
      <div className="rail relative min-w-0 pl-[13px] md:pl-4" data-rail={railOf(message)} data-continued={continued || undefined}>
        <div className={`flex items-center gap-[7px] text-dense leading-6 font-semibold ${continued ? "absolute -top-[19px] right-0 z-[1]" : ""}`}>
          {continued ? <span className="sr-only">{who}</span> : who}
          {!continued && message.created_at != null && <span className="text-meta font-normal text-text-3">{clock(message.created_at)}</span>}
          {actions && (
            <span className="flex items-center rounded-[7px] bg-surface opacity-0 transition-opacity duration-[120ms] group-focus-within:opacity-100 group-hover:opacity-100">
              <Button variant="ghost" icon small tabIndex={tabIndex} aria-label="Copy message" onClick={() => void copyText(messageText(message.parts))}>
                <Copy size={13} aria-hidden />
              </Button>
              {onPin && (
                <Button variant="ghost" icon small tabIndex={tabIndex} aria-label={pinned ? "Unpin message" : "Pin message"} onClick={() => onPin(position, !pinned)}>
                  {pinned ? <PinOff size={13} aria-hidden /> : <Pin size={13} aria-hidden />}
                </Button>
              )}
              {mine && onEdit && (
                <Button variant="ghost" icon small tabIndex={tabIndex} aria-label="Edit message" onClick={() => setEditing(true)}>
                  <Pencil size={13} aria-hidden />
                </Button>
              )}
              {onRetry && (
                <Button variant="ghost" icon small tabIndex={tabIndex} aria-label="Retry" onClick={onRetry}>
                  <RotateCw size={13} aria-hidden />
                </Button>
              )}
            </span>
          )}
          <span className="ml-auto inline-flex items-center gap-1.5 text-meta font-medium text-text-3">
            {pinned && (<><Pin size={12} aria-hidden /> Pinned</>)}
            {!pinned && !continued && state === "summarized" && <span title="The model sees this only through the summary">{stateWords.summarized}</span>}
            {!pinned && !continued && state === "dropped" && stateWords.dropped}
          </span>
        </div>
        <div className={mine ? "mt-0.5 rounded-[10px] bg-sunk px-[13px] py-[9px]" : ""}>
          {editing && position !== undefined ? (
            <Editing
              text={messageText(message.parts)}
              onCancel={() => setEditing(false)}
              onSave={(text) => {
                setEditing(false);
                onEdit?.(position, text);
              }}
            />
          ) : (
            <Parts message={message} sessionId={sessionId} />
          )}
        </div>
        {stopped && <p className="mt-1 text-meta text-text-3">Stopped</p>}
        {message.error && (
          <p className="mt-1 border-l-2 border-red-fill pl-2 text-dense text-red">
            {message.error} {onRetry && <LinkButton onClick={onRetry}>Retry</LinkButton>}
          </p>
        )}
      </div>
    </article>
  );
});
