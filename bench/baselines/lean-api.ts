// The lean floor: the same, optimized by measuring. express without etag, x-powered-by and the extended query parser,
// a body reader of its own, reads on two shared pipelined connections, timestamps read as text.
import express from 'express';
import pg from 'pg';
import { listening, ready } from '../processes/child.ts';
import { jsonBody } from './json-body.ts';
import { addRoutes } from './routes.ts';

const TIMESTAMPTZ = 1184;

/** Converts `2026-11-21 02:49:37.12+00` to ISO 8601. */
function isoTimestamp(text: string): string {
  const [plain = ''] = text.split('+', 1);
  return `${plain.slice(0, 10)}T${plain.slice(11, 19)}.${plain.slice(20, 23).padEnd(3, '0')}Z`;
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
let turn = 0;

const app = express();
app.disable('x-powered-by');
app.disable('etag');
app.set('query parser', 'simple');
app.use(jsonBody);
addRoutes(app, {
  async read<Row extends object>(name: string, text: string, values: unknown[]) {
    turn = 1 - turn;
    return (await readers[turn]!.query<Row>({ name, text, values })).rows;
  },
  async write<Row extends object>(name: string, text: string, values: unknown[]) {
    return (await pool.query<Row>({ name, text, values })).rows;
  },
});
ready(await listening(app));
