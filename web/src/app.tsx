import {
  Bug, ChartLine, ChartNoAxesGantt, Columns3, Download, FoldVertical, History, Keyboard, MessageSquare, PanelRight, Pencil, Plus, Settings as Gear,
  Sparkles, SunMoon, Trash2, Undo2,
} from "lucide-react";
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { decoded } from "./lib/decoded";
import { useKeys } from "./lib/keys";
import { nextTheme, setPreference, usePreferences } from "./lib/preferences";
import { Home } from "./sessions/home";
import { exportSession } from "./sessions/export";
import { viewPath, type View } from "./sessions/session-header";
import { SessionPage } from "./sessions/session-page";
import { Sidebar } from "./sessions/sidebar";
import { createSession, loadSessions, loadSettings, refreshSessions, sessionById, useSessions } from "./sessions/store";
import { Announcer } from "./ui/announcer";
import { Dialog } from "./ui/dialog";
import { ErrorBoundary } from "./ui/error-boundary";
import { KeysDialog } from "./ui/keys-dialog";
import { Palette, type Command } from "./ui/palette";
import { request } from "./ui/requests";
import { ToastList } from "./ui/toasts";
import { TokenDialog } from "./ui/token-dialog";

const TracesPage = lazy(() => import("./traces/traces-page"));
const SettingsPage = lazy(() => import("./settings/settings-page"));

const LOOK_MS = 10_000;

interface Place {
  session: string;
  view: View;
  page: "home" | "session" | "traces" | "settings";
}

/** What an address means. Unknown ones lead home. */
export function placeOf(path: string): Place {
  const session = /^\/s\/([^/]+)(?:\/(what-if|figures))?\/?$/.exec(path);
  if (session) return { page: "session", session: decoded(session[1] as string), view: (session[2] as View | undefined) ?? "chat" };
  const page = path.startsWith("/traces") ? "traces" : path === "/settings" ? "settings" : "home";
  return { page, session: "", view: "chat" };
}

export function App() {
  const [path, go] = useLocation();
  // Not `path`, which is decoded already, but for its slashes.
  const place = placeOf(window.location.pathname);
  const { sessions, tracesOnly } = useSessions();
  const [palette, setPalette] = useState(false);
  const [keys, setKeys] = useState(false);
  const [drawer, setDrawer] = useState(false);
  const theme = usePreferences((state) => state.theme);

  useEffect(() => {
    void loadSettings().then(() => {
      if (!useSessions.getState().tracesOnly) void loadSessions();
    });
  }, []);

  // A session that another tab or the terminal goes on with gets its dot here.
  useEffect(() => {
    const look = () => {
      const { tracesOnly: none, loaded } = useSessions.getState();
      if (loaded && !none && document.visibilityState === "visible") void refreshSessions();
    };
    const timer = setInterval(look, LOOK_MS);
    window.addEventListener("focus", look);
    return () => {
      clearInterval(timer);
      window.removeEventListener("focus", look);
    };
  }, []);

  // Where only traces are served, every address shows them.
  const page = tracesOnly ? "traces" : place.page;
  const current = place.session || sessions[0]?.id || "";

  const commands = useMemo<Command[]>(() => {
    const create = async (body: Record<string, unknown> = {}) => {
      const session = await createSession(body);
      if (session) go(viewPath(session.id, "chat"));
    };
    const here: Command[] = place.session
      ? [
          { id: "compact", group: "This session", label: "Compact now", words: "focus summarize", icon: <FoldVertical size={14} aria-hidden />, keys: ["Shift", "C"], run: () => request("compact") },
          { id: "undo", group: "This session", label: "Undo last compaction", words: "restore", icon: <Undo2 size={14} aria-hidden />, run: () => { go(viewPath(place.session, "chat")); request("undo-last"); } },
          { id: "chat", group: "This session", label: "Chat", icon: <MessageSquare size={14} aria-hidden />, keys: ["G", "C"], run: () => go(viewPath(place.session, "chat")) },
          { id: "whatif", group: "This session", label: "Compare presets", words: "what if", icon: <Columns3 size={14} aria-hidden />, keys: ["G", "W"], run: () => go(viewPath(place.session, "what-if")) },
          { id: "figures", group: "This session", label: "Figures", icon: <ChartLine size={14} aria-hidden />, keys: ["G", "F"], run: () => go(viewPath(place.session, "figures")) },
          { id: "context", group: "This session", label: "Context panel", words: "usage thresholds preset pins", icon: <PanelRight size={14} aria-hidden />, run: () => go(`${viewPath(place.session, "chat")}?panel=context`) },
          { id: "records", group: "This session", label: "Records and undo", words: "restore history", icon: <History size={14} aria-hidden />, run: () => go(`${viewPath(place.session, "chat")}?panel=records`) },
          { id: "debug", group: "This session", label: "Debug panel", words: "events context management", icon: <Bug size={14} aria-hidden />, run: () => go(`${viewPath(place.session, "chat")}?panel=debug`) },
          { id: "rename", group: "This session", label: "Rename session", icon: <Pencil size={14} aria-hidden />, run: () => request("rename") },
          { id: "export", group: "This session", label: "Export session", words: "download json", icon: <Download size={14} aria-hidden />, run: () => void exportSession(place.session, sessionById(place.session)?.title ?? "") },
          { id: "delete", group: "This session", label: "Delete session", words: "remove", icon: <Trash2 size={14} aria-hidden />, run: () => request("delete") },
        ]
      : [];
    const chats: Command[] = [
      { id: "new", group: "Go to", label: "New session", icon: <Plus size={14} aria-hidden />, keys: ["N"], run: () => void create() },
      { id: "sample", group: "Go to", label: "Open the sample session", words: "demo example compaction", icon: <Sparkles size={14} aria-hidden />, run: () => void create({ demo: true }) },
      { id: "settings", group: "Go to", label: "Settings", words: "spaces models", icon: <Gear size={14} aria-hidden />, run: () => go("/settings") },
    ];
    const everywhere: Command[] = [
      { id: "traces", group: "Go to", label: "Traces", icon: <ChartNoAxesGantt size={14} aria-hidden />, keys: ["G", "T"], run: () => go("/traces") },
      { id: "theme", group: "Go to", label: `Theme: ${nextTheme(theme)}`, words: "dark light", icon: <SunMoon size={14} aria-hidden />, run: () => setPreference({ theme: nextTheme(theme) }) },
      { id: "keys", group: "Go to", label: "Keys", words: "shortcuts keyboard help", icon: <Keyboard size={14} aria-hidden />, keys: ["?"], run: () => setKeys(true) },
    ];
    // `compact traces` has no conversations: nothing is offered that it could not do.
    if (tracesOnly) return everywhere;
    return [
      ...here,
      ...chats,
      ...everywhere,
      ...sessions.map((session): Command => ({
        id: `s-${session.id}`, group: "Sessions", label: session.title || "New session", words: session.space ?? "",
        icon: <MessageSquare size={14} aria-hidden />, run: () => go(viewPath(session.id, "chat")),
      })),
    ];
  }, [go, place.session, sessions, theme, tracesOnly]);
  const command = (id: string) => () => commands.find((entry) => entry.id === id)?.run();

  useKeys({
    "mod+k": () => setPalette(true),
    "/": () => (page === "traces" ? document.getElementById("trace-search")?.focus() : setPalette(true)),
    "?": () => setKeys(true),
    ...(page === "traces" ? {} : { n: command("new") }),
    "g c": () => current && go(viewPath(current, "chat")),
    "g w": () => current && go(viewPath(current, "what-if")),
    "g f": () => current && go(viewPath(current, "figures")),
    "g t": () => go("/traces"),
  });

  const sidebar = <Sidebar currentId={place.session} onSearch={() => { setDrawer(false); setPalette(true); }} onOpen={() => setDrawer(false)} />;
  return (
    <>
      <a href="#main" className="sr-only z-50 rounded-[8px] bg-surface p-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2">Skip to the content</a>
      <div className="flex h-dvh min-h-0">
        {page !== "traces" && <aside aria-label="Sessions" className="hidden w-[248px] flex-none border-r border-line lg:block xl:w-[264px]">{sidebar}</aside>}
        <main id="main" tabIndex={-1} className="flex min-w-0 flex-1 flex-col bg-surface outline-none">
          <ErrorBoundary key={path}>
          <Suspense fallback={<p className="p-6 text-text-3">Loading…</p>}>
            {page === "session" && (
              <SessionPage id={place.session} view={place.view} onDrawer={() => setDrawer(true)} />
            )}
            {page === "home" && <Home onDrawer={() => setDrawer(true)} />}
            {page === "traces" && <TracesPage onPalette={() => setPalette(true)} />}
            {page === "settings" && <SettingsPage onDrawer={() => setDrawer(true)} />}
          </Suspense>
          </ErrorBoundary>
        </main>
      </div>
      {drawer && (
        <Dialog title="Sessions" hideTitle drawer onClose={() => setDrawer(false)}>{sidebar}</Dialog>
      )}
      {palette && <Palette commands={commands} onClose={() => setPalette(false)} />}
      {keys && <KeysDialog onClose={() => setKeys(false)} />}
      <TokenDialog />
      <ToastList />
      <Announcer />
    </>
  );
}
