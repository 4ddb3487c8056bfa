import type { StoredFile } from '../../declare/file.ts';
import { createKeyedHashes } from '../../platform/data/crypto/keyring.ts';
import type { Platform } from '../../platform/platform.ts';

/** A request for a file that a signed URL grants. */
export interface GrantedRead {
  id: string;
  /** The variant of the image; undefined for the file itself. */
  variant: string | undefined;
  /** Whether the file is offered as a download even if browsers could show it. */
  isDownload: boolean;
  /** The end of the grant, in seconds since 1970. */
  expires: number;
}

/** The purpose of the key that signs URLs. */
const CONTEXT = 'file url';
/** URLs that are created within this fraction of their lifetime are equal. Browsers can then reuse what they have cached. */
const STEPS = 3;

const createSignedText = ({ id, variant = '', isDownload, expires }: GrantedRead) =>
  [id, variant, isDownload ? 'attachment' : 'inline', expires].join('\n');

/** Signs and verifies the URLs of files. */
export interface FileUrls {
  /** Returns the URL of a file, or of a variant. */
  urlOf(file: Pick<StoredFile, 'id' | 'name'>, options?: { variant?: string; isDownload?: boolean }): string;
  /** Returns the metadata of a file as responses contain it. */
  serialize(file: StoredFile): Record<string, unknown>;
  /** Returns what a URL grants; undefined if its signature is missing or wrong, or if it has expired. */
  verify(id: string, query: Readonly<Record<string, unknown>>): GrantedRead | undefined;
}

/** Creates the signer of file URLs. A URL is valid for at most `urlTtl`, and for at least two thirds of that. */
export function createFileUrls({ env, settings }: Pick<Platform, 'env' | 'settings'>, now = Date.now): FileUrls {
  const hashes = createKeyedHashes(env.encryptionKeys);
  const ttlSeconds = settings.files.urlTtl / 1000;
  const stepSeconds = Math.max(1, ttlSeconds / STEPS);
  const base = (env.appUrl ?? '').replace(/\/+$/, '');

  function expiryOf(): number {
    const step = Math.floor(now() / 1000 / stepSeconds);
    return Math.floor((step + STEPS) * stepSeconds);
  }

  const urlOf: FileUrls['urlOf'] = ({ id, name }, { variant, isDownload = false } = {}) => {
    const granted: GrantedRead = { id, variant, isDownload, expires: expiryOf() };
    const query = [
      `expires=${granted.expires}`,
      ...(variant === undefined ? [] : [`variant=${variant}`]),
      ...(isDownload ? ['download=1'] : []),
      `signature=${hashes.hash(createSignedText(granted), CONTEXT)}`,
    ];
    return `${base}/api/files/${id}/${encodeURIComponent(name)}?${query.join('&')}`;
  };

  return {
    urlOf,
    serialize(file) {
      const { id, name, type, bytes, width, height, variants = [] } = file;
      const urls = variants.map((variant) => [variant, urlOf(file, { variant })]);
      return {
        ...{ id, name, type, bytes },
        ...(width !== undefined && { width }),
        ...(height !== undefined && { height }),
        url: urlOf(file),
        ...(urls.length > 0 && { variants: Object.fromEntries(urls) }),
      };
    },
    verify(id, { expires, signature, variant, download }) {
      if (typeof expires !== 'string' || !/^\d{1,12}$/.test(expires) || typeof signature !== 'string') return undefined;
      if (variant !== undefined && typeof variant !== 'string') return undefined;
      const granted: GrantedRead = { id, variant, isDownload: download === '1', expires: Number(expires) };
      if (granted.expires * 1000 <= now() || !hashes.matches(signature, createSignedText(granted), CONTEXT))
        return undefined;
      return granted;
    },
  };
}
