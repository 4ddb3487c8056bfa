/** The number of first bytes that `sniffType` looks at. */
export const SNIFF_BYTES = 16_384;

const BINARY = 'application/octet-stream';

const latin1 = (bytes: Uint8Array, start: number, end: number) =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1', start, end);

/** Signatures at fixed positions: `[type, signature, offset]`. The text stands for bytes, one for each character. */
const SIGNATURES: readonly (readonly [type: string, signature: string, offset?: number])[] = [
  // Programs come first: they are the most dangerous reading of a file that matches several signatures.
  ['application/x-msdownload', 'MZ'],
  ['application/x-executable', '\x7fELF'],
  ['application/x-mach-binary', '\xfe\xed\xfa\xce'],
  ['application/x-mach-binary', '\xfe\xed\xfa\xcf'],
  ['application/x-mach-binary', '\xce\xfa\xed\xfe'],
  ['application/x-mach-binary', '\xcf\xfa\xed\xfe'],
  ['application/java-vm', '\xca\xfe\xba\xbe'],
  ['application/wasm', '\0asm'],
  ['application/postscript', '%!PS'],
  ['application/rtf', '{\\rtf'],
  ['application/x-cfb', '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'],
  ['application/gzip', '\x1f\x8b'],
  ['application/x-bzip2', 'BZh'],
  ['application/x-xz', '\xfd7zXZ\0'],
  ['application/zstd', '\x28\xb5\x2f\xfd'],
  ['application/x-7z-compressed', '7z\xbc\xaf\x27\x1c'],
  ['application/vnd.rar', 'Rar!\x1a\x07'],
  ['application/x-tar', 'ustar', 257],
  ['application/vnd.sqlite3', 'SQLite format 3\0'],
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/gif', 'GIF87a'],
  ['image/gif', 'GIF89a'],
  ['image/tiff', 'II*\0'],
  ['image/tiff', 'MM\0*'],
  ['image/x-icon', '\0\0\x01\0'],
  ['image/vnd.adobe.photoshop', '8BPS'],
  ['image/jxl', '\xff\x0a'],
  ['image/jxl', '\0\0\0\x0cJXL \r\n\x87\n'],
  ['image/jp2', '\0\0\0\x0cjP  \r\n\x87\n'],
  ['audio/flac', 'fLaC'],
  ['audio/mpeg', 'ID3'],
  ['audio/midi', 'MThd'],
  ['font/woff', 'wOFF'],
  ['font/woff2', 'wOF2'],
  ['font/otf', 'OTTO'],
  ['font/ttf', '\0\x01\0\0\0'],
];

/** Brands of `ftyp`: the first four letters of a type of ISO base media files. */
const BRANDS: Readonly<Record<string, string>> = {
  avif: 'image/avif',
  avis: 'image/avif',
  heic: 'image/heic',
  heix: 'image/heic',
  heim: 'image/heic',
  heis: 'image/heic',
  hevc: 'image/heic-sequence',
  mif1: 'image/heif',
  msf1: 'image/heif-sequence',
  'qt  ': 'video/quicktime',
  'M4A ': 'audio/mp4',
  'M4B ': 'audio/mp4',
};

const RIFF_FORMS: Readonly<Record<string, string>> = {
  WEBP: 'image/webp',
  WAVE: 'audio/wav',
  'AVI ': 'video/x-msvideo',
};

function sniffMedia(text: string): string | undefined {
  if (text.startsWith('RIFF')) return RIFF_FORMS[text.slice(8, 12)];
  if (text.startsWith('ftyp', 4)) {
    const brand = text.slice(8, 12);
    if (brand.startsWith('3g')) return 'video/3gpp';
    // A generic image brand; the compatible brands that follow say which codec is used.
    if (brand === 'mif1' && text.slice(16, 64).includes('avif')) return 'image/avif';
    if (brand === 'mif1' && text.slice(16, 64).includes('heic')) return 'image/heic';
    return BRANDS[brand] ?? 'video/mp4';
  }
  if (text.startsWith('OggS')) {
    if (text.slice(0, 512).includes('theora')) return 'video/ogg';
    return /Opus|vorbis|FLAC|Speex/.test(text.slice(0, 512)) ? 'audio/ogg' : 'application/ogg';
  }
  if (text.startsWith('\x1aE\xdf\xa3')) return text.slice(0, 64).includes('webm') ? 'video/webm' : 'video/x-matroska';
  const at = (index: number) => text.charCodeAt(index);
  // BMP: reserved bytes that must be zero, and the size of a known header.
  if (text.startsWith('BM') && text.slice(6, 10) === '\0\0\0\0' && [12, 40, 108, 124].includes(at(14)))
    return 'image/bmp';
  if (at(0) !== 0xff || (at(1) & 0xe0) !== 0xe0) return undefined;
  // The byte order mark of UTF-16. MPEG layer I with a checksum begins with the same bytes, but is no longer in use.
  if (at(1) === 0xfe) return undefined;
  // MPEG audio without a tag: a valid version, layer, bit rate and sample rate. Layer 0 is the one of AAC.
  const hasRates = (at(2) & 0xf0) !== 0xf0 && (at(2) & 0x0c) !== 0x0c;
  if ((at(1) & 0x06) !== 0 && (at(1) & 0x18) !== 0x08 && hasRates) return 'audio/mpeg';
  if ((at(1) & 0xf6) === 0xf0) return 'audio/aac';
  return undefined;
}

const OFFICE_FOLDERS: readonly (readonly [folder: string, type: string])[] = [
  ['word/', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['xl/', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['ppt/', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
];

const ZIP_ENTRY = 'PK\x03\x04';
/** An archive without entries, and one that is split. */
const EMPTY_ZIP = ['PK\x05\x06', 'PK\x07\x08'];
/** The position of the name in the header of an entry. */
const ZIP_NAME = 30;

/** Distinguishes documents that are ZIP archives by the names of their entries. */
function sniffZip(text: string): string | undefined {
  if (!text.startsWith(ZIP_ENTRY))
    return EMPTY_ZIP.some((start) => text.startsWith(start)) ? 'application/zip' : undefined;
  // OpenDocument and EPUB store their type uncompressed in the first entry.
  const stored = /^mimetype(application\/(?:epub\+zip|vnd\.oasis\.opendocument\.[a-z-]+))/.exec(text.slice(ZIP_NAME));
  if (stored) return stored[1];
  let isOffice = false;
  let office: string | undefined;
  for (let at = 0; at >= 0; at = text.indexOf(ZIP_ENTRY, at + 4)) {
    const nameLength = text.charCodeAt(at + 26) | (text.charCodeAt(at + 27) << 8);
    const name = text.slice(at + ZIP_NAME, at + ZIP_NAME + nameLength);
    if (name === 'AndroidManifest.xml') return 'application/vnd.android.package-archive';
    if (name.startsWith('META-INF/MANIFEST.MF')) return 'application/java-archive';
    isOffice ||= name === '[Content_Types].xml';
    office ??= OFFICE_FOLDERS.find(([folder]) => name.startsWith(folder))?.[1];
  }
  return (isOffice && office) || 'application/zip';
}

/** Decodes text in UTF-8 or UTF-16. Returns undefined if the bytes are not text. */
function decodeText(bytes: Uint8Array): string | undefined {
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
function sniffMarkup(text: string): string | undefined {
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

/** Types that can contain a text which another program reads as markup. Archives and documents are only ever downloaded. */
const MAY_HIDE_MARKUP = /^(?:image|audio|video|font)\/|^application\/(?:pdf|octet-stream)$/;
const HIDDEN_MARKUP = /<(?:!doctype\s+html|script|html|iframe|body|svg)[\s/>]/i;

function sniffBinary(text: string): string {
  const type =
    SIGNATURES.find(([, signature, offset]) => text.startsWith(signature, offset ?? 0))?.[0] ??
    sniffZip(text) ??
    sniffMedia(text) ??
    BINARY;
  // Readers accept a PDF whose first line follows up to 1024 other bytes, for example in the comment of an image.
  const isPdf = MAY_HIDE_MARKUP.test(type) && text.slice(0, 1024).includes('%PDF-');
  return isPdf ? 'application/pdf' : type;
}

/**
 * Returns the content type of a file by its first bytes, never by its name. A file that can be read in several ways gets its most dangerous
 * type, such as `text/html` for an image that contains a script. Never throws.
 *
 * @param firstBytes the first `SNIFF_BYTES` bytes; further bytes are ignored
 * @returns `text/plain` for text in UTF-8 or UTF-16 without markup, such as CSV or JSON; `application/octet-stream` for unknown bytes
 */
export function sniffType(firstBytes: Uint8Array): string {
  const bytes = firstBytes.subarray(0, SNIFF_BYTES);
  if (bytes.length === 0) return BINARY;
  const type = sniffBinary(latin1(bytes, 0, bytes.length));
  const text = decodeText(bytes);
  if (text !== undefined) {
    const markup = sniffMarkup(text);
    if (markup !== undefined) return markup;
    if (type === BINARY || type === 'application/x-msdownload')
      return text.startsWith('#!') ? 'text/x-script' : 'text/plain';
  }
  if (MAY_HIDE_MARKUP.test(type)) {
    const hidden = HIDDEN_MARKUP.exec(latin1(bytes, 0, bytes.length).replaceAll('\0', ''));
    if (hidden) return hidden[0].toLowerCase().startsWith('<svg') ? 'image/svg+xml' : 'text/html';
  }
  return type;
}
