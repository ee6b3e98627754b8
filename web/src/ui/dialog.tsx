import { useEffect, useRef, type ReactNode } from "react";

interface Props {
  title: string;
  onClose: () => void;
  children: ReactNode;
  /** Shown under the title, in smaller words. */
  description?: ReactNode;
  wide?: boolean;
  /** From the bottom edge, for narrow screens. */
  sheet?: boolean;
  /** Along the left edge, from top to bottom. */
  drawer?: boolean;
  hideTitle?: boolean;
}

/** The browser's own modal dialog: it traps focus, closes on Escape and gives focus back. */
export function Dialog({ title, onClose, children, description, wide, sheet, drawer, hideTitle }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement as HTMLElement | null;
    if (dialog && !dialog.open) {
      dialog.showModal();
      // The browser would choose the first tab, even where another one is open.
      dialog.querySelector<HTMLElement>("[role=tab][aria-selected=true]")?.focus();
    }
    return () => {
      dialog?.close();
      before?.focus?.();
    };
  }, []);
  const place = drawer
    ? "m-0 h-dvh max-h-none w-[min(320px,88vw)] max-w-none rounded-r-[14px] border-y-0 border-l-0"
    : sheet
    ? "mb-0 mt-auto w-full max-w-none rounded-t-[14px] max-h-[85dvh]"
    : `rounded-[14px] max-h-[85dvh] ${wide ? "w-[min(560px,calc(100vw-24px))]" : "w-[min(400px,calc(100vw-24px))]"}`;
  return (
    <dialog
      ref={ref}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === ref.current) onClose();
      }}
      className={`overflow-auto outline-none border border-line bg-surface p-0 text-text shadow-float ${place}`}
    >
      <div className={drawer ? "h-full" : hideTitle ? "" : "p-4"}>
        {!hideTitle && <h2 className="text-header font-semibold">{title}</h2>}
        {description && <p className="mt-1 text-dense text-text-2">{description}</p>}
        {children}
      </div>
    </dialog>
  );
}

export function DialogActions({ children }: { children: ReactNode }) {
  return <div className="mt-4 flex flex-wrap items-center justify-end gap-2">{children}</div>;
}
