import { Check, ChevronDown, ChevronUp, CircleAlert, Eraser, FileText, Scissors, Search, SquareTerminal, Wrench } from "lucide-react";
import { useState } from "react";
import { api, errorText, sessionPath } from "../lib/api";
import { count, outputText, plural, seconds, toolArguments } from "../lib/format";
import type { MessagePart, OutputChange } from "../lib/types";
import { LinkButton, Tag } from "../ui/button";
import { copyText } from "../ui/copy";

const FOLDED_LINES = 12;
export const CLEARED_TEXT = "[Tool output cleared - see conversation summary]";

export interface ToolPart {
  type: string;
  toolName?: string;
  toolCallId: string;
  state: string;
  input?: unknown;
  output?: unknown;
  errorText?: string;
  tokens?: number;
  duration?: number;
  compact?: OutputChange;
}

export function isToolPart(part: MessagePart): boolean {
  return part.type === "dynamic-tool" || part.type.startsWith("tool-");
}

function toolName(part: ToolPart): string {
  return part.toolName ?? part.type.replace(/^tool-/, "");
}

function ToolIcon({ part }: { part: ToolPart }) {
  const state = part.compact?.state;
  const name = toolName(part);
  const Icon = state === "cleared" ? Eraser
    : state === "shortened" ? Scissors
    : /search|find|grep/.test(name) ? Search
    : /read|file|open/.test(name) ? FileText
    : /run|shell|exec|bash|command|test/.test(name) ? SquareTerminal
    : Wrench;
  return <Icon size={14} aria-hidden className="flex-none" />;
}

/** A text in a box that scrolls, folded to its first lines when it is long. */
export function FoldedText({ text, label, note }: { text: string; label: string; note?: string }) {
  const [all, setAll] = useState(false);
  const lines = text.split("\n");
  const more = lines.length - FOLDED_LINES;
  return (
    <>
      <pre
        tabIndex={0}
        role="region"
        aria-label={label}
        className="max-h-[480px] overflow-auto border-t border-line bg-raised px-3 py-2.5 text-[12.5px] leading-[19px] text-text-2"
      >
        {all || more <= 0 ? text : lines.slice(0, FOLDED_LINES).join("\n")}
      </pre>
      <div className="flex items-center gap-3 border-t border-dashed border-line bg-raised px-3 py-1 text-meta text-text-3">
        {note && <span>{note}</span>}
        {more > 0 && !all && <span>{plural(more, "more line")}</span>}
        {more > 0 && <LinkButton onClick={() => setAll(!all)}>{all ? "Show less" : "Show all"}</LinkButton>}
        <LinkButton onClick={() => void copyText(text)}>Copy</LinkButton>
      </div>
    </>
  );
}

/** Loads what was cleared or shortened, by its handle, in place; the prompt does not change. */
function Original({ sessionId, change, name }: { sessionId: string; change: OutputChange; name: string }) {
  const [text, setText] = useState<string | null>(null);
  const [problem, setProblem] = useState("");
  const load = async () => {
    try {
      const path = `/originals/${encodeURIComponent(change.handle ?? "")}`;
      setText((await api.get<{ text: string }>(sessionPath(sessionId, path))).text);
    } catch (error) {
      setProblem(errorText(error));
    }
  };
  if (text !== null) return <FoldedText text={text} label={`Original output of ${name}`} note="Original, not in the prompt" />;
  return (
    <div className="flex flex-wrap items-center gap-2.5 border-t border-dashed border-line px-3 py-2 text-meta text-text-2">
      {change.state === "cleared" && <code className="text-meta">{change.placeholder || CLEARED_TEXT}</code>}
      {change.original_tokens != null && <span className="text-text-3">was {count(change.original_tokens)} tokens</span>}
      {problem && <span className="text-red">{problem}</span>}
      {change.handle && (
        <LinkButton className="ml-auto" onClick={() => void load()}>
          Show original
        </LinkButton>
      )}
    </div>
  );
}

function Outcome({ part }: { part: ToolPart }) {
  if (part.compact?.state === "cleared") return <Tag>Cleared</Tag>;
  if (part.compact?.state === "shortened") {
    const { original_tokens: was, tokens } = part.compact;
    return (
      <>
        <Tag>Shortened</Tag>
        {was != null && tokens != null && (
          <span className="hidden md:inline">
            {count(was)} → {count(tokens)} tokens
          </span>
        )}
      </>
    );
  }
  if (part.state === "output-error") {
    return (
      <Tag tone="red">
        <CircleAlert size={12} aria-hidden /> Failed
      </Tag>
    );
  }
  if (part.state !== "output-available") return <Tag tone="accent">Running</Tag>;
  return (
    <>
      {part.duration != null && <span className="hidden md:inline">{seconds(part.duration)}</span>}
      {part.tokens != null ? <span>{count(part.tokens)} tokens</span> : <Check size={14} aria-hidden className="text-green" />}
    </>
  );
}

export function ToolBlock({ part, sessionId }: { part: ToolPart; sessionId: string }) {
  const [open, setOpen] = useState(false);
  const name = toolName(part);
  const cleared = part.compact?.state === "cleared";
  const output = part.state === "output-error" ? (part.errorText ?? "") : outputText(part.output);
  const expandable = !cleared && (output !== "" || part.input !== undefined);
  const Chevron = open ? ChevronUp : ChevronDown;
  const frame = cleared ? "border-dashed border-line-2" : "border-line bg-surface";
  return (
    <div className={`mt-2 overflow-hidden rounded-[10px] border ${frame}`}>
      <button
        type="button"
        disabled={!expandable}
        aria-expanded={expandable ? open : undefined}
        onClick={() => setOpen(!open)}
        className="flex min-h-9 w-full min-w-0 items-center gap-2 px-2.5 text-left text-dense -outline-offset-2"
      >
        <ToolIcon part={part} />
        <span className="flex-none font-mono text-[12.5px] font-medium">{name}</span>
        <span className="min-w-0 flex-1 truncate font-mono text-[12.5px] text-text-2">{toolArguments(part.input)}</span>
        <span className="flex flex-none items-center gap-2 text-meta text-text-3">
          <Outcome part={part} />
          {expandable && <Chevron size={14} aria-hidden />}
        </span>
      </button>
      {open && part.input !== undefined && (
        <pre tabIndex={0} role="region" aria-label={`Arguments of ${name}`} className="max-h-60 overflow-auto border-t border-line px-3 py-2 text-[12.5px] leading-[19px] text-text-2">
          {outputText(part.input)}
        </pre>
      )}
      {open && output !== "" && <FoldedText text={output} label={`Output of ${name}`} />}
      {part.compact && (cleared || open) && <Original sessionId={sessionId} change={part.compact} name={name} />}
    </div>
  );
}
