import type { Session } from "../lib/types";
export default function WhatIfPage({ session }: { session: Session }) { return <p>{session.title}</p>; }
