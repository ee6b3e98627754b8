import type { Preset } from "../lib/types";
import { Button } from "../ui/button";

const starters = [
  "Plan a small library that reads CSV files. Ask me what you need to know first.",
  "Here is a failing test. Find the cause, and don't change the public API.",
  "Help me compare two apartments. I'll send the facts one by one; keep a list.",
];

export function EmptyThread({ preset, onStart }: { preset: Preset | undefined; onStart: (text: string) => void }) {
  return (
    <div className="flex min-h-0 flex-1 flex-col items-center justify-center gap-4 overflow-auto p-5 text-center">
      <h2 className="text-page font-semibold">New session</h2>
      {preset && <p className="max-w-[520px] text-dense text-text-2"><b className="font-semibold text-text">{preset.name}</b>: {preset.description}</p>}
      <div className="grid w-full max-w-[520px] gap-2">
        {starters.map((text) => (
          <Button key={text} className="h-auto min-h-10 justify-start py-2 text-left !whitespace-normal" onClick={() => onStart(text)}>
            {text}
          </Button>
        ))}
      </div>
    </div>
  );
}
