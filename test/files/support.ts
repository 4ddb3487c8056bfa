import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished, TestRunner } from 'vitest';
import { disk } from '../../src/index.ts';
import type { ApiResponse } from '../support/app.ts';

/** A PNG of one pixel. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** Creates a directory for files and its storage. It is removed after the tests of the file, or after the test that created it. */
export async function createTestStorage() {
  const directory = await mkdtemp(join(tmpdir(), 'belfry-files-'));
  // Within a test, vitest ignores afterAll.
  const atEnd = TestRunner.getCurrentTest() === undefined ? afterAll : onTestFinished;
  atEnd(() => rm(directory, { recursive: true, force: true }));
  return {
    directory,
    storage: disk({ directory }),
    /** The names of all files in the directory, temporary ones included. */
    async listStored(): Promise<string[]> {
      const entries = await readdir(directory, { recursive: true, withFileTypes: true });
      return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
    },
  };
}

/** Sends bytes to a route, signed in with a token. */
export async function send(
  url: string,
  body: RequestInit['body'] | Buffer,
  {
    token,
    method = 'POST',
    ...headers
  }: { token?: string | undefined; method?: string; [header: string]: string | undefined } = {},
): Promise<ApiResponse> {
  const response = await fetch(url, {
    method,
    body: body as RequestInit['body'],
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(headers as Record<string, string>),
    },
    redirect: 'manual',
    duplex: 'half',
  } as RequestInit);
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
}
