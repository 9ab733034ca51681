#!/usr/bin/env node
// Starts the program droid-acp. npm has installed it as the one optional dependency
// of this package that fits the system.
"use strict";

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const { constants } = require("node:os");
const path = require("node:path");
const { isatty } = require("node:tty");

const name = require("../package.json").name;

function fail(text) {
  process.stderr.write(`droid-acp: ${text}\n`);
  process.exit(1);
}

function program() {
  const offered = Object.keys(require("../package.json").optionalDependencies);
  const wanted = `${name}-${process.platform}-${process.arch}`;
  if (!offered.includes(wanted)) {
    const systems = offered.map((p) => p.slice(name.length + 1).replace("-", " ")).join(", ");
    fail(`there is no program for ${process.platform} ${process.arch}; there is one for ${systems}. It can be built from the source with Go.`);
  }
  const file = process.platform === "win32" ? "droid-acp.exe" : "droid-acp";
  try {
    return path.join(path.dirname(require.resolve(`${wanted}/package.json`)), "bin", file);
  } catch {
    return fail(`the package ${wanted} is missing, which holds the program. npm leaves it out with --omit=optional or --no-optional, and where node_modules came from another system. Install ${name} again without these, on this system.`);
  }
}

// Where Node can become the program (22.15 and newer, not on Windows), it does, and
// nothing stands between editor and agent.
function become(file) {
  if (process.platform === "win32" || typeof process.execve !== "function") return;
  process.removeAllListeners("warning"); // that execve is experimental
  try {
    fs.accessSync(file, fs.constants.X_OK); // Node crashes where it cannot become the file
    process.execve(file, [file, ...process.argv.slice(2)], process.env);
  } catch {
    // run says what is wrong with the file, or runs it where Node may not become it.
  }
}

function run(file) {
  const child = spawn(file, process.argv.slice(2), { stdio: "inherit" });
  child.on("error", (err) => fail(`${file} cannot be started: ${err.message}`));
  const forward = (signal) => {
    // A terminal sends these to the program too, and a second one would hurry it.
    if (isatty(0) && signal !== "SIGTERM") return;
    child.kill(signal);
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) process.on(signal, forward);
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    for (const s of signals) process.removeListener(s, forward);
    process.kill(process.pid, signal);
    setTimeout(() => process.exit(128 + constants.signals[signal]), 1000); // where the signal does not end us
  });
}

const file = program();
become(file);
run(file);
