import { crc32, inflateRawSync } from 'node:zlib';

const END = 0x06054b50;
const CENTRAL = 0x02014b50;

/** The files of a zip archive by path, from its central directory (APPNOTE.TXT 4.3.12). Throws if the archive is incomplete. */
export function readZip(zip: Buffer): Map<string, string> {
  const end = zip.lastIndexOf(Buffer.from('PK\x05\x06'));
  if (end === -1 || zip.readUInt32LE(end) !== END) throw new Error('no zip archive, or its end is missing');
  const files = new Map<string, string>();
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    if (zip.readUInt32LE(at) !== CENTRAL) throw new Error('the central directory is broken');
    const [crc, packed] = [zip.readUInt32LE(at + 16), zip.readUInt32LE(at + 20)];
    const [name, extra, comment] = [28, 30, 32].map((position) => zip.readUInt16LE(at + position)) as [
      number,
      number,
      number,
    ];
    const path = zip.toString('utf8', at + 46, at + 46 + name);
    const localHeader = zip.readUInt32LE(at + 42);
    const start = localHeader + 30 + zip.readUInt16LE(localHeader + 26) + zip.readUInt16LE(localHeader + 28);
    const content = inflateRawSync(zip.subarray(start, start + packed));
    if (crc32(content) !== crc) throw new Error(`${path} is not what was packed`);
    files.set(path, content.toString('utf8'));
    at += 46 + name + extra + comment;
  }
  return files;
}
