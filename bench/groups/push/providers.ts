import { createBrowser } from '../../../test/fakes/push/browser.ts';
import { CA_FILE } from '../../../test/fakes/push/tls.ts';
import { type Bench, createRatio, type Figure, type Group } from '../../figure.ts';
import { runInterleaved } from '../../measure/interleave.ts';
import { median } from '../../measure/statistics.ts';
import { startBelfry } from '../../setup/belfry.ts';
import type { Child } from '../../setup/children.ts';
import { waitUntilEmpty, withClient } from '../../setup/database.ts';
import { createPushCredentials } from '../../setup/push-credentials.ts';

interface Provider {
  platform: 'android' | 'ios' | 'web';
  /** Hosts whose sockets are connected to the provider of the bench. */
  hosts: readonly string[];
  /** Devices of a round. */
  count: number;
  token(i: number): string;
}

const browser = createBrowser();
const PROVIDERS: Record<'fcm' | 'apns' | 'web', Provider> = {
  fcm: {
    platform: 'android',
    hosts: ['fcm.googleapis.com', 'oauth2.googleapis.com'],
    count: 20_000,
    token: (i) => `android:${String(i).padStart(140, '0')}`,
  },
  apns: {
    platform: 'ios',
    hosts: ['api.push.apple.com'],
    count: 20_000,
    token: (i) => i.toString(16).padStart(64, '0'),
  },
  web: {
    platform: 'web',
    hosts: ['updates.push.services.mozilla.com'],
    count: 3000,
    token: (i) => browser.token(`https://updates.push.services.mozilla.com/wpush/v2/${i}`),
  },
};
const TITLE = 'The bells of the old town ring at noon';
const REDIRECT = new URL('../../../test/fakes/push/redirect.ts', import.meta.url).href;

/** Sends one push to all devices through Belfry's worker. Time is measured from the first notification that the provider receives. */
async function measureBelfry(
  bench: Bench,
  provider: Child,
  sender: Child,
  message: { tokens: string[] },
): Promise<number> {
  return withClient(bench.servers.databaseUrl, async (client) => {
    const received = provider.call<number>('receive', message.tokens.length);
    await sender.call('push', message);
    const perSecond = await received;
    await waitUntilEmpty(client, `select from pushes where finished_at is null limit 1`);
    await client.query('truncate pushes cascade');
    return perSecond;
  });
}

async function measure(bench: Bench, name: keyof typeof PROVIDERS): Promise<Figure> {
  bench.logProgress(`push.${name} …`);
  const { platform, hosts, count, token } = PROVIDERS[name];
  const provider = await bench.children.start(new URL('../../processes/push-provider.ts', import.meta.url), {
    PROVIDER: name,
  });
  const environment = {
    ...createPushCredentials(),
    NODE_OPTIONS: `--import ${REDIRECT}`,
    PUSH_FAKE: hosts.map((host) => `${host}=${provider.url}`).join(),
    PUSH_FAKE_CA: CA_FILE,
  };
  const worker = await startBelfry(bench, 'push-worker', environment);
  const sender = await startBelfry(bench, 'web', environment);
  const library = await bench.children.start(new URL('../../baselines/push-library.ts', import.meta.url), environment);
  const tokens = Array.from({ length: count }, (_, i) => token(i));
  /** µs of CPU time of the process that sends, for each device, by side and round. */
  const cpuMicros = { belfry: [] as number[], library: [] as number[] };
  const measureCpu = async (side: keyof typeof cpuMicros, process: Child, run: () => Promise<number>) => {
    const before = await process.call<number>('cpu');
    const perSecond = await run();
    cpuMicros[side].push(((await process.call<number>('cpu')) - before) / count);
    return perSecond;
  };
  const sides = {
    belfry: () =>
      measureCpu('belfry', worker, () =>
        measureBelfry(bench, provider, sender, { tokens, platform, title: TITLE } as { tokens: string[] }),
      ),
    library: () =>
      measureCpu('library', library, async () => {
        const received = provider.call<number>('receive', count);
        await library.call('send', { provider: name, tokens, title: TITLE });
        return received;
      }),
  };
  await runInterleaved(sides, 1);
  const results = await runInterleaved(sides, bench.reps);
  await Promise.all([worker.stop(), sender.stop(), library.stop()]);
  await provider.stop();
  const cpu = [cpuMicros.belfry, cpuMicros.library].map((all) => `${median(all.slice(1)).toFixed(0)} µs`).join(' to ');
  const note = `${count.toLocaleString('en')} devices; CPU time of the sending process for each device: ${cpu}`;
  return createRatio(`push.${name}`, results.belfry, results.library, note);
}

/** Compares notifications per second: one push-worker, which looks up, sends and stores, and the provider's library alone. */
export const pushProviders: Group = {
  name: 'push',
  async run(bench) {
    const figures: Figure[] = [];
    for (const name of Object.keys(PROVIDERS) as (keyof typeof PROVIDERS)[]) {
      if (bench.isRequested(`push.${name}`)) figures.push(await measure(bench, name));
    }
    return figures;
  },
};
