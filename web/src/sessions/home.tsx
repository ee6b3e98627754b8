import { Menu } from "lucide-react";
import { useEffect } from "react";
import { useLocation } from "wouter";
import { Button } from "../ui/button";
import { createSession, useSessions } from "./store";

/** `/` opens the newest session; without one it offers the two ways to begin. */
export function Home({ onDrawer }: { onDrawer: () => void }) {
  const { sessions, loaded, problem } = useSessions();
  const [, go] = useLocation();
  const newest = [...sessions].sort((a, b) => b.updated_at - a.updated_at)[0];
  const newestId = newest?.id;
  useEffect(() => {
    if (newestId) go(`/s/${encodeURIComponent(newestId)}`, { replace: true });
  }, [go, newestId]);
  const begin = async (demo: boolean) => {
    const session = await createSession(demo ? { demo: true } : {});
    if (session) go(`/s/${encodeURIComponent(session.id)}`);
  };
  if (!loaded || newestId) return <h1 className="sr-only">Compact</h1>;
  return (
    <div className="flex flex-1 flex-col">
      <div className="p-2 lg:hidden">
        <Button variant="ghost" icon aria-label="Sessions" onClick={onDrawer}><Menu size={16} aria-hidden /></Button>
      </div>
      <div className="flex flex-1 flex-col items-center justify-center gap-4 p-6 text-center">
        <h1 className="text-page font-semibold">Compact</h1>
        {problem ? (
          <p role="alert" className="max-w-[420px] text-dense text-red">{problem}</p>
        ) : (
          <p className="max-w-[420px] text-text-2">Start a conversation, or open the sample session to watch a compaction.</p>
        )}
        <div className="flex flex-wrap justify-center gap-2">
          <Button variant="primary" onClick={() => void begin(false)}>New session</Button>
          <Button onClick={() => void begin(true)}>Open the sample session</Button>
        </div>
      </div>
    </div>
  );
}
