import { CircleAlert, Info, TriangleAlert, Undo2, X } from "lucide-react";
import { useEffect, useRef } from "react";
import { create } from "zustand";
import { Button } from "./button";

type Kind = "info" | "warning" | "error" | "undo";

export interface Toast {
  id: number;
  kind: Kind;
  title: string;
  text?: string;
}

interface Toasts {
  toasts: Toast[];
  show: (kind: Kind, title: string, text?: string) => void;
  dismiss: (id: number) => void;
}

const MOST = 3;
const SHOWN_MS = 6000;
let next = 1;

export const useToasts = create<Toasts>((set) => ({
  toasts: [],
  show: (kind, title, text) =>
    set((state) => {
      // The same notice may arrive over the chat stream and over the session's events.
      if (state.toasts.some((toast) => toast.title === title && toast.text === text)) return state;
      return { toasts: [...state.toasts, { id: next++, kind, title, text }].slice(-MOST) };
    }),
  dismiss: (id) => set((state) => ({ toasts: state.toasts.filter((toast) => toast.id !== id) })),
}));

export function showToast(kind: Kind, title: string, text?: string) {
  useToasts.getState().show(kind, title, text);
}

const icons = {
  info: <Info size={16} aria-hidden className="text-accent" />,
  warning: <TriangleAlert size={16} aria-hidden className="text-yellow" />,
  error: <CircleAlert size={16} aria-hidden className="text-red" />,
  undo: <Undo2 size={16} aria-hidden className="text-text-2" />,
};

function ToastCard({ toast }: { toast: Toast }) {
  const dismiss = useToasts((state) => state.dismiss);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const stop = () => clearTimeout(timer.current);
  const start = () => {
    stop();
    timer.current = setTimeout(() => dismiss(toast.id), SHOWN_MS);
  };
  useEffect(() => {
    timer.current = setTimeout(() => dismiss(toast.id), SHOWN_MS);
    return () => clearTimeout(timer.current);
  }, [dismiss, toast.id]);
  return (
    <div
      role="status"
      onMouseEnter={stop}
      onMouseLeave={start}
      onFocus={stop}
      onBlur={start}
      className="pointer-events-auto flex w-full max-w-[380px] items-start gap-2.5 rounded-[11px] border border-line bg-surface py-2.5 pr-2 pl-3 text-dense shadow-float"
    >
      <span className="mt-px">{icons[toast.kind]}</span>
      <div className="min-w-0 flex-1">
        <b className="block font-semibold">{toast.title}</b>
        {toast.text && <p className="text-text-2">{toast.text}</p>}
      </div>
      <Button variant="ghost" icon small aria-label="Dismiss" onClick={() => dismiss(toast.id)}>
        <X size={14} aria-hidden />
      </Button>
    </div>
  );
}

export function ToastList() {
  const toasts = useToasts((state) => state.toasts);
  return (
    <div className="pointer-events-none fixed inset-x-3 top-3 z-40 flex flex-col items-end gap-2 md:top-auto md:right-4 md:bottom-[140px] md:left-auto md:w-[316px]">
      {toasts.map((toast) => (
        <ToastCard key={toast.id} toast={toast} />
      ))}
    </div>
  );
}
