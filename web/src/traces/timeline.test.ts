import { describe, expect, it } from "vitest";
import { badge, factsOf, kindOf, type Span } from "./spans";
import { ancestors, isHit, ms, pan, rangeParams, readKinds, ticks, visibleRows, zoom, type Range } from "./timeline";

function span(id: string, parent: string | null, depth: number, more: Partial<Span> = {}): Span {
  return { span_id: id, parent_id: parent, kind: "custom", name: id, status: "ok", started_at: null, duration_ms: 10, offset_ms: 0, depth, children: 0, orphan: false, data: {}, ...more };
}

const none = { errors: false, slow: false, kinds: new Set<never>() };
const spans = [
  span("turn", null, 0, { duration_ms: 900 }),
  span("compact.compaction", "turn", 1, { duration_ms: 500, data: { tokensBefore: 109_412, tokensAfter: 41_205 } }),
  span("compact.trigger_decision", "compact.compaction", 2, { data: { triggered: true, reason: "overflow" } }),
  span("compact.summary_created", "compact.compaction", 2, { duration_ms: 480, data: { summary: "## Goals", summary_tokens: 3_902, model: "gpt-4o-mini" } }),
  span("gpt-4o", "turn", 1, { kind: "generation", status: "error" }),
];

describe("rows", () => {
  it("hides what is under a collapsed span, and nothing else", () => {
    expect(visibleRows(spans, new Set(["compact.compaction"]), none).map((row) => row.span_id)).toEqual(["turn", "compact.compaction", "gpt-4o"]);
  });
  it("keeps the ancestors of what a filter wants", () => {
    expect(visibleRows(spans, new Set(), { ...none, errors: true }).map((row) => row.span_id)).toEqual(["turn", "gpt-4o"]);
    expect(visibleRows(spans, new Set(), { ...none, kinds: readKinds("summary,nonsense") }).map((row) => row.span_id)).toEqual(["turn", "compact.compaction", "compact.summary_created"]);
  });
  it("is quick for 5,000 spans", () => {
    const many = Array.from({ length: 5_000 }, (_, index) => span(`s${index}`, index ? `s${index - 1 - ((index - 1) % 10)}` : null, index % 10));
    const start = performance.now();
    visibleRows(many, new Set(), { ...none, slow: true });
    expect(performance.now() - start).toBeLessThan(200);
  });
  it("finds hits in names and data, and the way to them", () => {
    expect(spans.filter((row) => isHit(row, "GOALS")).map((row) => row.span_id)).toEqual(["compact.summary_created"]);
    expect(ancestors(spans, "compact.summary_created")).toEqual(["compact.compaction", "turn"]);
  });
});

describe("the inspector's facts", () => {
  it("gathers summary, decision and counts of the compaction a span belongs to", () => {
    const facts = factsOf(spans, spans[2] as Span);
    expect(facts.summary).toBe("## Goals");
    expect(facts.decision?.reason).toBe("overflow");
    expect([facts.tokens.before, facts.tokens.after, facts.tokens.summary]).toEqual([109_412, 41_205, 3_902]);
    expect(facts.model).toBe("gpt-4o-mini");
  });
  it("knows kinds and badges", () => {
    expect(spans.map(kindOf)).toEqual(["other", "summary", "decision", "summary", "model"]);
    expect(badge(spans[1] as Span)).toBe("-68.2k");
    expect(badge(spans[3] as Span)).toBe("3,902");
  });
});

describe("the time axis", () => {
  const all = { t0: 0, t1: 51_600 };
  it("zooms around a point and never leaves the trace", () => {
    const near = zoom(all, 0.5, 51_600, 0);
    expect(near).toEqual({ t0: 0, t1: 25_800 });
    expect(zoom(near, 10, 51_600)).toEqual(all);
    expect(pan(near, -1, 51_600)).toEqual(near);
    expect(pan(near, 5, 51_600).t1).toBe(51_600);
  });
  it("comes back to the whole, whatever the address rounds away", () => {
    for (const total of [3.217, 630.04, 630.06, 50_390.013, 50_390.049]) {
      const steps = [(now: Range) => zoom(now, 0.6, total), (now: Range) => pan(now, 0.25, total), (now: Range) => zoom(now, 1 / 0.6, total), (now: Range) => pan(now, -0.25, total)];
      let text = rangeParams({ t0: 0, t1: total }, total);
      for (const step of [...steps, ...steps]) text = rangeParams(step({ t0: Number(text.t0 ?? 0), t1: Number(text.t1 ?? total) }), total);
      expect(text).toEqual({ t0: null, t1: null });
    }
  });
  it("has round ticks", () => {
    expect(ticks({ t0: 0, t1: 18_000 })).toEqual([0, 5_000, 10_000, 15_000]);
    expect(ms(0)).toBe("0 ms");
    expect(ms(6_400)).toBe("6.4 s");
    expect(ms(72_000)).toBe("1 m 12 s");
  });
});
