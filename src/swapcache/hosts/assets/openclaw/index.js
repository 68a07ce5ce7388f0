// swapcache's shim in OpenClaw's own process. It holds no policy: it serves text that was rendered
// before, writes ahead what the host has not written yet, and starts the Python fold, detached.
// Every handler catches everything: a defect of ours must never cost a turn.
import crypto from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const WAIT_MS = 1500; // once for each process and session key, never again inside a turn
const QUIET_MS = 300; // after the last message of a turn the fold starts
const LATEST_MS = 5000; // after the first message that waits for a fold
const AGAIN_MS = 2000; // and once more: the host may write its transcript later than it says
const TEXT_LIMIT = 12000; // characters a bootstrap file may have in every version
const SPOOL_LIMIT = 64 << 20;
const LATE = "\nA newer turn was interrupted; verify before redoing.";
// The host may load this module several times in one process: what is known is kept per process.
const shared = (globalThis[Symbol.for("swapcache.openclaw")] ??= {
  keys: new Map(), // session key -> { where, session, cause, chosen, waiting, count, timer, again }
  process: `${process.pid}/${Date.now()}`,
  said: new Map(), // message of a failure -> when it was logged
});
const { keys, process: PROCESS } = shared;

let given;
function paths() {
  // The host may run a copy of this directory, so `installed` names the file that uninstall removes:
  // looked for at each use, a live gateway is inert once it is gone.
  given ??= JSON.parse(fs.readFileSync(path.join(HERE, "paths.json"), "utf8"));
  fs.accessSync(given.installed);
  return given;
}

// A failure is one line in the error log, which `swapcache status` shows; the same one once a minute.
function complain(where, problem) {
  try {
    const message = `${where}: ${problem?.message ?? problem}`.slice(0, 500);
    const last = shared.said.get(message) ?? 0;
    if (Date.now() - last < 60000) return;
    shared.said.set(message, Date.now());
    const line = { wall: new Date().toISOString(), event: "openclaw shim", error: "ShimError", message };
    fs.appendFileSync(paths().errors, JSON.stringify(line) + "\n", { mode: 0o600 });
  } catch {} // uninstalled, or no disk: there is nowhere left to say it
}

// True where the owner (`swapcache off`) or the project itself wants nothing recorded or told.
function off(workspaceDir) {
  const { off: folder } = paths();
  const names = [path.join(folder, "everywhere")];
  if (workspaceDir) {
    names.push(path.join(folder, digest(workspaceDir).slice(0, 24)), path.join(workspaceDir, ".swapcache-off"));
  }
  return names.some((name) => fs.existsSync(name));
}

function real(name) {
  try {
    return fs.realpathSync(name);
  } catch {
    return name; // not there yet
  }
}

function stateDir() {
  return fs.realpathSync(process.env.OPENCLAW_STATE_DIR || path.join(os.homedir(), ".openclaw"));
}

function digest(...parts) {
  return crypto.createHash("sha256").update(parts.join("\0")).digest("hex");
}

function agentOf(key) {
  const [first, agent] = key.split(":");
  return first === "agent" ? agent : "main";
}

function entry(key, context = {}) {
  let found = keys.get(key);
  if (!found) keys.set(key, (found = { where: {}, cause: "restart", reason: "", count: 0 }));
  if (context.workspaceDir) {
    found.where = {
      stateDir: stateDir(),
      agentId: context.agentId || agentOf(key),
      workspaceDir: real(context.workspaceDir),
      sessionKey: key,
      sessionId: context.sessionId || "",
    };
  }
  return found;
}

// The payload goes in the environment: a pipe would be empty when the host is killed right after.
function start(name, found, reason) {
  const payload = JSON.stringify({ ...found.where, reason, process: PROCESS });
  const child = spawn(paths().launcher, ["openclaw", name], {
    stdio: "ignore",
    detached: true,
    env: { ...process.env, SWAPCACHE_PAYLOAD: payload },
  });
  child.on("error", (problem) => complain("cannot start " + paths().launcher, problem));
  child.unref();
  return child;
}

function fold(found, reason, delay = QUIET_MS) {
  if (!found.where.sessionKey) return;
  clearTimeout(found.timer);
  clearTimeout(found.again);
  found.reason = reason || found.reason; // a later fold without one must not lose it
  found.due ??= Date.now() + LATEST_MS; // turns that follow each other closely put it off, not away
  const run = (last) => {
    found.due = undefined;
    const why = found.reason;
    if (last) found.reason = "";
    try {
      start("fold", found, why);
    } catch (problem) {
      complain("fold", problem);
    }
  };
  found.timer = setTimeout(run, Math.max(0, Math.min(delay, found.due - Date.now())));
  found.again = setTimeout(run, delay + AGAIN_MS, true);
  found.timer.unref?.();
  found.again.unref?.();
}

// What Python and this file hand each other is sealed by the installation's key, for its own slot.
function seal(name, body) {
  const hmac = (key, data) => crypto.createHmac("sha256", key).update(data).digest();
  const key = hmac(fs.readFileSync(paths().key), "swapcache/v1/shim\0");
  return hmac(key, `${name}\0${body}`).toString("hex");
}

// Without a key the line is written all the same: a person may look at it.
function sealed(name, body) {
  try {
    return seal(name, body);
  } catch (problem) {
    complain("key", problem);
    return "";
  }
}

function ready(found) {
  const w = found.where;
  const name = digest(w.stateDir, w.agentId, w.workspaceDir, w.sessionKey);
  const file = path.join(paths().ready, name + ".json");
  const { body, mac } = JSON.parse(fs.readFileSync(file, "utf8"));
  if (typeof body !== "string" || !mac || mac !== seal(name, body)) throw new Error(`${file} is not sealed by our key`);
  const value = JSON.parse(body);
  return value && typeof value.text === "object" && value.text ? value.text : {};
}

function text(found, cause) {
  try {
    const given = ready(found)[cause];
    if (given !== undefined && typeof given !== "string") throw new Error(`${cause} is no text`);
    return (given ?? "").slice(0, TEXT_LIMIT);
  } catch (problem) {
    if (problem?.code !== "ENOENT") complain("ready file", problem);
    return ""; // no file: nothing is injected
  }
}

function reconcile(found) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      complain("reconcile", `took more than ${WAIT_MS} ms; the last text was served`);
      resolve(false);
    }, WAIT_MS);
    try {
      const child = start("bootstrap", found, found.reason);
      child.on("exit", () => (clearTimeout(timer), resolve(true)));
      child.on("error", () => (clearTimeout(timer), resolve(false)));
    } catch {
      clearTimeout(timer);
      resolve(false);
    }
  });
}

function spool(key) {
  return path.join(paths().spool, digest(stateDir(), agentOf(key), key) + ".jsonl");
}

function opened(file) {
  try {
    return fs.openSync(file, "a", 0o600);
  } catch (problem) {
    if (problem?.code !== "ENOENT") throw problem;
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    return fs.openSync(file, "a", 0o600);
  }
}

function append(key, line, durable) {
  const file = spool(key);
  const fd = opened(file);
  try {
    if (fs.fstatSync(fd).size > SPOOL_LIMIT) return;
    const name = path.basename(file, ".jsonl");
    const workspace = keys.get(key)?.where.workspaceDir; // unknown before the first bootstrap
    const said = JSON.stringify({ t: new Date().toISOString(), process: PROCESS, workspace, ...line });
    fs.writeSync(fd, `${said}\t${sealed(name, said)}\n`);
    if (durable) fs.fdatasyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

async function choose(found) {
  if (found.cause !== "restart") return text(found, found.cause);
  const inTime = await reconcile(found);
  const given = text(found, "restart");
  return given && !inTime ? given + LATE : given;
}

async function bootstrap(ev) {
  const context = ev.context;
  const key = String(ev.sessionKey || context.sessionKey || "");
  if (!key || !Array.isArray(context.bootstrapFiles)) return;
  const found = entry(key, context);
  if (off(found.where.workspaceDir)) {
    fs.rmSync(spool(key), { force: true }); // a message may come before it is known where
    return;
  }
  const session = String(context.sessionId || "");
  // An idle or daily rollover may say nothing: the key then stands for another session.
  const begun = found.chosen !== undefined || found.waiting !== undefined;
  if (found.session && session && session !== found.session && begun) begin(found, "idle");
  found.session = session || found.session;
  if (found.chosen === undefined) {
    const first = found.waiting === undefined;
    found.waiting ??= choose(found);
    const { count, cause } = found;
    const given = await found.waiting;
    if (count === found.count) {
      found.waiting = undefined;
      found.chosen ??= given;
    } // else a new epoch began meanwhile: this turn still gets what it waited for
    if (first && given) note(key, { kind: "injected", cause, epoch: `${PROCESS}/${count}`, text: given });
    if (count !== found.count) return inject(context, given);
  }
  fold(found, "", AGAIN_MS); // also where no hook says that a turn ended
  inject(context, found.chosen);
}

function inject(context, content) {
  if (typeof content !== "string" || !content) return;
  context.bootstrapFiles.unshift({
    name: "swap-cache-injected.md",
    path: path.join(String(context.workspaceDir), "context_snapshot", "swap-cache-injected.md"),
    content,
    missing: false,
  });
}

// A receipt that cannot be written costs nobody the text.
function note(key, line) {
  try {
    append(key, line, false);
  } catch (problem) {
    complain("receipt", problem);
  }
}

// A new epoch: its text is chosen at the next turn.
function begin(found, cause) {
  found.count += 1;
  found.cause = cause;
  found.waiting = undefined;
  found.chosen = undefined;
}

function boundary(ev, cause) {
  const key = String(ev.sessionKey || "");
  if (!key) return;
  const found = entry(key, ev.context);
  begin(found, cause);
  if (off(found.where.workspaceDir)) return;
  fold(found, cause, 0); // what it writes is what the next turn is told
}

export async function onInternal(ev) {
  try {
    if (ev?.type === "agent" && ev.action === "bootstrap") return await bootstrap(ev);
    if (ev?.type === "command" && ev.action === "new") return boundary(ev, "new");
    if (ev?.type === "command" && ev.action === "reset") return boundary(ev, "reset");
    if (ev?.type === "session" && ev.action === "auto-reset") return boundary(ev, "idle");
    if (ev?.type === "session" && ev.action === "compact:after") return boundary(ev, "compaction");
  } catch (problem) {
    complain(`${ev?.type}:${ev?.action}`, problem);
  }
}

function onMessage(ev, ctx) {
  try {
    const key = String(ctx?.sessionKey || "");
    const message = ev?.message;
    if (!key || !message?.role) return;
    if (off(keys.get(key)?.where.workspaceDir)) return;
    const blocks = Array.isArray(message.content) ? message.content : [];
    const calls = blocks.some((block) => block?.type === "toolCall");
    if (message.role === "user" || calls) append(key, { kind: "message", message }, true);
    if (message.role === "assistant" && !calls) fold(entry(key), "");
  } catch (problem) {
    complain("message", problem);
  }
}

function onTool(ev, ctx) {
  try {
    const key = String(ctx?.sessionKey || "");
    if (!key || !ev?.toolCallId || off(keys.get(key)?.where.workspaceDir)) return;
    append(key, { kind: "tool", id: ev.toolCallId, error: ev.error ? String(ev.error) : "" }, false);
  } catch (problem) {
    complain("tool", problem);
  }
}

export default {
  id: "swapcache",
  name: "swapcache",
  register(api) {
    api.registerHook?.(
      ["agent:bootstrap", "command:new", "command:reset", "session:auto-reset", "session:compact:after"],
      onInternal,
      { name: "swapcache", description: "working state across restarts, resets and compactions" },
    );
    api.on("before_message_write", onMessage);
    api.on("after_tool_call", onTool);
  },
};
