/** An encoding of text files, as `TextDecoder` names it. */
export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

/** The encodings that can be chosen. */
export const ENCODINGS: readonly Encoding[] = ['utf-8', 'windows-1252', 'utf-16le', 'utf-16be'];

const startsWith = (bytes: Uint8Array, ...start: number[]) => start.every((byte, i) => bytes[i] === byte);

/** Finds the encoding of a text file: by its byte order mark, else UTF-8 if its bytes are valid UTF-8, else that of Windows. */
export function detectEncoding(bytes: Uint8Array): Encoding {
  if (startsWith(bytes, 0xff, 0xfe)) return 'utf-16le';
  if (startsWith(bytes, 0xfe, 0xff)) return 'utf-16be';
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return 'utf-8';
  } catch {
    return 'windows-1252';
  }
}

/** Reads a text without its byte order mark. Bytes that are not of the encoding become replacement characters. */
export const decodeText = (bytes: Uint8Array, encoding: Encoding): string => new TextDecoder(encoding).decode(bytes);

/** Whether a file is a ZIP archive, as Excel workbooks are. */
export const isWorkbook = (bytes: Uint8Array): boolean => startsWith(bytes, 0x50, 0x4b, 0x03, 0x04);
