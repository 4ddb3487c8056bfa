import { StorageError } from '../storage.ts';

/** A response of S3 that is not a success, with its text. */
export interface FailedResponse {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  text: string;
}

/** An error of one request to S3. */
export class S3Error extends StorageError {
  /** The code of S3, such as `NoSuchKey`; undefined without a response, or for a response without a code. */
  readonly code: string | undefined;
  /** Whether the same request may succeed later. */
  readonly isTemporary: boolean;

  constructor(
    reason: StorageError['reason'],
    message: string,
    { code, isTemporary = false, cause }: { code?: string | undefined; isTemporary?: boolean; cause?: unknown } = {},
  ) {
    super(reason, message, { cause });
    this.code = code;
    this.isTemporary = isTemporary;
  }
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decodeEntities(text: string): string {
  return text.replaceAll(
    /&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));/g,
    (whole, name, decimal, hex) => {
      if (name !== undefined) return ENTITIES[name]!;
      const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
      return code <= 0x10_ff_ff ? String.fromCodePoint(code) : whole;
    },
  );
}

/** Returns the texts of all elements with this name. S3 uses no attributes, comments or nested elements of the same name. */
export function findElements(xml: string, name: string): string[] {
  return xml
    .split(`<${name}>`)
    .slice(1)
    .map((rest) => decodeEntities(rest.slice(0, Math.max(0, rest.indexOf(`</${name}>`)))));
}

/** Returns the elements with this name, undecoded, for a further search in them. */
export function findBlocks(xml: string, name: string): string[] {
  return xml
    .split(`<${name}>`)
    .slice(1)
    .map((rest) => rest.slice(0, Math.max(0, rest.indexOf(`</${name}>`))));
}

const MAX_MESSAGE_LENGTH = 300;

const FULL = new Set([
  'QuotaExceeded',
  'StorageFull',
  'XMinioStorageFull',
  'InsufficientStorage',
  'StorageQuotaExceeded',
]);
const DENIED = new Set([
  ...['AccessDenied', 'AccountProblem', 'AllAccessDisabled', 'AuthorizationHeaderMalformed', 'ExpiredToken'],
  ...['InvalidAccessKeyId', 'InvalidToken', 'PermanentRedirect', 'RequestTimeTooSkewed', 'SignatureDoesNotMatch'],
]);
const MISSING = new Set(['NoSuchKey', 'NoSuchUpload', 'NotFound']);
const TEMPORARY = new Set(['InternalError', 'OperationAborted', 'RequestTimeout', 'ServiceUnavailable', 'SlowDown']);
const TEMPORARY_STATUSES = new Set([408, 429, 500, 502, 503, 504]);

const HINTS: Readonly<Record<string, string>> = {
  InvalidAccessKeyId: 'Check AWS_ACCESS_KEY_ID or s3.credentials',
  SignatureDoesNotMatch: 'Check AWS_SECRET_ACCESS_KEY or s3.credentials',
  AccessDenied: 'The access key lacks a permission, see docs/build/file-storage.md',
  RequestTimeTooSkewed: 'Set the clock of this machine',
  NoSuchBucket: 'Create the bucket, or correct s3.bucket',
};

function reasonOf(status: number, code: string | undefined): StorageError['reason'] {
  if (code !== undefined && FULL.has(code)) return 'full';
  if (status === 507) return 'full';
  if (code !== undefined && DENIED.has(code)) return 'denied';
  if (code !== undefined && MISSING.has(code)) return 'missing';
  if (status === 401 || status === 403) return 'denied';
  // A response to HEAD has no code.
  if (status === 404 && code === undefined) return 'missing';
  return 'unavailable';
}

/**
 * Classifies a failed response. Only the code and the message of S3 are used: other parts of its text, such as the signed text, contain
 * the access key.
 *
 * @param action for the message, such as `read a file`
 */
export function toS3Error(action: string, { status, headers, text }: FailedResponse): S3Error {
  const code = findElements(text, 'Code')[0]?.slice(0, 100);
  const message = findElements(text, 'Message')[0]
    ?.replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, MAX_MESSAGE_LENGTH);
  const region = findElements(text, 'Region')[0] ?? headers['x-amz-bucket-region'];
  // A response to HEAD has only a header that says so.
  const isWrongRegion =
    status === 301 || code === 'AuthorizationHeaderMalformed' || (status === 400 && region !== undefined);
  const hint =
    isWrongRegion && typeof region === 'string' ? `Set s3.region to ${region.slice(0, 63)}` : HINTS[code ?? ''];
  const found = [`status ${status}`, code, message].filter((part) => part !== undefined).join(', ');
  return new S3Error(
    isWrongRegion ? 'denied' : reasonOf(status, code),
    `S3 could not ${action}: ${found}${hint === undefined ? '' : `. ${hint}`}`,
    {
      code,
      isTemporary: TEMPORARY_STATUSES.has(status) || (code !== undefined && TEMPORARY.has(code)),
    },
  );
}
