import { fileTypeFromBuffer } from 'file-type';
import { ARCHIVE_TYPES, guessArchiveType, recognizeArchive } from './archives.ts';
import { type ByteSource, createBufferSource } from './byte-source.ts';
import { COMPOUND_TYPES, recognizeCompoundFile } from './compound-files.ts';
import { readIsoMedia, recognizeTracks } from './iso-media.ts';
import { decodeText, findHiddenType, readText } from './markup.ts';
import { readMatroska, recognizeMatroskaTracks } from './matroska.ts';
import { canonicalType, WEAK_TYPES } from './names.ts';
import { readStream } from './streams.ts';

/** The number of first bytes that `recognizeStart` looks at. */
export const START_BYTES = 16_384;

const UNKNOWN = 'application/octet-stream';

/** What the first bytes of a file say about its type. */
interface Recognized {
  /** The type; if there is `finish`, the best guess. */
  type: string;
  /** Determines the type by the structure of the whole file. Throws only if the file cannot be read. */
  finish?: (source: ByteSource) => Promise<string>;
  /** The types that `finish` may return, besides `application/octet-stream`. */
  candidates?: readonly string[];
}

/** Checks of types that the detector gives for a few bytes. */
const CONFIRMATIONS: Readonly<Record<string, (first: Buffer) => boolean>> = {
  // Reserved bytes that must be zero, and the size of a known header.
  'image/bmp': (first) => first.readUInt32LE(6) === 0 && [12, 40, 52, 56, 108, 124].includes(first[14]!),
  'image/gif': (first) => /^GIF8[79]a/.test(first.toString('latin1', 0, 6)),
  'image/x-icon': (first) => first.readUInt16LE(4) > 0 && first.readUInt16LE(4) <= 1000,
  'image/vnd.ms-photo': (first) => first[3]! <= 1,
  'audio/aiff': (first) => /^AIF[FC]$/.test(first.toString('latin1', 8, 12)),
  'font/ttf': (first) => first.readUInt16BE(4) > 0 && first.readUInt16BE(4) <= 1000,
  'application/vnd.sqlite3': (first) => first.toString('latin1', 0, 15) === 'SQLite format 3',
  'application/postscript': (first) => first.toString('latin1', 0, 4) === '%!PS',
};
/** Types that only the readers of this folder give, because they look at more than the detector. */
const OWN_TYPES = new Set([
  ...[
    'application/zip',
    'audio/mpeg',
    'audio/aac',
    'audio/ac3',
    'video/mp2t',
    'video/mpeg',
    'video/mp4',
    'video/quicktime',
  ],
]);
/** Signatures that the detector gives up on if the rest of the structure is not among the first bytes, or malformed. */
const SIGNATURES: readonly (readonly [type: string, signature: string])[] = [
  ['application/java-vm', '\xca\xfe\xba\xbe'],
  ['image/tiff', 'II*\0'],
  ['image/tiff', 'MM\0*'],
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/jp2', '\0\0\0\x0cjP  \r\n\x87\n'],
  ['audio/mpeg', 'ID3'],
];

/** The type of a film without pictures. */
const toSoundType = (type: string) => type.replace('video/', 'audio/');

/** Recognizes sound and video in Ogg: a stream of pictures makes it video. */
function readOgg(start: string): string | undefined {
  if (!start.startsWith('OggS')) return undefined;
  const headers = start.slice(0, 512);
  if (headers.includes('theora') || headers.includes('\x01video')) return 'video/ogg';
  return /Opus|vorbis|FLAC|Speex/.test(headers) ? 'audio/ogg' : 'application/ogg';
}

/** An archive with entries, without entries, and one that was split. */
const ZIP_STARTS = ['PK\x03\x04', 'PK\x05\x06', 'PK\x07\x08'];

/** Asks the detector, which gets no more than the first bytes. Never fails. */
async function detect(first: Buffer): Promise<string> {
  const start = first.toString('latin1', 0, 12);
  // The detector would decompress it.
  if (start.startsWith('\x1f\x8b')) return 'application/gzip';
  const found = await fileTypeFromBuffer(first, { maxBufferSize: START_BYTES }).catch(() => undefined);
  const type = canonicalType(found?.mime ?? UNKNOWN);
  const isTagged = start.startsWith('ID3') && type === 'audio/aac';
  const isGiven = !WEAK_TYPES.has(type) && (!OWN_TYPES.has(type) || isTagged);
  const isConfirmed = first.length >= 16 && (CONFIRMATIONS[type]?.(first) ?? true);
  if (type !== UNKNOWN && isGiven && (isConfirmed || !(type in CONFIRMATIONS))) return type;
  return SIGNATURES.find(([, signature]) => start.startsWith(signature))?.[0] ?? UNKNOWN;
}

/** Recognizes bytes that are no text by their structure. */
async function recognizeBinary(first: Buffer): Promise<Recognized> {
  const start = first.toString('latin1', 0, 512);
  if (ZIP_STARTS.some((one) => start.startsWith(one)))
    return {
      type: guessArchiveType(first),
      candidates: ARCHIVE_TYPES,
      finish: (source) => recognizeArchive(first, source),
    };
  if (start.startsWith('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'))
    return { type: 'application/x-cfb', candidates: COMPOUND_TYPES, finish: recognizeCompoundFile };
  const media = readIsoMedia(first);
  if (media?.isGeneric) {
    const { type } = media;
    return { type, candidates: [type, toSoundType(type)], finish: (source) => recognizeTracks(type, source) };
  }
  const matroska = readMatroska(first);
  if (matroska !== undefined) {
    const candidates = [matroska, toSoundType(matroska)];
    return { type: matroska, candidates, finish: (source) => recognizeMatroskaTracks(matroska, source) };
  }
  return { type: media?.type ?? readOgg(start) ?? readStream(first) ?? (await detect(first)) };
}

/** Makes a reader of a structure safe: a structure that is made to be slow or deep is an unknown type. */
function limitFinish(recognized: Recognized): Recognized {
  const { finish } = recognized;
  if (finish === undefined) return recognized;
  return {
    ...recognized,
    finish: (source) =>
      finish(source).catch((error: unknown) => {
        if (error instanceof RangeError) return UNKNOWN;
        throw error;
      }),
  };
}

/**
 * Recognizes the content type of a file by its first bytes, never by its name. A file that can be read in several ways gets its most dangerous
 * type, such as `text/html` for an image that contains a script. Never fails.
 *
 * @param firstBytes the first `START_BYTES` bytes; further bytes are ignored
 * @returns `text/plain` for text in UTF-8 or UTF-16 without markup, such as CSV or JSON; `application/octet-stream` for unknown bytes
 */
export async function recognizeStart(firstBytes: Uint8Array): Promise<Recognized> {
  const bytes = firstBytes.subarray(0, START_BYTES);
  if (bytes.length === 0) return { type: UNKNOWN };
  const first = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = decodeText(bytes);
  if (text !== undefined) return { type: readText(text) };
  const recognized = await recognizeBinary(first);
  const hidden = findHiddenType(first, recognized.type);
  return hidden === undefined ? limitFinish(recognized) : { type: hidden };
}

/** Recognizes the content type of a file in memory. */
export async function recognizeBytes(bytes: Uint8Array): Promise<string> {
  const { type, finish } = await recognizeStart(bytes);
  return (await finish?.(createBufferSource(bytes))) ?? type;
}
