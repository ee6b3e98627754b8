import { ChartLine, ChartNoAxesGantt, Columns3, Ellipsis, FoldVertical, Menu as MenuIcon, MessageSquare } from "lucide-react";
import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import type { Session } from "../lib/types";
import { Button } from "../ui/button";
import { Menu, type MenuItem } from "../ui/menu";
import { useSessions } from "./store";

export type View = "chat" | "what-if" | "figures";

export function viewPath(id: string, view: View): string {
  return `/s/${encodeURIComponent(id)}${view === "chat" ? "" : `/${view}`}`;
}

interface Props {
  session: Session;
  view: View;
  onCompact: () => void;
  onDrawer: () => void;
  more: MenuItem[];
}

const tabs: { view: View; label: string; icon: ReactNode }[] = [
  { view: "chat", label: "Chat", icon: <MessageSquare size={14} aria-hidden /> },
  { view: "what-if", label: "What if", icon: <Columns3 size={14} aria-hidden /> },
  { view: "figures", label: "Figures", icon: <ChartLine size={14} aria-hidden /> },
];

export function SessionHeader({ session, view, onCompact, onDrawer, more }: Props) {
  const [, go] = useLocation();
  const space = useSessions((state) => state.spaces.find((other) => other.name === session.space));
  const tab = "flex h-7 items-center rounded-[7px] px-2.5 text-dense font-medium whitespace-nowrap";
  const traces = `/traces?q=${encodeURIComponent(session.id)}`;
  return (
    <header className="flex h-[52px] flex-none items-center gap-2 px-2 md:h-14 md:gap-2.5 md:pr-4 md:pl-3 lg:pl-5">
      <Button variant="ghost" icon aria-label="Sessions" className="lg:hidden" onClick={onDrawer}>
        <MenuIcon size={16} aria-hidden />
      </Button>
      <h1 className="min-w-0 truncate text-header font-semibold">{session.title || "New session"}</h1>
      {space && <span className="hidden truncate text-dense text-text-3 xl:inline">{space.title}</span>}
      <nav aria-label="Session views" className="ml-1.5 hidden gap-0.5 md:flex">
        {tabs.map((entry) => (
          <Link
            key={entry.view}
            href={viewPath(session.id, entry.view)}
            aria-current={entry.view === view ? "page" : undefined}
            className={`${tab} ${entry.view === view ? "bg-text/8 text-text" : "text-text-2 hover:bg-text/5"}`}
          >
            {entry.label}
          </Link>
        ))}
        <Link href={traces} className={`${tab} text-text-2 hover:bg-text/5`}>Traces</Link>
      </nav>
      <span className="flex-1" />
      <Button aria-label="Compact now" disabled={session.compacting} onClick={onCompact}>
        <FoldVertical size={14} aria-hidden />
        <span className="hidden md:inline">Compact now</span>
      </Button>
      <Menu
        label="More"
        className="inline-flex size-[30px] flex-none items-center justify-center rounded-[8px] text-text-2 hover:bg-text/6"
        items={[
          ...tabs.filter((entry) => entry.view !== view).map((entry) => ({ label: entry.label, icon: entry.icon, onSelect: () => go(viewPath(session.id, entry.view)) })),
          { label: "Traces", icon: <ChartNoAxesGantt size={14} aria-hidden />, onSelect: () => go(traces) },
          ...more,
        ]}
      >
        <Ellipsis size={16} aria-hidden />
      </Menu>
    </header>
  );
}
