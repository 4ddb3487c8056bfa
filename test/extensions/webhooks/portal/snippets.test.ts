import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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

test('the code for Node.js verifies with the public key if the endpoint has one, and a placeholder stands for an unknown secret', () => {
  const withKey = createSnippets({ url: 'https://example.com', publicKey: 'whpk_x' });
  expect(withKey['Node.js']).toContain('WEBHOOK_PUBLIC_KEY=whpk_x');
  const without = createSnippets({ url: 'https://example.com' });
  for (const code of Object.values(without)) expect(code).toContain('whsec_…');
});
