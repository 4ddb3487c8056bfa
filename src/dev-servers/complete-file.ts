import { renameSync, writeFileSync } from 'node:fs';

/** Writes a file that other processes read, so that they never see a part of it. Only this user can read it. */
export function writeCompleteFile(file: string, text: string): void {
  const incomplete = `${file}.${process.pid}`;
  writeFileSync(incomplete, text, { mode: 0o600 });
  renameSync(incomplete, file);
}
