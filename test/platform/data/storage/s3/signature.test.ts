import { describe, expect, test } from 'vitest';
import {
  sha256Hex,
  signHeaders,
  signUrl,
  UNSIGNED_PAYLOAD,
} from '../../../../../src/platform/data/storage/s3/signature.ts';
import { verifySignature } from '../../../../fakes/s3/signature.ts';

// The examples in the documentation of Amazon S3:
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
const credentials = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
};
const common = { credentials, region: 'us-east-1', now: new Date('2013-05-24T00:00:00Z') };
const key = { ...credentials, region: 'us-east-1' };
const host = 'examplebucket.s3.amazonaws.com';

interface Example {
  name: string;
  method: string;
  target: string;
  headers: Record<string, string>;
  body: string;
  signature: string;
}

const examples: Example[] = [
  {
    name: 'GET with a range',
    method: 'GET',
    target: '/test.txt',
    headers: { range: 'bytes=0-9' },
    body: '',
    signature: 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  },
  {
    name: 'PUT with a special character in the key',
    method: 'PUT',
    target: '/test%24file.text',
    headers: { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
    body: 'Welcome to Amazon S3.',
    signature: '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  },
  {
    name: 'a parameter without a value',
    method: 'GET',
    target: '/?lifecycle',
    headers: {},
    body: '',
    signature: 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  },
  {
    name: 'several parameters',
    method: 'GET',
    target: '/?max-keys=2&prefix=J',
    headers: {},
    body: '',
    signature: '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  },
];

describe.each(examples)('the published example "$name"', ({ method, target, headers, body, signature }) => {
  test('is signed as published', () => {
    const url = new URL(target, `https://${host}`);
    const signed = signHeaders({ ...common, method, url, headers }, sha256Hex(body));
    expect(signed.authorization).toMatch(new RegExp(`^AWS4-HMAC-SHA256 Credential=AKIA.*Signature=${signature}$`));
  });

  test('is accepted by the server of these tests, and every change of it is refused', () => {
    const names = ['host', ...Object.keys(headers), 'x-amz-content-sha256', 'x-amz-date'].sort().join(';');
    const sent: Record<string, string> = {
      ...headers,
      host,
      'x-amz-date': '20130524T000000Z',
      'x-amz-content-sha256': sha256Hex(body),
      authorization: `AWS4-HMAC-SHA256 Credential=${key.accessKeyId}/20130524/us-east-1/s3/aws4_request,SignedHeaders=${names},Signature=${signature}`,
    };
    const verify = (change: { method?: string; target?: string; headers?: object; body?: string } = {}) =>
      verifySignature(
        {
          method: change.method ?? method,
          target: change.target ?? target,
          headers: { ...sent, ...change.headers },
        },
        Buffer.from(change.body ?? body),
        key,
        common.now.getTime(),
      )?.code;
    expect(verify()).toBeUndefined();
    expect(verify({ method: 'DELETE' })).toBe('SignatureDoesNotMatch');
    expect(verify({ target: `${target}x` })).toBe('SignatureDoesNotMatch');
    expect(verify({ headers: { host: 'other.example.com' } })).toBe('SignatureDoesNotMatch');
    expect(verify({ headers: { 'x-amz-acl': 'public-read' } })).toBe('AccessDenied');
    expect(verify({ headers: { 'x-amz-date': '20130524T001501Z' } })).toBe('RequestTimeTooSkewed');
    expect(verify({ body: `${body}!` })).toBe('XAmzContentSHA256Mismatch');
  });
});

const EXAMPLE_URL =
  'https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404';

test('the published URL is signed as published, accepted until it expires, and refused when it is changed', () => {
  const url = new URL('/test.txt', `https://${host}`);
  expect(signUrl({ ...common, method: 'GET', url, headers: {} }, 86_400)).toBe(EXAMPLE_URL);
  const target = EXAMPLE_URL.slice(`https://${host}`.length);
  const verify = (change: string, seconds: number, method = 'GET') => {
    const nowMs = common.now.getTime() + seconds * 1000;
    return verifySignature({ method, target: change, headers: { host } }, Buffer.alloc(0), key, nowMs)?.code;
  };
  expect(verify(target, 86_400)).toBeUndefined();
  expect(verify(target, 86_401)).toBe('AccessDenied');
  expect(verify(target.replace('86400', '86401'), 0)).toBe('SignatureDoesNotMatch');
  expect(verify(`${target}&x=1`, 0)).toBe('SignatureDoesNotMatch');
  expect(verify(target, 0, 'PUT')).toBe('SignatureDoesNotMatch');
});

test('temporary credentials are signed in headers and in URLs', () => {
  const temporary = {
    ...common,
    credentials: { ...credentials, sessionToken: 'tok/en+=' },
    method: 'GET',
    headers: {},
  };
  const url = new URL('/a', `https://${host}`);
  const now = common.now.getTime();
  const headers = signHeaders({ ...temporary, url }, UNSIGNED_PAYLOAD);
  expect(headers['x-amz-security-token']).toBe('tok/en+=');
  expect(verifySignature({ method: 'GET', target: '/a', headers }, Buffer.alloc(0), key, now)).toBeUndefined();
  const target = signUrl({ ...temporary, url }, 60).slice(`https://${host}`.length);
  expect(target).toContain('X-Amz-Security-Token=tok%2Fen%2B%3D');
  expect(verifySignature({ method: 'GET', target, headers: { host } }, Buffer.alloc(0), key, now)).toBeUndefined();
});
