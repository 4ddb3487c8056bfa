import { createCipheriv } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FileStorage } from '../../../../src/platform/data/storage/storage.ts';

const MIB = 1024 * 1024;

/** Pseudo-random bytes, so that a lost or repeated piece is noticed. */
export function createBytes(length: number, seed = 1): Buffer {
  const key = Buffer.alloc(16);
  key.writeUInt32BE(seed);
  return createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(length));
}

/** Yields bytes in chunks of a size that fits no part. */
export async function* inChunks(bytes: Buffer, size = 65_521): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

/** A body that fails after some bytes. */
async function* failing(bytes: Buffer, error: Error): AsyncGenerator<Uint8Array> {
  yield* inChunks(bytes);
  throw error;
}

const TYPE = 'application/octet-stream';

/**
 * Tests that every storage must pass.
 *
 * @param open returns a storage of the same files each time, like a restarted process
 */
export function testFileStorage(name: string, open: () => FileStorage): void {
  const storage = open();
  let count = 0;
  const newKey = () => `contract/${++count}-${'k'.repeat(20)}.bin`;

  async function write(bytes: Buffer): Promise<string> {
    const key = newKey();
    await storage.write(key, inChunks(bytes), { type: TYPE });
    return key;
  }

  const readAll = async (key: string, range?: { start?: number; end?: number }) =>
    buffer(await storage.read(key, range));

  describe(name, () => {
    test.each([0, 1, 8 * MIB - 1, 8 * MIB, 8 * MIB + 1, 25 * MIB])(
      '%d bytes are read as they were written',
      async (n) => {
        const bytes = createBytes(n);
        const key = newKey();
        expect(await storage.write(key, inChunks(bytes), { bytes: n, type: TYPE })).toEqual({ bytes: n });
        expect(await storage.stat(key)).toEqual({ bytes: n });
        expect((await readAll(key)).equals(bytes)).toBe(true);
        await storage.remove([key]);
      },
    );

    test('a range returns exactly its bytes, also if it reaches or begins beyond the end', async () => {
      const bytes = createBytes(1000);
      const key = await write(bytes);
      const position = fc.integer({ min: 0, max: 1100 });
      await fc.assert(
        fc.asyncProperty(position, fc.option(position, { nil: undefined }), async (start, length) => {
          const end = length === undefined ? undefined : start + length;
          const read = await readAll(key, end === undefined ? { start } : { start, end });
          const expected = bytes.subarray(start, end === undefined ? undefined : end + 1);
          expect(read.equals(expected), `from ${start} to ${end}`).toBe(true);
        }),
        { numRuns: 40 },
      );
    });

    test.each([100, 9 * MIB])(
      'a body that fails after %d bytes leaves nothing, and its error stays the same',
      async (n) => {
        const key = newKey();
        const error = new Error('the client is gone');
        await expect(storage.write(key, failing(createBytes(n), error), { type: TYPE })).rejects.toBe(error);
        expect(await storage.stat(key)).toBeUndefined();
        await expect(storage.read(key)).rejects.toMatchObject({ name: 'StorageError', reason: 'missing' });
      },
    );

    test('an aborted write leaves nothing', async () => {
      const key = newKey();
      const controller = new AbortController();
      async function* body() {
        yield createBytes(9 * MIB);
        controller.abort();
        yield createBytes(9 * MIB);
      }
      const writing = storage.write(key, body(), { type: TYPE, signal: controller.signal });
      await expect(writing).rejects.toMatchObject({ name: 'StorageError', reason: 'aborted' });
      expect(await storage.stat(key)).toBeUndefined();
    });

    test('a missing file cannot be read, has no length, and can be removed', async () => {
      const key = newKey();
      await expect(storage.read(key)).rejects.toMatchObject({ name: 'StorageError', reason: 'missing' });
      expect(await storage.stat(key)).toBeUndefined();
      await storage.remove([]);
      await storage.remove([key, key]);
    });

    test('removed files are gone, and others stay', async () => {
      const keys = await Promise.all([1, 2, 3].map((n) => write(createBytes(n))));
      await storage.remove(keys.slice(0, 2));
      await storage.remove(keys.slice(0, 2));
      expect(await Promise.all(keys.map((key) => storage.stat(key)))).toEqual([undefined, undefined, { bytes: 3 }]);
    });

    test('removing a file keeps the files below its key', async () => {
      const key = newKey().replace('.bin', '');
      await storage.write(`${key}-thumb`, inChunks(createBytes(2)), { type: TYPE });
      await storage.write(key, inChunks(createBytes(1)), { type: TYPE });
      await storage.remove([key]);
      expect(await storage.stat(`${key}-thumb`)).toEqual({ bytes: 2 });
    });

    test('files that are written at the same time do not mix', async () => {
      const bodies = Array.from({ length: 8 }, (_, seed) => createBytes(100_000 + seed, seed));
      const keys = await Promise.all(bodies.map(write));
      const read = await Promise.all(keys.map((key) => readAll(key)));
      expect(read.map((bytes, index) => bytes.equals(bodies[index]!))).not.toContain(false);
    });

    test('a key has the bytes of one write, however many write it at the same time', async () => {
      const key = newKey();
      const bodies = Array.from({ length: 6 }, (_, seed) => createBytes(200_000, seed));
      await Promise.all(bodies.map((body) => storage.write(key, inChunks(body), { type: TYPE })));
      const read = await readAll(key);
      expect(bodies.filter((body) => body.equals(read))).toHaveLength(1);
    });

    test('a reader may leave early', async () => {
      const key = await write(createBytes(9 * MIB));
      for (let round = 0; round < 20; round++) {
        const stream = await storage.read(key);
        for await (const chunk of stream) {
          expect(chunk.length).toBeGreaterThan(0);
          break;
        }
        expect(stream.destroyed).toBe(true);
      }
      expect((await readAll(key)).length).toBe(9 * MIB);
    });

    test.each(['../up', '/root', 'a//b', 'a/../b', '.hidden', 'A', 'ä', 'a b', '', 'a'.repeat(201), 'a\0b'])(
      'the malformed key %j is refused everywhere',
      async (key) => {
        const denied = { name: 'StorageError', reason: 'denied' };
        const body = () => inChunks(createBytes(1));
        const attempts: (() => Promise<unknown>)[] = [
          async () => storage.write(key, body(), { type: TYPE }),
          async () => storage.read(key),
          async () => storage.stat(key),
          async () => storage.remove([key]),
          async () => storage.append(key, 0, body(), {}),
          async () => storage.complete(key, 'good', { type: TYPE }),
        ];
        for (const attempt of attempts) await expect(attempt()).rejects.toMatchObject(denied);
      },
    );

    test('the parts of a resumable upload are joined, also across restarts of the process', {
      timeout: 120_000,
    }, async () => {
      const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: 10 * MIB })), {
        minLength: 1,
        maxLength: 4,
      });
      await fc.assert(
        fc.asyncProperty(sizes, async (parts) => {
          const [uploadKey, key] = [newKey(), newKey()];
          const bodies = parts.map((size, index) => createBytes(size, index));
          let length = 0;
          for (const body of bodies) {
            const appended = await open().append(uploadKey, length, inChunks(body), {});
            length += body.length;
            expect(appended).toEqual({ length });
          }
          expect(await storage.stat(key)).toBeUndefined();
          expect(await open().complete(uploadKey, key, { type: 'text/plain' })).toEqual({ bytes: length });
          expect((await readAll(key)).equals(Buffer.concat(bodies))).toBe(true);
          await storage.remove([key]);
        }),
        { numRuns: 8 },
      );
    });

    test.each([50, 8 * MIB, 9 * MIB])('an upload continues at offset %d although more is stored', async (offset) => {
      const [uploadKey, key] = [newKey(), newKey()];
      const bytes = createBytes(18 * MIB);
      await storage.append(uploadKey, 0, inChunks(bytes), {});
      const rest = createBytes(100, 7);
      expect(await storage.append(uploadKey, offset, inChunks(rest), {})).toEqual({ length: offset + 100 });
      await storage.complete(uploadKey, key, { type: TYPE });
      expect((await readAll(key)).equals(Buffer.concat([bytes.subarray(0, offset), rest]))).toBe(true);
    });

    test('an offset beyond the stored bytes is refused', async () => {
      const uploadKey = newKey();
      const missing = { name: 'StorageError', reason: 'missing' };
      await expect(storage.append(uploadKey, 10, inChunks(createBytes(1)), {})).rejects.toMatchObject(missing);
      await storage.append(uploadKey, 0, inChunks(createBytes(9)), {});
      for (const offset of [10, 8 * MIB, 9 * MIB]) {
        await expect(storage.append(uploadKey, offset, inChunks(createBytes(1)), {})).rejects.toMatchObject(missing);
      }
    });

    test.each([10, 9 * MIB])('an append that fails after %d bytes can be repeated at the same offset', async (n) => {
      const [uploadKey, key] = [newKey(), newKey()];
      const bytes = createBytes(20 * MIB);
      await storage.append(uploadKey, 0, inChunks(bytes.subarray(0, 100)), {});
      const error = new Error('the connection is lost');
      const cut = failing(createBytes(n, 9), error);
      await expect(storage.append(uploadKey, 100, cut, {})).rejects.toBe(error);
      await storage.append(uploadKey, 100, inChunks(bytes.subarray(100)), {});
      await storage.complete(uploadKey, key, { type: TYPE });
      expect((await readAll(key)).equals(bytes)).toBe(true);
    });

    test('an upload can be completed again, as another file', async () => {
      const [uploadKey, key] = [newKey(), newKey()];
      await storage.append(uploadKey, 0, inChunks(createBytes(9 * MIB)), {});
      await storage.complete(uploadKey, key, { type: TYPE });
      const again = newKey();
      expect(await storage.complete(uploadKey, again, { type: TYPE })).toEqual({ bytes: 9 * MIB });
      await storage.append(uploadKey, 0, inChunks(createBytes(10, 2)), {});
      for (const file of [key, again]) expect((await readAll(file)).equals(createBytes(9 * MIB))).toBe(true);
      await storage.remove([uploadKey]);
      expect(await storage.stat(again)).toEqual({ bytes: 9 * MIB });
    });

    test('an unknown or removed upload cannot be completed', async () => {
      const [uploadKey, key] = [newKey(), newKey()];
      const missing = { name: 'StorageError', reason: 'missing' };
      await expect(storage.complete(uploadKey, key, { type: TYPE })).rejects.toMatchObject(missing);
      await storage.append(uploadKey, 0, inChunks(createBytes(17 * MIB)), {});
      await storage.remove([uploadKey]);
      await expect(storage.complete(uploadKey, key, { type: TYPE })).rejects.toMatchObject(missing);
      expect(await storage.stat(key)).toBeUndefined();
    });

    test('a storage that is ready passes its check', async () => {
      await storage.check?.();
    });

    test('a body that waits is not read ahead', async () => {
      const key = newKey();
      const release = Promise.withResolvers<void>();
      const body = Readable.from(
        (async function* () {
          yield createBytes(1000);
          await release.promise;
          yield createBytes(1000);
        })(),
      );
      const writing = storage.write(key, body, { type: TYPE });
      expect(await storage.stat(key)).toBeUndefined();
      release.resolve();
      expect(await writing).toEqual({ bytes: 2000 });
    });
  });
}
