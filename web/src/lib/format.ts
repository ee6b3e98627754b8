/** Numbers, sizes and times in words. Nothing here computes a context size: the server does. */
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export function count(value: number): string {
  return whole.format(value);
}

/** 41,205 as 41.2k: for badges and axes, never for the usage bar. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size < 1000) return String(Math.round(value));
  if (size < 1e6) return `${trimZero((value / 1000).toFixed(1))}k`;
  return `${trimZero((value / 1e6).toFixed(1))} M`;
}

function trimZero(text: string): string {
  return text.endsWith(".0") ? text.slice(0, -2) : text;
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}

/** How much smaller, as a whole number of per cent; never below zero. */
export function reduction(before: number | undefined | null, after: number | undefined | null): number {
  if (!before || after === undefined || after === null) return 0;
  return Math.max(0, Math.round((1 - after / before) * 100));
}

export function money(value: number): string {
  if (value === 0) return "$0";
  if (value < 0.001) return "under $0.001";
  return value < 0.1 ? `$${value.toFixed(3)}` : `$${value.toFixed(2)}`;
}

/** Seconds as people say them: 38 ms, 6.4 s, 1 m 12 s. */
export function seconds(value: number): string {
  if (value < 0.0005) return "0 ms";
  if (value < 0.95) return `${Math.max(1, Math.round(value * 1000))} ms`;
  if (value < 60) return `${value.toFixed(1)} s`;
  const minutes = Math.floor(value / 60);
  const rest = Math.round(value - minutes * 60);
  return rest === 60 ? `${minutes + 1} m 0 s` : `${minutes} m ${rest} s`;
}

const clockFormat = new Intl.DateTimeFormat("en-US", { hour: "numeric", minute: "2-digit" });
const dayFormat = new Intl.DateTimeFormat("en-US", { month: "short", day: "numeric" });
const weekdayFormat = new Intl.DateTimeFormat("en-US", { weekday: "short" });

export function clock(epoch: number): string {
  return clockFormat.format(epoch * 1000).replace("\u202f", " ");
}

export function preciseClock(epoch: number): string {
  const date = new Date(epoch * 1000);
  const part = (value: number, width = 2) => String(value).padStart(width, "0");
  return `${date.getHours()}:${part(date.getMinutes())}:${part(date.getSeconds())}.${part(date.getMilliseconds(), 3)}`;
}

/** "now", "5m", "2h", "Tue", "Nov 3": how long ago, for list rows. */
export function ago(epoch: number, now = Date.now() / 1000): string {
  const passed = now - epoch;
  if (passed < 60) return "now";
  if (passed < 3600) return `${Math.floor(passed / 60)}m`;
  if (passed < 86_400) return `${Math.floor(passed / 3600)}h`;
  return passed < 6 * 86_400 ? weekdayFormat.format(epoch * 1000) : dayFormat.format(epoch * 1000);
}

export function compactions(value: number): string {
  return plural(value, "compaction");
}

/** The first argument worth showing on a tool call's line. */
export function toolArguments(input: unknown): string {
  if (typeof input === "string") return input;
  if (input === null || typeof input !== "object") return "";
  const values = Object.values(input as Record<string, unknown>);
  return values
    .map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
    .join(" ")
    .replace(/\s+/g, " ")
    .slice(0, 300);
}

/** A tool's output as text: strings stay, everything else is indented JSON. */
export function outputText(output: unknown): string {
  if (output === undefined || output === null) return "";
  return typeof output === "string" ? output : JSON.stringify(output, null, 2);
}
