// The floor: what a competent team writes by hand with express 5, pg and zod, with the defaults of express.
import express from 'express';
import pg from 'pg';
import { listening, ready } from '../processes/child.ts';
import { addRoutes } from './routes.ts';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
const ask = async <Row extends object>(name: string, text: string, values: unknown[]) =>
  (await pool.query<Row>({ name, text, values })).rows;

const app = express();
app.use(express.json({ limit: '1mb' }));
addRoutes(app, { read: ask, write: ask });
ready(await listening(app));
