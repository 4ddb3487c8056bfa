/** Returns the media type of a file from its first bytes. */
export function sniffType(first: Uint8Array): string {
  const head = Buffer.from(first.subarray(0, 1024)).toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (head.startsWith('%PDF-')) return 'application/pdf';
  if (/^\s*(<!doctype html|<html|<script)/i.test(head)) return 'text/html';
  if (/^\s*(<\?xml|<svg)/i.test(head)) return head.includes('<svg') ? 'image/svg+xml' : 'application/xml';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: marks of binary data
  return /[\x00-\x08\x0e-\x1a]/.test(head) ? 'application/octet-stream' : 'text/plain';
}
