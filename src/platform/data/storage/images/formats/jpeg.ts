import type { ByteReader } from '../byte-reader.ts';
import { ImageError, type ImageHeader } from '../image.ts';
import { readExifOrientation } from './exif.ts';

/** Maximum number of segments before the frame header. */
const MAX_SEGMENTS = 1000;
const APP1 = 0xe1;
const EXIF = 'Exif\0\0';

/** Whether a marker begins a frame header: SOF0 to SOF15, without DHT, JPG and DAC, which are between them. */
const isFrameHeader = (marker: number) =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

/** Markers without a length: TEM, RST0 to RST7 and SOI. */
const isStandalone = (marker: number) => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);

/** Reads the header of a JPEG file: ITU-T T.81, annex B. */
export async function readJpeg(reader: ByteReader): Promise<ImageHeader> {
  await reader.skip(2);
  let orientation = 1;
  for (let count = 0; count < MAX_SEGMENTS; count++) {
    let [prefix, marker] = (await reader.read(2)) as unknown as [number, number];
    if (prefix !== 0xff) throw new ImageError('malformed', 'The JPEG file is malformed');
    // Any number of fill bytes may precede a marker.
    for (let fill = 0; marker === 0xff && fill < MAX_SEGMENTS; fill++) marker = (await reader.read(1))[0]!;
    if (isStandalone(marker)) continue;
    // The end of the image, or its pixels.
    if (marker === 0xd9 || marker === 0xda) break;
    const length = (await reader.read(2)).readUInt16BE(0) - 2;
    if (length < 0) throw new ImageError('malformed', 'The JPEG file is malformed');
    if (isFrameHeader(marker)) {
      const frame = await reader.read(5);
      return { format: 'jpeg', height: frame.readUInt16BE(1), width: frame.readUInt16BE(3), orientation, frames: 1 };
    }
    const segment = marker === APP1 ? await reader.read(length) : undefined;
    if (segment === undefined) await reader.skip(length);
    else if (segment.toString('latin1', 0, EXIF.length) === EXIF) {
      orientation = readExifOrientation(segment.subarray(EXIF.length));
    }
  }
  throw new ImageError('malformed', 'The JPEG file has no frame header');
}
