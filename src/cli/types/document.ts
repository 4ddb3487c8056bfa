import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { AssembledApp } from '../../runtime/assemble.ts';
import { findAssembly } from '../../runtime/create-app.ts';
import type { ResourceFacts } from '../../runtime/openapi/resource-facts.ts';
import { type AppOpener, DATABASE_ONLY } from '../project/project.ts';

/** A JSON Schema. */
export type Schema = Readonly<Record<string, unknown>>;

/** A parameter of an operation. */
interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  required?: boolean;
  schema?: Schema;
}

/** A media type of a body or response. */
type Content = Readonly<Record<string, { schema?: Schema }>>;

/** An operation of a document. */
export interface Operation {
  parameters?: readonly Parameter[];
  requestBody?: { required?: boolean; content: Content };
  responses: Readonly<Record<string, { content?: Content }>>;
}

/** The parts of an OpenAPI document from which types are written. */
export interface ApiDocument {
  info: { title: string };
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  components: { schemas: Readonly<Record<string, Schema>> };
  /** The events that the app sends, by name. Not checked yet. */
  webhooks?: unknown;
  'x-resources': readonly ResourceFacts[];
}

/** ms until a server must have sent its document. */
const TIMEOUT_MS = 30_000;

// The names of schemas become those of interfaces; all other texts are written in quotes.
const schemaName = z.string().regex(/^[A-Za-z_]\w*$/);
const names = z.array(z.string());
const targets = z.record(z.string(), z.string());
const resourceFacts = z.object({
  name: z.string(),
  path: z.string().startsWith('/'),
  schemas: z.object({ record: schemaName, create: schemaName.optional(), update: schemaName.optional() }),
  actions: names,
  always: names,
  filters: z.record(z.string(), names),
  sort: names,
  search: z.boolean(),
  references: targets,
  relations: targets,
  populated: names,
  unique: names,
  files: names,
  aggregates: z.object({ group: names, buckets: names, numbers: names, ordered: names }),
  routes: z.array(z.string().regex(/^[A-Z]+ \/\S*$/)),
});

/** @throws Error for a document that no Belfry app created */
function checkDocument(document: unknown, from: string): ApiDocument {
  const given = (document ?? {}) as Record<string, unknown>;
  if (typeof given.openapi !== 'string') throw new Error(`--from ${from}: this is not an OpenAPI document.`);
  const facts = z.array(resourceFacts).safeParse(given['x-resources']);
  const { schemas } = (given.components ?? {}) as { schemas?: Record<string, unknown> };
  const hasSchemas = facts.data?.every((one) =>
    Object.values(one.schemas).every(
      (name) => name === undefined || (schemas?.[name] as Schema | undefined)?.properties,
    ),
  );
  if (!hasSchemas)
    throw new Error(
      `--from ${from}: the document has no valid x-resources. It must be of a Belfry app, of this version or a later one.`,
    );
  return document as ApiDocument;
}

async function download(from: string): Promise<string> {
  const url = new URL(from);
  if (!url.pathname.endsWith('.json')) url.pathname = `${url.pathname.replace(/\/+$/, '')}/api/openapi.json`;
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!response.ok) throw new Error(`--from ${from}: ${url} responds with ${response.status}.`);
  return response.text();
}

/**
 * Reads an OpenAPI document.
 *
 * @param from a file, the address of a document (`https://api.example.com/api/openapi.json`), or the address of an app
 * @throws Error if it cannot be read, or is not of a Belfry app
 */
export async function readDocument(from: string): Promise<ApiDocument> {
  let text: string;
  try {
    text = /^https?:/.test(from) ? await download(from) : await readFile(from, 'utf8');
  } catch (error) {
    if ((error as Error).message.startsWith('--from')) throw error;
    throw new Error(`--from ${from}: ${(error as Error).message}`, { cause: error });
  }
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    throw new Error(`--from ${from}: this is not JSON.`);
  }
  return checkDocument(document, from);
}

/** Calls a function with the project's app. Nothing is connected. */
async function describeApp<T>(
  { openApp, command, appFile }: { openApp: AppOpener; command: string; appFile: string | undefined },
  describe: (assembly: AssembledApp) => T,
): Promise<T> {
  const app = await openApp({
    command,
    appFile,
    environment: { ...DATABASE_ONLY, ...(process.env.DATABASE_URL ? {} : { DATABASE_URL: 'postgres://none' }) },
  });
  try {
    const assembly = findAssembly(app);
    if (assembly === undefined)
      throw new Error(
        `The app uses another copy of Belfry than this command. Run npx belfry ${command} in the folder of the app.`,
      );
    return describe(assembly);
  } finally {
    await app.close();
  }
}

/** Creates the OpenAPI document of the project's app. @param appFile the value of `--app` */
export function createAppDocument(
  openApp: AppOpener,
  appFile: string | undefined,
  command = 'types',
): Promise<ApiDocument> {
  return describeApp({ openApp, command, appFile }, (app) => app.createOpenApiDocument() as unknown as ApiDocument);
}

/** The error for an app that sends no events. */
export const createNoEventsError = (): Error =>
  new Error('The app sends no webhooks: it does not have the extension webhooks().');

/**
 * Creates the AsyncAPI document of the project's app.
 *
 * @param appFile the value of `--app`
 * @throws Error if the app sends no events
 */
export function createAppEventDocument(openApp: AppOpener, appFile: string | undefined): Promise<object> {
  return describeApp({ openApp, command: 'api', appFile }, (app) => {
    if ((app.parts.sent ?? []).length === 0) throw createNoEventsError();
    return app.createAsyncApiDocument();
  });
}
