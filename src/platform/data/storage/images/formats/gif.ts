import type { ByteReader } from '../byte-reader.ts';
import { ImageError, type ImageHeader } from '../image.ts';

const EXTENSION = 0x21;
const IMAGE = 0x2c;
const TRAILER = 0x3b;

/** The bytes of a colour table, by the flags before it. */
const tableBytes = (flags: number) => (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0);

async function skipSubBlocks(reader: ByteReader): Promise<void> {
  for (;;) {
    const length = (await reader.read(1))[0]!;
    if (length === 0) return;
    await reader.skip(length);
  }
}

/** Reads the blocks of a GIF file and counts its frames, without decompressing them: https://www.w3.org/Graphics/GIF/spec-gif89a.txt */
export async function readGif(reader: ByteReader, maxFrames: number): Promise<ImageHeader> {
  await reader.skip(6);
  const screen = await reader.read(7);
  let width = screen.readUInt16LE(0);
  let height = screen.readUInt16LE(2);
  await reader.skip(tableBytes(screen[4]!));
  let frames = 0;
  // Decoders accept a file that ends without a trailer.
  while (frames <= maxFrames && !(await reader.isAtEnd())) {
    const block = (await reader.read(1))[0]!;
    if (block === TRAILER) break;
    if (block === EXTENSION) {
      await reader.skip(1);
    } else if (block === IMAGE) {
      const frame = await reader.read(9);
      frames += 1;
      // Decoders enlarge the screen to contain a frame that reaches beyond it.
      width = Math.max(width, frame.readUInt16LE(0) + frame.readUInt16LE(4));
      height = Math.max(height, frame.readUInt16LE(2) + frame.readUInt16LE(6));
      await reader.skip(tableBytes(frame[8]!) + 1);
    } else {
      // Bytes between blocks; decoders stop here as well.
      break;
    }
    await skipSubBlocks(reader);
  }
  if (frames === 0) throw new ImageError('malformed', 'The GIF file has no frame');
  return { format: 'gif', width, height, orientation: 1, frames };
}
