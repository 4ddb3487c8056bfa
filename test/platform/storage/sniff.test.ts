import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ZipFile } from 'yazl';
import { SNIFF_BYTES, sniffType } from '../../../src/platform/storage/sniff.ts';

const latin1 = (text: string) => Buffer.from(text, 'latin1');
const utf16 = (text: string) => Buffer.from(text, 'utf16le');
const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16();
const padded = (text: string) => Buffer.concat([latin1(text), Buffer.alloc(300)]);

async function zip(entries: Record<string, string>, compress = true): Promise<Buffer> {
  const file = new ZipFile();
  for (const [name, text] of Object.entries(entries)) file.addBuffer(Buffer.from(text), name, { compress });
  file.end();
  return buffer(file.outputStream as NodeJS.ReadableStream as AsyncIterable<Buffer> & NodeJS.ReadableStream);
}

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
  ['audio/mpeg', padded('\xff\xfb\x90\x64\0')],
  ['audio/aac', padded('\xff\xf1\x50\x80\0')],
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
])('%s is recognized by its first bytes', (type, bytes) => {
  expect(sniffType(bytes)).toBe(type);
});

const OFFICE = 'application/vnd.openxmlformats-officedocument';
const types = { '[Content_Types].xml': '<Types/>', '_rels/.rels': '<Relationships/>' };

test.each<[string, Record<string, string>]>([
  ['application/zip', { 'a.txt': 'hello' }],
  ['application/zip', { 'word/document.xml': 'a folder of this name does not make an office file' }],
  ['application/zip', types],
  [`${OFFICE}.wordprocessingml.document`, { ...types, 'word/document.xml': '<document/>' }],
  [`${OFFICE}.spreadsheetml.sheet`, { ...types, 'xl/workbook.xml': '<workbook/>' }],
  [`${OFFICE}.presentationml.presentation`, { ...types, 'ppt/presentation.xml': '<presentation/>' }],
  ['application/vnd.oasis.opendocument.text', { mimetype: 'application/vnd.oasis.opendocument.text' }],
  ['application/epub+zip', { mimetype: 'application/epub+zip', 'META-INF/container.xml': '<container/>' }],
  ['application/java-archive', { 'META-INF/MANIFEST.MF': 'Manifest-Version: 1.0' }],
])('an archive with the type %s is recognized by its entries', async (type, entries) => {
  expect(sniffType(await zip(entries, !('mimetype' in entries)))).toBe(type);
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
  ])('is %s: %s', (type, text) => {
    expect(sniffType(encode(text))).toBe(type);
  });
});

test.each([
  ['text/plain', 'a,b\n1,2\n'],
  ['text/plain', '{"a": "<script>"}'],
  ['text/plain', 'MZ is also the start of a text'],
  ['text/plain', 'a < b, and <b> in the middle of a text'],
  ['text/plain', 'Grüße €'],
  ['text/x-script', '#!/bin/sh\necho'],
])('text is %s: %j', (type, text) => {
  expect(sniffType(Buffer.from(text))).toBe(type);
});

test.each([utf16, utf16be])('text in UTF-16 with a byte order mark is text', (encode) => {
  expect(sniffType(encode('\ufeffa plain text'))).toBe('text/plain');
});

test('a character that is cut off at the end of the first bytes does not make text binary', () => {
  expect(sniffType(Buffer.from('€'.repeat(SNIFF_BYTES)))).toBe('text/plain');
  expect(sniffType(Buffer.from('€').subarray(0, 2))).toBe('text/plain');
});

test.each([
  ['application/octet-stream', Buffer.alloc(0)],
  ['application/octet-stream', Buffer.from([0, 1, 2, 3])],
  ['application/octet-stream', latin1('caf\xe9 in Latin-1')],
  ['application/octet-stream', Buffer.from('text with a\0zero byte')],
])('unknown bytes are %s', (type, bytes) => {
  expect(sniffType(bytes)).toBe(type);
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
])('a file that can be read in several ways is %s', (type, text) => {
  expect(sniffType(latin1(text))).toBe(type);
});

test('no bytes make it fail, and the answer depends on the first bytes only', () => {
  const starts = ['', '<', 'PK\x03\x04', 'RIFF', '\xff\xfe', '\0\0\0\x1cftyp', '<!--', '<?xml', '\xff', 'OggS'].map(
    latin1,
  );
  const bytes = fc.tuple(fc.constantFrom(...starts), fc.uint8Array({ maxLength: 400 }));
  fc.assert(
    fc.property(bytes, ([start, rest]) => {
      const type = sniffType(Buffer.concat([start, rest]));
      expect(type).toMatch(/^[a-z]+\/[a-z0-9.+-]+$/);
    }),
    { numRuns: 2000 },
  );
  const long = Buffer.concat([Buffer.from('a'.repeat(SNIFF_BYTES)), Buffer.alloc(10)]);
  expect(sniffType(long)).toBe('text/plain');
});

test('long inputs that are made to be slow take no longer than others', () => {
  for (const text of ['<!--', '<!---->', '<', ' ', '<svg', 'PK\x03\x04', '<?xml xmlns', '<a:a']) {
    expect(sniffType(latin1(text.repeat(SNIFF_BYTES)))).toMatch(/\//);
  }
});
