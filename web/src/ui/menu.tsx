import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { createPortal } from "react-dom";

export interface MenuItem {
  label: string;
  icon?: ReactNode;
  onSelect: () => void;
  danger?: boolean;
  disabled?: boolean;
}

interface Props {
  label: string;
  items: MenuItem[];
  /** What the button shows. */
  children: ReactNode;
  className?: string;
}

/** A button with a menu: arrows move, Enter chooses, Escape closes and returns to the button. */
export function Menu({ label, items, children, className = "" }: Props) {
  const [place, setPlace] = useState<{ top: number; right: number } | null>(null);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);

  const close = () => {
    setPlace(null);
    button.current?.focus();
  };

  useEffect(() => {
    if (!place) return;
    list.current?.querySelector<HTMLElement>("[role=menuitem]:not([disabled])")?.focus();
    const away = (event: MouseEvent) => {
      if (!list.current?.contains(event.target as Node)) setPlace(null);
    };
    document.addEventListener("mousedown", away);
    return () => document.removeEventListener("mousedown", away);
  }, [place]);

  const open = () => {
    const box = button.current?.getBoundingClientRect();
    if (!box) return;
    const height = items.length * 32 + 12;
    const below = box.bottom + 4 + height < window.innerHeight;
    setPlace({ top: below ? box.bottom + 4 : Math.max(8, box.top - height - 4), right: Math.max(8, window.innerWidth - box.right) });
  };

  const move = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === "Escape" || event.key === "Tab") {
      event.preventDefault();
      return close();
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const entries = [...(list.current?.querySelectorAll<HTMLElement>("[role=menuitem]:not([disabled])") ?? [])];
    const at = entries.indexOf(document.activeElement as HTMLElement);
    entries[(at + step + entries.length) % entries.length]?.focus();
  };

  return (
    <>
      <button
        ref={button}
        type="button"
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={place !== null}
        onClick={() => (place ? close() : open())}
        className={className}
      >
        {children}
      </button>
      {place &&
        createPortal(
          <div
            ref={list}
            role="menu"
            aria-label={label}
            tabIndex={-1}
            onKeyDown={move}
            style={place}
            className="fixed z-50 min-w-44 rounded-[10px] border border-line bg-surface p-1.5 shadow-float"
          >
            {items.map((item) => (
              <button
                key={item.label}
                type="button"
                role="menuitem"
                disabled={item.disabled}
                onClick={() => {
                  close();
                  item.onSelect();
                }}
                className={`flex h-8 w-full items-center gap-2.5 rounded-[7px] px-2.5 text-left text-dense hover:bg-text/6 focus-visible:bg-text/6 disabled:text-text-3 ${item.danger ? "text-red" : ""}`}
              >
                {item.icon}
                {item.label}
              </button>
            ))}
          </div>,
          document.body,
        )}
    </>
  );
}
