import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Bucket, BucketError } from './bucket.ts';
import { type AcceptedKey, parametersOf, verifySignature } from './signature.ts';

/** A request as tests see it. */
export interface S3Call {
  method: string;
  /** The key in the bucket; empty for the bucket itself. */
  key: string;
  query: Readonly<Record<string, string>>;
}

/** How the server misbehaves for a request. */
export type Misbehaviour =
  | { status: number; code?: string }
  /** Closes the connection: before the request is processed, after it, or in the middle of the body of the response. */
  | { cut: 'before' | 'after' | 'body' }
  /** Processes the request when the promise resolves. */
  | { holdUntil: Promise<unknown> }
  /** Never answers. */
  | { hang: true }
  /** Answers with the status of a success and an error in the body. */
  | { lateError: string };

/** A server of S3 with one bucket. */
export interface FakeS3 {
  endpoint: string;
  bucketName: string;
  key: AcceptedKey;
  bucket: Bucket;
  /** All requests, oldest first. */
  calls: S3Call[];
  /** Called for each request with a valid signature; undefined: behave. */
  misbehave: ((call: S3Call) => Misbehaviour | undefined) | undefined;
  /** The number of requests that are being processed. */
  active(): number;
  close(): Promise<void>;
}

const escapeXml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const errorXml = (code: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>The request failed: ${code}</Message></Error>`;

function respond(response: ServerResponse, status: number, text = '', headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/xml', ...headers }).end(text);
}

function listObjects(bucket: Bucket, query: Readonly<Record<string, string>>, pageSize: number): string {
  const start = query['continuation-token'] ?? query['start-after'] ?? '';
  const all = [...bucket.objects].filter(([key]) => key.startsWith(query.prefix ?? '') && key > start);
  all.sort(([first], [second]) => (first < second ? -1 : 1));
  const page = all.slice(0, pageSize);
  const contents = page.map(([key, { bytes }]) => {
    return `<Contents><Key>${escapeXml(key)}</Key><Size>${bytes.length}</Size></Contents>`;
  });
  const isTruncated = page.length < all.length;
  const next = isTruncated ? `<NextContinuationToken>${page.at(-1)![0]}</NextContinuationToken>` : '';
  return `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${contents.join('')}${next}</ListBucketResult>`;
}

function deleteObjects(bucket: Bucket, body: Buffer, headers: IncomingMessage['headers']): string {
  const md5 = createHash('md5').update(body).digest('base64');
  if (headers['content-md5'] !== md5) throw new BucketError(400, 'BadDigest');
  const keys = Array.from(body.toString('utf8').matchAll(/<Key>([^<]+)<\/Key>/g), ([, key]) => key!);
  if (keys.length === 0 || keys.length > 1000) throw new BucketError(400, 'MalformedXML');
  for (const key of keys) bucket.objects.delete(key);
  return '<DeleteResult></DeleteResult>';
}

function putObject(bucket: Bucket, key: string, body: Buffer, request: IncomingMessage, response: ServerResponse) {
  const { headers } = request;
  const checksum = headers['x-amz-checksum-sha256'];
  if (checksum !== undefined && checksum !== createHash('sha256').update(body).digest('base64')) {
    throw new BucketError(400, 'BadDigest');
  }
  if (headers['if-none-match'] === '*' && bucket.objects.has(key)) throw new BucketError(412, 'PreconditionFailed');
  const source = headers['x-amz-copy-source'];
  const bytes = typeof source === 'string' ? bucket.copySource(source) : body;
  const { etag } = bucket.put(key, bytes, headers['content-type'] ?? 'binary/octet-stream');
  if (source === undefined) respond(response, 200, '', { etag });
  else respond(response, 200, `<CopyObjectResult><ETag>${escapeXml(etag)}</ETag></CopyObjectResult>`);
}

/** Answers `GET` and `HEAD` of an object. With `cut`, the connection breaks off in the middle of the body. */
function getObject(
  bucket: Bucket,
  { method, key, query }: S3Call,
  request: IncomingMessage,
  response: ServerResponse,
  cut: boolean,
) {
  const { bytes, type, etag } = bucket.get(key);
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  const start = Number(range?.[1] ?? 0);
  if (range && start >= bytes.length) throw new BucketError(416, 'InvalidRange');
  const end = range?.[2] ? Math.min(Number(range[2]), bytes.length - 1) : bytes.length - 1;
  const part = bytes.subarray(start, end + 1);
  const disposition = query['response-content-disposition'];
  response.writeHead(range ? 206 : 200, {
    'content-type': query['response-content-type'] ?? type,
    'content-length': part.length,
    'accept-ranges': 'bytes',
    etag,
    ...(disposition !== undefined && { 'content-disposition': disposition }),
    ...(range && { 'content-range': `bytes ${start}-${end}/${bytes.length}` }),
  });
  if (method === 'HEAD') response.end();
  else if (cut) response.write(part.subarray(0, part.length >> 1), () => response.destroy());
  else response.end(part);
}

/** Answers the requests of a multipart upload. Returns false if it is none. */
function answerUpload(
  bucket: Bucket,
  { method, key, query }: S3Call,
  body: Buffer,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  if (method === 'POST' && query.uploads !== undefined) {
    const id = bucket.startUpload(key, request.headers['content-type'] ?? 'binary/octet-stream');
    respond(response, 200, `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
    return true;
  }
  if (query.uploadId === undefined) return false;
  if (method === 'PUT') {
    const source = request.headers['x-amz-copy-source'];
    const bytes = typeof source === 'string' ? bucket.copySource(source) : body;
    const etag = bucket.putPart(query.uploadId, Number(query.partNumber), bytes);
    if (source === undefined) respond(response, 200, '', { etag });
    else respond(response, 200, `<CopyPartResult><ETag>${escapeXml(etag)}</ETag></CopyPartResult>`);
  } else if (method === 'POST') {
    const { etag } = bucket.completeUpload(query.uploadId, body.toString('utf8'));
    respond(
      response,
      200,
      `<CompleteMultipartUploadResult><ETag>${escapeXml(etag)}</ETag></CompleteMultipartUploadResult>`,
    );
  } else if (method === 'DELETE') {
    bucket.abortUpload(query.uploadId);
    respond(response, 204);
  } else {
    throw new BucketError(405, 'MethodNotAllowed');
  }
  return true;
}

/**
 * Starts a server that speaks the protocol of S3 over HTTP, with the bucket in the path. It verifies every signature.
 *
 * @param options `pageSize`: the number of objects in one page of a list
 */
export async function startFakeS3({ pageSize = 1000 } = {}): Promise<FakeS3> {
  const bucketName = 'test-bucket';
  const bucket = new Bucket();
  const sockets = new Set<Socket>();
  let active = 0;
  const server = createServer();
  const fake: FakeS3 = {
    endpoint: '',
    bucketName,
    key: { accessKeyId: 'AKIDTEST', secretAccessKey: 'secret-of-the-tests', region: 'eu-central-1' },
    bucket,
    calls: [],
    misbehave: undefined,
    active: () => active,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const { method = '', url: target = '', headers } = request;
    const [, name, key = ''] = /^\/([^/?]+)(?:\/([^?]*))?/.exec(target) ?? [];
    const call: S3Call = { method, key: decodeURIComponent(key), query: Object.fromEntries(parametersOf(target)) };
    fake.calls.push(call);
    const refused = verifySignature({ method, target, headers }, body, fake.key);
    if (refused) throw new BucketError(refused.status, refused.code);
    if (name !== bucketName) throw new BucketError(404, 'NoSuchBucket');
    const wrong = fake.misbehave?.(call);
    if (wrong && 'hang' in wrong) return;
    if (wrong && 'holdUntil' in wrong) await wrong.holdUntil;
    if (wrong && 'status' in wrong) throw new BucketError(wrong.status, wrong.code ?? 'InternalError');
    if (wrong && 'lateError' in wrong) return respond(response, 200, errorXml(wrong.lateError));
    const cut = wrong && 'cut' in wrong ? wrong.cut : undefined;
    if (cut === 'before') return void response.destroy();
    // The request takes effect, but its response is lost.
    if (cut === 'after') response.writeHead = () => response.destroy();
    if (answerUpload(bucket, call, body, request, response)) return;
    if (call.key === '') {
      if (method === 'HEAD') respond(response, 200);
      else if (method === 'POST' && call.query.delete !== undefined) {
        respond(response, 200, deleteObjects(bucket, body, headers));
      } else respond(response, 200, listObjects(bucket, call.query, pageSize));
    } else if (method === 'PUT') putObject(bucket, call.key, body, request, response);
    else if (method === 'GET' || method === 'HEAD') {
      getObject(bucket, call, request, response, cut === 'body');
    } else throw new BucketError(405, 'MethodNotAllowed');
  }

  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('request', async (request, response) => {
    active += 1;
    response.on('close', () => {
      active -= 1;
    });
    try {
      await answer(request, response);
    } catch (error) {
      if (request.destroyed && !request.complete) return;
      const { status, code } = error instanceof BucketError ? error : { status: 500, code: 'InternalError' };
      respond(response, status, request.method === 'HEAD' ? '' : errorXml(code));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  fake.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return fake;
}
