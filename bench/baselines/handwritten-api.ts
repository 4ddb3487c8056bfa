// The baseline of records: what a competent team writes by hand with express 5, pg and zod, with the defaults of express.
import express from 'express';
import pg from 'pg';
import { reportReady, startHttpServer } from '../processes/child.ts';
import { addRoutes } from './routes.ts';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
const query = async <Row extends object>(name: string, text: string, values: unknown[]) =>
  (await pool.query<Row>({ name, text, values })).rows;

const app = express();
app.use(express.json({ limit: '1mb' }));
addRoutes(app, { read: query, write: query });
reportReady(await startHttpServer(app));
