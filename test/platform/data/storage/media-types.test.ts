import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createBlockSource } from '../../../../src/platform/data/storage/media-types/byte-source.ts';
import {
  recognizeBytes,
  recognizeStart,
  START_BYTES,
} from '../../../../src/platform/data/storage/media-types/recognize.ts';
import {
  AAC,
  AC3,
  AIFF,
  AMR,
  asf,
  compoundFile,
  contentTypes,
  FLV,
  ftyp,
  latin1,
  MP3,
  MPEG_PS,
  MPEG_TS,
  MTS,
  matroska,
  moov,
  zip,
} from '../../../support/files/media.ts';

const utf16 = (text: string) => Buffer.from(text, 'utf16le');
const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16();
const padded = (text: string) => Buffer.concat([latin1(text), Buffer.alloc(300)]);

test.each<[string, Buffer]>([
  ['image/png', padded('\x89PNG\r\n\x1a\n')],
  ['image/jpeg', padded('\xff\xd8\xff\xe0\0\x10JFIF\0')],
  ['image/gif', padded('GIF89a\x01\0\x01\0')],
  ['image/webp', padded('RIFF\x24\0\0\0WEBPVP8 ')],
  ['image/avif', padded('\0\0\0\x1cftypavif\0\0\0\0avifmif1')],
  ['image/avif', padded('\0\0\0\x1cftypmif1\0\0\0\0mif1avif')],
  ['image/heic', padded('\0\0\0\x18ftypheic\0\0\0\0mif1heic')],
  ['image/bmp', padded('BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0')],
  ['image/tiff', padded('II*\0\x08\0\0\0')],
  ['image/x-icon', padded('\0\0\x01\0\x01\0')],
  ['application/pdf', padded('%PDF-1.7\n%\xe2\xe3\xcf\xd3')],
  ['video/mp4', padded('\0\0\0\x20ftypisom\0\0\x02\0isomiso2avc1mp41')],
  ['video/quicktime', padded('\0\0\0\x14ftypqt  ')],
  ['audio/mp4', padded('\0\0\0\x20ftypM4A \0\0\0\0')],
  ['video/webm', padded('\x1aE\xdf\xa3\x9fB\x86\x81\x01B\xf7\x81\x01B\xf2\x81\x04B\xf3\x81\x08B\x82\x84webm')],
  ['audio/mpeg', padded('ID3\x04\0\0\0\0\0\0')],
  ['audio/mpeg', MP3],
  ['audio/mpeg', Buffer.concat([latin1('ID3\x04\0\0\0\0\0\x0a'), Buffer.alloc(10), MP3])],
  ['audio/aac', AAC],
  ['audio/ac3', AC3],
  ['audio/aiff', AIFF],
  ['audio/amr', AMR],
  ['audio/x-ms-asf', asf('audio')],
  ['video/x-ms-asf', asf('video')],
  ['video/x-flv', FLV],
  ['video/mpeg', MPEG_PS],
  ['video/mp2t', MPEG_TS],
  ['video/mp2t', MTS],
  ['video/webm', matroska('webm', 1, 2)],
  ['audio/webm', matroska('webm', 2)],
  ['video/x-matroska', matroska('matroska', 1, 2)],
  ['audio/x-matroska', matroska('matroska', 2, 2)],
  ['video/quicktime', Buffer.concat([moov('vide'), Buffer.alloc(50)])],
  ['video/quicktime', Buffer.concat([latin1('\0\0\0\x08wide\0\0\x10\0mdat'), Buffer.alloc(300)])],
  ['video/quicktime', padded('\0\0\x08\0mdat\xff\xd8\xff')],
  ['video/mp4', Buffer.concat([ftyp('isom', 'isom'), moov('vide', 'soun')])],
  ['audio/mp4', Buffer.concat([ftyp('mp42', 'isom'), Buffer.alloc(0), moov('soun')])],
  ['audio/mp4', padded('\0\0\0\x18ftypF4A \0\0\0\0')],
  ['audio/mp4', padded('\0\0\0\x18ftypM4B \0\0\0\0')],
  ['audio/3gpp', Buffer.concat([ftyp('3gp4', 'isom'), moov('soun')])],
  ['image/heic', padded('\0\0\0\x18ftypmiaf\0\0\0\0miafheic')],
  ['image/heif', padded('\0\0\0\x18ftypMiHE\0\0\0\0mif1MiHE')],
  ['image/heic-sequence', padded('\0\0\0\x18ftyphevx\0\0\0\0hevxmsf1')],
  ['image/x-canon-cr3', padded('\0\0\0\x18ftypcrx \0\0\0\x01crx isom')],
  ['video/ogg', padded('OggS\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x1e\x01video\0\0\0')],
  ['application/msword', compoundFile(['WordDocument', '1Table', 'Data'])],
  ['application/vnd.ms-excel', compoundFile(['\x05SummaryInformation', 'Workbook'])],
  ['application/vnd.ms-excel', compoundFile(['Book'])],
  ['application/vnd.ms-powerpoint', compoundFile(['Current User', 'PowerPoint Document', 'Pictures', 'a', 'b'])],
  ['application/vnd.ms-outlook', compoundFile(['__nameid_version1.0', '__properties_version1.0'])],
  ['application/x-msi', compoundFile(['WordDocument'], { classId: '84100c0000000000c000000000000046' })],
  ['application/msword', compoundFile(['WordDocument', 'ObjectPool'], { inner: ['Workbook'] })],
  ['application/x-cfb', compoundFile(['EncryptedPackage'])],
  ['audio/wav', padded('RIFF\x24\0\0\0WAVEfmt ')],
  ['audio/ogg', padded('OggS\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x13OpusHead')],
  ['audio/flac', padded('fLaC\0\0\0\x22')],
  ['application/gzip', padded('\x1f\x8b\x08\0')],
  ['application/x-7z-compressed', padded('7z\xbc\xaf\x27\x1c\0\x04')],
  ['application/x-tar', Buffer.concat([Buffer.alloc(257), latin1('ustar\x0000')])],
  ['application/x-cfb', padded('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1')],
  ['application/x-msdownload', padded('MZ\x90\0\x03\0\0\0')],
  ['application/x-executable', padded('\x7fELF\x02\x01\x01\0')],
  ['application/wasm', padded('\0asm\x01\0\0\0')],
  ['font/woff2', padded('wOF2\0\x01\0\0')],
  ['application/vnd.sqlite3', padded('SQLite format 3\0')],
])('%s is recognized by its content', async (type, bytes) => {
  expect(await recognizeBytes(bytes)).toBe(type);
});

test.each<[string, Buffer]>([
  ['an unknown brand', padded('\0\0\0\x18ftypzzzz\0\0\0\0isommp42')],
  ['the start of a table of statistics', padded('\xff\xff\0\0\x07\0\0\0\x05')],
  ['one frame of sound', padded('\xff\xfb\x90\x64\0')],
  ['one frame of sound in ADTS', padded('\xff\xf1\x50\x80\0')],
  ['two bytes of AC-3', padded('\x0b\x77\0\0\xc0')],
  ['two bytes of a compressed stream', padded('\x78\x01\0\0')],
  ['two bytes of a bitmap', padded('BM\0\x01\x02\x03\x04\x05\x06\x07\x08\x09')],
  ['two bytes of packets', Buffer.concat([latin1('G'), Buffer.alloc(187), latin1('G'), Buffer.alloc(300)])],
  ['a form that is not sound', padded('FORM\0\0\0\x20ILBMBMHD')],
  ['an archive that was cut off', latin1('PK\x03\x04\x14\0\0\0\0\0').fill(0, 10)],
])('%s is no known type', async (_what, bytes) => {
  expect(await recognizeBytes(bytes)).toBe('application/octet-stream');
});

const OFFICE = 'application/vnd.openxmlformats-officedocument';
const types = { '[Content_Types].xml': '<Types/>', '_rels/.rels': '<Relationships/>' };
const office = (type: string, more: Record<string, string> = {}) => ({
  '[Content_Types].xml': contentTypes('application/vnd.openxmlformats-package.relationships+xml', type),
  ...more,
});
const [WORD, EXCEL, SLIDES] = ['application/vnd.ms-word', 'application/vnd.ms-excel', 'application/vnd.ms-powerpoint'];
const DOCX = `${OFFICE}.wordprocessingml.document`;

test.each<[string, Record<string, string | Buffer>]>([
  ['application/zip', { 'a.txt': 'hello' }],
  ['application/zip', { 'word/document.xml': 'a folder of this name does not make an office file' }],
  ['application/zip', types],
  [DOCX, { ...types, 'word/document.xml': '<document/>' }],
  [`${OFFICE}.spreadsheetml.sheet`, { ...types, 'xl/workbook.xml': '<workbook/>' }],
  [`${OFFICE}.presentationml.presentation`, { ...types, 'ppt/presentation.xml': '<presentation/>' }],
  [DOCX, office(`${DOCX}.main+xml`)],
  [`${OFFICE}.wordprocessingml.template`, office(`${OFFICE}.wordprocessingml.template.main+xml`)],
  [`${OFFICE}.spreadsheetml.template`, office(`${OFFICE}.spreadsheetml.template.main+xml`)],
  [`${OFFICE}.presentationml.slideshow`, office(`${OFFICE}.presentationml.slideshow.main+xml`)],
  [`${WORD}.document.macroenabled.12`, office(`${WORD}.document.macroEnabled.main+xml`)],
  [`${WORD}.template.macroenabled.12`, office(`${WORD}.template.macroEnabledTemplate.main+xml`)],
  [`${EXCEL}.sheet.macroenabled.12`, office(`${EXCEL}.sheet.macroEnabled.main+xml`)],
  [`${EXCEL}.template.macroenabled.12`, office(`${EXCEL}.template.macroEnabled.main+xml`)],
  [`${EXCEL}.addin.macroenabled.12`, office(`${EXCEL}.addin.macroEnabled.main+xml`)],
  [`${EXCEL}.sheet.binary.macroenabled.12`, office(`${EXCEL}.sheet.binary.macroEnabled.main`)],
  [`${SLIDES}.presentation.macroenabled.12`, office(`${SLIDES}.presentation.macroEnabled.main+xml`)],
  [`${SLIDES}.template.macroenabled.12`, office(`${SLIDES}.template.macroEnabled.main+xml`)],
  [`${WORD}.document.macroenabled.12`, office(`${WORD}.document.macroEnabled&#46;main+xml`)],
  [`${WORD}.document.macroenabled.12`, office(`${DOCX}.main+xml`, { 'word/vbaProject.bin': 'macros' })],
  [
    `${WORD}.document.macroenabled.12`,
    {
      '[Content_Types].xml': contentTypes(`${DOCX}.main+xml`, 'application/vnd.ms-office.vbaProject'),
      'word/x.bin': 'macros under another name',
    },
  ],
  [`${EXCEL}.sheet.macroenabled.12`, office(`${OFFICE}.spreadsheetml.sheet.main+xml`, { 'xl/macrosheets/a.xml': '' })],
  [
    DOCX,
    { '[Content_Types].xml': contentTypes(`${EXCEL}.sheet.macroEnabled.12`, `${DOCX}.main+xml`), 'word/a': 'embeds' },
  ],
  ['application/vnd.visio', office('application/vnd.ms-visio.drawing.main+xml')],
  ['application/vnd.oasis.opendocument.text', { mimetype: 'application/vnd.oasis.opendocument.text' }],
  [
    'application/vnd.oasis.opendocument.text',
    { 'content.xml': '', mimetype: 'application/vnd.oasis.opendocument.text' },
  ],
  ['application/epub+zip', { mimetype: 'application/epub+zip', 'META-INF/container.xml': '<container/>' }],
  ['application/zip', { mimetype: 'image/png' }],
  ['application/java-archive', { 'META-INF/MANIFEST.MF': 'Manifest-Version: 1.0' }],
  ['application/vnd.android.package-archive', { 'META-INF/MANIFEST.MF': '', 'AndroidManifest.xml': '' }],
  ['application/vnd.google-earth.kmz', { 'doc.kml': '<kml/>' }],
  ['application/vnd.apple.pages', { 'Index/Document.iwa': '' }],
])('an archive with the type %s is recognized by its entries', async (type, entries) => {
  expect(await recognizeBytes(await zip(entries))).toBe(type);
});

test('an archive that contains documents is an archive', async () => {
  const document = await zip(office(`${DOCX}.main+xml`));
  expect(await recognizeBytes(await zip({ 'a.docx': document, 'b.docm': document }))).toBe('application/zip');
});

describe('a document whose list of types lies far behind the first bytes', () => {
  const create = (type: string) => zip({ 'word/media/picture.bin': Buffer.alloc(3_000_000, 1), ...office(type) });
  const recognize = async (bytes: Buffer) => {
    const ranges: number[] = [];
    const source = createBlockSource(bytes.length, async (start, end) => {
      ranges.push(end - start + 1);
      return bytes.subarray(start, end + 1);
    });
    const { finish } = await recognizeStart(bytes);
    return { type: await finish!(source), read: ranges.reduce((sum, length) => sum + length, 0) };
  };

  test.each([
    [DOCX, `${DOCX}.main+xml`],
    [`${WORD}.document.macroenabled.12`, `${WORD}.document.macroEnabled.main+xml`],
  ])('is %s, and only its end is read', async (type, content) => {
    const { type: found, read } = await recognize(await create(content));
    expect([found, read < 600_000]).toEqual([type, true]);
  });

  test('is an unknown type if its list cannot be read', async () => {
    const list = ' '.repeat(5_000_000);
    const { type } = await recognize(await zip({ '[Content_Types].xml': list, 'word/document.xml': '<document/>' }));
    expect(type).toBe('application/octet-stream');
  });
});

test('a structure that is made to be slow is given up', async () => {
  const boxes = Buffer.concat([ftyp('isom'), ...Array(5000).fill(latin1('\0\0\0\x08free'))]);
  expect(await recognizeBytes(boxes)).toBe('video/mp4');
  const loop = compoundFile(['a', 'b']);
  // The first sector of the directory follows itself.
  loop.writeUInt32LE(1, 512 + 4);
  expect(await recognizeBytes(loop)).toBe('application/x-cfb');
  const { finish } = await recognizeStart(ftyp('isom'));
  let position = 0;
  const endless = createBlockSource(2 ** 45, async (start, end) => {
    position = start;
    const block = Buffer.alloc(end - start + 1);
    // Each box is as long as a block.
    latin1('\0\x04\0\0free').copy(block);
    return block;
  });
  expect(await finish!(endless)).toBe('application/octet-stream');
  expect(position).toBeLessThan(2 ** 30);
});

describe.each<[string, (text: string) => Buffer]>([
  ['as it is', (text) => Buffer.from(text)],
  ['with a byte order mark', (text) => Buffer.from(`\ufeff${text}`)],
  ['after white space and comments', (text) => Buffer.from(`\r\n\t <!-- a --><!-- <b> -->\n${text}`)],
  ['in UTF-16 with a byte order mark', (text) => utf16(`\ufeff${text}`)],
  ['in big-endian UTF-16 with a byte order mark', (text) => utf16be(`\ufeff${text}`)],
  ['in UTF-16 without a byte order mark', utf16],
  ['in big-endian UTF-16 without a byte order mark', utf16be],
])('markup %s', (_, encode) => {
  test.each([
    ['text/html', '<!DOCTYPE html><p>x'],
    ['text/html', '<HTML><body>'],
    ['text/html', '<script>alert(1)</script>'],
    ['text/html', '<img src=x onerror=alert(1)>'],
    ['text/html', '<x onclick=alert(1)>'],
    ['text/html', '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>'],
    ['text/html', '<?xml version="1.0"?><a><h:script xmlns:h="http://www.w3.org/1999/xhtml">1</h:script></a>'],
    ['image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"/>'],
    ['image/svg+xml', '<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x"><svg/>'],
    ['image/svg+xml', '<s:svg xmlns:s="http://www.w3.org/2000/svg"/>'],
    ['application/xml', '<?xml version="1.0"?><note/>'],
    ['application/xml', '<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"></rss>'],
  ])('is %s: %s', async (type, text) => {
    expect(await recognizeBytes(encode(text))).toBe(type);
  });
});

test.each([
  ['text/plain', 'a,b\n1,2\n'],
  ['text/plain', '{"a": "<script>"}'],
  ['text/plain', 'MZ is also the start of a text'],
  ['text/plain', 'a < b, and <b> in the middle of a text'],
  ['text/plain', 'Grüße €'],
  ['text/x-script', '#!/bin/sh\necho'],
  ['text/plain', 'OTTO is my name, GIF is a format, and BM, ID3 and FORM are words'],
  ['text/plain', 'FORM fills the screen'],
  ['text/vtt', 'WEBVTT\n\n00:01.000 --> 00:02.000\nHello'],
  ['text/vtt', '\ufeffWEBVTT - titles\r\n'],
  ['text/plain', 'WEBVTTS are not subtitles'],
  ['application/rtf', '{\\rtf1\\ansi Hello}'],
  ['application/postscript', '%!PS-Adobe-3.0\n'],
])('text is %s: %j', async (type, text) => {
  expect(await recognizeBytes(Buffer.from(text))).toBe(type);
});

test.each([utf16, utf16be])('text in UTF-16 with a byte order mark is text', async (encode) => {
  expect(await recognizeBytes(encode('\ufeffa plain text'))).toBe('text/plain');
});

test('a character that is cut off at the end of the first bytes does not make text binary', async () => {
  expect(await recognizeBytes(Buffer.from('€'.repeat(START_BYTES)))).toBe('text/plain');
  expect(await recognizeBytes(Buffer.from('€').subarray(0, 2))).toBe('text/plain');
});

test.each([
  ['application/octet-stream', Buffer.alloc(0)],
  ['application/octet-stream', Buffer.from([0, 1, 2, 3])],
  ['application/octet-stream', latin1('caf\xe9 in Latin-1')],
  ['application/octet-stream', Buffer.from('text with a\0zero byte')],
])('unknown bytes are %s', async (type, bytes) => {
  expect(await recognizeBytes(bytes)).toBe(type);
});

test.each([
  ['text/html', 'GIF89a\x01\0\x01\0<script>alert(1)</script>'],
  ['text/html', '\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0<!DOCTYPE html><body>'],
  ['text/html', '\xff\xd8\xff\xfe\0\x20<HTML>'],
  ['text/html', '\0\0<html>'],
  ['image/svg+xml', 'GIF89a\0\0<svg onload=alert(1)>'],
  ['text/html', 'GIF89a\0\0<\0s\0c\0r\0i\0p\0t\0>\0'],
  ['application/pdf', '\xff\xd8\xff\xfe\0\x20%PDF-1.4\0'],
  ['text/html', '%PDF-1.4\n\0<script>alert(1)</script>'],
  ['text/html', '<html>%PDF-1.4'],
])('a file that can be read in several ways is %s', async (type, text) => {
  expect(await recognizeBytes(latin1(text))).toBe(type);
});

test('no bytes make it fail, and the answer depends on the first bytes only for texts', async () => {
  const starts = [
    '',
    '<',
    'PK\x03\x04',
    'RIFF',
    '\xff\xfe',
    '\0\0\0\x1cftyp',
    '<!--',
    '<?xml',
    '\xff',
    'OggS',
    'ID3',
    '\x1f\x8b\x08',
    'II*\0',
    '\x1aE\xdf\xa3',
    'PK\x05\x06',
  ].map(latin1);
  const bytes = fc.tuple(fc.constantFrom(...starts), fc.uint8Array({ maxLength: 400 }));
  await fc.assert(
    fc.asyncProperty(bytes, async ([start, rest]) => {
      const type = await recognizeBytes(Buffer.concat([start, rest]));
      expect(type).toMatch(/^[a-z]+\/[a-z0-9.+-]+$/);
    }),
    { numRuns: 2000 },
  );
  const long = Buffer.concat([Buffer.from('a'.repeat(START_BYTES)), Buffer.alloc(10)]);
  expect((await recognizeStart(long)).type).toBe('text/plain');
});

test('long inputs that are made to be slow take no longer than others', async () => {
  for (const text of ['<!--', '<!---->', '<', ' ', '<svg', 'PK\x03\x04', '<?xml xmlns', '<a:a']) {
    expect(await recognizeBytes(latin1(text.repeat(START_BYTES)))).toMatch(/\//);
  }
});
