import { expect, it } from "vitest";
import { traceTitle } from "./spans";

it("names a session's trace by the session's newest title", () => {
  const sessions = [{ id: "s1", title: "Moving house" }];
  const trace = { trace_id: "t", group_id: "s1", name: "An earlier title", metadata: { session_id: "s1" } };
  expect(traceTitle(trace, sessions)).toBe("Moving house");
  expect(traceTitle({ ...trace, name: "compact s1", metadata: {} }, sessions)).toBe("Moving house");
  expect(traceTitle(trace, [])).toBe("An earlier title");
  expect(traceTitle({ ...trace, name: "Agent workflow", metadata: {} }, sessions)).toBe("Agent workflow");
});
