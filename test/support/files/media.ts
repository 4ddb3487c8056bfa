import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';

/** Bytes from a text with one character for each byte. */
export const latin1 = (text: string) => Buffer.from(text, 'latin1');

const be16 = (value: number) => Buffer.from([value >> 8, value & 255]);
const be32 = (value: number) => Buffer.from([value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255]);
const le16 = (value: number) => be16(value).reverse();
const le32 = (value: number) => be32(value).reverse();

/** A box of the ISO base media format. */
const box = (type: string, ...content: Buffer[]) => {
  const bytes = Buffer.concat(content);
  return Buffer.concat([be32(bytes.length + 8), latin1(type), bytes]);
};

/** The box `ftyp` with a brand and its compatible brands. */
export const ftyp = (brand: string, ...compatible: string[]) =>
  box('ftyp', latin1(brand), Buffer.alloc(4), latin1(compatible.join('')));

/** The box `moov` with a track of each kind, such as `vide` and `soun`. */
export const moov = (...kinds: string[]) =>
  box(
    'moov',
    box('mvhd', Buffer.alloc(100)),
    ...kinds.map((kind) =>
      box(
        'trak',
        box('tkhd', Buffer.alloc(84)),
        box('mdia', box('mdhd', Buffer.alloc(24)), box('hdlr', Buffer.alloc(8), latin1(kind), Buffer.alloc(12))),
      ),
    ),
  );

function element(id: number[], content: Buffer): Buffer {
  return Buffer.concat([Buffer.from(id), Buffer.from([0x40 | (content.length >> 8), content.length & 255]), content]);
}

/** A Matroska or WebM file as a recorder writes it: a segment of unknown length with tracks of these types (1 video, 2 sound). */
export function matroska(docType: 'webm' | 'matroska', ...tracks: number[]): Buffer {
  const header = element([0x1a, 0x45, 0xdf, 0xa3], element([0x42, 0x82], latin1(docType)));
  const entries = tracks.map((type) => element([0xae], element([0x83], Buffer.from([type]))));
  const info = element([0x15, 0x49, 0xa9, 0x66], Buffer.alloc(20));
  const cluster = element([0x1f, 0x43, 0xb6, 0x75], Buffer.alloc(50));
  const segment = Buffer.from([0x18, 0x53, 0x80, 0x67, 0x01, 255, 255, 255, 255, 255, 255, 255]);
  return Buffer.concat([header, segment, info, element([0x16, 0x54, 0xae, 0x6b], Buffer.concat(entries)), cluster]);
}

/** A frame, padded to its length. */
const frame = (start: number[], length: number) =>
  Buffer.concat([Buffer.from(start), Buffer.alloc(length - start.length)]);
const twice = (one: Buffer) => Buffer.concat([one, one]);
/** Two frames of MPEG 1 layer III with 128 kbit/s and 44.1 kHz. */
export const MP3 = twice(frame([0xff, 0xfb, 0x90, 0x64], 417));
export const AAC = twice(frame([0xff, 0xf1, 0x50, 0x80, 0x0a, 0x1f, 0xfc], 80));
/** Two frames of AC-3 with 192 kbit/s and 48 kHz. */
export const AC3 = twice(frame([0x0b, 0x77, 0, 0, 0x14, 0x40, 0x43], 768));
const packet = frame([0x47, 0x40, 0x00, 0x10], 188);
export const MPEG_TS = Buffer.concat([packet, packet, packet]);
export const MTS = Buffer.concat([packet, packet, packet].flatMap((one) => [Buffer.alloc(4), one]));
export const MPEG_PS = Buffer.concat([Buffer.from([0, 0, 1, 0xba, 0x44, 0, 4, 0, 4, 1]), Buffer.alloc(100)]);

/** An ASF file with one stream: the class of video, or that of sound. */
export function asf(kind: 'video' | 'audio'): Buffer {
  const stream = { video: 'c0ef19bc4d5bcf11a8fd00805f5c442b', audio: '409e69f84d5bcf11a8fd00805f5c442b' }[kind];
  const properties = Buffer.from('9107dcb7b7a9cf118ee600c00c205365', 'hex');
  const content = Buffer.concat([properties, le32(78), le32(0), Buffer.from(stream, 'hex'), Buffer.alloc(38)]);
  const start = Buffer.from('3026b2758e66cf11a6d900aa0062ce6c', 'hex');
  return Buffer.concat([start, le32(content.length + 30), le32(0), le32(1), Buffer.from([1, 2]), content]);
}

export const AIFF = Buffer.concat([latin1('FORM'), be32(200), latin1('AIFFCOMM'), be32(18), Buffer.alloc(180)]);
export const AMR = Buffer.concat([latin1('#!AMR\n'), Buffer.from([0x3c, 0x91, 0x17]), Buffer.alloc(40)]);
export const FLV = Buffer.concat([latin1('FLV\x01\x05'), be32(9), Buffer.alloc(20)]);

/** A ZIP archive. Entries of a text are compressed; others are stored. */
export async function zip(entries: Record<string, string | Buffer>): Promise<Buffer> {
  const file = new ZipFile();
  for (const [name, content] of Object.entries(entries))
    file.addBuffer(Buffer.from(content as string), name, {
      compress: typeof content === 'string' && name !== 'mimetype',
    });
  file.end();
  return buffer(file.outputStream as NodeJS.ReadableStream as AsyncIterable<Buffer> & NodeJS.ReadableStream);
}

/** The list of content types of an Office document. */
export const contentTypes = (...types: string[]) =>
  `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">${types
    .map((type, index) => `<Override PartName="/part${index}.xml" ContentType="${type}"/>`)
    .join('')}</Types>`;

/** A compound file of Microsoft with streams at its top. */
export function compoundFile(
  streams: readonly string[],
  { classId = '0'.repeat(32), inner = [] as string[] } = {},
): Buffer {
  const header = Buffer.alloc(512);
  Buffer.from('d0cf11e0a1b11ae1', 'hex').copy(header);
  header.writeUInt16LE(3, 26);
  header.writeUInt16LE(9, 30);
  header.fill(0xff, 68, 512);
  header.writeUInt32LE(1, 44);
  header.writeUInt32LE(1, 48);
  header.writeUInt32LE(0xff_ff_ff_fe, 60);
  header.writeUInt32LE(0xff_ff_ff_fe, 68);
  header.writeUInt32LE(0, 76);
  const entry = (name: string, [left, right, child]: number[], id = '0'.repeat(32)) => {
    const text = Buffer.from(name, 'utf16le');
    const links = Buffer.concat([le32(left! >>> 0), le32(right! >>> 0), le32(child! >>> 0)]);
    const head = Buffer.concat([
      text,
      Buffer.alloc(64 - text.length),
      le16(text.length + 2),
      Buffer.from([2, 1]),
      links,
    ]);
    return Buffer.concat([head, Buffer.from(id, 'hex'), Buffer.alloc(32)]);
  };
  // The streams are siblings; those of a storage inside are not at the top.
  const entries = [
    entry('Root Entry', [-1, -1, 1], classId),
    ...streams.map((name, index) => entry(name, [-1, index + 1 < streams.length ? index + 2 : -1, -1])),
    ...inner.map((name) => entry(name, [-1, -1, -1])),
  ];
  const sectors = Math.ceil(entries.length / 4);
  const directory = Buffer.concat([...entries, Buffer.alloc(sectors * 512 - entries.length * 128)]);
  const table = Buffer.alloc(512, 0xff);
  table.writeUInt32LE(0xff_ff_ff_fd, 0);
  for (let index = 1; index <= sectors; index++)
    table.writeUInt32LE(index === sectors ? 0xff_ff_ff_fe : index + 1, index * 4);
  return Buffer.concat([header, table, directory]);
}
