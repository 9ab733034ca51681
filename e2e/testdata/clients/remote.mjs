// A client on the TypeScript SDK's remote transports.
// usage: remote.mjs websocket|http|http2 URL TOKEN
import { subscribe } from "node:diagnostics_channel";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { run } from "./app.mjs";
import { emit } from "./lines.mjs";

const [kind, url, token] = process.argv.slice(2);
if (kind === "http2") await allowHTTP2();
subscribe("undici:client:connected", ({ socket }) => emit("connected", { text: `${socket.alpnProtocol || "http/1.1"} ` }));

// Node's own WebSocket sets no headers, as those of browsers do not.
const stream =
  kind === "websocket"
    ? createWebSocketStream(url, { protocols: ["acp", `bearer.${token}`] })
    : createHttpStream(url, { headers: { Authorization: `Bearer ${token}` } });
(await run("remote-client", stream)).close();

// allowHTTP2 has fetch offer HTTP/2. Node does so only where it is told to, and its own package
// for that lies in no module.
async function allowHTTP2() {
  await fetch("data:,"); // makes the dispatcher
  const dispatcher = Symbol.for("undici.globalDispatcher.1");
  const { constructor: Agent } = globalThis[dispatcher];
  globalThis[dispatcher] = new Agent({ allowH2: true });
}
