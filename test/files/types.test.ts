import { expect, test } from 'vitest';
import { createApp, defineResource, defineUser, f } from '../../src/index.ts';
import { findAssembly } from '../../src/runtime/create-app.ts';
import { startTestApp } from '../support/app.ts';
import { compoundFile, contentTypes, latin1, MP3, matroska, zip } from '../support/files/media.ts';
import { createTestStorage, PNG, send } from './support.ts';

const OFFICE = 'application/vnd.openxmlformats-officedocument';
const DOCX = `${OFFICE}.wordprocessingml.document`;
const { storage, listStored } = await createTestStorage();
const paper = defineResource('paper', {
  fields: {
    any: f.file(),
    office: f.file({ types: [DOCX, `${OFFICE}.spreadsheetml.sheet`, `${OFFICE}.presentationml.presentation`] }),
    old: f.file({ types: ['application/msword', 'application/vnd.ms-excel'] }),
    video: f.file({ types: ['video/*'] }),
    audio: f.file({ types: ['audio/*'] }),
    picture: f.file({ types: ['image/jpg', 'image/x-png'] }),
    titles: f.file({ types: ['text/vtt', 'application/x-subrip'] }),
    route: f.file({ types: ['application/gpx+xml', 'application/yaml'] }),
    note: f.file({ types: ['text/plain', 'text/xml'] }),
    sound: f.file({ types: ['audio/mp3', 'audio/x-wav'] }),
  },
  policies: { create: 'public' },
});
const { app, env, url, person } = await startTestApp({
  resources: [defineUser(), paper],
  settings: { files: { storage, uploadLimit: { limit: 1000, windowMs: 60_000 } } },
});
const ada = await person('Ada');
const sweep = findAssembly(app)!.parts.sweeps!.find(({ name }) => name === 'unused files')!;

const upload = (field: string, body: Buffer | string, name = 'a', type = 'application/octet-stream') =>
  send(`${url}/api/files/uploads?field=paper.${field}`, Buffer.from(body as string), {
    ...{ token: ada.token, 'content-type': type, 'content-disposition': `attachment; filename="${name}"` },
  });
const document = (...types: string[]) =>
  zip({ 'word/media/a.bin': Buffer.alloc(100_000, 1), '[Content_Types].xml': contentTypes(...types) });

test.each([
  ['office', 'a large document', () => document(`${DOCX}.main+xml`), DOCX],
  ['old', 'a document of Word 97', () => compoundFile(['WordDocument']), 'application/msword'],
  ['audio', 'a sound of a recorder', () => matroska('webm', 2), 'audio/webm'],
  ['video', 'a film of a recorder', () => matroska('webm', 1, 2), 'video/webm'],
  ['titles', 'subtitles', () => 'WEBVTT\n\n00:01.000 --> 00:02.000\nHello', 'text/vtt'],
  ['note', 'subtitles in a field for text', () => 'WEBVTT\n', 'text/vtt'],
  ['note', 'XML', () => '<?xml version="1.0"?><note/>', 'application/xml'],
  ['picture', 'a picture', () => PNG, 'image/png'],
  ['sound', 'a sound', () => MP3, 'audio/mpeg'],
])('the field "%s" takes %s, by the content', async (field, _what, create, type) => {
  const { status, body } = await upload(field, await create());
  expect([status, body.data?.type]).toEqual([201, type]);
});

test.each([
  ['titles', '1\n00:00:01,000 --> 00:00:02,000\nHello', 'a.srt', '', 'application/x-subrip'],
  ['titles', '1\n00:00:01,000 --> 00:00:02,000\nHello', 'a', 'text/srt', 'application/x-subrip'],
  ['route', 'title: a', 'a.yml', '', 'application/yaml'],
  ['route', 'title: a', 'a', 'text/x-yaml', 'application/yaml'],
  ['route', '<?xml version="1.0"?><gpx/>', 'a.gpx', '', 'application/gpx+xml'],
  ['any', '{}', 'a.geojson', '', 'application/geo+json'],
  ['any', 'a,b', 'a', 'application/csv', 'text/csv'],
])('the field "%s" takes formats that look alike by the claim: %j as %s %s', async (field, text, name, claim, type) => {
  const { status, body } = await upload(field, text, name, claim || undefined);
  expect([status, body.data?.type]).toEqual([201, type]);
});

test.each([
  ['office', 'a document with macros', () => document('application/vnd.ms-word.document.macroEnabled.main+xml')],
  ['office', 'a template', () => document(`${OFFICE}.wordprocessingml.template.main+xml`)],
  ['office', 'another archive', () => zip({ 'a.bin': Buffer.alloc(100_000) })],
  [
    'old',
    'a package that installs a program',
    () => compoundFile(['a'], { classId: '84100c0000000000c000000000000046' }),
  ],
  ['video', 'a photo of a camera', () => latin1('\0\0\0\x18ftypcrx \0\0\0\x01crx isom')],
  ['video', 'a sound of a recorder', () => matroska('webm', 2)],
  ['audio', 'bytes that begin like sound', () => latin1('\xff\xff\0\0\x07\0\0\0\x04\0\0\0').fill(0, 12)],
  ['route', 'binary data with a claim', () => Buffer.alloc(100)],
])('the field "%s" refuses %s, and keeps no bytes', async (field, _what, create) => {
  const before = await listStored();
  const { status, body } = await upload(field, await create(), 'a.gpx', 'application/gpx+xml');
  expect([status, body.error.details[field]]).toEqual([422, expect.stringContaining(', not ')]);
  // What was stored in order to read its end is removed as other unused files are.
  await sweep.run();
  expect(await listStored()).toEqual(before);
});

test('the error of a document with macros names its type', async () => {
  const { body } = await upload('office', await document('application/vnd.ms-excel.sheet.macroEnabled.main+xml'));
  expect(body.error.details.office).toMatch(/, not application\/vnd\.ms-excel\.sheet\.macroenabled\.12$/);
});

test.each([
  ['text/javascript', 'The nearest type is "text/plain"'],
  ['application/mswrod', 'Did you mean "application/msword"?'],
  ['image/x-unknown-format', 'The nearest type is "image/*"'],
  ['application/x-proprietary-archive-format', 'The nearest type is "application/octet-stream"'],
  ['chemical/*', 'The nearest type'],
  ['*/png', 'The nearest type'],
])('a type that no file can have is a configuration error: %s', (type, suggestion) => {
  const page = () => defineResource('page', { fields: { a: f.file({ types: ['image/png', type] }) } });
  const create = () => createApp({ resources: [defineUser(), page()] }, env);
  expect(create).toThrow(`"${type}", which no file can have`);
  expect(create).toThrow(suggestion);
});

test('every usual name of a type is accepted', () => {
  const types = [
    ...[
      'image/jpg',
      'image/pjpeg',
      'image/vnd.microsoft.icon',
      'image/svg+xml',
      'image/heic',
      'image/avif',
      'image/apng',
    ],
    ...[
      'audio/mp3',
      'audio/x-wav',
      'audio/x-m4a',
      'audio/opus',
      'audio/x-aiff',
      'audio/x-ms-wma',
      'audio/ac3',
      'audio/amr',
    ],
    ...[
      'video/x-m4v',
      'video/avi',
      'video/mov',
      'video/x-ms-wmv',
      'video/x-flv',
      'video/mpeg',
      'video/mp2t',
      'video/3gpp2',
    ],
    ...['application/x-gzip', 'application/x-rar-compressed', 'application/x-zip-compressed', 'application/x-tar'],
    ...[
      'application/msword',
      'application/vnd.ms-excel',
      'application/vnd.ms-powerpoint',
      'application/vnd.ms-outlook',
    ],
    ...[
      'application/vnd.oasis.opendocument.text',
      'application/epub+zip',
      'application/rtf',
      'application/octet-stream',
    ],
    ...[
      'application/vnd.ms-word.document.macroenabled.12',
      `${OFFICE}.spreadsheetml.template`,
      'application/postscript',
    ],
    ...[
      'text/xml',
      'text/csv',
      'text/vtt',
      'text/calendar',
      'text/vcard',
      'text/yaml',
      'text/*',
      'application/gpx+xml',
    ],
    ...['font/woff2', 'font/*', 'model/gltf-binary', 'model/3mf', '*/*'],
  ];
  const page = defineResource('page', { fields: { a: f.file({ types }) } });
  expect(() => createApp({ resources: [defineUser(), page] }, env)).not.toThrow();
});
