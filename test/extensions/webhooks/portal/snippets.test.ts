import { execFile, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { createSnippets } from '../../../../packages/pages/src/kit/snippets.ts';
import {
  createSignatureHeader,
  generateSecret,
  parseSigningSecret,
} from '../../../../src/extensions/webhooks/endpoints/signing.ts';
import { verifyWebhook } from '../../../../src/index.ts';
import { startReceiver } from '../../../fakes/receiver.ts';

const receiver = await startReceiver();
const folder = mkdtempSync(join(tmpdir(), 'snippets-'));
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await receiver.close();
});
const secret = generateSecret();
const hasProgram = (name: string) => spawnSync(name, ['--version']).status === 0;
const run = promisify(execFile);

test('the code for curl and OpenSSL sends a request with a valid signature, also to a URL with quotes', async ({
  skip,
}) => {
  skip(!hasProgram('curl') || spawnSync('openssl', ['version']).status !== 0, 'no curl or OpenSSL');
  const url = `${receiver.url}?name='$(exit)'`;
  await run('sh', ['-c', createSnippets({ url }, secret)['curl, OpenSSL']]);
  const [request] = await receiver.received(1);
  expect(request!.path).toContain("'$(exit)'");
  expect(verifyWebhook(secret, request!.headers, request!.body).type).toBe('webhook.test');
});

test('the code for Python accepts a genuine request, and refuses an altered body and an old timestamp', async ({
  skip,
}) => {
  skip(!hasProgram('python3'), 'no Python');
  const now = Math.floor(Date.now() / 1000);
  const body = '{"type":"invoice.paid"}';
  const signed = (timestamp: number) => ({
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,AAAA ${createSignatureHeader([parseSigningSecret(secret)], 'msg_1', timestamp, body)}`,
  });
  const cases = [
    [signed(now), body],
    [signed(now), `${body} `],
    [signed(now - 600), body],
  ];
  const script = `${createSnippets({ url: 'https://example.com' }, secret).Python}
import json
print(json.dumps([is_authentic(headers, body.encode()) for headers, body in json.loads(${JSON.stringify(JSON.stringify(cases))})]))
`;
  writeFileSync(join(folder, 'verify.py'), script);
  const { stdout } = await run('python3', [join(folder, 'verify.py')], {
    env: { ...process.env, WEBHOOK_SECRET: secret },
  });
  expect(JSON.parse(stdout)).toEqual([true, false, false]);
});

test('the code for Node.js accepts a genuine request, and refuses an altered body', async () => {
  const listen = 'app.listen(3000);';
  const code = createSnippets({ url: 'https://example.com' }, secret)['Node.js'];
  expect(code).toContain(listen);
  // In the repository, so that its imports are found.
  const output = join(import.meta.dirname, '../../../.output');
  mkdirSync(output, { recursive: true });
  const file = join(output, 'webhook-snippet.mjs');
  writeFileSync(file, code.replace(listen, 'const s = app.listen(0, () => process.send(s.address().port));'));
  const child = fork(file, {
    env: { ...process.env, WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  try {
    const [port] = await once(child, 'message');
    const timestamp = Math.floor(Date.now() / 1000);
    const body = '{"type":"invoice.paid","timestamp":"2030-01-01T00:00:00.000Z","data":{"total":7}}';
    const headers = {
      'content-type': 'application/json',
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(timestamp),
      'webhook-signature': createSignatureHeader([parseSigningSecret(secret)], 'msg_1', timestamp, body),
    };
    const post = async (sent: string) =>
      (await fetch(`http://127.0.0.1:${port}/hooks`, { method: 'POST', headers, body: sent })).status;
    const printed = once(child.stdout!, 'data');
    expect([await post(`${body} `), await post(body)]).toEqual([401, 204]);
    expect(String(await printed)).toContain('invoice.paid');
  } finally {
    child.kill();
    rmSync(file);
  }
});

test('the code for Node.js verifies with the public key if the endpoint has one, and a placeholder stands for an unknown secret', () => {
  const withKey = createSnippets({ url: 'https://example.com', publicKey: 'whpk_x' });
  expect(withKey['Node.js']).toContain('WEBHOOK_PUBLIC_KEY=whpk_x');
  const without = createSnippets({ url: 'https://example.com' });
  for (const code of Object.values(without)) expect(code).toContain('whsec_…');
});
