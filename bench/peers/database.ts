import { withClient } from '../setup/database.ts';
import type { Servers } from '../setup/environment.ts';

/** Creates an empty database for a peer. Returns its address. */
export async function createPeerDatabase({ databaseUrl }: Servers, peer: string): Promise<string> {
  const name = `peer_${peer.replaceAll('-', '_')}`;
  await withClient(databaseUrl, (client) => client.query(`create database ${name}`));
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** Runs statements, each with its values, and leaves tables and disk as after the seed of Belfry's database. */
export async function changeAndSettle(
  databaseUrl: string,
  statements: readonly [text: string, values?: unknown[]][],
): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    for (const [text, values] of statements) await client.query(text, values);
    await client.query('vacuum analyze');
    // Otherwise the next turn pays for what the last one wrote.
    await client.query('checkpoint');
  });
}
