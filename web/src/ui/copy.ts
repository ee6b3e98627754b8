import { announce } from "./announcer";
import { showToast } from "./toasts";

export async function copyText(text: string) {
  try {
    await navigator.clipboard.writeText(text);
    announce("Copied");
  } catch {
    showToast("warning", "Not copied", "The browser did not allow it. Select the text and copy it by hand.");
  }
}

/** Hands a text to the browser as a file. */
export function download(name: string, text: string, type = "application/json") {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
