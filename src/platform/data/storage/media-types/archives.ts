import type { ByteSource } from './byte-source.ts';
import { findLocalNames, readZipDirectory, readZipEntry, type ZipEntry } from './zip.ts';

const ZIP = 'application/zip';
const UNKNOWN = 'application/octet-stream';
const OFFICE = 'application/vnd.openxmlformats-officedocument';
/** Maximum size of a list of types, and of a document's own type. */
const MAX_LIST_BYTES = 4 * 2 ** 20;
const MAX_MIMETYPE_BYTES = 200;

/** The folders of Office documents, with the type of a plain one and the stem of those with macros. */
const OFFICE_FOLDERS = [
  { folder: 'word/', plain: `${OFFICE}.wordprocessingml.document`, macros: 'application/vnd.ms-word.document' },
  { folder: 'xl/', plain: `${OFFICE}.spreadsheetml.sheet`, macros: 'application/vnd.ms-excel.sheet' },
  {
    folder: 'ppt/',
    plain: `${OFFICE}.presentationml.presentation`,
    macros: 'application/vnd.ms-powerpoint.presentation',
  },
] as const;
const PLAIN_OFFICE =
  /^application\/vnd\.openxmlformats-officedocument\.(?:wordprocessingml\.(?:document|template)|spreadsheetml\.(?:sheet|template)|presentationml\.(?:presentation|template|slideshow))(?=\.main\+xml$)/;
const MACRO_OFFICE =
  /^(application\/vnd\.ms-(?:word|excel|powerpoint|visio)\.[a-z]+(?:\.binary)?)\.macroenabled(?:template)?\.main(?:\+xml)?$/;
const OTHER_PACKAGES: readonly (readonly [content: RegExp, type: string])[] = [
  [/^application\/vnd\.ms-visio\.(?:drawing|template|stencil)\.main\+xml$/, 'application/vnd.visio'],
  [/^application\/vnd\.ms-package\.xps-fixeddocumentsequence\+xml$/, 'application/vnd.ms-xpsdocument'],
  [/^application\/oxps|^application\/vnd\.openxps/, 'application/oxps'],
  [/^application\/vnd\.ms-package\.3dmanufacturing-3dmodel\+xml$/, 'model/3mf'],
];
/** Parts with macros, by the name or by the content type of the part. */
const MACRO_PART = /(?:^|\/)(?:vbaproject\.bin$|macrosheets\/)/;
const MACRO_CONTENT = /^application\/vnd\.ms-(?:office\.vbaproject|excel\.(?:intl)?macrosheet\+xml)$/;

/** The types that an uncompressed entry named `mimetype` may claim. */
const MIMETYPES =
  /^(?:application\/(?:epub\+zip|vnd\.oasis\.opendocument\.[a-z-]+|vnd\.sun\.xml\.[a-z.]+|vnd\.adobe\.indesign-idml-package|x-krita|vnd\.etsi\.asic-[es]\+zip|vnd\.recordare\.musicxml)|image\/openraster)$/;
/** Containers that are recognized by an entry, the most dangerous first. */
const CONTAINERS: readonly (readonly [entry: RegExp, type: string])[] = [
  [/^androidmanifest\.xml$/, 'application/vnd.android.package-archive'],
  [/^payload\/[^/]+\.app\//, 'application/x-ios-app'],
  [/^appxmanifest\.xml$/, 'application/vnd.ms-appx'],
  [/^install\.rdf$|^meta-inf\/mozilla\.rsa$/, 'application/x-xpinstall'],
  [/^meta-inf\/manifest\.mf$/, 'application/java-archive'],
  [/^doc\.kml$/, 'application/vnd.google-earth.kmz'],
];

/** The types that a ZIP archive may turn out to be. */
export const ARCHIVE_TYPES: readonly string[] = [
  ...[ZIP, 'application/epub+zip', 'application/vnd.adobe.indesign-idml-package', 'application/x-krita'],
  ...['application/vnd.etsi.asic-e+zip', 'application/vnd.etsi.asic-s+zip', 'application/vnd.recordare.musicxml'],
  'image/openraster',
  ...['text', 'spreadsheet', 'presentation', 'graphics', 'chart', 'image', 'formula'].flatMap((kind) => [
    `application/vnd.oasis.opendocument.${kind}`,
    `application/vnd.oasis.opendocument.${kind}-template`,
  ]),
  ...['text-master', 'text-web', 'database', 'base'].map((kind) => `application/vnd.oasis.opendocument.${kind}`),
  ...['writer', 'calc', 'impress', 'draw'].flatMap((kind) => [
    `application/vnd.sun.xml.${kind}`,
    `application/vnd.sun.xml.${kind}.template`,
  ]),
  ...OFFICE_FOLDERS.flatMap(({ plain, macros }) => [plain, `${macros}.macroenabled.12`]),
  ...[`${OFFICE}.wordprocessingml.template`, `${OFFICE}.spreadsheetml.template`],
  ...[`${OFFICE}.presentationml.template`, `${OFFICE}.presentationml.slideshow`],
  ...['word.template', 'excel.template', 'excel.addin', 'excel.sheet.binary', 'powerpoint.template'].map(
    (kind) => `application/vnd.ms-${kind}.macroenabled.12`,
  ),
  ...['powerpoint.slideshow', 'powerpoint.addin', 'visio.drawing', 'visio.template', 'visio.stencil'].map(
    (kind) => `application/vnd.ms-${kind}.macroenabled.12`,
  ),
  ...OTHER_PACKAGES.map(([, type]) => type),
  ...CONTAINERS.map(([, type]) => type),
  ...['application/vnd.apple.keynote', 'application/vnd.apple.numbers', 'application/vnd.apple.pages'],
];

/** Decodes the references of XML to characters. */
function decodeReferences(text: string): string {
  const names: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]+));/gi, (whole, decimal, hex, name) => {
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    if (Number.isNaN(code)) return names[name] ?? whole;
    return code <= 0x10_ff_ff ? String.fromCodePoint(code) : whole;
  });
}

/** Returns the content types in a list of an Office document, in lower case. */
function readContentTypes(list: Buffer): string[] {
  const isBig = list[0] === 0xfe && list[1] === 0xff;
  const isLittle = (list[0] === 0xff && list[1] === 0xfe) || (list[0] === 0x3c && list[1] === 0);
  const text = new TextDecoder(isBig ? 'utf-16be' : isLittle ? 'utf-16le' : 'utf-8').decode(list);
  return [...text.matchAll(/\sContentType\s*=\s*(?:"([^"]*)"|'([^']*)')/g)].map(([, double, single]) =>
    decodeReferences(double ?? single!)
      .trim()
      .toLowerCase(),
  );
}

/** The type of an Office document by its list of types and the names of its parts; undefined for another package. */
function judgeOffice(contentTypes: readonly string[], names: readonly string[]): string | undefined {
  for (const content of contentTypes) {
    const stem = MACRO_OFFICE.exec(content)?.[1];
    if (stem !== undefined) return `${stem}.macroenabled.12`;
  }
  const folder = OFFICE_FOLDERS.find((one) => names.some((name) => name.startsWith(one.folder)));
  const hasMacros = names.some((name) => MACRO_PART.test(name)) || contentTypes.some((one) => MACRO_CONTENT.test(one));
  if (hasMacros) return folder === undefined ? UNKNOWN : `${folder.macros}.macroenabled.12`;
  for (const content of contentTypes) {
    const plain = PLAIN_OFFICE.exec(content)?.[0];
    if (plain !== undefined) return plain;
    const other = OTHER_PACKAGES.find(([pattern]) => pattern.test(content));
    if (other !== undefined) return other[1];
  }
  return folder?.plain;
}

/** The type of a document of iWork; undefined for other archives. */
function judgeIWork(names: readonly string[]): string | undefined {
  if (!names.includes('index/document.iwa')) return undefined;
  if (names.some((name) => name.startsWith('index/masterslide'))) return 'application/vnd.apple.keynote';
  const isSheet = names.some((name) => name.startsWith('index/tables/') || name === 'index/calculationengine.iwa');
  return isSheet ? 'application/vnd.apple.numbers' : 'application/vnd.apple.pages';
}

/** Guesses the type of an archive by the entries among its first bytes. */
export function guessArchiveType(first: Buffer): string {
  const names = findLocalNames(first).map((name) => name.toLowerCase());
  const isOffice = names.includes('[content_types].xml');
  const found =
    (isOffice && judgeOffice([], names)) || CONTAINERS.find(([entry]) => names.some((one) => entry.test(one)));
  return (typeof found === 'object' ? found[1] : found) || judgeIWork(names) || ZIP;
}

/**
 * Determines the type of a ZIP archive by its own directory: Office documents by their list of types, also as macro-enabled or template;
 * other documents and programs by their entries. Entries that only programs see which read the archive from its start count as well.
 *
 * @returns `application/octet-stream` for an archive without a legal directory
 */
export async function recognizeArchive(first: Buffer, source: ByteSource): Promise<string> {
  const directory = await readZipDirectory(source);
  if (directory === undefined) return UNKNOWN;
  const { entries, isComplete } = directory;
  const names = [...entries.map(({ name }) => name), ...findLocalNames(first)].map((name) => name.toLowerCase());
  const readNamed = async (wanted: string, maxBytes: number): Promise<Buffer[]> => {
    const named: ZipEntry[] = entries.filter(({ name }) => name.toLowerCase() === wanted).slice(0, 4);
    const contents = await Promise.all(named.map((entry) => readZipEntry(source, entry, maxBytes)));
    return contents.filter((content) => content !== undefined);
  };
  const isOffice = names.includes('[content_types].xml');
  if (isOffice) {
    const lists = await readNamed('[content_types].xml', MAX_LIST_BYTES);
    const office = judgeOffice(lists.flatMap(readContentTypes), names);
    // A list that cannot be read may hide macros, and so may entries beyond the part of the directory that was read.
    if (office !== undefined) return lists.length > 0 && isComplete ? office : UNKNOWN;
  }
  const container = CONTAINERS.find(([entry]) => names.some((name) => entry.test(name)));
  if (container !== undefined) return container[1];
  const [mimetype] = await readNamed('mimetype', MAX_MIMETYPE_BYTES);
  const claimed = mimetype?.toString('latin1').trim();
  if (claimed !== undefined && MIMETYPES.test(claimed)) return isComplete ? claimed : UNKNOWN;
  return judgeIWork(names) ?? ZIP;
}
