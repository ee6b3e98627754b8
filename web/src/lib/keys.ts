/** Keyboard shortcuts. Letters never act in fields and can be switched off. */
import { useEffect, useRef } from "react";
import { usePreferences } from "./preferences";

type Actions = Record<string, (event: KeyboardEvent) => void>;

export const isMac = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);
export const modKey = isMac ? "⌘" : "Ctrl ";

function inField(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element && (/^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName) || element.isContentEditable);
}

/** "mod+k", "shift+c", "?", "g c": how a pressed key is named, with the key pressed before it. */
export function keyName(event: Pick<KeyboardEvent, "key" | "metaKey" | "ctrlKey" | "shiftKey">): string {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (event.metaKey || event.ctrlKey) return `mod+${key}`;
  const letter = /^[a-z]$/.test(key);
  return event.shiftKey && letter ? `shift+${key}` : key;
}

export function useKeys(actions: Actions) {
  const current = useRef(actions);
  useEffect(() => {
    current.current = actions;
  });
  useEffect(() => {
    let prefix = "";
    let since = 0;
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.altKey) return;
      const name = keyName(event);
      const withModifier = name.startsWith("mod+");
      // A focused button keeps the keys that press it.
      if ((event.key === " " || event.key === "Enter") && (event.target as HTMLElement).closest?.("button, a, summary")) return;
      if (!withModifier && (inField(event.target) || document.querySelector("dialog[open]"))) return;
      const plain = event.key.length === 1 && !withModifier;
      if (plain && !usePreferences.getState().letterKeys) return;
      const pair = prefix && Date.now() - since < 1200 ? `${prefix} ${name}` : "";
      prefix = name === "g" ? "g" : "";
      since = Date.now();
      const action = current.current[pair] ?? (pair ? undefined : current.current[name]);
      if (!action) return;
      event.preventDefault();
      action(event);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}
