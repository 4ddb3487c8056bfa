/** Bit rates in kbit/s of MPEG audio: layers I, II and III of version 1, then layer I and layers II and III of version 2. */
const BIT_RATES = [
  [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const;
const SAMPLE_RATES = [44_100, 48_000, 32_000] as const;
/** Bit rates in kbit/s of AC-3 (ATSC A/52, table 5.18). */
const AC3_RATES = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640] as const;
const TS_PACKET_BYTES = 188;

/** The length of the frame of MPEG audio at a position; undefined if there is no legal header. */
function readMpegFrame(bytes: Buffer, at: number): number | undefined {
  const [sync = 0, second = 0, third = 0, fourth = 0] = bytes.subarray(at, at + 4);
  const version = (second >> 3) & 3;
  const layer = 4 - ((second >> 1) & 3);
  const [rate, sampling, padding] = [third >> 4, (third >> 2) & 3, (third >> 1) & 1];
  const isSync = sync === 0xff && second >= 0xe0;
  // Reserved values, a free bit rate, whose frames have no known length, and a reserved emphasis.
  if (!isSync || version === 1 || layer === 4 || rate === 0 || rate === 15 || sampling === 3 || (fourth & 3) === 2)
    return undefined;
  const row = version === 3 ? layer - 1 : layer === 1 ? 3 : 4;
  const bits = BIT_RATES[row]![rate]! * 1000;
  const samples = SAMPLE_RATES[sampling]! / (version === 3 ? 1 : version === 2 ? 2 : 4);
  if (layer === 1) return (Math.floor((12 * bits) / samples) + padding) * 4;
  return Math.floor(((layer === 3 && version !== 3 ? 72 : 144) * bits) / samples) + padding;
}

/** The length of the frame of AAC (ADTS) at a position; undefined if there is no legal header. */
function readAacFrame(bytes: Buffer, at: number): number | undefined {
  const header = bytes.subarray(at, at + 7);
  if (header.length < 7 || header[0] !== 0xff || (header[1]! & 0xf6) !== 0xf0) return undefined;
  const sampling = (header[2]! >> 2) & 15;
  const length = ((header[3]! & 3) << 11) | (header[4]! << 3) | (header[5]! >> 5);
  return sampling < 13 && length >= 7 ? length : undefined;
}

/** The length of the frame of AC-3 or Enhanced AC-3 at a position; undefined if there is no legal header. */
function readAc3Frame(bytes: Buffer, at: number): number | undefined {
  const header = bytes.subarray(at, at + 6);
  if (header.length < 6 || header.readUInt16BE(0) !== 0x0b_77) return undefined;
  const version = header[5]! >> 3;
  if (version > 10) return version <= 16 ? (((header[2]! & 7) << 8) | header[3]!) * 2 + 2 : undefined;
  const [sampling, code] = [header[4]! >> 6, header[4]! & 63];
  const rate = AC3_RATES[code >> 1];
  if (sampling === 3 || rate === undefined) return undefined;
  if (sampling === 0) return rate * 4;
  return sampling === 1 ? 2 * (Math.floor((rate * 320) / 147) + (code & 1)) : rate * 6;
}

/** Whether a legal frame is followed by another one. Two bytes alone occur in any file. */
function hasFrames(bytes: Buffer, readFrame: (bytes: Buffer, at: number) => number | undefined): boolean {
  const length = readFrame(bytes, 0);
  return length !== undefined && length > 0 && readFrame(bytes, length) !== undefined;
}

/** Whether a file consists of packets of an MPEG transport stream. @param extraBytes the bytes before each packet */
function hasPackets(bytes: Buffer, extraBytes: number): boolean {
  const stride = TS_PACKET_BYTES + extraBytes;
  if (bytes.length < stride + extraBytes + 4) return false;
  for (let at = extraBytes, count = 0; at + 4 <= bytes.length && count < 8; at += stride, count++) {
    // Each packet begins with the same byte and has a payload or an adaptation field.
    if (bytes[at] !== 0x47 || (bytes[at + 3]! & 0x30) === 0) return false;
  }
  return true;
}

/** Whether a file begins with a pack of an MPEG program stream, or with a sequence of MPEG video. */
function hasMpegStart(bytes: Buffer): boolean {
  if (bytes.length < 8 || bytes.readUIntBE(0, 3) !== 1) return false;
  if (bytes[3] === 0xba) return (bytes[4]! & 0xf1) === 0x21 || (bytes[4]! & 0xc4) === 0x44;
  const [aspect, frameRate] = [bytes[7]! >> 4, bytes[7]! & 15];
  return bytes[3] === 0xb3 && aspect >= 1 && aspect <= 14 && frameRate >= 1 && frameRate <= 8;
}

/** Recognizes streams of sound and video without a container, by legal headers that follow each other; undefined for other files. */
export function readStream(first: Buffer): string | undefined {
  // The byte order mark of UTF-16. MPEG layer I with a checksum begins with the same bytes, but is no longer in use.
  if (first[0] === 0xff && first[1] === 0xfe) return undefined;
  if (hasFrames(first, readMpegFrame)) return 'audio/mpeg';
  if (hasFrames(first, readAacFrame)) return 'audio/aac';
  if (hasFrames(first, readAc3Frame)) return 'audio/ac3';
  if (hasPackets(first, 0) || hasPackets(first, 4)) return 'video/mp2t';
  return hasMpegStart(first) ? 'video/mpeg' : undefined;
}
