// Payload in its own process: its REST API on a bare Node server. Where it is not in production mode, it creates its tables.
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { reportReady, startHttpServer } from '../../processes/child.ts';
import { importPackage } from '../packages.ts';

interface Access {
  req: { user: { id: number } | null };
}

interface Payload {
  buildConfig(config: object): Promise<object>;
  getPayload(options: { config: object }): Promise<unknown>;
  handleEndpoints(options: { config: object; request: Request }): Promise<Response>;
}

const { buildConfig, getPayload, handleEndpoints } = await importPackage<Payload>('payload', 'payload');
const { postgresAdapter } = await importPackage<{ postgresAdapter(options: object): object }>(
  'payload',
  '@payloadcms/db-postgres',
);

const isSignedIn = ({ req }: Access) => req.user !== null;
const isAuthor = ({ req: { user } }: Access) => user !== null && { author: { equals: user.id } };

const config = await buildConfig({
  secret: 'a secret of the bench',
  // An update holds a connection while it waits for a second one: with the default of 10, 20 updates at once wait forever.
  db: postgresAdapter({ pool: { connectionString: process.env.DATABASE_URL, max: 41 } }),
  telemetry: false,
  logger: { options: { level: 'fatal' } },
  collections: [
    { slug: 'users', auth: true, fields: [], access: { create: () => true } },
    {
      slug: 'articles',
      access: { read: isSignedIn, create: isSignedIn, update: isAuthor, delete: isAuthor },
      indexes: [{ fields: ['category', 'createdAt'] }],
      fields: [
        { name: 'title', type: 'text', required: true, maxLength: 200 },
        { name: 'body', type: 'textarea', maxLength: 20_000 },
        { name: 'category', type: 'text', maxLength: 40 },
        { name: 'status', type: 'select', options: ['draft', 'published'], defaultValue: 'draft' },
        { name: 'tags', type: 'text', hasMany: true, maxLength: 40, maxRows: 10 },
        { name: 'views', type: 'number', min: 0, defaultValue: 0 },
        { name: 'author', type: 'relationship', relationTo: 'users' },
      ],
    },
  ],
});
await getPayload({ config });

const url = await startHttpServer(async (request, response) => {
  const method = request.method ?? 'GET';
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const body = hasBody ? { body: Readable.toWeb(request) as ReadableStream<Uint8Array>, duplex: 'half' as const } : {};
  const headers = Object.entries(request.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const answer = await handleEndpoints({
    config,
    request: new Request(`http://${request.headers.host}${request.url}`, { method, headers, ...body }),
  });
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.end(Buffer.from(await answer.arrayBuffer()));
});
reportReady(url);
