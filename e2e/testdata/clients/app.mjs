// A client on the TypeScript SDK 2.x, which checks each message by the schema: what is the
// same of it on each transport.
import { client, methods, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";
import { choose, serve, show } from "./lines.mjs";

// run carries out the commands over a stream, and returns the connection when they have ended.
export async function run(name, stream) {
  const cwd = process.cwd();
  let sessionId, permit;
  const connection = client({ name })
    .onRequest(methods.client.session.requestPermission, ({ params }) => choose(params, permit))
    .onNotification(methods.client.session.update, ({ params }) => show(params.update))
    .connect(stream);
  const to = connection.agent;
  await to.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: {},
    clientInfo: { name, version: "1.0.0" },
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
  return connection;
}
