import { useEffect, useState } from "react";
import { compactNow } from "../chat/open-session";
import { api, errorText, sessionPath } from "../lib/api";
import { count } from "../lib/format";
import type { Plan } from "../lib/types";
import { Button } from "../ui/button";
import { Dialog, DialogActions } from "../ui/dialog";
import { planText } from "./next-compaction";

export function CompactDialog({ sessionId, onClose }: { sessionId: string; onClose: () => void }) {
  const [focus, setFocus] = useState("");
  const [plan, setPlan] = useState<Plan | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    api
      .post<Plan>(sessionPath(sessionId, "/plan"), { now: true })
      .then(setPlan)
      .catch((error: unknown) => setProblem(errorText(error)));
  }, [sessionId]);
  const run = () => {
    onClose();
    void compactNow(focus.trim() ? { focus: focus.trim() } : {});
  };
  return (
    <Dialog title="Compact now" description="Old turns become a summary. You can undo this at any time." onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        <label className="mt-4 block text-dense font-medium" htmlFor="focus">
          Keep in view <span className="font-normal text-text-3">optional</span>
        </label>
        <input
          id="focus"
          autoFocus
          value={focus}
          maxLength={10_000}
          placeholder="What the summary must keep"
          onChange={(event) => setFocus(event.target.value)}
          className="mt-1.5 h-9 w-full rounded-[8px] border border-line-2 bg-surface px-3 text-dense"
        />
        <div className="mt-3 min-h-14 rounded-[8px] bg-sunk px-3 py-2 text-meta text-text-2">
          {problem || (plan ? (
            <>
              {plan.after < plan.before && <b className="block font-semibold text-text">{count(plan.before)} → at most {count(plan.after)} tokens</b>}
              {planText(plan)}
            </>
          ) : (
            "Loading the plan…"
          ))}
        </div>
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary">Compact now</Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
