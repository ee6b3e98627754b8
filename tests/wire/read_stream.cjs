// Reads a reply with the AI SDK itself: from a file, in fragments of the given size, or from a server.
//   node read_stream.cjs file PATH FRAGMENT
//   node read_stream.cjs live URL SESSION TEXT
const fs = require('node:fs');
const path = require('node:path');
const { createRequire } = require('node:module');

const own = createRequire(path.join(__dirname, '../../web/package.json'));
const { DefaultChatTransport, readUIMessageStream } = own('ai');

const [, , mode, first, second, text] = process.argv;
const seen = { transient: [], states: 0 };

function fragments(file, size) {
  const bytes = fs.readFileSync(file);
  let at = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at + size));
      at += size;
    },
  });
  return async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

async function main() {
  const transport = new DefaultChatTransport(
    mode === 'file'
      ? { api: 'http://fixture/api/chat', fetch: fragments(first, Number(second)) }
      : { api: `${first}/api/chat` },
  );
  const chunks = await transport.sendMessages({
    chatId: mode === 'live' ? second : 's',
    trigger: 'submit-message',
    messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: text ?? 'hello' }] }],
  });
  // Transient parts reach `onData` only, so they are counted on the way.
  const watched = chunks.pipeThrough(
    new TransformStream({
      transform(chunk, controller) {
        if (chunk.transient) seen.transient.push(chunk);
        controller.enqueue(chunk);
      },
    }),
  );
  const errors = [];
  let message;
  for await (const state of readUIMessageStream({
    stream: watched,
    onError: (error) => errors.push(String(error.message ?? error)),
  })) {
    message = state;
    seen.states += 1;
  }
  const resumed = mode === 'live' ? await transport.reconnectToStream({ chatId: second }) : null;
  console.log(JSON.stringify({ message, errors, transient: seen.transient, states: seen.states, resumed: resumed !== null }));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
