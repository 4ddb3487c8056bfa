// The lean baseline of records: the handwritten API, optimized by measuring. express without etag, x-powered-by and the extended query parser,
// a body reader of its own, reads on two shared pipelined connections, timestamps read as text.
import express from 'express';
import pg from 'pg';
import { reportReady, startHttpServer } from '../processes/child.ts';
import { jsonBody } from './json-body.ts';
import { addRoutes } from './routes.ts';

const TIMESTAMPTZ = 1184;

/** Converts `2026-11-21 02:49:37.12+00` to ISO 8601. */
function isoTimestamp(text: string): string {
  const [withoutZone = ''] = text.split('+', 1);
  return `${withoutZone.slice(0, 10)}T${withoutZone.slice(11, 19)}.${withoutZone.slice(20, 23).padEnd(3, '0')}Z`;
}

const config: pg.ClientConfig = {
  connectionString: process.env.DATABASE_URL,
  options: '-c timezone=UTC',
  types: {
    getTypeParser: ((oid: number, format: 'text') =>
      oid === TIMESTAMPTZ ? isoTimestamp : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
  },
};
const pool = new pg.Pool({ ...config, max: 20 });
const readers = [new pg.Client({ ...config, pipeline: true }), new pg.Client({ ...config, pipeline: true })];
for (const reader of readers) await reader.connect();
let nextReader = 0;

const app = express();
app.disable('x-powered-by');
app.disable('etag');
app.set('query parser', 'simple');
app.use(jsonBody);
addRoutes(app, {
  async read<Row extends object>(name: string, text: string, values: unknown[]) {
    nextReader = 1 - nextReader;
    return (await readers[nextReader]!.query<Row>({ name, text, values })).rows;
  },
  async write<Row extends object>(name: string, text: string, values: unknown[]) {
    return (await pool.query<Row>({ name, text, values })).rows;
  },
});
reportReady(await startHttpServer(app));
