// What the clients of these tests share: one command a line on stdin, one event a line
// on stdout. Commands: {"do":"new"}, {"do":"load","id":…}, {"do":"cancel"},
// {"do":"prompt","text":…,"permit":KIND}; the end of stdin ends the client.
import { createInterface } from "node:readline";

export const emit = (event, fields = {}) => process.stdout.write(JSON.stringify({ event, ...fields }) + "\n");

// show emits what a person would see of an update.
export function show(update) {
  const text = update.content?.text;
  switch (update.sessionUpdate) {
    case "user_message_chunk": return emit("user", { text });
    case "agent_message_chunk": return emit("agent", { text });
    case "agent_thought_chunk": return emit("thought", { text });
    case "tool_call":
    case "tool_call_update": {
      const { toolCallId: id, title, status } = update;
      return emit("tool", { id, title: title ?? undefined, status: status ?? undefined });
    }
  }
}

// choose answers a permission request with the first option of a kind.
export function choose(request, kind) {
  emit("asked", { id: request.toolCall.toolCallId, title: request.toolCall.title ?? undefined });
  const option = request.options.find((o) => o.kind === kind);
  return { outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" } };
}

// serve carries out the commands. A prompt does not hold up what follows it, so that it
// can be cancelled.
export async function serve({ open, prompt, cancel }) {
  const turns = [];
  for await (const line of createInterface({ input: process.stdin })) {
    const command = JSON.parse(line);
    try {
      if (command.do === "cancel") await cancel();
      else if (command.do === "prompt") {
        emit("user", { text: command.text });
        turns.push(prompt(command).then((reason) => emit("stop", { text: reason }), failed));
      } else emit("open", { id: await open(command) });
    } catch (error) {
      failed(error);
    }
  }
  await Promise.all(turns);
}

const failed = (error) => emit("error", { text: `${error.code ?? ""} ${error.message} ${JSON.stringify(error.data ?? null)}` });
