import { useState } from "react";
import { setToken, useTokenWanted } from "../lib/token";
import { Button } from "./button";
import { Dialog, DialogActions } from "./dialog";

/** Asks for the token that the server wants; the page then begins again with it. */
export function TokenDialog() {
  const wanted = useTokenWanted((state) => state.wanted);
  const [typed, setTyped] = useState("");
  if (!wanted) return null;
  const decline = () => useTokenWanted.setState({ wanted: false, declined: true });
  return (
    <Dialog title="This server needs a token" onClose={decline} description="The token is missing, or the server no longer accepts it. Whoever started the server has it. Nothing was changed, and what you typed is kept.">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!typed.trim()) return;
          setToken(typed.trim());
          window.location.reload();
        }}
      >
        <input
          autoFocus
          type="password"
          autoComplete="off"
          aria-label="Token"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          className="mt-3 h-9 w-full rounded-[8px] border border-line-2 bg-surface px-3"
        />
        <DialogActions>
          <Button onClick={decline}>Not now</Button>
          <Button type="submit" variant="primary" disabled={!typed.trim()}>Continue</Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
