import { modKey } from "../lib/keys";
import { Kbd } from "./button";
import { Dialog } from "./dialog";

const groups: { title: string; keys: [string, string][] }[] = [
  {
    title: "Everywhere",
    keys: [
      [`${modKey}K`, "Palette"], [`${modKey}.`, "Panel"], ["/", "Search"], ["N", "New session"],
      ["G C", "Chat"], ["G W", "What if"], ["G F", "Figures"], ["G T", "Traces"], ["?", "This list"],
    ],
  },
  {
    title: "Traces",
    keys: [
      ["↑ ↓ ← →", "Tree"], ["W S", "Zoom"], ["A D", "Pan"], ["F", "Fit"], ["Enter, N", "Next hit"], ["Shift N", "Previous hit"], ["Space", "Pause"],
    ],
  },
  {
    title: "Chat",
    keys: [
      ["Enter", "Send"], ["Shift Enter", "New line"], ["Esc", "Stop; else from the field to the thread and back"], ["↑", "Edit last message (empty field)"],
      ["J K", "Next, previous message"], ["P", "Pin"], ["E", "Open summary"], ["B", "Back to summary, after a citation"], ["Shift C", "Compact now"], ["[ ]", "Boundaries"],
    ],
  },
];

export function KeysDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" wide onClose={onClose} description="Letters never act in text fields. Turn them off in Settings.">
      <div className="mt-3 gap-8 md:columns-2">
        {groups.map((group) => (
          <section key={group.title} className="mb-4 break-inside-avoid">
            <h3 className="mb-1.5 text-meta font-semibold text-text-3">{group.title}</h3>
            <dl className="grid gap-1 text-dense">
              {group.keys.map(([keys, what]) => (
                <div key={what} className="flex justify-between gap-3">
                  <dt className="order-last flex gap-1"><Kbd>{keys}</Kbd></dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
