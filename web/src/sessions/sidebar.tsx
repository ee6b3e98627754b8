import { useVirtualizer } from "@tanstack/react-virtual";
import { ChartNoAxesGantt, Moon, Plus, Search, Settings as Gear, Sun, SunMoon } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { modKey } from "../lib/keys";
import { nextTheme, setPreference, usePreferences } from "../lib/preferences";
import type { Session } from "../lib/types";
import { Button, Kbd } from "../ui/button";
import { Logo } from "../ui/logo";
import { exportSession } from "./export";
import { DeleteDialog, RenameDialog } from "./session-dialogs";
import { SessionRow } from "./session-row";
import { bySpace, createSession, useSessions } from "./store";

interface Props {
  currentId: string;
  onSearch: () => void;
  /** After a choice in the drawer of a narrow screen. */
  onOpen?: () => void;
}

type Row = { kind: "space"; name: string; title: string } | { kind: "session"; session: Session };

export function Sidebar({ currentId, onSearch, onOpen }: Props) {
  const { sessions, spaces, loaded, problem } = useSessions();
  const theme = usePreferences((state) => state.theme);
  const [location, go] = useLocation();
  const [renaming, setRenaming] = useState<Session | null>(null);
  const [deleting, setDeleting] = useState<Session | null>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useMemo<Row[]>(
    () =>
      bySpace(sessions, spaces).flatMap((group): Row[] => [
        { kind: "space", name: group.name, title: group.title },
        ...group.sessions.map((session): Row => ({ kind: "session", session })),
      ]),
    [sessions, spaces],
  );
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => (rows[index]?.kind === "space" ? 40 : 52),
    getItemKey: (index) => {
      const row = rows[index];
      return row?.kind === "session" ? row.session.id : `space-${row?.name ?? index}`;
    },
    overscan: 8,
  });

  const create = async (space?: string) => {
    const session = await createSession(space ? { space } : {});
    if (session) go(`/s/${encodeURIComponent(session.id)}`);
    onOpen?.();
  };
  const ThemeIcon = { system: SunMoon, light: Sun, dark: Moon }[theme];
  const foot = "flex h-[30px] w-full items-center gap-2.5 rounded-[7px] px-2 text-dense font-medium text-text-2 hover:bg-text/5";

  return (
    <div className="flex h-full min-h-0 flex-col bg-side">
      <div className="flex h-14 flex-none items-center gap-2.5 pr-3.5 pl-4 text-header font-semibold">
        <Logo />
        Compact
        <Button variant="ghost" icon aria-label="New session" className="ml-auto" onClick={() => void create()}>
          <Plus size={16} aria-hidden />
        </Button>
      </div>
      <button
        type="button"
        onClick={onSearch}
        className="mx-3 flex h-8 flex-none items-center gap-1.5 rounded-[8px] border border-line bg-surface pr-1.5 pl-2 text-[12.5px] text-text-3 hover:border-line-2"
      >
        <Search size={14} aria-hidden />
        <span className="flex-1 truncate text-left">Search or run a command</span>
        <span className="hidden flex-none xl:inline"><Kbd>{modKey}K</Kbd></span>
      </button>
      <nav ref={scroller} aria-label="Session list" className="min-h-0 flex-1 overflow-auto px-2 pt-2 pb-3">
        {loaded && rows.length === 0 && (
          <p className="px-2 py-4 text-dense text-text-2">
            {problem || "Start a conversation, or open the sample session to watch a compaction."}
          </p>
        )}
        <ul className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index];
            if (!row) return null;
            return (
              <li key={item.key} ref={virtual.measureElement} data-index={item.index} className="absolute inset-x-0 top-0 pb-0.5" style={{ transform: `translateY(${item.start}px)` }}>
                {row.kind === "space" ? (
                  <div className="flex items-center justify-between px-2 pt-2.5 pb-1 text-meta font-medium text-text-3">
                    {row.title}
                    <Button variant="ghost" icon small aria-label={`New session in ${row.title}`} onClick={() => void create(row.name === "default" ? undefined : row.name)}>
                      <Plus size={14} aria-hidden />
                    </Button>
                  </div>
                ) : (
                  <SessionRow
                    session={row.session}
                    current={row.session.id === currentId}
                    onRename={setRenaming}
                    onDelete={setDeleting}
                    onExport={(session) => void exportSession(session.id, session.title)}
                    onOpen={onOpen}
                  />
                )}
              </li>
            );
          })}
        </ul>
      </nav>
      <div className="grid flex-none gap-px border-t border-line p-2">
        <Link href="/traces" onClick={onOpen} aria-current={location.startsWith("/traces") ? "page" : undefined} className={foot}>
          <ChartNoAxesGantt size={14} aria-hidden /> Traces
        </Link>
        <Link href="/settings" onClick={onOpen} aria-current={location === "/settings" ? "page" : undefined} className={foot}>
          <Gear size={14} aria-hidden /> Settings
        </Link>
        <button type="button" className={foot} onClick={() => setPreference({ theme: nextTheme(theme) })}>
          <ThemeIcon size={14} aria-hidden /> Theme: {theme}
        </button>
      </div>
      {renaming && <RenameDialog session={renaming} onClose={() => setRenaming(null)} />}
      {deleting && (
        <DeleteDialog session={deleting} onClose={() => setDeleting(null)} onDeleted={() => deleting.id === currentId && go("/")} />
      )}
    </div>
  );
}
