#!/usr/bin/env node
// The command `create-belfry`. An old Node can read this file, so that it can say which Node is needed.
const NODE_MAJOR = 20;

if (Number(process.versions.node.split('.')[0]) < NODE_MAJOR) {
  console.error(
    `create-belfry needs Node ${NODE_MAJOR} or newer, but this is Node ${process.versions.node}. Install a newer Node from https://nodejs.org.`,
  );
  process.exitCode = 1;
} else {
  const { run } = await import('../src/run.js');
  process.exitCode = await run(process.argv.slice(2));
}
