import { expect, test } from 'vitest';
import { createApp, defineResource, defineUser, f } from '../../../src/index.ts';

const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://localhost/x', REDIS_URL: 'redis://localhost' };

function getErrors(declaration: { fields?: object; relations?: object }): string {
  const thing = defineResource('thing', { fields: { parent: f.ref('thing').index() }, ...declaration } as never);
  try {
    createApp({ resources: [defineUser(), thing] }, env);
  } catch (error) {
    return (error as Error).message;
  }
  return '';
}

const options = (given: object) => given as never;
const image = { variants: { thumb: { width: 10, hight: 10 } } };

test.each<[string, object, string]>([
  ['f.file', { a: f.file(options({ maxByte: 1 })) }, '"maxByte" is not an option. Did you mean "maxBytes"?'],
  ['f.file', { a: f.file(options({ limit: 1 })) }, '"limit" is not an option; options: maxBytes, types, image'],
  [
    'the image rules of f.file',
    { a: f.file(options({ image: { maxPixel: 1 } })) },
    '"image.maxPixel" is not an option. Did you mean "maxPixels"?',
  ],
  [
    'a variant of f.file',
    { a: f.file(options({ image })) },
    '"image.variants.thumb.hight" is not an option. Did you mean "height"?',
  ],
  [
    'f.file in a list',
    { a: f.array(f.file(options({ type: ['image/png'] }))) },
    '"type" is not an option. Did you mean "types"?',
  ],
  [
    'f.ref',
    { a: f.ref('user', options({ ondelete: 'cascade' })) },
    '"ondelete" is not an option. Did you mean "onDelete"?',
  ],
  ['f.ref', { a: f.ref('user', options({ cascade: true })) }, '"cascade" is not an option; options: onDelete, exists'],
  ['f.refs', { a: f.refs('user', options({ maximum: 3 })) }, '"maximum" is not an option; options: onDelete, max'],
])('a misspelled option of %s is a configuration error that names the field', (_what, fields, text) => {
  expect(getErrors({ fields })).toMatch(/resource "thing": field "a/);
  expect(getErrors({ fields })).toContain(text);
});

test('a misspelled option of f.reverse is a configuration error that names the relation', () => {
  const relations = { children: f.reverse('thing', 'parent', options({ limits: 3 })) };
  expect(getErrors({ relations })).toContain('relation "children": "limits" is not an option. Did you mean "limit"?');
});

test('declarations without misspelled options are accepted', () => {
  const fields = {
    parent: f.ref('thing', { onDelete: 'cascade' }),
    a: f.file({ maxBytes: 1, types: ['image/png'], image: { maxPixels: 1 } }),
    b: f.refs('user', { max: 3, onDelete: 'restrict' }),
  };
  expect(getErrors({ fields, relations: { children: f.reverse('thing', 'parent', { limit: 3 }) } })).toBe('');
});

test('a listener for an event that a resource does not have is refused; events of unknown sources are not checked', async () => {
  const app = createApp({ resources: [defineResource('note', { fields: { text: f.string() } })] }, env);
  const listen = (name: string) => () => app.on<unknown>(name, () => undefined);
  expect(listen('note.craeted')).toThrow('There is no event "note.craeted". Events of note: created, updated, deleted');
  for (const name of ['note.created', 'auth.login', 'invoice.paid']) expect(listen(name)).not.toThrow();
  await app.close();
});
