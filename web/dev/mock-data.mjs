// Sample conversations for developing pages without the server. Not shipped.
const now = Date.now() / 1000;

export const presets = [
  ["budget", 0.85, "Summarizes old turns, keeps the last 6 turns and 4 tool steps", { keep_recent_turns: 6, keep_tool_io_pairs: 4 }],
  ["chat", 0.8, "Summarizes all but the last 6 messages", {}],
  ["window", 0.8, "Keeps the first 2 and last 10 turns, drops the rest", {}],
  ["agent", 0.8, "Clears old tool output first, summarizes only if that is not enough", {}],
  ["rolling", 0.8, "Folds old turns into a rolling summary", {}],
].map(([name, trigger_pct, description, policy]) => ({ name, title: name, description, trigger_pct, policy: { trigger_pct, ...policy } }));

export const models = [
  { id: "demo", label: "demo", note: "Scripted, offline", default: true, window: 128000 },
  { id: "gpt-4o", label: "gpt-4o", note: "Needs a key", default: false, window: 128000 },
];

export function usage(share, window = 128000, extra = {}) {
  const tokens = Math.round(share * window);
  return {
    tokens, window, window_source: "registry", trigger: Math.round(window * 0.85), budget: window - 1500, reserve: 1500, percent: share * 100,
    exact: true, margin: 0, over_by: Math.max(0, tokens - window), compacts_next: share >= 0.85,
    parts: { system: 1840, tools: 7216, summary: 3902, messages: tokens - 1840 - 7216 - 3902 }, ...extra,
  };
}

const text = (value) => [{ type: "text", text: value }];

function tool(name, input, output, compact) {
  return { type: "dynamic-tool", toolName: name, toolCallId: `c-${name}-${Math.random()}`, state: "output-available", input, output, tokens: 412, ...(compact ? { compact } : {}) };
}

export function history() {
  const messages = [];
  const add = (role, parts, extra = {}) =>
    messages.push({ id: `m${messages.length}`, position: messages.length, last_position: messages.length, turn: 0, role, created_at: now - 9000 + messages.length * 60, tokens: 120, state: "sent", pinned: false, finish_reason: null, error: null, model: "gpt-4o", parts, ...extra });
  add("user", text("Checkout tests fail about 1 in 6 runs on CI. Find out why and fix it. No new dependencies."), { pinned: true, state: "summarized" });
  for (let turn = 1; turn < 34; turn += 1) {
    add("assistant", text(`Step ${turn}: looked at the lock order once more, nothing new yet.`), { state: "summarized" });
    add("user", text(turn === 33 ? "Retrying hides it. I want the cause, not a decorator. And please leave the payment client alone, Dana owns it." : "Go on."), { state: "summarized" });
  }
  add("assistant", text("Understood: no retries, `payments/client.py` stays as it is. I'll look at lock order next."), { state: "summarized" });
  add("user", text("Good."));
  add("assistant", [
    tool("run_tests", { path: "tests/checkout --count 200" }, "", { state: "cleared", at: now, original_tokens: 18240, handle: "r-1", placeholder: "[Tool output cleared - see conversation summary]" }),
    tool("read_file", { path: "src/stock/reserve.py" }, Array.from({ length: 108 }, (_, line) => `${line + 84}  rows = await db.execute(select(Stock).where(Stock.sku.in_(skus)))`).join("\n")),
    tool("shell", { cmd: "psql -f lock_waits.sql" }, "pid | waits\n41 | 42", { state: "shortened", original_tokens: 31204, tokens: 1940, handle: "r-2" }),
  ]);
  add("user", text("Good. Add the regression test and run it 200 times. Tell me the timing before and after."), { pinned: true });
  add("assistant", [
    { type: "reasoning", text: "Two carts lock the same rows.", duration: 4 },
    tool("run_tests", { path: "test_two_carts_opposite_order --count 200" }, "200 passed"),
    ...text("The new test passes 200 of 200 runs; without the sort it fails 31 of 200, so it does catch the bug. The checkout suite went from 41.2 s to 38.7 s because nothing waits for the deadlock timeout any more."),
  ]);
  return messages;
}

const item = (value, positions, label) => ({ text: value, positions, label: label ?? null });

export function records() {
  const base = { reason: "overflow", note: "", fallback: null, warnings: [], handle: null, outputs_cleared: 0 };
  return [
    { ...base, step: 1, version: 1, kind: "summary", created_at: now - 8000, duration: 5.2, tokens_before: 110869, tokens_after: 34800, messages_replaced: 44, first_position: 1, last_position: 43, summary: "v1", sections: [], survival: null, summarizer: "gpt-4o-mini", cost: 0.01, in_force: false, folded_into: 2, undone: false, undoable: true },
    {
      ...base, step: 2, version: 2, kind: "summary", created_at: now - 3000, duration: 6.4, tokens_before: 109412, tokens_after: 41205, messages_replaced: 61, first_position: 1, last_position: 67,
      summary: "## Goals\nCheckout tests fail about 1 in 6 runs on CI. [m0]", summarizer: "gpt-4o-mini", cost: 0.011, in_force: true, folded_into: null, undone: false, undoable: true,
      survival: { words: { kept: 9, total: 9 }, conclusions: { kept: 4, total: 4 }, values: { kept: 46, total: 52 } },
      sections: [
        { title: "Your words", kind: "words", items: [item("Checkout tests fail about 1 in 6 runs on CI. Find out why and fix it. No new dependencies.", [0]), ...Array.from({ length: 7 }, (_, index) => item(`Go on, part ${index + 1}.`, [2 + index * 2])), item("Retrying hides it. I want the cause, not a decorator. And please leave the payment client alone, Dana owns it.", [66])] },
        { title: "Conclusions", kind: "conclusions", items: [item("two carts lock the same stock rows in opposite order; Postgres kills one after 1 s.", [41, 52], "Cause"), item("lock rows in SKU order, because it removes the cycle and adds no round trip.", [58], "Decision"), item("retry decorator (you ruled it out), serializable isolation (3× slower).", [55, 61], "Rejected"), item("regression test with two carts, then 200 runs.", [65], "Next")] },
        { title: "Done", kind: "done", items: [item("Reproduced: 7 of 40 runs failed, always in test_parallel_reserve", [18]), item("Logged lock waits; both sides of the deadlock captured", [37]), item("Sorted SKUs in reserve_stock(), commit a41c9e7", [63])] },
        { title: "Values", kind: "values", items: [["stock/reserve.py:88", 41], ["deadlock_timeout = 1s", 37], ["ord_8f31c2", 39], ["SQLSTATE 40P01", 37], ["pytest -x --count 40", 18], ...Array.from({ length: 41 }, (_, index) => [`value_${index}`, 20 + index])].map(([value, position]) => item(value, [position])) },
      ],
    },
    { ...base, step: 3, version: 2, kind: "prune", created_at: now - 1000, duration: 0.1, tokens_before: 91206, tokens_after: 72966, messages_replaced: 0, outputs_cleared: 1, first_position: 69, last_position: 69, summary: "", sections: [], survival: null, summarizer: null, cost: null, in_force: true, folded_into: null, undone: false, undoable: true, undoable: true },
  ];
}

export const events = [
  { event: "context-overflow", step: 1, at: now - 90000, currentTokens: 133410, limit: 128000, percentUsed: 104 },
  { event: "compaction-error", step: 1, at: now - 8100, error: "The summarizer did not answer within 30 s. Retried.", canRetry: true, suggestNewSession: false },
  { event: "compaction-start", step: 2, at: now - 3010, tokensBefore: 109412, modelLimit: 128000, reason: "overflow" },
  { event: "compaction-prune", step: 2, at: now - 3009, outputsPruned: 9, tokensSaved: 10020, prunedTools: ["web_search", "fetch_page"] },
  { event: "compaction-summarize", step: 2, at: now - 3008, messagesCount: 61 },
  { event: "compaction-complete", step: 2, at: now - 3000, duration: 6.4, tokensBefore: 109412, tokensAfter: 41205, messagesCompacted: 61, wasPruned: true, wasSummarized: true },
];

export function sessions() {
  const row = (id, title, space, share, count, age) => ({ id, title, space, preset: "budget", model: "gpt-4o", created_at: now - age - 1, updated_at: now - age, message_count: 79, compaction_count: count, last_compaction_at: null, compacting: false, streaming: false, usage: usage(share) });
  return [
    row("flaky", "Fix flaky checkout test", "storefront", 0.552, 2, 5),
    row("pydantic", "Upgrade to Pydantic 2.12", "storefront", 0.82, 4, 7300),
    row("slow", "Why is /search slow on Mondays?", "storefront", 0.38, 1, 400000),
    row("notes", "Release notes 4.7", "storefront", 0.12, 0, 450000),
    row("lisbon", "Moving to Lisbon", "home", 0.82, 2, 300),
    row("bread", "Sourdough, take three", "home", 0.27, 1, 500000),
    row("sample", "Sample session", "demo", 0.96, 6, 1300000),
    { ...row("empty", "", "home", 0.02, 0, 900000), message_count: 0, usage: null },
  ];
}

export const spaces = [["storefront", "Storefront API"], ["home", "Home"], ["demo", "Demo"]].map(([name, title]) => ({ name, title, custom_instructions: "", preset: null }));
