/** A parsed `Content-Disposition`: its type in lower case, and its parameters by lower-case name. */
interface ContentDisposition {
  type: string;
  /** The form field of a part; undefined if there is none. */
  name: string | undefined;
  filename: string | undefined;
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+/;
const QUOTED = /^"((?:[^"\\]|\\[\s\S])*)"/;
/** A value without quotes. Some clients leave spaces, parentheses and letters beyond ASCII in it, so it ends only at the next parameter. */
const UNQUOTED = /^[^;"\s][^;"]*|^(?=;|$)/;
const EXTENDED = /^([\w.:+-]*)'[\w-]*'(.*)$/s;
/** Maximum number of parameters that are read. */
const MAX_PARAMETERS = 10;

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Interprets a header that Node decoded as Latin-1 as UTF-8, which browsers send; unchanged if the bytes are not UTF-8. */
function decodeUtf8(text: string): string {
  try {
    return decoder.decode(Buffer.from(text, 'latin1'));
  } catch {
    return text;
  }
}

/** Decodes the value of an extended parameter such as `filename*` (RFC 8187, and its predecessor RFC 5987, which also allows Latin-1). */
function decodeExtended(text: string): string | undefined {
  const [, charset, encoded] = EXTENDED.exec(text) ?? [];
  if (charset === undefined || /%(?![0-9A-Fa-f]{2})/.test(encoded!)) return undefined;
  const bytes = encoded!.replace(/%(..)/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  try {
    return new TextDecoder(charset, { fatal: true }).decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return undefined;
  }
}

/** Undoes the escapes of a quoted string. Browsers escape only quotes, as `%22` in forms; other backslashes are part of old Windows paths. */
function unquote(text: string): string {
  return text.replace(/\\(["\\])/g, '$1').replaceAll('%22', '"');
}

/**
 * Parses a `Content-Disposition` of a request or of a part (RFC 6266, RFC 7578).
 *
 * @param header the header as Node decodes it: one character per byte
 * @returns undefined if it is malformed
 */
export function parseContentDisposition(header: string): ContentDisposition | undefined {
  const type = TOKEN.exec(header)?.[0];
  if (type === undefined) return undefined;
  const parameters = new Map<string, string>();
  let rest = header.slice(type.length);
  for (let count = 0; rest.trim() !== '' && rest.trim() !== ';'; count++) {
    const separator = /^[ \t]*;[ \t]*/.exec(rest);
    if (separator === null || count === MAX_PARAMETERS) return undefined;
    rest = rest.slice(separator[0].length);
    const name = TOKEN.exec(rest)?.[0].toLowerCase();
    if (name === undefined || rest[name.length] !== '=') return undefined;
    rest = rest.slice(name.length + 1);
    const quoted = QUOTED.exec(rest);
    const value = quoted?.[0] ?? UNQUOTED.exec(rest)?.[0];
    if (value === undefined || parameters.has(name)) return undefined;
    parameters.set(name, quoted === null ? value.trimEnd() : unquote(quoted[1]!));
    rest = rest.slice(value.length);
  }
  const extended = parameters.get('filename*');
  const plain = parameters.get('filename');
  const name = parameters.get('name');
  return {
    type: type.toLowerCase(),
    name: name === undefined ? undefined : decodeUtf8(name),
    filename: (extended && decodeExtended(extended)) ?? (plain === undefined ? undefined : decodeUtf8(plain)),
  };
}

/**
 * Formats a `Content-Disposition` for a response (RFC 6266): an ASCII form for old clients, and the exact name.
 *
 * @param name a cleaned file name, without control characters
 */
export function formatContentDisposition(type: 'inline' | 'attachment', name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]/g, '_').replace(/["\\%]/g, '_');
  const exact = encodeURIComponent(name).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return ascii === name ? `${type}; filename="${ascii}"` : `${type}; filename="${ascii}"; filename*=UTF-8''${exact}`;
}
