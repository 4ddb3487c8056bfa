import { crc32, deflateSync } from 'node:zlib';

const uint32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const uint16le = (value: number) => Buffer.from([value & 255, value >> 8]);
const uint24le = (value: number) => Buffer.from([value & 255, (value >> 8) & 255, value >> 16]);
const latin1 = (text: string) => Buffer.from(text, 'latin1');

/** A chunk of a PNG file. */
export function pngChunk(type: string, data: Buffer = Buffer.alloc(0)): Buffer {
  const content = Buffer.concat([latin1(type), data]);
  return Buffer.concat([uint32(data.length), content, uint32(crc32(content))]);
}

/** A PNG file with a size in its header, further chunks, and hardly any pixels. */
export function pngOf(width: number, height: number, chunks: Buffer[] = []): Buffer {
  const header = Buffer.concat([uint32(width), uint32(height), Buffer.from([8, 0, 0, 0, 0])]);
  return Buffer.concat([
    latin1('\x89PNG\r\n\x1a\n'),
    pngChunk('IHDR', header),
    ...chunks,
    pngChunk('IDAT', deflateSync(Buffer.alloc(1000))),
    pngChunk('IEND'),
  ]);
}

/** A colour profile of some kilobytes that becomes very large when it is decompressed. */
export function profileBomb(bytes: number): Buffer {
  return pngChunk('iCCP', Buffer.concat([latin1('icc\0\0'), deflateSync(Buffer.alloc(bytes))]));
}

/** An animated GIF whose frames have one pixel each. */
export function gifOf(width: number, height: number, frames: number): Buffer {
  const frame = Buffer.concat([latin1(',\0\0\0\0\x01\0\x01\0\0'), Buffer.from([2, 2, 0x44, 1, 0])]);
  const screen = Buffer.concat([uint16le(width), uint16le(height), Buffer.from([0, 0, 0])]);
  return Buffer.concat([latin1('GIF89a'), screen, ...Array.from({ length: frames }, () => frame), latin1(';')]);
}

const riffChunk = (type: string, data: Buffer) => {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(data.length);
  return Buffer.concat([latin1(type), length, data, Buffer.alloc(data.length & 1)]);
};

/** An animated WebP file with empty frames. */
export function webpOf(width: number, height: number, frames: number): Buffer {
  const canvas = Buffer.concat([Buffer.from([2, 0, 0, 0]), uint24le(width - 1), uint24le(height - 1)]);
  const chunks = [
    riffChunk('VP8X', canvas),
    riffChunk('ANIM', Buffer.alloc(6)),
    ...Array.from({ length: frames }, () => riffChunk('ANMF', Buffer.alloc(16))),
  ];
  return riffChunk('RIFF', Buffer.concat([latin1('WEBP'), ...chunks]));
}

/** A JPEG file with a size in its frame header, and segments before it. */
export function jpegOf(width: number, height: number, segments: Buffer[] = []): Buffer {
  const frame = Buffer.from([0xff, 0xc0, 0, 11, 8, height >> 8, height & 255, width >> 8, width & 255, 1, 1, 0x11, 0]);
  return Buffer.concat([Buffer.from([0xff, 0xd8]), ...segments, frame, Buffer.from([0xff, 0xd9])]);
}

const box = (type: string, ...content: Buffer[]) => {
  const data = Buffer.concat(content);
  return Buffer.concat([uint32(data.length + 8), latin1(type), data]);
};

/** A HEIC or AVIF file that has only its header: the sizes of its images, and a rotation in steps of 90 degrees. */
export function heifOf(brand: string, sizes: [number, number][], rotation?: number): Buffer {
  const properties = sizes.map(([width, height]) => box('ispe', Buffer.alloc(4), uint32(width), uint32(height)));
  if (rotation !== undefined) properties.push(box('irot', Buffer.from([rotation])));
  const container = box('iprp', box('ipco', ...properties));
  return Buffer.concat([
    box('ftyp', latin1(brand), Buffer.alloc(4), latin1('mif1')),
    box('free', Buffer.alloc(20)),
    box('meta', Buffer.alloc(4), box('hdlr', Buffer.alloc(25)), container),
    box('mdat'),
  ]);
}
