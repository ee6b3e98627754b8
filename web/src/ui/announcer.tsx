import { create } from "zustand";

/** The one polite live region: replies finished, phases, reductions, usage crossings. */
const useAnnouncement = create<{ text: string }>(() => ({ text: "" }));

export function announce(text: string) {
  useAnnouncement.setState({ text });
}

export function Announcer() {
  const text = useAnnouncement((state) => state.text);
  return (
    <div aria-live="polite" role="status" className="sr-only">
      {text}
    </div>
  );
}
