// Parse Server in its own process, with the articles as a class and the policies of Belfry's articles.
import type { RequestListener } from 'node:http';
import { reportReady, startHttpServer } from '../../processes/child.ts';
import { importPackage } from '../packages.ts';

interface ParseServer {
  app: RequestListener;
  start(): Promise<unknown>;
}

const { ParseServer } = await importPackage<{ ParseServer: new (options: object) => ParseServer }>(
  'parse',
  'parse-server',
);
const authenticated = { requiresAuthentication: true };

let handler: RequestListener = (_request, response) => void response.writeHead(503).end();
const url = await startHttpServer((request, response) => handler(request, response));
const server = new ParseServer({
  appId: 'bench',
  masterKey: 'the master key of the bench',
  databaseURI: process.env.DATABASE_URL,
  serverURL: url,
  // Otherwise it prints dozens of deprecations.
  silent: true,
  logsFolder: null,
  schema: {
    definitions: [
      {
        className: 'Article',
        fields: {
          title: { type: 'String', required: true },
          body: { type: 'String' },
          category: { type: 'String' },
          status: { type: 'String', defaultValue: 'draft' },
          tags: { type: 'Array' },
          views: { type: 'Number', defaultValue: 0 },
          author: { type: 'Pointer', targetClass: '_User' },
        },
        classLevelPermissions: {
          find: authenticated,
          count: authenticated,
          get: authenticated,
          create: authenticated,
          update: authenticated,
          delete: authenticated,
        },
      },
    ],
  },
});
await server.start();
handler = server.app;
reportReady(url);
