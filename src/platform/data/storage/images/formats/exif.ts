const ORIENTATION = 0x0112;
const SHORT = 3;
/** The size of an entry in a directory of TIFF. */
const ENTRY_BYTES = 12;
/** Directories of cameras have fewer entries; more would only cost time. */
const MAX_ENTRIES = 200;

/**
 * Returns the orientation in the Exif data of an image (a TIFF file), 1 to 8; 1 if there is none. Never throws, because decoders
 * ignore malformed Exif data as well.
 */
export function readExifOrientation(exif: Buffer): number {
  if (exif.length < 8) return 1;
  const order = exif.toString('latin1', 0, 2);
  if (order !== 'II' && order !== 'MM') return 1;
  const read16 = (at: number) => (order === 'II' ? exif.readUInt16LE(at) : exif.readUInt16BE(at));
  const directory = order === 'II' ? exif.readUInt32LE(4) : exif.readUInt32BE(4);
  if (directory + 2 > exif.length) return 1;
  const count = Math.min(read16(directory), MAX_ENTRIES);
  for (let index = 0; index < count; index++) {
    const at = directory + 2 + index * ENTRY_BYTES;
    if (at + ENTRY_BYTES > exif.length) return 1;
    if (read16(at) !== ORIENTATION || read16(at + 2) !== SHORT) continue;
    const orientation = read16(at + 8);
    return orientation >= 1 && orientation <= 8 ? orientation : 1;
  }
  return 1;
}
