// Servers with a handler of @belfry/verify-webhook, for tests that must hold for each entry point.
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import express from 'express';
import { onTestFinished } from 'vitest';
import { createWebhookHandler as createExpressHandler } from '../../../packages/verify-webhook/src/express.ts';
import type { WebhookHandlerOptions, WebhookPayload } from '../../../packages/verify-webhook/src/fetch.ts';
import { createWebhookHandler as createFetchHandler } from '../../../packages/verify-webhook/src/fetch.ts';

/** Starts a server until the end of the test. Returns its address. */
export async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;
}

/** Passes requests of node:http to a handler of the web platform. */
function listen(handle: (request: Request) => Promise<Response>): RequestListener {
  return async (req, res) => {
    const { method = 'GET', headers } = req;
    const hasBody = method !== 'GET' && method !== 'HEAD';
    const request = new Request(`http://${headers.host}${req.url}`, {
      method,
      headers: headers as Record<string, string>,
      body: hasBody ? (Readable.toWeb(req) as ReadableStream) : null,
      duplex: 'half',
    });
    const response = await handle(request);
    res.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
  };
}

/** For `describe.each`: the name of each entry point, and a function that starts a server with its handler. */
export const handlerServers: [
  name: string,
  start: (options: WebhookHandlerOptions<WebhookPayload>) => Promise<string>,
][] = [
  ['express', (options) => serve(express().all('/hooks', createExpressHandler(options)))],
  ['fetch', (options) => serve(listen(createFetchHandler(options)))],
];
