import { useEffect, type ReactNode } from "react";
import { triggerText } from "../context/trigger";
import { count } from "../lib/format";
import { setPreference, usePreferences, type Theme } from "../lib/preferences";
import { useSessions } from "../sessions/store";
import { Button } from "../ui/button";
import { Menu } from "lucide-react";
import { SpacesForm } from "./spaces-form";

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="rounded-[12px] border border-line bg-surface p-5">
      <h2 className="mb-3 text-ui font-semibold">{title}</h2>
      {children}
    </section>
  );
}

const themes: [Theme, string][] = [["system", "System"], ["light", "Light"], ["dark", "Dark"]];

export default function SettingsPage({ onDrawer }: { onDrawer: () => void }) {
  const settings = useSessions((state) => state.settings);
  const { theme, letterKeys } = usePreferences();
  useEffect(() => {
    document.title = "Settings · Compact";
  }, []);
  return (
    <div className="min-h-0 flex-1 overflow-auto bg-bg" tabIndex={0} role="region" aria-label="Settings">
      <div className="mx-auto grid max-w-[860px] grid-cols-[minmax(0,1fr)] gap-4 p-4 md:p-8">
        <div className="flex items-center gap-2">
          <Button variant="ghost" icon aria-label="Sessions" className="lg:hidden" onClick={onDrawer}><Menu size={16} aria-hidden /></Button>
          <h1 className="text-page font-semibold">Settings</h1>
        </div>
        <Section title="Appearance">
          <fieldset className="flex flex-wrap gap-4 text-dense">
            <legend className="mb-1.5 text-meta text-text-3">Theme</legend>
            {themes.map(([name, label]) => (
              <label key={name} className="flex min-h-6 items-center gap-2">
                <input type="radio" name="theme" checked={theme === name} onChange={() => setPreference({ theme: name })} />
                {label}
              </label>
            ))}
          </fieldset>
        </Section>
        <Section title="Keyboard">
          <label className="flex min-h-6 items-center gap-2 text-dense">
            <input type="checkbox" checked={letterKeys} onChange={(event) => setPreference({ letterKeys: event.target.checked })} />
            Use letter shortcuts outside text fields
          </label>
          <p className="mt-1 text-meta text-text-3">Press ? for the list of keys.</p>
        </Section>
        <Section title="Presets">
          <div className="overflow-x-auto" tabIndex={0} role="region" aria-label="Presets">
            <table className="w-full text-left text-dense">
              <thead className="text-meta text-text-3">
                <tr><th className="py-1 pr-4 font-medium">Name</th><th className="pr-4 font-medium">Trigger</th><th className="font-medium">What it does</th></tr>
              </thead>
              <tbody>
                {settings?.presets.map((preset) => (
                  <tr key={preset.name} className="border-t border-line align-top">
                    <th scope="row" className="py-2 pr-4 font-medium">{preset.name}</th>
                    <td className="py-2 pr-4 whitespace-nowrap">{triggerText(preset.policy)}</td>
                    <td className="py-2 text-text-2">{preset.description}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </Section>
        <Section title="Models">
          <ul className="grid gap-2 text-dense">
            {settings?.models.map((model) => (
              <li key={model.id} className="grid gap-x-4 md:grid-cols-[minmax(0,180px)_110px_minmax(0,1fr)]">
                <b className="font-medium">{model.label || model.id}</b>
                <span className="text-text-3">{count(model.window)} tokens</span>
                <span className="text-text-2">{model.note}</span>
              </li>
            ))}
          </ul>
        </Section>
        <Section title="Spaces"><SpacesForm /></Section>
        <p className="text-meta text-text-3">Compact {settings?.version}. Nothing leaves this machine except requests to the model you chose.</p>
      </div>
    </div>
  );
}
