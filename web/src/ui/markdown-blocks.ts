/** Markdown cut at blank lines, never inside a fence: finished blocks stay as they are while text streams in. */
export function splitBlocks(text: string): string[] {
  const blocks: string[] = [];
  let lines: string[] = [];
  let fence = "";
  for (const line of text.split("\n")) {
    const mark = /^\s{0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark) {
      if (!fence) fence = mark;
      else if (mark[0] === fence[0] && mark.length >= fence.length) fence = "";
    }
    if (line.trim() === "" && !fence) {
      if (lines.length) blocks.push(lines.join("\n"));
      lines = [];
    } else lines.push(line);
  }
  if (lines.length) blocks.push(lines.join("\n"));
  return blocks;
}
