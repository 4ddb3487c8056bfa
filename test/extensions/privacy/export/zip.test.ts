import { randomBytes } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { splitIntoChunks, streamZip } from '../../../../src/extensions/privacy/export/zip.ts';
import { readZip } from '../../../support/zip.ts';

const AT = new Date('2030-01-01T00:00:00Z');

function entry(path: string, pieces: readonly string[], log: string[] = []) {
  return {
    path,
    async *content() {
      log.push(`${path} begins`);
      try {
        for (const piece of pieces) {
          await turn();
          yield Buffer.from(piece);
        }
      } finally {
        log.push(`${path} ends`);
      }
    },
  };
}

async function all(source: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of source) pieces.push(piece);
  return Buffer.concat(pieces);
}

test('entries are packed one after the other, each requested only when it is next; empty entries work too', async () => {
  const log: string[] = [];
  const entries = [entry('a.txt', ['one ', 'two'], log), entry('b/empty', [], log), entry('c', ['ü'], log)];
  const files = readZip(await all(streamZip(entries, AT)));
  expect([...files]).toEqual([
    ['a.txt', 'one two'],
    ['b/empty', ''],
    ['c', 'ü'],
  ]);
  expect(log).toEqual(['a.txt', 'b/empty', 'c'].flatMap((path) => [`${path} begins`, `${path} ends`]));
});

test('an entry that fails makes the archive fail, and no further entry is started', async () => {
  const log: string[] = [];
  const failing = {
    path: 'bad',
    // biome-ignore lint/correctness/useYield: it fails before
    async *content(): AsyncGenerator<Buffer> {
      throw new Error('away');
    },
  };
  await expect(all(streamZip([failing, entry('next', ['x'], log)], AT))).rejects.toThrow('away');
  expect(log).toEqual([]);
});

test('stopping early ends the entry that is being read', async () => {
  const log: string[] = [];
  const large = Array.from({ length: 500 }, () => randomBytes(8192).toString('hex'));
  let bytes = 0;
  for await (const { length } of streamZip([entry('large', large, log)], AT)) {
    bytes += length;
    if (bytes > 100_000) break;
  }
  expect(log).toEqual(['large begins', 'large ends']);
});

test('reading runs ahead of the consumer only by the size of the buffers, so memory stays flat for any amount of data', async () => {
  let read = 0;
  const endless = {
    path: 'endless',
    async *content() {
      for (;;) {
        const block = randomBytes(65_536);
        read += block.length;
        yield block;
      }
    },
  };
  let taken = 0;
  for await (const piece of splitIntoChunks(streamZip([endless], AT), 262_144)) {
    taken += piece.length;
    // A slow consumer.
    for (let wait = 0; wait < 200; wait++) await turn();
    expect(read - taken).toBeLessThan(2_000_000);
    if (taken > 20_000_000) break;
  }
});

test.each([[[]], [[3]], [[10]], [[4, 4, 4]], [[25, 1, 0, 30]]])(
  'chunks of %j bytes are regrouped into pieces of 10 bytes',
  async (sizes) => {
    const source = async function* () {
      for (const size of sizes) yield randomBytes(size);
    };
    const lengths: number[] = [];
    for await (const piece of splitIntoChunks(source(), 10)) lengths.push(piece.length);
    const total = sizes.reduce((sum: number, size) => sum + size, 0);
    expect(lengths).toEqual([...Array(Math.floor(total / 10)).fill(10), ...(total % 10 === 0 ? [] : [total % 10])]);
  },
);
