import { globSync } from 'node:fs';
import { expect, test } from 'vitest';

/** Texts that are the same in English and German: names, and words that both languages have. */
const SAME = new Set([
  'headers.example',
  'organisation',
  'valueList',
  'test.failed',
  'policies',
  'tabs.audit',
  'log.units.push chunk',
  'log.units.relay batch',
  'products.belfry',
  'products.postgres',
  'products.redis',
  'products.startRelay',
  'checks.levels.ok',
  'overview.outbox',
  'servers.version',
  'servers.deadlocks',
  'servers.clients',
  'processes.version',
  'processes.postgres',
  'queues.status',
  'queues.job',
  'outbox.title',
  'slow.postgres',
  'limits.limit',
  'limits.ruleValue',
  'limits.all',
  'limits.client',
  'limits.status',
  'search.kinds.code',
  'lockouts.status',
  'log.details',
  'log.units.job',
  'outcomes.withStatus',
  'outages.redis.name',
  'tabs.webhooks',
  'tabs.push',
  'tabs.jobs',
  'tabs.reference',
  'systemFields.id.label',
  'types.id',
  'types.json',
  'types.string',
  'views.name',
  'encodings.utf-16le',
  'encodings.utf-8',
  'raw.api',
  'raw.json',
  'jobs',
  'job',
  'list.status',
  'run.name',
  'form.asJson',
  'form.within',
  'fields.code',
  'fields.passkeyName',
  'fields.name',
  'account.ways.passkey',
  'passkeys.heading',
  'passkeys.defaultName',
  'list.heading',
  'form.url',
  'form.in',
  'deliveries.status',
  'deliveries.responseStatus',
  'verify.format',
  'settings.secret',
  'overview.document',
  'access.policy',
  'parameters.places.query',
  'body.heading',
  'callers.token.heading',
  'callers.token.label',
  'request.query',
  'request.otherHeadersExample',
  'request.body.label',
  'request.body.json',
  'request.body.format',
  'response.tree',
  'response.body',
  'response.text',
  'response.file',
  'samples.label',
  'samples.code',
  'sections.label',
  'map.zoom',
  'details.policies',
  'details.hooks',
  'title',
  'name',
  'sections.simulator',
  'platforms.ios',
  'platforms.android',
  'platforms.web',
  'devicePage.token',
  'devicePage.testTitle',
  'send.transport',
  'form.normal',
  'form.dataExample',
  'home.count',
  'kinds.jobs',
  'kinds.webhook',
  'status',
  'delivery.responseStatus',
  'overview.p95',
  'receiver.body',
  'receiver.bytes',
  'secret.label',
]);

/** Returns each text by its path. Functions are called with the texts `2` and `3`. */
function listTexts(texts: object, path = ''): [string, string][] {
  return Object.entries(texts).flatMap(([key, value]): [string, string][] => {
    if (typeof value === 'object') return listTexts(value, `${path}${key}.`);
    return [[path + key, typeof value === 'function' ? value('2', '3') : value]];
  });
}

const SOURCES = `${import.meta.dirname}/../../packages/pages/src/`;
const folders = globSync('**/texts.en.ts', { cwd: SOURCES }).map((path) => path.replace('/texts.en.ts', ''));

for (const folder of folders.sort()) {
  const { en }: { en: object } = await import(`${SOURCES}${folder}/texts.en.ts`);
  const { de }: { de: object } = await import(`${SOURCES}${folder}/texts.de.ts`);
  const [english, german] = [new Map(listTexts(en)), new Map(listTexts(de))];

  test(`${folder}: German has the texts of English, and none is empty`, () => {
    expect([...german.keys()].sort()).toEqual([...english.keys()].sort());
    expect([...german].filter(([, text]) => text.trim() === '')).toEqual([]);
  });

  test(`${folder}: every German text is translated, and uses German quotation marks and spaces before an ellipsis`, () => {
    const same = [...german].filter(([path, text]) => text === english.get(path)).map(([path]) => path);
    expect(same.filter((path) => !SAME.has(path))).toEqual([]);
    expect([...german].filter(([, text]) => /["“][^"“”]*”|\S…|\.\.\./.test(text))).toEqual([]);
  });

  test(`${folder}: a German text contains the same values as the English one`, () => {
    const valuesOf = (text: string | undefined) =>
      text
        ?.replaceAll(/(?<=\d)[.,](?=\d{3})/g, '')
        .match(/\d+|\{\w+\}/g)
        ?.sort();
    for (const [path, text] of english) expect([path, valuesOf(german.get(path))]).toEqual([path, valuesOf(text)]);
  });
}
