import { api, sessionPath } from "./api";
import type { CompactionEvent } from "./types";

const MOST = 1000;

interface Page {
  events: { type: string; data: unknown }[];
  /** The number of the newest stored event. */
  last: number;
}

/** The compaction events among the newest stored events of a session. */
export async function storedCompactions(id: string): Promise<CompactionEvent[]> {
  const load = (after: number) => api.get<Page>(sessionPath(id, `/events?after=${after}&format=json&limit=${MOST}`));
  let page = await load(0);
  // A long session has more than one page; what runs now is in the last one.
  if (page.last > MOST) page = await load(page.last - MOST);
  return page.events.filter((event) => event.type === "data-compaction").map((event) => event.data as CompactionEvent);
}
