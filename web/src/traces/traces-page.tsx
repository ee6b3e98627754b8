export default function TracesPage({ onPalette }: { onPalette: () => void }) { return <button onClick={onPalette}>x</button>; }
