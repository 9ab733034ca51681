// A client on the TypeScript SDK's remote transports.
// usage: remote.mjs websocket|http URL TOKEN
import { client, methods, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { choose, serve, show } from "./lines.mjs";

const [kind, url, token] = process.argv.slice(2);
const cwd = process.cwd();
let sessionId, permit;

// Node's own WebSocket sets no headers, as those of browsers do not.
const stream =
  kind === "http"
    ? createHttpStream(url, { headers: { Authorization: `Bearer ${token}` } })
    : createWebSocketStream(url, { protocols: ["acp", `bearer.${token}`] });

const connection = client({ name: "remote-client" })
  .onRequest(methods.client.session.requestPermission, ({ params }) => choose(params, permit))
  .onNotification(methods.client.session.update, ({ params }) => show(params.update))
  .connect(stream);
const to = connection.agent;
await to.request(methods.agent.initialize, {
  protocolVersion: PROTOCOL_VERSION,
  clientCapabilities: {},
  clientInfo: { name: "remote-client", version: "1.0.0" },
});
await serve({
  async open({ do: how, id }) {
    const params = { cwd, mcpServers: [] };
    if (how === "load") await to.request(methods.agent.session.load, { ...params, sessionId: id });
    sessionId = id ?? (await to.request(methods.agent.session.new, params)).sessionId;
    return sessionId;
  },
  async prompt({ text, permit: choice }) {
    permit = choice;
    const answer = await to.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
    return answer.stopReason;
  },
  cancel: () => to.notify(methods.agent.session.cancel, { sessionId }),
});
connection.close();
