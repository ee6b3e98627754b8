import type { ButtonHTMLAttributes, ReactNode } from "react";

type Variant = "plain" | "primary" | "ghost" | "danger";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  variant?: Variant;
  small?: boolean;
  /** Icon only: give it an aria-label. */
  icon?: boolean;
}

const look: Record<Variant, string> = {
  plain: "border-line bg-surface text-text shadow-soft hover:bg-raised hover:border-line-2",
  primary: "border-transparent bg-button text-white shadow-soft hover:brightness-110",
  ghost: "border-transparent text-text-2 hover:bg-text/6 hover:text-text",
  danger: "border-red-line bg-surface text-red shadow-soft hover:bg-red-soft",
};

export function Button({ variant = "plain", small, icon, className = "", type = "button", ...rest }: Props) {
  const size = small ? "h-[26px] text-meta rounded-[7px]" : "h-[30px] text-dense rounded-[8px]";
  const width = icon ? (small ? "w-[26px]" : "w-[30px]") : small ? "px-2.5" : "px-[11px]";
  const off =
    "disabled:bg-sunk disabled:text-text-3 disabled:border-line disabled:shadow-none disabled:cursor-not-allowed";
  return (
    <button
      type={type}
      className={`touch-target inline-flex flex-none items-center justify-center gap-1.5 border font-medium whitespace-nowrap transition-colors duration-[120ms] ${size} ${width} ${look[variant]} ${off} ${className}`}
      {...rest}
    />
  );
}

export function LinkButton({ className = "", type = "button", ...rest }: ButtonHTMLAttributes<HTMLButtonElement>) {
  return (
    <button
      type={type}
      className={`min-h-6 text-meta font-medium text-accent hover:underline disabled:text-text-3 disabled:no-underline ${className}`}
      {...rest}
    />
  );
}

const tones = {
  plain: "bg-sunk text-text-2",
  amber: "bg-amber-fill/14 text-amber",
  green: "bg-green-soft text-green",
  yellow: "bg-yellow-soft text-yellow",
  red: "bg-red-soft text-red",
  accent: "bg-accent-soft text-accent",
};

export function Tag({ tone = "plain", children, title }: { tone?: keyof typeof tones; children: ReactNode; title?: string }) {
  return (
    <span
      title={title}
      className={`inline-flex h-5 items-center gap-1 rounded-[6px] px-[7px] text-meta font-medium whitespace-nowrap ${tones[tone]}`}
    >
      {children}
    </span>
  );
}

export function Kbd({ children }: { children: ReactNode }) {
  return (
    <kbd className="inline-flex h-[18px] min-w-[18px] items-center justify-center rounded-[5px] border border-line bg-surface px-1 font-sans text-axis font-medium text-text-3">
      {children}
    </kbd>
  );
}
