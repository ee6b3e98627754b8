// An AI SDK agent with Compact: two lines. Started by `python examples/ai_sdk_minimal.py`, which builds Compact's
// package and brings a model and a Compact server.
import { createRequire } from "node:module";

const [, , modelUrl, compactUrl] = process.argv;
if (!modelUrl || !compactUrl || !process.env.COMPACT_PACKAGE) {
  console.error("Nothing was started. Run `python examples/ai_sdk_minimal.py`: it starts this file, with all that it needs.");
  process.exit(2);
}

// From the studio's packages; in a project of yours these are plain imports.
const installed = createRequire(new URL("../web/package.json", import.meta.url));
const { generateText, stepCountIs, tool } = installed("ai");
const { createOpenAICompatible } = installed("@ai-sdk/openai-compatible");
const { z } = installed("zod");
const { compactStep } = await import(process.env.COMPACT_PACKAGE);

function page(number) {
  const hours = Array.from({ length: 48 }, (_, hour) => `At ${hour}:00 wind force ${(number * 5 + hour) % 9}, sea calm.`);
  return `Page ${number}. Position code POS-${number * 113}. ${hours.join(" ")}`;
}

const tools = {
  read_page: tool({
    description: "Read one page of the ship's log.",
    inputSchema: z.object({ number: z.number() }),
    execute: ({ number }) => page(number),
  }),
};

const { text, steps } = await generateText({
  model: createOpenAICompatible({ name: "scripted", baseURL: modelUrl })("gpt-4o"),
  prompt: "Where were we on page 3?",
  tools,
  stopWhen: stepCountIs(100),
  prepareStep: compactStep({ url: compactUrl, tools }),
});
console.log(`${text} (${steps.length} steps)`);
