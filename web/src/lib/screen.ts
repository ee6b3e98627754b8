import { useSyncExternalStore } from "react";

function watch(query: string) {
  const media = window.matchMedia(query);
  return {
    subscribe: (changed: () => void) => {
      media.addEventListener("change", changed);
      return () => media.removeEventListener("change", changed);
    },
    now: () => media.matches,
  };
}

const wide = watch("(min-width: 1280px)");

/** Room for the panel beside the thread. */
export function useIsWide(): boolean {
  return useSyncExternalStore(wide.subscribe, wide.now);
}
