import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readRows } from '../../../src/records/bulk/read-rows.ts';

test.each([
  ['csv', 'title\nfirst\n'],
  ['ndjson', ''],
] as const)(
  'a %s file that fails before its rows are read fails their reader, and not the process',
  async (format, text) => {
    const file = new PassThrough();
    file.on('error', () => undefined);
    file.write(text);
    const { rows } = await readRows(file, { format });
    file.destroy(new Error('The client disconnected'));
    // An error without a listener would end the process here.
    await nextTurn();
    await expect(Array.fromAsync(rows)).rejects.toThrow('The client disconnected');
  },
);
