// Times the shim with a fake host: node openclaw_shim.mjs PLUGIN_DIR WORKSPACE TURNS
// Prints JSON: first (ms of the first bootstrap, which waits for Python), turns (ms of each turn).
import path from "node:path";

const [plugin, workspace, turns] = process.argv.slice(2);
const shim = (await import(path.join(plugin, "index.js"))).default;
const on = {};
let internal;
shim.register({
  on: (name, handler) => (on[name] = handler),
  registerHook: (_events, handler) => (internal = handler),
});
const key = "agent:main:main";
const ctx = { sessionKey: key, agentId: "main" };
const text = (role, words, more = {}) => ({
  message: { role, content: [{ type: "text", text: words }], ...more },
});

async function bootstrap() {
  const context = { sessionKey: key, sessionId: "s1", agentId: "main", workspaceDir: workspace, bootstrapFiles: [] };
  await internal({ type: "agent", action: "bootstrap", sessionKey: key, context });
  return context.bootstrapFiles.length;
}

const ms = (begin) => Number(process.hrtime.bigint() - begin) / 1e6;
let begin = process.hrtime.bigint();
await bootstrap();
const first = ms(begin);
const times = [];
for (let n = 0; n < Number(turns); n++) {
  begin = process.hrtime.bigint();
  on.before_message_write(text("user", `request ${n}: look at src/part${n}.py`), ctx);
  await bootstrap();
  const call = { type: "toolCall", id: `c${n}`, name: "exec", arguments: { command: "make" } };
  on.before_message_write({ message: { role: "assistant", content: [call] } }, ctx);
  on.after_tool_call({ toolName: "exec", toolCallId: `c${n}`, durationMs: 5 }, ctx);
  on.before_message_write(text("toolResult", "ok"), ctx);
  on.before_message_write(text("assistant", "done"), ctx);
  times.push(ms(begin));
}
console.log(JSON.stringify({ first, turns: times }));
process.exit(0);
