import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { bundleVerifyWebhook } from '../../scripts/package/bundle-verify-webhook.ts';
import {
  createSignatureHeader,
  generateSecret,
  parseSigningSecret,
} from '../../src/extensions/webhooks/endpoints/signing.ts';
import { verifyWebhookBuilds } from '../support/webhooks/verify-webhook-builds.ts';

const file = new URL('../../packages/verify-webhook/src/index.ts', import.meta.url);
const secret = generateSecret();
const body = JSON.stringify({ type: 'post.created', timestamp: '2030-01-01T00:00:00.000Z', data: { title: 'Zoë 😀' } });

function request(text = body): Request {
  const now = Math.floor(Date.now() / 1000);
  const headers = {
    'webhook-id': 'msg_abc',
    'webhook-timestamp': String(now),
    'webhook-signature': createSignatureHeader([parseSigningSecret(secret)], 'msg_abc', now, body),
  };
  return new Request('https://receiver.example.com/', { method: 'POST', headers, body: text });
}

describe.each(verifyWebhookBuilds)('the build %s', (_, { verifyWebhook, WebhookVerificationError }) => {
  /** A receiver that handles requests as in Workers, Deno and Bun. */
  async function handle(received: Request, read: 'text' | 'bytes'): Promise<Response> {
    try {
      const raw = read === 'text' ? await received.text() : new Uint8Array(await received.arrayBuffer());
      return Response.json(verifyWebhook(secret, received.headers, raw).data);
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      return new Response(error.code, { status: 400 });
    }
  }

  test.each(['text', 'bytes'] as const)('a fetch handler verifies a Request by its headers and %s', async (read) => {
    expect(await (await handle(request(), read)).json()).toEqual({ title: 'Zoë 😀' });
    const changed = await handle(request(body.replace('Zoë', 'Zoe')), read);
    expect([changed.status, await changed.text()]).toEqual([400, 'SIGNATURE_MISMATCH']);
  });
});

test('the source verifies without any global of Node', async () => {
  const script = `
    const { env } = process;
    const headers = new Headers(JSON.parse(env.HEADERS));
    for (const name of ['Buffer', 'process', 'global', 'setImmediate', 'clearImmediate']) delete globalThis[name];
    const { verifyWebhook } = await import(env.FILE);
    const payload = verifyWebhook(env.SECRET, headers, env.BODY);
    const codes = [['whsec_***', headers], ['x', headers], [env.SECRET, new Headers()]].map(([secret, given]) => {
      try {
        return verifyWebhook(secret, given, env.BODY);
      } catch ({ code }) {
        return code;
      }
    });
    console.log(JSON.stringify([payload, codes, typeof Buffer]));`;
  const env = {
    FILE: file.href,
    SECRET: secret,
    BODY: body,
    HEADERS: JSON.stringify(Object.fromEntries(request().headers)),
  };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env });
  expect(JSON.parse(stdout)).toEqual([
    JSON.parse(body),
    ['INVALID_SECRET', 'INVALID_SECRET', 'MISSING_HEADER'],
    'undefined',
  ]);
});

test('the source imports only node:crypto, since receivers copy its files', async () => {
  const { metafile } = await build({
    entryPoints: [fileURLToPath(file)],
    bundle: true,
    platform: 'neutral',
    external: ['node:*'],
    write: false,
    metafile: true,
  });
  const [output] = Object.values(metafile.outputs);
  expect(output!.imports.map(({ path }) => path)).toEqual(['node:crypto']);
  const inputs = Object.keys(metafile.inputs);
  expect(inputs.map((path) => basename(path)).sort()).toEqual(['index.ts', 'message.ts', 'node-signatures.ts']);
  for (const path of inputs)
    expect(readFileSync(path, 'utf8')).not.toMatch(/\b(Buffer|process|global|setImmediate|__dirname)\b\.?/);
});

test('the build for browsers imports nothing, and contains the licences of its packages', () => {
  const code = bundleVerifyWebhook();
  expect(code.match(/^\s*import\b|\bfrom ["']|\bimport\(|\brequire\(/gm)).toBeNull();
  const comment = code.slice(0, code.indexOf('*/')).replaceAll(/^ \* ?/gm, '');
  for (const name of ['@noble/curves', '@noble/hashes']) {
    const folder = new URL(`../../node_modules/${name}/`, import.meta.url);
    const { version } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'));
    expect(comment).toContain(`${name} ${version}`);
    expect(comment).toContain(readFileSync(new URL('LICENSE', folder), 'utf8').trim());
  }
});
