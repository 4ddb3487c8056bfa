import { expect, test } from 'vitest';
import { de as kitDe } from '../../packages/pages/src/kit/texts.de.ts';
import { en as kitEn } from '../../packages/pages/src/kit/texts.en.ts';
import { de as signInDe } from '../../packages/pages/src/sign-in/texts.de.ts';
import { en as signInEn } from '../../packages/pages/src/sign-in/texts.en.ts';

/** Texts that are the same in English and German. */
const SAME = new Set([
  'fields.code',
  'fields.passkeyName',
  'fields.name',
  'account.ways.passkey',
  'passkeys.heading',
  'passkeys.defaultName',
]);

/** Returns each text by its path. Functions are called with `2` and `3`. */
function listTexts(texts: object, path = ''): [string, string][] {
  return Object.entries(texts).flatMap(([key, value]): [string, string][] => {
    if (typeof value === 'object') return listTexts(value, `${path}${key}.`);
    return [[path + key, typeof value === 'function' ? value(2, 3) : value]];
  });
}

const PARTS: [string, object, object][] = [
  ['the kit', kitEn, kitDe],
  ['the sign-in pages', signInEn, signInDe],
];

for (const [part, en, de] of PARTS) {
  const [english, german] = [new Map(listTexts(en)), new Map(listTexts(de))];

  test(`${part}: German has the texts of English, and none is empty`, () => {
    expect([...german.keys()].sort()).toEqual([...english.keys()].sort());
    expect([...german].filter(([, text]) => text.trim() === '')).toEqual([]);
  });

  test(`${part}: every German text is translated, and uses German quotation marks and spaces before an ellipsis`, () => {
    const same = [...german].filter(([path, text]) => text === english.get(path)).map(([path]) => path);
    expect(same.filter((path) => !SAME.has(path))).toEqual([]);
    expect([...german].filter(([, text]) => /["“][^"“”]*”|\S…|\.\.\./.test(text))).toEqual([]);
  });

  test(`${part}: a German text contains the same values as the English one`, () => {
    for (const [path, text] of english)
      expect([path, german.get(path)?.match(/\d+/g)]).toEqual([path, text.match(/\d+/g)]);
  });
}
