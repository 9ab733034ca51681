// A client on the TypeScript SDK over stdio.
// usage: sdk.mjs AGENT [ARGUMENT…]
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { ndJsonStream } from "@agentclientprotocol/sdk";
import { run } from "./app.mjs";

const [command, ...args] = process.argv.slice(2);
const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
await run("sdk-client", ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)));
agent.stdin.end();
