// The AI SDK itself against a model's server that speaks OpenAI's wire.
//   node ai_sdk.cjs MODEL_URL < {"task"?, "messages"?, "compact"?, "stream"?, "maxOutputTokens"?}
// With `task`, an agent reads pages with a tool until it answers; with `messages`, one reply is asked for.
// `compact` are the options of `compactStep`, from the package in web/packages/compact.
const fs = require('node:fs');
const path = require('node:path');
const { createRequire } = require('node:module');

const web = path.join(__dirname, '../../web');
const own = createRequire(path.join(web, 'package.json'));
const { generateText, streamText, stepCountIs, tool } = own('ai');
const { createOpenAICompatible } = own('@ai-sdk/openai-compatible');
const { z } = own('zod');

function compactPackage() {
  const typescript = own('typescript');
  const source = fs.readFileSync(path.join(web, 'packages/compact/src/index.ts'), 'utf8');
  const made = { exports: {} };
  const options = { module: typescript.ModuleKind.CommonJS, target: typescript.ScriptTarget.ES2022 };
  const { outputText } = typescript.transpileModule(source, { compilerOptions: options });
  new Function('require', 'module', 'exports', outputText)(own, made, made.exports);
  return made.exports;
}

function pageText(number) {
  const hours = Array.from({ length: 40 }, (_, hour) => hour);
  const filler = hours.map((hour) => `At ${String(hour).padStart(2, '0')}:00 ship ${number * 31 + hour} passed the lamp.`);
  return `Page ${number}: the keeper was Keeper-${number * 17}. ${filler.join(' ')}`;
}

async function main() {
  const asked = JSON.parse(fs.readFileSync(0, 'utf8'));
  const model = createOpenAICompatible({ name: 'test', baseURL: `${process.argv[2]}/v1`, includeUsage: true })('gpt-4o');
  const tools = {
    read_page: tool({
      description: 'Read one page.',
      inputSchema: z.object({ number: z.number() }),
      execute: ({ number }) => pageText(number),
    }),
  };
  const found = { text: '', error: null, problems: [], compactions: [], usage: null, messages: 0 };
  const work = asked.task
    ? { prompt: asked.task, system: 'Be exact.', tools, stopWhen: stepCountIs(100) }
    : { messages: asked.messages, maxOutputTokens: asked.maxOutputTokens };
  if (asked.compact) {
    work.prepareStep = compactPackage().compactStep({
      ...asked.compact,
      ...(asked.task ? { tools, system: work.system } : {}),
      onCompacted: (tokens) => found.compactions.push(tokens),
      onError: (error) => found.problems.push(String(error.message ?? error)),
    });
  }
  try {
    const result = asked.stream
      ? streamText({ model, maxRetries: 0, onError: () => {}, ...work })
      : await generateText({ model, maxRetries: 0, ...work });
    found.text = await result.text;
    found.usage = (await result.steps).at(-1).usage;
    found.messages = (await result.response).messages.length;
  } catch (error) {
    found.error = String(error.responseBody ?? error.cause?.responseBody ?? error.message);
  }
  console.log(JSON.stringify(found));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
