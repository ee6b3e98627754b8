import type { Session } from "../lib/types";
export default function FiguresPage({ session }: { session: Session }) { return <p>{session.title}</p>; }
