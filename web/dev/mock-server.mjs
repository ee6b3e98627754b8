// A stand-in for the server while pages are developed: speaks the same paths from memory. Not shipped.
import { createServer } from "node:http";
import { events, history, models, presets, records, sessions, spaces, usage } from "./mock-data.mjs";

const state = { sessions: sessions(), streams: new Map() };
const data = new Map(state.sessions.map((session) => [session.id, { messages: session.id === "empty" ? [] : history(), records: session.id === "empty" ? [] : records(), events: [...events] }]));
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const sse = (response, body) => response.write(`data: ${JSON.stringify(body)}\n\n`);

function publish(id, event) {
  if (event.type === "data-compaction") data.get(id)?.events.push(event.data);
  for (const response of state.streams.get(id) ?? []) sse(response, event);
}

async function compact(id) {
  const session = state.sessions.find((entry) => entry.id === id);
  const at = () => Date.now() / 1000;
  const send = (body) => publish(id, { type: "data-compaction", id: "c-4", data: { step: 4, at: at(), ...body } });
  session.compacting = true;
  send({ event: "compaction-start", tokensBefore: 104960, modelLimit: 128000, reason: "manual" });
  await sleep(1500);
  send({ event: "compaction-prune", outputsPruned: 9, tokensSaved: 10020, prunedTools: ["web_search"] });
  await sleep(800);
  send({ event: "compaction-summarize", messagesCount: 86 });
  for (const done of [1, 2, 3]) {
    await sleep(900);
    send({ event: "compaction-progress", done, total: 3 });
  }
  send({ event: "compaction-check", tokensAfter: 39700 });
  await sleep(900);
  session.compacting = false;
  if (/fail/i.test(session.title)) send({ event: "compaction-error", error: "No reply from gpt-4o-mini after 30 s, tried twice.", canRetry: true, suggestNewSession: true });
  else send({ event: "compaction-complete", tokensBefore: 104960, tokensAfter: 39700, messagesCompacted: 86, duration: 5 });
  session.usage = usage(0.31);
  publish(id, { type: "data-context-usage", id: "usage", data: session.usage });
}

async function chat(request, response, body) {
  const { messages } = data.get(body.id);
  const text = body.messages.at(-1).parts.map((part) => part.text).join("");
  const add = (role, parts) => messages.push({ id: `m${messages.length}`, position: messages.length, role, created_at: Date.now() / 1000, tokens: 40, state: "sent", pinned: false, parts });
  if (body.trigger !== "regenerate-message") add("user", [{ type: "text", text }]);
  response.writeHead(200, { "content-type": "text/event-stream", "x-vercel-ai-ui-message-stream": "v1" });
  sse(response, { type: "start", messageId: `m${messages.length}` });
  sse(response, { type: "start-step" });
  sse(response, { type: "text-start", id: "t" });
  const words = `You said: **${text.slice(0, 200)}**.\n\n- one\n- two\n\nDone.`.match(/\S+\s*/g);
  for (const delta of words) {
    sse(response, { type: "text-delta", id: "t", delta });
    await sleep(60);
  }
  sse(response, { type: "text-end", id: "t" });
  sse(response, { type: "finish-step" });
  add("assistant", [{ type: "text", text: words.join("") }]);
  sse(response, { type: "data-context-usage", id: "usage", data: usage(0.56) });
  sse(response, { type: "finish" });
  response.end("data: [DONE]\n\n");
}

function plan() {
  const steps = Array.from({ length: 22 }, (_, index) => ({ position: index, action: "summarize", tokens: 900, saves: 900, role: "user", tool: null, detail: "" }));
  return { triggered: false, reason: "below", mode: "summary", before: 70656, after: 33910, steps, warnings: [], limits: {} };
}

const KINDS = [["words", "Your words", 23], ["conclusions", "Conclusions", 11], ["done", "Done", 9], ["paths", "Paths and URLs", 31], ["ids", "Ids and names", 28], ["commands", "Commands", 12], ["numbers", "Numbers and dates", 40], ["errors", "Errors", 7]];

/** Survival of the eight kinds at about this share; words are lost only below a half. */
function kinds(share) {
  return KINDS.map(([kind, title, total], index) => {
    const kept = index < 2 && share > 0.5 ? total : Math.round(total * Math.max(0, share - index * 0.02));
    const missing = kept < total ? [{ text: kind === "paths" ? "src/legacy/cart.py" : `${title.toLowerCase()} ${index}`, position: index * 3 }] : [];
    return { kind, title, kept, total, missing, missing_count: total - kept };
  });
}

const counts = (found) => Object.fromEntries(["words", "conclusions"].map((name) => [name, found.find((entry) => entry.kind === name)]));

function column(label, share, survives, fate, cost = 0) {
  const fates = Array.from({ length: 148 }, (_, position) => ({ position, action: fate(position), tokens_before: 200 + ((position * 7919) % 1800), tokens_after: fate(position) === "kept" ? 900 : 0 }));
  const found = kinds(survives);
  return { label, preset: label, policy: {}, mode: "summary", reason: "", tokens_before: 104918, tokens_after: Math.round(128000 * share), percent_after: share * 100, cost_next: share * 1.6, cost_to_do: cost, seconds_to_do: cost ? 7 : 0.1, summarizer: cost ? "gpt-4o-mini" : null, cost_ten_turns: share * 1.6, turns_until_next: Math.round((0.85 - share) * 15), cached_tokens: 9056, survival_kinds: found, fates, summary: "", problem: null };
}

function whatIf(body) {
  const all = {
    budget: column("budget", 0.298, 0.9, (at) => (at < 1 ? "pinned" : at < 117 ? "summarized" : "kept"), 0.012),
    agent: column("agent", 0.41, 0.95, (at) => (at % 5 ? "kept" : "cleared")),
    window: column("window", 0.243, 0.3, (at) => (at < 4 || at > 131 ? "kept" : "dropped")),
    chat: column("chat", 0.3, 0.8, (at) => (at < 140 ? "summarized" : "kept"), 0.011),
    rolling: column("rolling", 0.3, 0.7, (at) => (at < 130 ? "summarized" : "kept"), 0.011),
  };
  return { at_message: 147, now: { ...column("now", 0.82, 1, () => "kept"), tokens_before: 104918, tokens_after: 104918 }, columns: body.columns.map((wanted) => all[wanted.preset]) };
}

function figures() {
  let tokens = 16000;
  let without = 16000;
  const turns = Array.from({ length: 44 }, (_, turn) => {
    const growth = 4000 + ((turn * 7919) % 9000);
    without += growth;
    const compaction = tokens + growth > 108800 ? (turn % 2) + 1 : null;
    tokens = compaction ? 36000 : tokens + growth;
    return { turn, position: turn * 2, at: turn, tokens, tokens_without: without, cost: tokens * 2.5e-6, cached_tokens: compaction ? 9000 : Math.round(tokens * 0.85), compaction };
  });
  const survival = [1, 2].map((version) => ({ step: version, version, ...counts(kinds(1 - version * 0.05)), values: null, kinds: kinds(1 - version * 0.05) }));
  return { turns, totals: { cost: 4.98, cost_saved: 9.43, tokens_saved: 6.0e6, input_tokens: 3.1e6, output_tokens: 41000, cached_tokens: 2.7e6, compactions: 2, turns: 44 }, survival, now: kinds(0.85), prices_known: true };
}

const traceSpans = () => {
  const span = (span_id, parent_id, depth, name, kind, offset_ms, duration_ms, data = {}, status = "ok") => ({ span_id, parent_id, depth, name, kind, offset_ms, duration_ms, data, status, started_at: null, children: 0, orphan: false });
  const spans = [
    span("turn", null, 0, "turn 41", "agent", 0, 51600),
    span("compaction", "turn", 1, "compact.compaction", "custom", 20, 6600, { tokensBefore: 109412, tokensAfter: 41205 }),
    span("estimate", "compaction", 2, "compact.token_estimate", "custom", 20, 4, { t_est: 109412 }),
    span("decision", "compaction", 2, "compact.trigger_decision", "custom", 26, 2, { triggered: true, reason: "overflow", policy: { trigger_pct: 0.85, strategy: "task_state" }, kept: { pinned: 2, recent_turns: 6, tool_pairs: 4 } }),
    span("summary", "compaction", 2, "compact.summary_created", "custom", 120, 6400, { summary: "## Goals\nCheckout tests fail about 1 in 6 runs on CI. [m0]", summary_tokens: 3902, model: "gpt-4o-mini", survival: { all: 0.96 } }),
    span("pruned", "compaction", 2, "compact.pruned_messages", "custom", 6580, 20, { tokens_before: 109412, tokens_after: 41205 }),
    span("gpt", "turn", 1, "gpt-4o", "generation", 6700, 8900, { usage: { input_tokens: 41205, output_tokens: 812 } }),
    span("tests", "turn", 1, "run_tests", "function", 15700, 14100, {}),
    span("retry", "turn", 1, "gpt-4o", "generation", 36500, 1100, { error: "429" }, "error"),
  ];
  for (const one of spans) one.children = spans.filter((other) => other.parent_id === one.span_id).length;
  return spans;
};

function traceSummary(id) {
  const spans = traceSpans();
  return { trace_id: id, name: `Fix flaky checkout test · ${id}`, group_id: "flaky", status: id === "turn-39" ? "error" : "ok", started_at: new Date().toISOString(), ended_at: null, duration_ms: 51600, span_count: spans.length, error_count: id === "turn-39" ? 1 : 0, running_count: 0, compaction_count: id === "turn-41" ? 1 : 0, metadata: {} };
}

const traces = ["turn-41", "turn-40", "turn-39"].map(traceSummary);

const routes = [
  ["GET", /^\/traces$/, (_id, _body, query) => {
    const shown = traces.filter((trace) => (query.get("status") ? trace.status === query.get("status") : true) && (query.get("compacted") ? trace.compaction_count > 0 : true));
    return { traces: shown, next_cursor: null, total: shown.length };
  }],
  ["GET", /^\/traces\/([^/]+)$/, (id) => ({ ...traceSummary(id), spans: traceSpans(), truncated: false, data_complete: true })],
  ["GET", /^\/api\/settings$/, () => ({ version: "mock", presets, models, demo: true, token_required: false })],
  ["GET", /^\/api\/spaces$/, () => ({ spaces })],
  ["GET", /^\/api\/sessions$/, () => ({ sessions: state.sessions, next_cursor: null })],
  ["POST", /^\/api\/sessions$/, (_, body) => {
    const session = { ...state.sessions.at(-1), id: `new${state.sessions.length}`, title: body.title ?? "", updated_at: Date.now() / 1000, space: body.space ?? "home" };
    state.sessions.push(session);
    data.set(session.id, { messages: [], records: [], events: [] });
    return session;
  }],
  ["GET", /^\/api\/sessions\/([^/]+)$/, (id) => state.sessions.find((session) => session.id === id)],
  ["PATCH", /^\/api\/sessions\/([^/]+)$/, (id, body) => Object.assign(state.sessions.find((session) => session.id === id), body)],
  ["DELETE", /^\/api\/sessions\/([^/]+)$/, (id) => { state.sessions = state.sessions.filter((session) => session.id !== id); return {}; }],
  ["GET", /^\/api\/sessions\/([^/]+)\/messages$/, (id, _, query) => {
    const { messages } = data.get(id);
    const limit = Number(query.get("limit") ?? 50);
    const after = query.get("after");
    const page = after === null ? messages.slice(-limit) : messages.filter((message) => message.position > Number(after)).slice(0, limit);
    return { messages: page, total: messages.length, first: messages.length ? 0 : null, last: messages.length ? messages.length - 1 : null };
  }],
  ["GET", /^\/api\/sessions\/([^/]+)\/records$/, (id) => ({ records: data.get(id).records })],
  ["GET", /^\/api\/sessions\/([^/]+)\/records\/\d+\/restore$/, () => ({ messages_back: 86, outputs_back: 0, tokens_now: 48640, tokens_after: 112640, compacts_again: true })],
  ["POST", /^\/api\/sessions\/([^/]+)\/records\/(\d+)\/restore$/, (id, _b, _q, step) => { data.get(id).records.forEach((record) => { if (record.step === Number(step)) Object.assign(record, { undone: true, undoable: false, in_force: false }); }); return { usage: usage(0.88) }; }],
  ["POST", /^\/api\/sessions\/([^/]+)\/plan$/, plan],
  ["POST", /^\/api\/sessions\/([^/]+)\/usage$/, (id, body) => ({ ...usage(0.56), draft: Math.ceil(body.draft.length / 4) })],
  ["POST", /^\/api\/sessions\/([^/]+)\/compact$/, async (id) => { await compact(id); return { outcome: "compacted", record: data.get(id).records.at(-1), usage: usage(0.31), reason: "" }; }],
  ["POST", /^\/api\/sessions\/([^/]+)\/(stop|compact\/cancel)$/, () => ({})],
  ["POST", /^\/api\/sessions\/([^/]+)\/what-if$/, (id, body) => whatIf(body)],
  ["GET", /^\/api\/sessions\/([^/]+)\/figures$/, figures],
  ["GET", /^\/api\/sessions\/([^/]+)\/export$/, (id) => data.get(id).messages],
  ["GET", /^\/api\/sessions\/([^/]+)\/originals\//, () => ({ handle: "r-1", position: 69, text: "the original\noutput", tokens: 18240 })],
  ["PUT", /^\/api\/sessions\/([^/]+)\/pins\/(\d+)$/, (id, body, _q, position) => Object.assign(data.get(id).messages[Number(position)], { pinned: body.pinned })],
];

createServer(async (request, response) => {
  const url = new URL(request.url, "http://mock");
  let text = "";
  for await (const chunk of request) text += chunk;
  const body = text ? JSON.parse(text) : {};
  if (url.pathname === "/api/chat") return chat(request, response, body);
  const stream = /^\/api\/sessions\/([^/]+)\/events$/.exec(url.pathname);
  if (stream) {
    if (url.searchParams.get("format") === "json") return response.end(JSON.stringify({ events: data.get(stream[1]).events.map((event) => ({ type: "data-compaction", data: event })), last: 0 }));
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(": hello\n\n");
    const open = state.streams.get(stream[1]) ?? new Set();
    state.streams.set(stream[1], open.add(response));
    return request.on("close", () => open.delete(response));
  }
  if (url.pathname === "/events") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('data: {"type":"connected"}\n\n');
    const timer = setInterval(() => sse(response, { type: "span", trace_id: "turn-41", span_id: "late" }), 5000);
    return request.on("close", () => clearInterval(timer));
  }
  if (/^\/api\/chat\/.*\/stream$/.test(url.pathname)) return response.writeHead(204).end();
  for (const [method, pattern, answer] of routes) {
    const found = method === request.method && pattern.exec(url.pathname);
    if (!found) continue;
    const result = await answer(found[1], body, url.searchParams, found[2]);
    response.writeHead(200, { "content-type": "application/json" });
    return response.end(JSON.stringify(result));
  }
  response.writeHead(404, { "content-type": "application/problem+json" }).end(JSON.stringify({ title: "Not found", status: 404, detail: `${request.method} ${url.pathname} is not mocked.` }));
}).listen(5199, "127.0.0.1", () => console.log("mock on 5199"));
