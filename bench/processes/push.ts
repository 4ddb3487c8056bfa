// Push in its own process, in the role of BENCH_ROLE. Its provider accepts everything at once.
import { createApp, defineUser } from '../../src/index.ts';
import type { Role } from '../setup/environment.ts';
import { currentTimeMs, reportReady } from './child.ts';

const app = createApp(
  {
    resources: [defineUser()],
    transports: [{ name: 'instant', send: (_message, devices) => devices.map(() => ({ ok: true, id: 'accepted' })) }],
  },
  process.env,
);
const { url } = await app.start({ port: 0, roles: [process.env.BENCH_ROLE as Role] });

reportReady(url, {
  /** Sends to users and returns the ms until the call returns. */
  async send(to: string[]): Promise<number> {
    const begin = currentTimeMs();
    const { status } = await app.push.send({ to, title: 'The bells of the old town', body: 'They ring at noon.' });
    if (status !== 'queued') throw new Error(`the send was ${status}`);
    return currentTimeMs() - begin;
  },
});
