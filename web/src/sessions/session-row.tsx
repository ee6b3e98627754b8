import { CircleAlert, Download, Ellipsis, Pencil, Trash2 } from "lucide-react";
import { Link } from "wouter";
import { MiniBar } from "../context/usage-bar";
import { useUsage } from "../context/usage";
import { ago, compactions, percent } from "../lib/format";
import type { Session } from "../lib/types";
import { Menu } from "../ui/menu";
import { isUnread, useSessions } from "./store";

interface Props {
  session: Session;
  current: boolean;
  onRename: (session: Session) => void;
  onDelete: (session: Session) => void;
  onExport: (session: Session) => void;
  onOpen?: () => void;
}

export function SessionRow({ session, current, onRename, onDelete, onExport, onOpen }: Props) {
  const usage = useUsage((state) => state.bySession[session.id]);
  const unread = useSessions((state) => !current && isUnread(session, state.seen));
  const failed = useSessions((state) => state.failed[session.id]);
  const box = current ? "bg-surface ring-1 ring-line shadow-soft" : "hover:bg-text/5";
  return (
    <div className={`group relative rounded-[8px] ${box}`}>
      <Link
        href={`/s/${encodeURIComponent(session.id)}`}
        aria-current={current ? "page" : undefined}
        onClick={onOpen}
        className="block rounded-[8px] px-2 pt-[7px] pb-2"
      >
        <span className="flex items-center gap-2">
          <span className="min-w-0 flex-1 truncate text-dense font-medium">{session.title || "New session"}</span>
          {unread && <span className="size-1.5 rounded-full bg-button" role="img" aria-label="New messages" />}
          <span className="text-meta text-text-3 group-focus-within:invisible group-hover:invisible">{ago(session.updated_at)}</span>
        </span>
        <span className="mt-px flex items-center gap-2 text-meta text-text-3">
          {session.compacting ? (
            <span className="inline-flex items-center gap-1.5 text-yellow">
              <span className="spinner size-3" aria-hidden /> Compacting…
            </span>
          ) : (
            <>
              {usage && <MiniBar usage={usage} />}
              {usage && <span>{percent(usage.tokens / usage.window)}</span>}
              {failed && (
                <span className="inline-flex items-center gap-1 truncate text-red">
                  <CircleAlert size={12} aria-hidden className="flex-none" /> Compaction failed
                </span>
              )}
              {!failed && session.compaction_count > 0 && <span className="truncate">{compactions(session.compaction_count)}</span>}
            </>
          )}
        </span>
      </Link>
      <div className="absolute top-1 right-1 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100">
        <Menu
          label={`More for ${session.title || "New session"}`}
          className="inline-flex size-[26px] items-center justify-center rounded-[7px] text-text-2 hover:bg-text/6"
          items={[
            { label: "Rename", icon: <Pencil size={14} aria-hidden />, onSelect: () => onRename(session) },
            { label: "Export", icon: <Download size={14} aria-hidden />, onSelect: () => onExport(session) },
            { label: "Delete", icon: <Trash2 size={14} aria-hidden />, danger: true, onSelect: () => onDelete(session) },
          ]}
        >
          <Ellipsis size={14} aria-hidden />
        </Menu>
      </div>
    </div>
  );
}
