// The baseline of logins: scrypt alone, two at once, with the cost of Belfry's passwords.
import { randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { reportReady } from '../processes/child.ts';

interface Run {
  seconds: number;
  concurrency: number;
  cost: { logN: number; r: number; p: number };
}

const derive = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(scrypt);

reportReady('', {
  /** Hashes for this many seconds. Returns hashes per second. */
  async hash({ seconds, concurrency, cost: { logN, r, p } }: Run) {
    const options = { N: 2 ** logN, r, p, maxmem: 2 ** 29 };
    const begin = performance.now();
    let hashed = 0;
    const runHashes = async () => {
      while (performance.now() - begin < seconds * 1000) {
        await derive('correct horse battery', randomBytes(16), 32, options);
        hashed++;
      }
    };
    await Promise.all(Array.from({ length: concurrency }, runHashes));
    return hashed / ((performance.now() - begin) / 1000);
  },
});
