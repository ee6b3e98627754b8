/** The live exchange: useChat holds only what is being said now; everything older comes from the server. */
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, type UIMessage } from "ai";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { api, OFFLINE_TEXT, problemText, sessionPath } from "../lib/api";
import { authHeaders } from "../lib/token";
import type { CompactionEvent, Notice, Usage } from "../lib/types";
import { changeSession, refreshSession } from "../sessions/store";
import { announce } from "../ui/announcer";
import { messageText } from "./message-view";
import { applyCompactionEvent, applyNotice, applyUsage, refreshHistory, useOpenSession } from "./open-session";

const transport = new DefaultChatTransport<UIMessage>({
  api: "/api/chat",
  headers: authHeaders,
  // The server has the history: only the newest message travels.
  prepareSendMessagesRequest: ({ id, messages, trigger, messageId }) => ({
    body: { id, messages: messages.slice(-1), trigger, ...(messageId ? { messageId } : {}) },
  }),
  prepareReconnectToStreamRequest: ({ id }) => ({ api: `/api/chat/${encodeURIComponent(id)}/stream` }),
});

const RECHECK_MS = 1000;

/** What a failed send means: the server's own sentence, or that there is no server. */
export function sendProblem(error: Error): string {
  if (/^(Failed to fetch|NetworkError|Load failed|network error)/i.test(error.message)) return OFFLINE_TEXT;
  if (error.message.startsWith("{")) return problemText(0, error.message).text;
  return error.message;
}

/** What was begun last: what ends late must not touch what came after it. */
interface Exchange {
  /** What was typed for it; null where it is about a stored message. */
  text: string | null;
  /** The newest stored position before it. */
  upTo: number;
  failed: boolean;
  /** The reply was asked for again since the connection was last there. */
  resumed: boolean;
}

function hasReplied(message: UIMessage): boolean {
  return message.role === "assistant" && message.parts.some((part) => part.type !== "step-start");
}

/** Whether its message became part of the conversation, whatever this page heard of it. */
function isStored({ text, upTo }: Exchange): boolean {
  const known = [...useOpenSession.getState().history.known.values()];
  return known.some((message) => message?.role === "user" && message.position > upTo && messageText(message.parts) === text);
}

/** `onUnsent` takes back the text of a message that did not go out; `onAnswered` lets go of one that did after all. */
export function useChatSession(id: string, onUnsent: (text: string) => void, onAnswered: (text: string) => void) {
  const [problem, setProblem] = useState("");
  /** The newest stored position when the exchange began: newer rows are the live ones until it ends. */
  const [storedUpTo, setStoredUpTo] = useState<number | null>(null);
  /** From the send until what became of it is known: only then is the next message, or a retry, accepted. */
  const [unsettled, setUnsettled] = useState(false);
  /** A reply that was begun elsewhere is asked for, or comes in. */
  const [following, setFollowing] = useState(false);
  const exchange = useRef<Exchange>({ text: null, upTo: -1, failed: false, resumed: false });

  const onData = useCallback(
    (part: { type: string; data: unknown }) => {
      if (part.type === "data-context-usage") applyUsage(id, part.data as Usage);
      if (part.type === "data-compaction") applyCompactionEvent(id, part.data as CompactionEvent);
      if (part.type === "data-notice") applyNotice(part.data as Notice);
    },
    [id],
  );

  const chat = useChat<UIMessage>({
    id,
    transport,
    experimental_throttle: 32,
    onData: (part) => onData(part as { type: string; data: unknown }),
    onFinish: ({ isAbort, isError, isDisconnect }) => {
      if (!isError && !isDisconnect && !exchange.current.failed) announce(isAbort ? "Reply stopped" : "Reply finished");
      void settle();
    },
    onError: (error) => {
      const { text } = exchange.current;
      exchange.current.failed = true;
      setProblem(sendProblem(error));
      // A send that failed gives the text back; nothing typed is lost.
      if (text) onUnsent(text);
    },
  });
  const { setMessages, sendMessage, regenerate, stop, resumeStream, status } = chat;
  const streaming = following || status === "submitted" || status === "streaming";
  const idle = status === "ready" && !following;
  const idleNow = useRef(idle);
  useEffect(() => {
    idleNow.current = idle;
  });

  /** The exchange is over: its messages come from the store from now on. */
  const settle = useCallback(async () => {
    const ended = exchange.current;
    setUnsettled(true);
    changeSession(id, { streaming: false });
    try {
      await refreshHistory();
      if (ended !== exchange.current) return;
      setMessages([]);
      setStoredUpTo(null);
    } catch {
      // Without the server a reply that had begun stays on the screen; a message alone is back where it was typed.
      if (ended.text) setMessages((shown) => (shown.some(hasReplied) ? shown : []));
    }
    const session = await refreshSession(id);
    if (ended !== exchange.current) return;
    if (session?.streaming && ended.failed) {
      // Only the connection broke: the reply is still being written.
      if (!ended.resumed) void resumeStream();
      ended.resumed = true;
    } else if (ended.failed && ended.text) {
      if (isStored(ended)) onAnswered(ended.text);
    } else if (session?.draft) {
      // A message whose compaction was canceled or failed was not stored: it goes back to where it was typed.
      onUnsent(session.draft);
    }
    setUnsettled(false);
  }, [id, onAnswered, onUnsent, resumeStream, setMessages]);

  /** The server answers again: what it says of an exchange that broke off is true. */
  const reconnected = useCallback(() => {
    exchange.current.resumed = false;
    setProblem((shown) => (shown === OFFLINE_TEXT ? "" : shown));
    if (status === "error") void settle();
  }, [settle, status]);

  // Where only the send was lost, the event stream stays open and nothing else would notice that the server answers.
  useEffect(() => {
    if (problem !== OFFLINE_TEXT) return;
    const again = setInterval(() => void refreshSession(id).then((session) => session && reconnected()), RECHECK_MS);
    return () => clearInterval(again);
  }, [id, problem, reconnected]);

  const begin = useCallback((text: string | null, upTo: number | null) => {
    exchange.current = { text, upTo: upTo ?? -1, failed: false, resumed: false };
    setUnsettled(true);
    setProblem("");
    setStoredUpTo(upTo);
  }, []);

  const send = useCallback(
    (text: string) => {
      const { loaded, history } = useOpenSession.getState();
      begin(text, loaded ? history.last : null);
      void sendMessage({ text });
    },
    [begin, sendMessage],
  );

  /** The reply to a stored message again; the message itself stays where it is. */
  const retry = useCallback(
    (position: number, text: string) => {
      begin(null, position);
      setMessages([{ id: `m${position}`, role: "user", parts: [{ type: "text", text }] }]);
      void regenerate();
    },
    [begin, regenerate, setMessages],
  );

  /** A stored message with other words: what came after it is no longer part of the conversation. */
  const edit = useCallback(
    (position: number, text: string) => {
      begin(null, position - 1);
      setMessages([{ id: `m${position}`, role: "user", parts: [{ type: "text", text }] }]);
      void sendMessage({ text, messageId: `m${position}` });
    },
    [begin, sendMessage, setMessages],
  );

  const stopReply = useCallback(async () => {
    const stopped = exchange.current;
    await api.post(sessionPath(id, "/stop")).catch(() => undefined);
    // What was begun meanwhile goes on.
    if (stopped === exchange.current) void stop();
  }, [id, stop]);

  /** Only where the server says that a reply runs: asked in vain, the answer would end what was sent meanwhile. */
  const follow = useCallback(() => {
    if (!idleNow.current) return;
    setFollowing(true);
    void resumeStream().finally(() => setFollowing(false));
  }, [resumeStream]);

  return useMemo(
    () => ({ messages: chat.messages, status, streaming, unsettled, problem, storedUpTo, send, retry, edit, stopReply, follow, reconnected }),
    [chat.messages, edit, follow, problem, reconnected, retry, send, status, stopReply, storedUpTo, streaming, unsettled],
  );
}

export type ChatSession = ReturnType<typeof useChatSession>;
