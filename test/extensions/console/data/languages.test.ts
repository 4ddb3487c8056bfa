// The errors of single rows and records in the console of a German page.
import { expect, test } from 'vitest';
import { adminConsole, defineResource, defineUser, f } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';

const coupon = defineResource('coupon', {
  fields: { title: f.string().required().max(5), sku: f.string().unique() },
  policies: { list: 'admin', read: 'admin' },
});
const { app, call, url, person } = await startTestApp(
  {
    resources: [defineUser(), coupon],
    extensions: [adminConsole()],
    settings: {},
  },
  { env: () => ({ NODE_ENV: 'development', LOG_LEVEL: 'silent' }) },
);
const GERMAN = { 'belfry-language': 'de' };
const RECORDS = '/console/api/records/coupon';

async function importCsv(text: string) {
  const response = await fetch(`${url}${RECORDS}/import?format=csv&mode=check`, {
    method: 'POST',
    headers: { 'content-type': 'text/csv', ...GERMAN },
    body: text,
  });
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  return (await response.json()) as any;
}

test('rejected rows and warnings of an import are German', async () => {
  const { data } = await importCsv('id;title;sku\n;too long;a\n;;b\n;ok\n');
  expect(data.errors).toEqual([
    { row: 1, errors: { title: 'Darf höchstens 5 Zeichen haben' } },
    { row: 2, errors: { title: 'Ist erforderlich' } },
    { row: 3, errors: { row: 'Hat 2 Zellen, aber die Kopfzeile hat 3' } },
  ]);
  expect(data.warnings).toEqual([
    'Die Zellen sind durch Semikolons getrennt',
    'Die Spalte id wird ignoriert: Jede Zeile legt einen neuen Datensatz an',
  ]);
});

test('a file that cannot be read is refused in German', async () => {
  const { error } = await importCsv('titel\nx\n');
  expect(error.details.file).toBe('Die Spalte „titel“ ist kein Feld von coupon. Meinten Sie „title“?');
});

test('each record of a bulk action has its error in German', async () => {
  const { id } = await app.service('coupon').create({ title: 'one' });
  const ids = [id, 'f'.repeat(24)];
  const { body } = await call(
    'POST',
    `${RECORDS}/bulk`,
    { ids, action: 'update', values: { title: 'too long' } },
    GERMAN,
  );
  expect(body.data[0].error).toMatchObject({ details: { title: 'Darf höchstens 5 Zeichen haben' } });
  expect(body.data[1].error).toMatchObject({ code: 'NOT_FOUND', message: 'Nicht gefunden' });
});

test('why a viewer sees nothing is German', async () => {
  const ada = await person('Ada');
  const { id } = await app.service('coupon').create({ title: 'two' });
  const list = await call('GET', `${RECORDS}?as=${ada.id}`, undefined, GERMAN);
  expect(list.body.meta).toMatchObject({
    refused: { message: 'Dazu haben Sie keine Berechtigung' },
    why: 'policies.list: admin lässt diesen Betrachter nicht zu',
  });
  const record = await call('GET', `${RECORDS}/${id}?as=${ada.id}`, undefined, GERMAN);
  expect(record.body.meta.why).toMatch(/^policies\.read: admin lässt diesen Betrachter nicht zu/);
});
