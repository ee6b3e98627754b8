/** Dialogs that a key, the palette or a menu asks for; the session on the screen shows them. */
import { create } from "zustand";

export type Request = "compact" | "rename" | "delete" | "undo-last";

export const useRequest = create<{ open: Request | null }>(() => ({ open: null }));

export function request(open: Request | null) {
  useRequest.setState({ open });
}
