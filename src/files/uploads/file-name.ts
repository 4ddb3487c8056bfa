const MAX_LENGTH = 200;
const MAX_EXTENSION_LENGTH = 16;
const FALLBACK = 'file';
// Control characters, and characters that change the direction of text so that `exe.gpj` reads as `jpg.exe`; invisible and broken ones.
const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a name must not contain
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff]|\p{Surrogate}/gu;
/**
 * Characters that mean nothing at the ends of a name: leading dots hide files, and Windows ignores dots and spaces at the end. The joiners U+200C
 * and U+200D are part of words in Persian and Sinhala, and of emoji; at the ends they would only hide a dot.
 */
const MEANINGLESS_ENDS = /^[. \u200c\u200d]+|[. \u200c\u200d]+$/g;
/** Characters that separate paths, or that Windows does not allow in names. */
const FORBIDDEN = /[<>:"/\\|?*]/g;
/** Device names of Windows, with any extension: https://learn.microsoft.com/windows/win32/fileio/naming-a-file */
const RESERVED = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i;

/** Shortens a name, and keeps its extension. */
function shorten(name: string): string {
  if (name.length <= MAX_LENGTH) return name;
  const dot = name.lastIndexOf('.');
  const extension = dot > 0 && name.length - dot <= MAX_EXTENSION_LENGTH ? name.slice(dot) : '';
  // Do not cut a surrogate pair in half.
  return name.slice(0, MAX_LENGTH - extension.length).replace(/[\ud800-\udbff]$/, '') + extension;
}

/**
 * Cleans the name of an uploaded file, which any client can choose: only the last part of a path, in NFC, without control characters,
 * direction marks and characters that a file system does not allow. The name is shown and offered for downloads; it is never part of a path.
 */
export function cleanFileName(given: string | undefined): string {
  const last = (given ?? '').split(/[/\\]/).at(-1)!;
  const cleaned = last
    .normalize('NFC')
    .replace(UNSAFE, '')
    .replace(FORBIDDEN, '_')
    .replace(/\s+/g, ' ')
    .replace(MEANINGLESS_ENDS, '');
  const safe = RESERVED.test(cleaned) ? `_${cleaned}` : cleaned;
  return shorten(safe).replace(MEANINGLESS_ENDS, '') || FALLBACK;
}
