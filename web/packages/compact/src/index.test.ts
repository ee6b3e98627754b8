import type { ModelMessage, UIMessage } from "ai";
import { tool } from "ai";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { compact, CompactError, compactStep } from "./index";

const TOKENS = { before: 900, after: 300, window: 1_000 };
const SUMMARY = { role: "assistant", content: "<COMPACT-SUMMARY v1>" };

interface Sent {
  url: string;
  headers: Record<string, string>;
  body: Record<string, unknown>;
}

/** A server that keeps the last message and puts a summary before it; remembers what it was sent. */
function server(status = 200) {
  const sent: Sent[] = [];
  const fetch = ((url: string, init: RequestInit) => {
    const body = JSON.parse(init.body as string) as { messages: unknown[] };
    sent.push({ url, headers: init.headers as Record<string, string>, body });
    const last = body.messages.length - 1;
    const answer =
      status === 200
        ? { messages: [SUMMARY, body.messages[last]], kept: [null, last], compacted: true, session: "s", tokens: TOKENS }
        : { code: "insufficient-budget", detail: "It cannot fit." };
    return Promise.resolve(new Response(JSON.stringify(answer), { status }));
  }) as typeof globalThis.fetch;
  return { sent, fetch };
}

const step = (messages: ModelMessage[], steps: unknown[] = []) =>
  ({ messages, steps, stepNumber: steps.length, model: "gpt-4o", experimental_context: undefined }) as never;

it("gives back the caller's own objects, with bytes that JSON cannot hold", async () => {
  const bytes = new Uint8Array([1, 2, 255]);
  const messages: ModelMessage[] = [
    { role: "user", content: "hello" },
    { role: "user", content: [{ type: "file", data: bytes, mediaType: "image/png" }] },
  ];
  const { sent, fetch } = server();
  const found = await compact(messages, { url: "http://compact/", fetch, token: "secret", window: 1_000 });
  expect(found.messages[0]).toEqual(SUMMARY);
  expect(found.messages[1]).toBe(messages[1]);
  expect(found.tokens).toEqual(TOKENS);
  expect(sent[0]?.url).toBe("http://compact/api/compact");
  expect(sent[0]?.headers.authorization).toBe("Bearer secret");
  expect(JSON.stringify(sent[0]?.body)).toContain('"data":"AQL/"');
});

it("reads UI messages as well", async () => {
  const messages: UIMessage[] = [{ id: "1", role: "user", parts: [{ type: "text", text: "hello" }] }];
  const { fetch } = server();
  expect((await compact(messages, { url: "http://compact", fetch })).messages[1]).toBe(messages[0]);
});

it("says why it was refused", async () => {
  const refused = compact([{ role: "user", content: "hello" }], { url: "http://compact", fetch: server(422).fetch });
  await expect(refused).rejects.toEqual(new CompactError("It cannot fit.", "insufficient-budget", 422));
});

it("sends model, tools and what the provider counted for the step before", async () => {
  const { sent, fetch } = server();
  const onCompacted = vi.fn();
  const tools = { read: tool({ description: "Read.", inputSchema: z.object({ page: z.number() }) }) };
  const prepare = compactStep({ url: "http://compact", fetch, tools, system: "Be exact.", onCompacted });
  const messages: ModelMessage[] = [{ role: "user", content: "hello" }];
  const steps: unknown[] = [];
  expect(await prepare(step(messages, steps))).toEqual({ messages: [SUMMARY, messages[0]] });
  steps.push({ usage: { inputTokens: 77 } });
  await prepare(step([...messages, { role: "assistant", content: "hi" }], steps));
  expect(sent[0]?.body).toMatchObject({ model: "gpt-4o", system: "Be exact." });
  expect(sent[0]?.body.tools).toMatchObject([{ name: "read", parameters: { required: ["page"] } }]);
  expect(sent.map((one) => one.body.observed)).toEqual([undefined, { messages: 1, input_tokens: 77 }]);
  expect(onCompacted).toHaveBeenCalledWith(TOKENS);
});

it("lets a step go out as it is when the server cannot help", async () => {
  const onError = vi.fn();
  const prepare = compactStep({ url: "http://compact", fetch: server(422).fetch, onError });
  expect(await prepare(step([{ role: "user", content: "hello" }]))).toEqual({});
  expect(onError).toHaveBeenCalledOnce();
});
