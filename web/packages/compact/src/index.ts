import { asSchema, type ModelMessage, type PrepareStepFunction, type ToolSet, type UIMessage } from "ai";

export type Preset = "budget" | "chat" | "window" | "agent" | "rolling";

export interface Tokens {
  before: number;
  after: number;
  window: number;
}

export interface CompactOptions {
  /** Of the Compact server, as `http://127.0.0.1:5180`. */
  url: string;
  token?: string;
  /** Groups the calls of one conversation. Without it, the first message does. */
  session?: string;
  model?: string;
  /** Of the model, in tokens. Without it, the server goes by the model's name. */
  window?: number;
  preset?: Preset;
  /** As given to `streamText` or `generateText`, so that both are counted. */
  system?: string;
  tools?: ToolSet;
  fetch?: typeof globalThis.fetch;
  signal?: AbortSignal;
}

export interface StepOptions extends CompactOptions {
  onCompacted?: (tokens: Tokens) => void;
  /** Called when a step goes out as it is. Default: `console.warn`. */
  onError?: (error: unknown) => void;
  /** How long a step waits for the server. Default: 60,000. */
  timeoutMs?: number;
}

export interface Compacted<Message> {
  messages: Message[];
  /** Whether this call made a compaction. An earlier one may be in place without it. */
  compacted: boolean;
  session: string;
  tokens: Tokens;
}

/** The server refused, or did not answer as expected. The messages are as they were. */
export class CompactError extends Error {
  override name = "CompactError";

  constructor(
    message: string,
    readonly code: string,
    readonly status: number,
  ) {
    super(message);
  }
}

interface Observed {
  messages: number;
  input_tokens: number;
}

interface Answer {
  messages: unknown[];
  kept: (number | null)[];
  compacted: boolean;
  session: string;
  tokens: Tokens;
}

/** What of these messages to send to the model. Those that did not change are the objects you passed. */
export async function compact<Message extends ModelMessage | UIMessage>(
  messages: Message[],
  options: CompactOptions,
): Promise<Compacted<Message>> {
  return ask(messages, options);
}

/** For `prepareStep` of `streamText`, `generateText` and agents: every step fits the model's window. */
export function compactStep(options: StepOptions): PrepareStepFunction<ToolSet> {
  const { onCompacted, onError = warn, timeoutMs = 60_000 } = options;
  // A run has one list of steps; what its last prompt was made of tells the server how the provider counts.
  const asked = new WeakMap<object, number>();
  return async ({ messages, model, steps }) => {
    try {
      const observed = observedIn(steps, asked.get(steps));
      asked.set(steps, messages.length);
      const named = options.model ?? (typeof model === "string" ? model : model.modelId);
      const signal = options.signal ?? AbortSignal.timeout(timeoutMs);
      const found = await ask(messages, { ...options, model: named, signal }, observed);
      if (found.compacted) onCompacted?.(found.tokens);
      return { messages: found.messages };
    } catch (error) {
      onError(error);
      return {};
    }
  };
}

function observedIn(
  steps: readonly { usage: { inputTokens?: number | undefined } }[],
  messages: number | undefined,
): Observed | undefined {
  const counted = steps.at(-1)?.usage.inputTokens;
  return counted && messages ? { messages, input_tokens: counted } : undefined;
}

function warn(error: unknown): void {
  console.warn("Not compacted, sent as it is:", error instanceof Error ? error.message : error);
}

async function ask<Message>(
  messages: Message[],
  options: CompactOptions,
  observed?: Observed,
): Promise<Compacted<Message>> {
  const { url, token, session, model, window, preset, system, signal } = options;
  const tools = await definitions(options.tools);
  const body = { messages, session, model, window, preset, system, tools, observed };
  const response = await (options.fetch ?? globalThis.fetch)(`${url.replace(/\/+$/, "")}/api/compact`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) },
    body: JSON.stringify(body, plain),
    ...(signal ? { signal } : {}),
  });
  if (!response.ok) throw await problem(response);
  const answer = (await response.json()) as Answer;
  return {
    // What the server did not change keeps what JSON cannot hold: bytes, addresses, the object itself.
    messages: answer.messages.map((made, at) => {
      const place = answer.kept[at];
      return typeof place === "number" ? (messages[place] as Message) : (made as Message);
    }),
    compacted: answer.compacted,
    session: answer.session,
    tokens: answer.tokens,
  };
}

async function definitions(tools: ToolSet | undefined): Promise<object[] | undefined> {
  if (!tools) return undefined;
  return Promise.all(
    Object.entries(tools).map(async ([name, tool]) => ({
      name,
      description: tool.description,
      parameters: await asSchema(tool.inputSchema).jsonSchema,
    })),
  );
}

/** Bytes as base64, which the AI SDK reads too. `this` has the value before its own `toJSON`. */
function plain(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const held = this[key];
  const bytes = held instanceof ArrayBuffer ? new Uint8Array(held) : held;
  if (!(bytes instanceof Uint8Array)) return value;
  let text = "";
  for (let at = 0; at < bytes.length; at += 8_192) text += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  return btoa(text);
}

async function problem(response: Response): Promise<CompactError> {
  const said = (await response.json().catch(() => ({}))) as { detail?: string; code?: string };
  const detail = said.detail ?? `The Compact server answered ${String(response.status)}.`;
  return new CompactError(detail, said.code ?? "refused", response.status);
}
