// A trace collector that speaks OTLP over HTTP with protocol buffers: https://opentelemetry.io/docs/specs/otlp/
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { vi } from 'vitest';
import { type Message, readMessage } from './push/protobuf.ts';

/** A span as it was exported. */
export interface ExportedSpan {
  traceId: string;
  spanId: string;
  /** The id of the parent; empty for the first span of a trace. */
  parentId: string;
  name: string;
  kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  attributes: Record<string, unknown>;
  /** Whether the status is an error. */
  failed: boolean;
  /** The attributes of the process. */
  resource: Record<string, unknown>;
}

/** A collector of traces: a real server on loopback. */
export interface Collector {
  /** The value of OTEL_EXPORTER_OTLP_ENDPOINT. */
  url: string;
  /** All spans, in order of their export. */
  spans: ExportedSpan[];
  /** The headers of each export. */
  exports: { path: string; headers: IncomingHttpHeaders; body: Buffer }[];
  /** The status and the body of the responses from now on. Default 200 without a body. */
  respondWith(status: number, body?: string): void;
  /** Resolves with the first span for which the test returns true; rejects after 60 s. */
  span(test: (span: ExportedSpan) => boolean): Promise<ExportedSpan>;
  close(): Promise<void>;
}

const KINDS = ['internal', 'internal', 'server', 'client', 'producer', 'consumer'] as const;

const messagesOf = (message: Message, field: number) =>
  (message.get(field) ?? []).map((value) => readMessage(value as Buffer));
const textOf = (message: Message, field: number) => String(message.get(field)?.[0] ?? '');
const hexOf = (message: Message, field: number) =>
  ((message.get(field)?.[0] ?? Buffer.alloc(0)) as Buffer).toString('hex');

/** Reads an AnyValue: a text, a boolean, an integer or a double. */
function readValue(value: Message): unknown {
  const [[field, [first]] = [0, []]] = [...value] as [number, (number | Buffer)[]][];
  if (field === 1) return String(first);
  if (field === 2) return first === 1;
  return field === 4 ? (first as Buffer).readDoubleLE() : first;
}

const readAttributes = (message: Message, field: number) =>
  Object.fromEntries(
    messagesOf(message, field).map((pair) => [textOf(pair, 1), readValue(messagesOf(pair, 2)[0] ?? new Map())]),
  );

/** Reads an ExportTraceServiceRequest. */
function readSpans(body: Buffer): ExportedSpan[] {
  return messagesOf(readMessage(body), 1).flatMap((resourceSpans) => {
    const [resource = new Map() as Message] = messagesOf(resourceSpans, 1);
    return messagesOf(resourceSpans, 2).flatMap((scopeSpans) =>
      messagesOf(scopeSpans, 2).map((span) => ({
        traceId: hexOf(span, 1),
        spanId: hexOf(span, 2),
        parentId: hexOf(span, 4),
        name: textOf(span, 5),
        kind: KINDS[Number(span.get(6)?.[0] ?? 0)]!,
        attributes: readAttributes(span, 9),
        failed: messagesOf(span, 15)[0]?.get(3)?.[0] === 2,
        resource: readAttributes(resource, 1),
      })),
    );
  });
}

/** Starts a collector. */
export async function startCollector(): Promise<Collector> {
  const spans: ExportedSpan[] = [];
  const exports: Collector['exports'] = [];
  let status = 200;
  let responseBody = '';
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    exports.push({ path: req.url!, headers: req.headers, body });
    if (status === 200) spans.push(...readSpans(body));
    res.writeHead(status, { 'content-type': 'application/x-protobuf' }).end(responseBody);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    exports,
    respondWith(next, text = '') {
      status = next;
      responseBody = text;
    },
    span: (test) => vi.waitUntil(() => spans.find(test), { timeout: 60_000, interval: 20 }),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
