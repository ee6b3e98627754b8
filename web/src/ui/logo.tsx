export function Logo({ size = 22 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 22 22" aria-hidden className="flex-none text-accent">
      <rect x="1" y="1" width="20" height="20" rx="6" fill="currentColor" />
      <g strokeLinecap="round" className="stroke-side">
        <path d="M6 5.5h10M6 8.2h10M6 14.4h10M6 17.2h6" strokeWidth="1.6" />
      </g>
      <path d="M6 11h10" stroke="#F2B53C" strokeWidth="2.4" strokeLinecap="round" />
    </svg>
  );
}
