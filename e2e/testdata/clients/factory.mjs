// A client on acp-factory, which starts agents by name and gives a session's updates as
// an async iterator. usage: factory.mjs AGENT [ARGUMENT…]
import { AgentFactory } from "acp-factory";
import { choose, serve, show } from "./lines.mjs";

const [command, ...args] = process.argv.slice(2);
let session, permit;

AgentFactory.register("droid-acp", { command, args, env: {} });
const agent = await AgentFactory.spawn("droid-acp", {
  permissionMode: "callback",
  onPermissionRequest: async (request) => choose(request, permit),
});
// The iterator of 0.1.14 loses an update when updates and the end of a turn come together:
// it has asked for the next one and then does not look at it. So what is shown is what its
// handler got.
const handler = agent.clientHandler;
const pass = handler.sessionUpdate.bind(handler);
handler.sessionUpdate = (params) => (show(params.update), pass(params));

await serve({
  async open({ do: how, id }) {
    const cwd = process.cwd();
    session = how === "load" ? await agent.loadSession(id, cwd) : await agent.createSession(cwd);
    return session.id;
  },
  async prompt({ text, permit: kind }) {
    permit = kind;
    for await (const _ of session.prompt(text));
    return "ended"; // its iterator does not tell the reason
  },
  cancel: () => session.cancel(),
});
await agent.close();
