import { randomBytes } from 'node:crypto';

/** Creates a `webhook-id`: `msg_` and 32 random hex digits. */
export function generateMessageId(): string {
  return `msg_${randomBytes(16).toString('hex')}`;
}

/** Returns the longest start of a text that fits into `bytes` of UTF-8, cut between characters. */
export function truncateToBytes(text: string, bytes: number): string {
  const encoded = Buffer.from(text);
  if (encoded.length <= bytes) return text;
  let end = bytes;
  // A byte of the form 10xxxxxx continues a character.
  while (end > 0 && (encoded[end]! & 0xc0) === 0x80) end -= 1;
  return encoded.toString('utf8', 0, end);
}
