// A client on the TypeScript SDK's remote transport by WebSocket.
// usage: remote.mjs URL TOKEN
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { run } from "./app.mjs";

const [url, token] = process.argv.slice(2);
// Node's own WebSocket sets no headers, as those of browsers do not.
const stream = createWebSocketStream(url, { protocols: ["acp", `bearer.${token}`] });
(await run("remote-client", stream)).close();
