import type { ByteSource } from './byte-source.ts';

/** Ids of elements: https://www.rfc-editor.org/rfc/rfc9559 */
const EBML = 0x1a_45_df_a3;
const DOC_TYPE = 0x42_82;
const SEGMENT = 0x18_53_80_67;
const CLUSTER = 0x1f_43_b6_75;
const TRACKS = 0x16_54_ae_6b;
const TRACK_ENTRY = 0xae;
const TRACK_TYPE = 0x83;
const VIDEO = 1;
const AUDIO = 2;
/** Elements that are looked at in one file. */
const MAX_ELEMENTS = 500;

interface Element {
  id: number;
  start: number;
  end: number;
}

/** Reads a number whose length is in its first bits. @param keepsMarker ids contain the bits of the length */
function readNumber(bytes: Buffer, at: number, keepsMarker: boolean): { value: number; length: number } | undefined {
  const length = Math.clz32(bytes[at] ?? 0) - 23;
  if (length > 8 || at + length > bytes.length) return undefined;
  let value = keepsMarker ? bytes[at]! : bytes[at]! & (0xff >> length);
  let isUnknown = value === 0xff >> length;
  for (let index = 1; index < length; index++) {
    value = value * 256 + bytes[at + index]!;
    isUnknown &&= bytes[at + index] === 0xff;
  }
  return { value: isUnknown && !keepsMarker ? Number.POSITIVE_INFINITY : value, length };
}

/** Lists the elements between two positions. */
async function* readElements(source: ByteSource, start: number, end: number): AsyncGenerator<Element> {
  for (let at = start, count = 0; at < end && count < MAX_ELEMENTS; count++) {
    const header = await source.read(at, 12);
    const id = readNumber(header, 0, true);
    const size = id && readNumber(header, id.length, false);
    if (id === undefined || size === undefined) return;
    const content = at + id.length + size.length;
    const elementEnd = Math.min(content + size.value, end);
    yield { id: id.value, start: content, end: elementEnd };
    at = elementEnd;
  }
}

async function findElement(source: ByteSource, { start, end }: Omit<Element, 'id'>, wanted: number) {
  for await (const element of readElements(source, start, end)) {
    if (element.id === wanted) return element;
    if (element.id === CLUSTER) return undefined;
  }
  return undefined;
}

/** Returns the types of the tracks. */
async function findTrackTypes(source: ByteSource): Promise<Set<number>> {
  const types = new Set<number>();
  const segment = await findElement(source, { start: 0, end: source.bytes }, SEGMENT);
  const tracks = segment && (await findElement(source, segment, TRACKS));
  if (tracks === undefined) return types;
  for await (const track of readElements(source, tracks.start, tracks.end)) {
    const type = track.id === TRACK_ENTRY ? await findElement(source, track, TRACK_TYPE) : undefined;
    if (type !== undefined) types.add((await source.read(type.start, 1))[0] ?? 0);
  }
  return types;
}

/** The type of a Matroska or WebM file by its first bytes; undefined for other files. */
export function readMatroska(first: Buffer): string | undefined {
  if (first.length < 8 || first.readUInt32BE(0) !== EBML) return undefined;
  const at = first.subarray(0, 256).indexOf(Buffer.from([DOC_TYPE >> 8, DOC_TYPE & 0xff]));
  const length = at < 0 ? undefined : readNumber(first, at + 2, false);
  if (length === undefined) return undefined;
  const start = at + 2 + length.length;
  const docType = first.toString('latin1', start, start + Math.min(length.value, 16)).replace(/\0+$/, '');
  return docType === 'webm' ? 'video/webm' : docType === 'matroska' ? 'video/x-matroska' : undefined;
}

/** Returns the type of a Matroska or WebM file: that of sound if none of its tracks has pictures. */
export async function recognizeMatroskaTracks(type: string, source: ByteSource): Promise<string> {
  const types = await findTrackTypes(source);
  return types.has(AUDIO) && !types.has(VIDEO) ? type.replace('video/', 'audio/') : type;
}
