/** Decodes text in UTF-8 or UTF-16. Returns undefined if the bytes are not text. */
export function decodeText(bytes: Uint8Array): string | undefined {
  const [first, second, third, fourth] = bytes;
  const isLittle = (first === 0xff && second === 0xfe) || (first === 0x3c && second === 0 && fourth === 0);
  const isBig = (first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c && third === 0);
  const encoding = isLittle ? 'utf-16le' : isBig ? 'utf-16be' : 'utf-8';
  try {
    // The last character may be incomplete, hence `stream`.
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: true });
    // Control characters other than white space occur in binary data only.
    return /[^\t\n\f\r\P{Cc}]/u.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Removes white space and comments from the start, as browsers do before they recognize markup. */
function skipToMarkup(text: string): string {
  let rest = text.trimStart();
  while (rest.startsWith('<!--')) {
    const end = rest.indexOf('-->', 4);
    if (end < 0) return rest;
    rest = rest.slice(end + 3).trimStart();
  }
  return rest;
}

/** Distinguishes markup by its most dangerous reading: HTML, then SVG, then other XML. Returns undefined for text without markup. */
function readMarkup(text: string): string | undefined {
  const markup = skipToMarkup(text).toLowerCase();
  if (!/^<[a-z!?/]/.test(markup)) return undefined;
  const isXml = markup.startsWith('<?') || /\sxmlns(?::[\w.-]+)?\s*=/.test(markup);
  const isSvg = /<(?:[\w.-]+:)?svg[\s/>]/.test(markup) || markup.includes('http://www.w3.org/2000/svg');
  if (/<!doctype\s+html|<(?:[\w.-]+:)?html[\s/>]|http:\/\/www\.w3\.org\/1999\/xhtml/.test(markup)) return 'text/html';
  if (isSvg) return 'image/svg+xml';
  if (isXml || /^<!doctype\s/.test(markup)) return 'application/xml';
  // Browsers render any tag, so a text that begins with one and is not declared as XML is HTML.
  return 'text/html';
}

/** Documents that are texts, by their start. */
const TEXT_STARTS: readonly (readonly [start: RegExp, type: string])[] = [
  [/^[\s\S]{0,1019}%PDF-/, 'application/pdf'],
  [/^%!PS-Adobe-\d\.\d EPSF-/, 'application/eps'],
  [/^%!PS/, 'application/postscript'],
  [/^\{\\rtf/, 'application/rtf'],
  [/^#!/, 'text/x-script'],
  [/^WEBVTT(?=[\n\r\t ]|$)/, 'text/vtt'],
];

/** The types that `readText` returns. */
export const TEXT_TYPES: readonly string[] = [
  ...['text/html', 'image/svg+xml', 'application/xml', 'text/plain'],
  ...TEXT_STARTS.map(([, type]) => type),
];

/** Returns the type of a text by its most dangerous reading. */
export function readText(text: string): string {
  return readMarkup(text) ?? TEXT_STARTS.find(([start]) => start.test(text))?.[1] ?? 'text/plain';
}

/** Types that can contain a text which another program reads as markup. Archives and documents are only ever downloaded. */
const MAY_HIDE_MARKUP = /^(?:image|audio|video|font)\/|^application\/(?:pdf|octet-stream)$/;
const HIDDEN_MARKUP = /<(?:!doctype\s+html|script|html|iframe|body|svg)[\s/>]/i;

/** Returns the more dangerous type of bytes that also contain a PDF document or markup, such as an image with a script. */
export function findHiddenType(first: Buffer, type: string): string | undefined {
  if (!MAY_HIDE_MARKUP.test(type)) return undefined;
  const hidden = HIDDEN_MARKUP.exec(first.toString('latin1').replaceAll('\0', ''));
  if (hidden) return hidden[0].toLowerCase().startsWith('<svg') ? 'image/svg+xml' : 'text/html';
  // Readers accept a PDF whose first line follows up to 1024 other bytes, for example in the comment of an image.
  return first.toString('latin1', 0, 1024).includes('%PDF-') ? 'application/pdf' : undefined;
}
