import { chmod, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { disk } from '../../../../../src/platform/data/storage/disk.ts';
import { createBytes, inChunks, testFileStorage } from '../contract.ts';

const directory = await mkdtemp(join(tmpdir(), 'belfry-disk-'));
afterAll(() => rm(directory, { recursive: true, force: true }));
const storage = disk({ directory });

testFileStorage('the disk', () => disk({ directory }));

test('a symbolic link in the place of a file is not followed', async () => {
  const secret = join(directory, 'secret.txt');
  await writeFile(secret, 'secret');
  await storage.write('links/near', inChunks(createBytes(1)), { type: 'text/plain' });
  await symlink(secret, join(directory, 'stored', 'links', 'link'));
  await expect(storage.read('links/link')).rejects.toMatchObject({ name: 'StorageError', reason: 'denied' });
  await expect(storage.append('links/link', 0, inChunks(createBytes(1)), {})).rejects.toMatchObject({
    reason: 'denied',
  });
  // A write replaces the link, not the file that it refers to.
  await storage.write('links/link', inChunks(createBytes(3)), { type: 'text/plain' });
  expect(await readFile(secret, 'utf8')).toBe('secret');
  expect(await storage.stat('links/link')).toEqual({ bytes: 3 });
});

test('no temporary file is left, whether a write succeeds or fails', async () => {
  await storage.write('tidy/a', inChunks(createBytes(100_000)), { type: 'text/plain' });
  async function* broken() {
    yield createBytes(1_000_000);
    throw new Error('cut');
  }
  await expect(storage.write('tidy/b', broken(), { type: 'text/plain' })).rejects.toThrow('cut');
  expect(await readdir(join(directory, 'temporary'))).toEqual([]);
});

test('files are readable by the user of the process alone', async () => {
  const { stat } = await import('node:fs/promises');
  await storage.write('modes/a', inChunks(createBytes(1)), { type: 'text/plain' });
  const { mode } = await stat(join(directory, 'stored', 'modes', 'a'));
  expect((mode & 0o777).toString(8)).toBe('600');
});

test('a full disk is reported, and leaves nothing behind', async () => {
  const { open } = await import('node:fs/promises');
  const file = await open(join(directory, 'secret.txt'));
  const { writev } = Object.getPrototypeOf(file) as { writev: unknown };
  const prototype = Object.getPrototypeOf(file) as { writev: (...given: unknown[]) => Promise<unknown> };
  await file.close();
  const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC', syscall: 'write' });
  const failing = vi.spyOn(prototype, 'writev').mockRejectedValueOnce(full);
  const writing = storage.write('full/a', inChunks(createBytes(1_000_000)), { type: 'text/plain' });
  await expect(writing).rejects.toMatchObject({ name: 'StorageError', reason: 'full' });
  failing.mockRestore();
  expect(prototype.writev).toBe(writev);
  expect(await readdir(join(directory, 'temporary'))).toEqual([]);
  expect(await storage.stat('full/a')).toBeUndefined();
});

test.runIf(process.getuid?.() !== 0)('a directory that cannot be read fails the check', async () => {
  const closed = await mkdtemp(join(tmpdir(), 'belfry-closed-'));
  await chmod(closed, 0o000);
  await expect(disk({ directory: closed }).check!()).rejects.toMatchObject({ name: 'StorageError', reason: 'denied' });
  await rm(closed, { recursive: true });
});

test('a disk without a directory is a configuration error', () => {
  expect(() => disk({} as never)).toThrow('disk.directory: must be a path, such as /var/lib/my-app/files');
});

test('a file in the place of the directory fails the check', async () => {
  const file = join(directory, 'no-directory');
  await writeFile(file, '');
  await expect(disk({ directory: file }).check!()).rejects.toMatchObject({ name: 'StorageError', reason: 'denied' });
});
