import { useState } from "react";
import type { Session } from "../lib/types";
import { Button } from "../ui/button";
import { Dialog, DialogActions } from "../ui/dialog";
import { deleteSession, patchSession } from "./store";

export function RenameDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const [title, setTitle] = useState(session.title);
  const save = () => {
    void patchSession(session.id, { title: title.trim() });
    onClose();
  };
  return (
    <Dialog title="Rename session" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (title.trim()) save();
        }}
      >
        <input
          autoFocus
          aria-label="Title"
          maxLength={200}
          value={title}
          onFocus={(event) => event.target.select()}
          onChange={(event) => setTitle(event.target.value)}
          className="mt-3 h-9 w-full rounded-[8px] border border-line-2 bg-surface px-3"
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" disabled={!title.trim()}>Rename</Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

export function DeleteDialog({ session, onClose, onDeleted }: { session: Session; onClose: () => void; onDeleted: () => void }) {
  return (
    <Dialog
      title={`Delete “${session.title || "New session"}”?`}
      onClose={onClose}
      description="Its messages, summaries and records are deleted for good. Export it first to keep a copy."
    >
      <DialogActions>
        <Button onClick={onClose}>Keep</Button>
        <Button
          variant="danger"
          onClick={() => {
            void deleteSession(session.id).then((gone) => gone && onDeleted());
            onClose();
          }}
        >
          Delete
        </Button>
      </DialogActions>
    </Dialog>
  );
}
