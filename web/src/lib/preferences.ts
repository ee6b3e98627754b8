import { create } from "zustand";

export type Theme = "system" | "light" | "dark";

interface Preferences {
  theme: Theme;
  letterKeys: boolean;
  panelOpen: boolean;
}

const KEY = "compact-preferences";
const standard: Preferences = { theme: "system", letterKeys: true, panelOpen: true };

function read(): Preferences {
  try {
    return { ...standard, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Preferences>) };
  } catch {
    return standard;
  }
}

export const usePreferences = create<Preferences>(() => read());

export function setPreference(change: Partial<Preferences>) {
  usePreferences.setState(change);
  try {
    localStorage.setItem(KEY, JSON.stringify(usePreferences.getState()));
  } catch {
    // A browser that stores nothing still works; the choice lasts until the page closes.
  }
  applyTheme();
}

export function applyTheme() {
  const { theme } = usePreferences.getState();
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function nextTheme(theme: Theme): Theme {
  return theme === "system" ? "light" : theme === "light" ? "dark" : "system";
}
