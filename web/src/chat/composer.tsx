import { ArrowUp, FileText, Square, X } from "lucide-react";
import { useEffect, useRef, type KeyboardEvent } from "react";
import { isTooLong } from "../context/usage";
import { BUSY_TEXT } from "../lib/api";
import { count, plural } from "../lib/format";
import type { ModelChoice, Preset, Session, Usage } from "../lib/types";
import { isJustCreated, patchSession } from "../sessions/store";
import { Button } from "../ui/button";
import { Select } from "../ui/select";
import { draftText, isLongPaste, type Draft } from "./drafts";

interface Props {
  session: Session;
  presets: Preset[];
  models: ModelChoice[];
  draft: Draft;
  onDraft: (draft: Draft) => void;
  draftUsage: Usage | null;
  draftTokens: number;
  /** Compacting here or in another tab: typing stays on, Send is off. */
  compacting: boolean;
  streaming: boolean;
  problem: string;
  onSend: () => void;
  onStop: () => void;
  onEditLast: () => void;
}

function Hint({ draft, draftUsage, draftTokens, compacting, problem }: Pick<Props, "draft" | "draftUsage" | "draftTokens" | "compacting" | "problem">) {
  if (problem) return <span id="send-problem" role="status" className="text-red">{problem}</span>;
  if (compacting) return <>Send is off while compacting</>;
  if (!draftText(draft) || !draftUsage || !draftTokens) return null;
  const fits = draftUsage.tokens <= (draftUsage.budget ?? draftUsage.window);
  return (
    <>
      about {count(draftTokens)} tokens · {isTooLong(draftUsage) ? "too long to send" : draftUsage.compacts_next ? "compacts first" : fits ? "fits" : "does not fit"}
    </>
  );
}

export function Composer(props: Props) {
  const { session, presets, models, draft, onDraft, compacting, streaming, problem, onSend, onStop } = props;
  const field = useRef<HTMLTextAreaElement>(null);
  const ready = draftText(draft) !== "" && !compacting && !streaming;

  // Not where a keyboard would cover half of the screen.
  useEffect(() => {
    if (isJustCreated(session.id) && window.matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, [session.id]);

  useEffect(() => {
    const element = field.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight, 260)}px`;
  }, [draft.text]);

  const press = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      if (ready) onSend();
    } else if (event.key === "Escape") {
      event.preventDefault();
      // Nothing to stop: out of the field, so that letters act on the thread.
      if (streaming) onStop();
      else document.querySelector<HTMLElement>("[role=log]")?.focus();
    } else if (event.key === "ArrowUp" && draft.text === "" && draft.pasted.length === 0) {
      event.preventDefault();
      props.onEditLast();
    }
  };

  return (
    <div className="rounded-[14px] border border-line-2/60 bg-surface shadow-float focus-within:border-line-2">
      {draft.pasted.length > 0 && (
        <div className="flex flex-wrap gap-1.5 px-3 pt-2.5">
          {draft.pasted.map((text, index) => (
            <span key={index} className="inline-flex h-[26px] items-center gap-1.5 rounded-[7px] bg-sunk pl-2 text-meta text-text-2">
              <FileText size={13} aria-hidden />
              <b className="font-medium">Pasted text · {plural(text.split("\n").length, "line")}</b>
              <Button
                variant="ghost"
                icon
                small
                aria-label="Remove pasted text"
                onClick={() => onDraft({ ...draft, pasted: draft.pasted.filter((_, other) => other !== index) })}
              >
                <X size={12} aria-hidden />
              </Button>
            </span>
          ))}
        </div>
      )}
      <textarea
        ref={field}
        id="composer"
        rows={1}
        aria-label="Message Compact"
        placeholder="Message Compact"
        value={draft.text}
        onChange={(event) => onDraft({ ...draft, text: event.target.value })}
        onKeyDown={press}
        onPaste={(event) => {
          const text = event.clipboardData.getData("text/plain");
          if (!isLongPaste(text)) return;
          event.preventDefault();
          onDraft({ ...draft, pasted: [...draft.pasted, text] });
        }}
        className="block w-full resize-none overflow-auto bg-transparent px-3.5 pt-3 pb-1 text-[15px] leading-[22px] outline-none"
      />
      <div className="flex items-center gap-1 px-2 pt-1.5 pb-2">
        <Select
          quiet
          label="Preset"
          value={session.preset}
          options={presets.map((preset) => ({ value: preset.name, label: preset.name }))}
          onChange={(preset) => void patchSession(session.id, { preset })}
        />
        <Select
          quiet
          label="Model"
          value={session.model}
          options={withCurrent(models, session.model)}
          onChange={(model) => void patchSession(session.id, { model })}
        />
        <span className="ml-auto min-w-0 text-right text-meta text-text-3">
          <Hint {...props} />
        </span>
        {streaming ? (
          <Button variant="primary" icon aria-label="Stop" onClick={onStop} className="ml-2 size-8 rounded-[9px]">
            <Square size={12} aria-hidden fill="currentColor" />
          </Button>
        ) : (
          <Button
            variant={ready ? "primary" : "plain"}
            icon
            aria-label="Send"
            title={compacting ? BUSY_TEXT : undefined}
            disabled={!ready}
            onClick={onSend}
            className="ml-2 size-8 rounded-[9px]"
            aria-describedby={problem ? "send-problem" : undefined}
          >
            <ArrowUp size={16} aria-hidden />
          </Button>
        )}
      </div>
    </div>
  );
}

function withCurrent(models: ModelChoice[], current: string) {
  const options = models.map((model) => ({ value: model.id, label: model.label || model.id }));
  return options.some((option) => option.value === current) ? options : [{ value: current, label: current }, ...options];
}
