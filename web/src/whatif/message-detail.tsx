import { useEffect, useState } from "react";
import { Link } from "wouter";
import { messageText } from "../chat/message-view";
import { api, sessionPath } from "../lib/api";
import { count, outputText } from "../lib/format";
import type { Fate, Message, MessagePage } from "../lib/types";

const WAIT_MS = 150;
const SHOWN = 280;

/** Who said it, or which tool, and its first words. */
export function excerptOf(message: Message): { who: string; text: string } {
  const tool = message.parts.find((part) => part.type === "dynamic-tool" || part.type.startsWith("tool-")) as { toolName?: string; output?: unknown } | undefined;
  const said = messageText(message.parts);
  const who = message.role === "user" ? "you" : tool && !said ? (tool.toolName ?? "tool") : message.role;
  const text = (said || outputText(tool?.output)).replace(/\s+/g, " ").trim();
  return { who, text: text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text };
}

/** The message that the map points at. It is fetched once the selection rests. */
export function MessageDetail({ fate, sessionId }: { fate: Fate; sessionId: string }) {
  const { position } = fate;
  const [message, setMessage] = useState<Message | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      api
        .get<MessagePage>(sessionPath(sessionId, `/messages?before=${position + 1}&limit=1`), stop.signal)
        .then((page) => setMessage(page.messages[0] ?? null))
        .catch(() => undefined);
    }, WAIT_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [position, sessionId]);
  // A tool result belongs to the call before it; anything older is still on its way.
  const shown = message && message.position <= position && (message.last_position ?? message.position) >= position ? excerptOf(message) : null;
  return (
    <div className="min-w-0">
      <b className="font-semibold">m{position}{shown && ` · ${shown.who}`} · {count(fate.tokens_before)} tokens</b>
      <p className="mt-1 min-h-[36px] break-words text-text-2">{shown?.text}</p>
      <p className="mt-1"><Link href={`/s/${encodeURIComponent(sessionId)}?m=${position}`} className="text-accent underline">Open in chat</Link></p>
    </div>
  );
}
