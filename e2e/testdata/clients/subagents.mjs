// A client on the TypeScript SDK 2.x, whose unstable part has subagents (2.4.0), that shows subagents as sessions: it sends two prompts, allows what it is asked, and loads the
// session. Each line on stdout is what a person would see, with the session: "droid", or a number for a subagent.
// usage: subagents.mjs AGENT [ARGUMENT…]
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from "@agentclientprotocol/sdk/unstable";

const [command, ...args] = process.argv.slice(2);
const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const say = (...words) => console.log(words.filter(Boolean).join(" ").replace(/\s+/g, " ").trim());
const names = new Map();
const name = (id) => names.get(id) ?? `UNKNOWN ${id}`;
let rests = () => {};

function show({ sessionId, update: u }) {
  const who = name(sessionId);
  switch (u.sessionUpdate) {
    case "subagent_update":
      if (!names.has(u.sessionId)) names.set(u.sessionId, `${names.size}`);
      if (u.state?.state === "idle") rests();
      return say(who, "has", name(u.sessionId), u.title, u.description, u.state?.state, u.state?.stopReason);
    case "session_message":
      return say(who, "is sent", u.content?.map((c) => c.text).join(""));
    case "user_message_chunk":
    case "agent_message_chunk":
      return say(who, u.sessionUpdate.split("_")[0], u.content.text);
    case "tool_call":
    case "tool_call_update":
      return u.status && say(who, "tool", u.title, u.status);
  }
}

const connection = client({ name: "subagents-client" })
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    say(name(params.sessionId), "asks", params.toolCall.title);
    return { outcome: { outcome: "selected", optionId: params.options.find((o) => o.kind === "allow_once").optionId } };
  })
  .onNotification(methods.client.session.update, ({ params }) => show(params))
  .connect(ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)));
const to = connection.agent;
await to.request(methods.agent.initialize, {
  protocolVersion: PROTOCOL_VERSION,
  clientCapabilities: { subagents: {} },
  clientInfo: { name: "subagents-client", version: "1.0.0" },
});
const where = { cwd: process.cwd(), mcpServers: [] };
const { sessionId } = await to.request(methods.agent.session.new, where);
names.set(sessionId, "droid");
for (const text of ["wait", "background"]) {
  say("--", text);
  const rested = new Promise((resolve) => (rests = resolve));
  const { stopReason } = await to.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
  say("stop", stopReason);
  await rested;
}
say("-- load");
await to.request(methods.agent.session.load, { ...where, sessionId });
say("loaded");
agent.stdin.end();
