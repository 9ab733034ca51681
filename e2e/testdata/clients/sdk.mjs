// A client on the TypeScript SDK 2.x, which checks each message by the schema.
// usage: sdk.mjs AGENT [ARGUMENT…]
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";
import { choose, serve, show } from "./lines.mjs";

const [command, ...args] = process.argv.slice(2);
const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const cwd = process.cwd();
let sessionId, permit;

const app = client({ name: "sdk-client" })
  .onRequest(methods.client.session.requestPermission, ({ params }) => choose(params, permit))
  .onNotification(methods.client.session.update, ({ params }) => show(params.update));

const connection = app.connect(ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)));
const to = connection.agent;
await to.request(methods.agent.initialize, {
  protocolVersion: PROTOCOL_VERSION,
  clientCapabilities: {},
  clientInfo: { name: "sdk-client", version: "1.0.0" },
});
await serve({
  async open({ do: how, id }) {
    const params = { cwd, mcpServers: [] };
    if (how === "load") await to.request(methods.agent.session.load, { ...params, sessionId: id });
    sessionId = id ?? (await to.request(methods.agent.session.new, params)).sessionId;
    return sessionId;
  },
  async prompt({ text, permit: kind }) {
    permit = kind;
    const answer = await to.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
    return answer.stopReason;
  },
  cancel: () => to.notify(methods.agent.session.cancel, { sessionId }),
});
agent.stdin.end();
