import { useState } from "react";
import { api, errorText } from "../lib/api";
import type { Space } from "../lib/types";
import { loadSessions, useSessions } from "../sessions/store";
import { Button } from "../ui/button";
import { showToast } from "../ui/toasts";

function SpaceEditor({ space }: { space: Space }) {
  const [instructions, setInstructions] = useState(space.custom_instructions);
  const path = `/api/spaces/${encodeURIComponent(space.name)}`;
  const save = async () => {
    try {
      await api.put(path, { title: space.title, custom_instructions: instructions, preset: space.preset ?? null });
      showToast("info", "Saved", `The instructions of ${space.title} apply from the next message on.`);
      await loadSessions();
    } catch (error) {
      showToast("error", "Not saved", errorText(error));
    }
  };
  return (
    <div className="border-t border-line py-3 first:border-t-0">
      <label className="text-dense font-medium" htmlFor={`space-${space.name}`}>{space.title}: custom instructions</label>
      <textarea
        id={`space-${space.name}`}
        rows={3}
        value={instructions}
        onChange={(event) => setInstructions(event.target.value)}
        className="mt-1.5 block w-full rounded-[8px] border border-line-2 bg-surface p-2 text-dense"
      />
      <Button small className="mt-2" disabled={instructions === space.custom_instructions} onClick={() => void save()}>Save</Button>
    </div>
  );
}

/** Sessions live in spaces; a space's instructions stand first in its prompts. */
export function SpacesForm() {
  const spaces = useSessions((state) => state.spaces);
  const [name, setName] = useState("");
  const add = async () => {
    try {
      await api.put(`/api/spaces/${encodeURIComponent(name.trim())}`, { title: name.trim(), custom_instructions: "" });
      setName("");
      await loadSessions();
    } catch (error) {
      showToast("error", "Space not created", errorText(error));
    }
  };
  return (
    <div>
      {spaces.map((space) => <SpaceEditor key={space.name} space={space} />)}
      <form className="mt-2 flex gap-2" onSubmit={(event) => { event.preventDefault(); if (name.trim()) void add(); }}>
        <input aria-label="Name of a new space" placeholder="New space" value={name} maxLength={100} onChange={(event) => setName(event.target.value)} className="h-[30px] min-w-0 flex-1 rounded-[8px] border border-line-2 bg-surface px-2.5 text-dense" />
        <Button type="submit" disabled={!name.trim()}>Add space</Button>
      </form>
    </div>
  );
}
