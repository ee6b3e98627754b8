import { Search } from "lucide-react";
import { useId, useMemo, useState, type KeyboardEvent, type ReactNode } from "react";
import { Kbd } from "./button";
import { Dialog } from "./dialog";

export interface Command {
  id: string;
  group: string;
  label: string;
  icon?: ReactNode;
  keys?: string[];
  /** Also found by these words. */
  words?: string;
  run: () => void;
}

/** Every word typed must occur in the command, in any order. */
export function matches(command: Pick<Command, "label" | "words">, query: string): boolean {
  const text = `${command.label} ${command.words ?? ""}`.toLowerCase();
  return query.toLowerCase().split(/\s+/).filter(Boolean).every((word) => text.includes(word));
}

const MOST = 60;

export function Palette({ commands, onClose }: { commands: Command[]; onClose: () => void }) {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const list = useId();
  const found = useMemo(() => commands.filter((command) => matches(command, query)).slice(0, MOST), [commands, query]);
  const choose = (command: Command | undefined) => {
    if (!command) return;
    onClose();
    command.run();
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && found.length) {
      event.preventDefault();
      const next = (at + step + found.length) % found.length;
      setAt(next);
      document.getElementById(`${list}-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      choose(found[at]);
    }
  };
  return (
    <Dialog title="Search or run a command" hideTitle wide onClose={onClose}>
      <div className="flex h-12 items-center gap-2.5 border-b border-line px-4">
        <Search size={16} aria-hidden className="text-text-3" />
        <input
          autoFocus
          role="combobox"
          aria-label="Search or run a command"
          aria-expanded="true"
          aria-controls={list}
          aria-activedescendant={found[at] ? `${list}-${at}` : undefined}
          placeholder="Search or run a command"
          value={query}
          onChange={(event) => {
            setQuery(event.target.value);
            setAt(0);
          }}
          onKeyDown={press}
          className="min-w-0 flex-1 bg-transparent text-ui outline-none"
        />
        <Kbd>Esc</Kbd>
      </div>
      <ul id={list} role="listbox" aria-label="Commands" className="max-h-[50dvh] overflow-auto p-2">
        {found.length === 0 && <li className="px-2.5 py-2 text-dense text-text-2">Nothing found.</li>}
        {found.map((command, index) => (
          <li key={command.id} role="presentation">
            {command.group !== found[index - 1]?.group && (
              <div aria-hidden className="px-2.5 pt-2 pb-1 text-meta text-text-3">{command.group}</div>
            )}
            <div
              id={`${list}-${index}`}
              role="option"
              aria-selected={index === at}
              onMouseMove={() => setAt(index)}
              onClick={() => choose(command)}
              onKeyDown={press}
              className={`flex h-9 cursor-pointer items-center gap-2.5 rounded-[8px] px-2.5 text-dense ${index === at ? "bg-accent-soft" : ""}`}
            >
              {command.icon}
              <span className="min-w-0 flex-1 truncate">{command.label}</span>
              {command.keys?.map((key) => <Kbd key={key}>{key}</Kbd>)}
            </div>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
