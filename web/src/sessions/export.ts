import { api, errorText, sessionPath } from "../lib/api";
import { download } from "../ui/copy";
import { showToast } from "../ui/toasts";

export async function exportSession(id: string, title: string) {
  try {
    const turns = await api.get<unknown>(sessionPath(id, "/export"));
    const name = (title || id).replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60) || "session";
    download(`${name}.json`, JSON.stringify(turns, null, 2));
  } catch (error) {
    showToast("error", "Not exported", errorText(error));
  }
}
