import { ChevronDown } from "lucide-react";

interface Props {
  label: string;
  value: string;
  options: { value: string; label: string }[];
  onChange: (value: string) => void;
  quiet?: boolean;
  disabled?: boolean;
}

/** The browser's own select, so that keyboard, touch and screen readers work as everywhere. */
export function Select({ label, value, options, onChange, quiet, disabled }: Props) {
  const look = quiet
    ? "h-[26px] border-transparent text-meta text-text-2 hover:bg-text/6"
    : "h-7 border-line bg-surface text-dense";
  return (
    <span className={`relative inline-flex items-center ${quiet ? "flex-none" : "min-w-0"}`}>
      <select
        aria-label={label}
        value={value}
        disabled={disabled}
        onChange={(event) => onChange(event.target.value)}
        className={`${quiet ? "max-w-28 md:max-w-56" : "max-w-56"} min-w-0 appearance-none truncate rounded-[7px] border pr-6 pl-2 font-medium ${look}`}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value} className="bg-surface text-text">
            {option.label}
          </option>
        ))}
      </select>
      <ChevronDown size={12} aria-hidden className="pointer-events-none absolute right-2" />
    </span>
  );
}
