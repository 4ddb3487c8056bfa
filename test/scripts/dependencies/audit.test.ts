import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startNode } from '../../support/processes/command.ts';

/** Runs the audit with a registry that answers like this. */
async function runAudit(answer: RequestListener, ...args: string[]) {
  const registry = createServer(answer).listen(0, '127.0.0.1');
  await once(registry, 'listening');
  const cache = mkdtempSync(join(tmpdir(), 'belfry-npm-'));
  onTestFinished(() => {
    registry.close();
    registry.closeAllConnections();
    rmSync(cache, { recursive: true });
  });
  const env = {
    npm_config_registry: `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`,
    npm_config_cache: cache,
  };
  // The command's own limit is too short on a busy machine.
  return startNode('.', ['scripts/dependencies/audit.ts', '--timeout', '150', ...args], env).ended;
}

/** A registry that gives this answer to audits, and has no packages. */
const answerWith =
  (status: number, body: unknown): RequestListener =>
  (request, response) => {
    request.resume();
    const answers = request.method === 'POST' ? ([status, body] as const) : ([404, {}] as const);
    response.writeHead(answers[0], { 'content-type': 'application/json' }).end(JSON.stringify(answers[1]));
  };

test('a high advisory for a production dependency fails the audit', async () => {
  const advisory = {
    id: 1100001,
    url: 'https://github.com/advisories/GHSA-aaaa-bbbb-cccc',
    title: 'pg sends the password twice',
    severity: 'high',
    vulnerable_versions: '<999',
  };
  expect(await runAudit(answerWith(200, { pg: [advisory] }))).toEqual({
    code: 1,
    output: expect.stringContaining('  high: pg <999: pg sends the password twice (GHSA-aaaa-bbbb-cccc)'),
  });
});

test('without advisories, the audit passes', async () => {
  expect(await runAudit(answerWith(200, {}))).toEqual({
    code: 0,
    output: expect.stringMatching(/^Dependency audit PASSED: /),
  });
});

test('a registry that does not answer audits skips the audit, and fails it only if an answer is required', async () => {
  const skipped = expect.stringMatching(/^Dependency audit SKIPPED: .*503/);
  expect(await runAudit(answerWith(503, {}))).toEqual({ code: 0, output: skipped });
  expect(await runAudit(answerWith(503, {}), '--require-answer')).toEqual({ code: 2, output: skipped });
});

test('a registry that never responds skips the audit after the time-out', async () => {
  expect(await runAudit(() => undefined, '--timeout', '3')).toEqual({
    code: 0,
    output: expect.stringMatching(/^Dependency audit SKIPPED: the registry did not answer in time/),
  });
});
