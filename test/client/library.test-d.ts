// Checked only by the compiler. The types of the client follow from the declarations; compiled-types.test.ts compiles the same program with
// the interface that `belfry types` writes.
import { expectTypeOf, test } from 'vitest';
import { type Client, createClient } from '../../packages/client/src/index.ts';
import type { app } from './library-app.ts';

type Library = typeof app;
declare const client: Client<Library>;
const compile = (_run: () => unknown) => undefined;

test('records have the fields that the API returns, those that only some callers see as optional', async () => {
  const book = await client.books.get('x');
  expectTypeOf(book.id).toEqualTypeOf<string>();
  expectTypeOf(book.title).toEqualTypeOf<string>();
  expectTypeOf(book.genre).toEqualTypeOf<'novel' | 'poetry'>();
  expectTypeOf(book.pages).toEqualTypeOf<number | undefined>();
  expectTypeOf(book.price).toEqualTypeOf<string | undefined>();
  expectTypeOf(book.cost).toEqualTypeOf<number | undefined>();
  expectTypeOf(book.authors).toEqualTypeOf<string[]>();
  expectTypeOf(book.settings?.theme).toEqualTypeOf<'dark' | 'light' | undefined>();
  expectTypeOf(book.place?.shelf).toEqualTypeOf<string | undefined>();
  expectTypeOf(book.cover?.url).toEqualTypeOf<string | undefined>();
  expectTypeOf(book.scans?.[0]?.bytes).toEqualTypeOf<number | undefined>();
  expectTypeOf(book.createdAt).toEqualTypeOf<string>();
  expectTypeOf(book.deletedAt).toEqualTypeOf<string | undefined>();
  // @ts-expect-error a hidden field
  compile(() => book.secret);
  // @ts-expect-error a field that is never returned
  compile(() => book.code);
  const user = await client.users.get('x');
  expectTypeOf(user.name).toEqualTypeOf<string>();
  expectTypeOf(user.email).toEqualTypeOf<string | undefined>();
  expectTypeOf(user.roles).toEqualTypeOf<('user' | 'admin' | 'librarian')[] | undefined>();
  expectTypeOf(user.emailVerifiedAt).toEqualTypeOf<string | undefined>();
  // @ts-expect-error a password is never returned
  compile(() => user.password);
  const house = await client['shop/houses'].get('x');
  // @ts-expect-error the resource has no timestamps
  compile(() => house.createdAt);
});

test('included references and relations are records, in the records of every method', async () => {
  const book = await client.books.get('x', {
    include: ['authors.publisher', 'organisation', 'loans.reader', 'loansCount'],
  });
  const author = book.authors[0]!;
  if (typeof author === 'string') return;
  expectTypeOf(author.name).toEqualTypeOf<string>();
  if (typeof author.publisher === 'object') expectTypeOf(author.publisher.name).toEqualTypeOf<string>();
  if (typeof book.organisation === 'object') expectTypeOf(book.organisation.name).toEqualTypeOf<string>();
  expectTypeOf(book.loansCount).toEqualTypeOf<number | undefined>();
  expectTypeOf(book.loans?.meta).toEqualTypeOf<{ limit: number; more: boolean } | undefined>();
  const reader = book.loans?.data[0]?.reader;
  if (typeof reader === 'object') expectTypeOf(reader.name).toEqualTypeOf<string>();
  // Always included, because the field is declared with populate().
  if (typeof book.editor === 'object') expectTypeOf(book.editor.name).toEqualTypeOf<string>();
  const { data } = await client.books.list({ fields: ['title'], include: ['editor'] });
  expectTypeOf(data[0]!.title).toEqualTypeOf<string>();
  // @ts-expect-error the query selects other fields
  compile(() => data[0]!.genre);
  const first = await client.books.first({ fields: ['title'] });
  // @ts-expect-error the query selects other fields
  compile(() => first!.editor);
  for await (const one of client.loans.each({ include: ['book'] }))
    if (typeof one.book === 'object') expectTypeOf(one.book.title).toEqualTypeOf<string>();
  const created = await client.books.create({ isbn: '1', title: 'x', authors: [] });
  if (typeof created.editor === 'object') expectTypeOf(created.editor.name).toEqualTypeOf<string>();
  // @ts-expect-error there is no such reference
  compile(() => client.books.get('x', { include: ['author'] }));
  // @ts-expect-error a count has no references
  compile(() => client.books.get('x', { include: ['loansCount.reader'] }));
  // @ts-expect-error a path does not return to a resource
  compile(() => client.books.get('x', { include: ['loans.book'] }));
  // @ts-expect-error there is no such field
  compile(() => client.books.get('x', { fields: ['titel'] }));
});

test('filters take the filterable fields with their operators, and paths to related records', () => {
  compile(() => client.books.list({ where: { genre: 'novel', pages: { gte: 3, lt: 5 }, title: ['a', 'b'] } }));
  compile(() =>
    client.books.list({ where: { published: { gte: new Date(), lt: '2026-01-01' }, price: { gt: 5, lte: '9.5' } } }),
  );
  compile(() =>
    client.books.list({ where: { keywords: { all: ['a', 'b'] }, authors: 'x', pages: null, title: { exists: true } } }),
  );
  compile(() => client.books.list({ where: { 'authors.name': 'Ada', 'authors.publisher.name': { in: ['x'] } } }));
  compile(() => client.books.list({ where: { loans: { exists: true }, 'loans.reader.status': 'active' } }));
  // @ts-expect-error an unknown field
  compile(() => client.books.list({ where: { titel: 'x' } }));
  // @ts-expect-error a field that is not filterable
  compile(() => client.books.list({ where: { isbn: 'x' } }));
  // @ts-expect-error not one of the values
  compile(() => client.books.list({ where: { genre: 'drama' } }));
  // @ts-expect-error an operator that the declaration does not name
  compile(() => client.authors.list({ where: { born: { gt: '2000-01-01' } } }));
  // @ts-expect-error the declaration does not allow equality
  compile(() => client.authors.list({ where: { born: '2000-01-01' } }));
  // @ts-expect-error texts have no order for clients
  compile(() => client.books.list({ where: { title: { gt: 'a' } } }));
  // @ts-expect-error a list of values
  compile(() => client.books.list({ where: { title: { in: 'a' } } }));
  // @ts-expect-error an unknown field of the related record
  compile(() => client.books.list({ where: { 'authors.nme': 'Ada' } }));
  // @ts-expect-error the reference is not filterable
  compile(() => client.books.list({ where: { 'editor.status': 'active' } }));
});

test('lists are sorted, searched and paged by what the declaration allows', async () => {
  const page = await client.books.list({ q: 'x', sort: ['-title', 'createdAt'], limit: 5, deleted: 'only' });
  expectTypeOf(page.meta.limit).toEqualTypeOf<number>();
  expectTypeOf((await page.next())?.data[0]?.title).toEqualTypeOf<string | undefined>();
  compile(() => client.loans.list({ sort: '-book.title' }));
  compile(() => client.authors.list({ sort: ['publisher.name', '-name'] }));
  // @ts-expect-error a field that is not sortable
  compile(() => client.books.list({ sort: 'genre' }));
  // @ts-expect-error lists cannot be sorted by several references
  compile(() => client.books.list({ sort: 'authors.name' }));
  // @ts-expect-error the resource is not searchable
  compile(() => client.loans.list({ q: 'x' }));
  // @ts-expect-error deleted records are not kept
  compile(() => client.loans.list({ deleted: 'only' }));
  // @ts-expect-error an unknown parameter
  compile(() => client.books.list({ limt: 5 }));
});

test('inputs contain the fields that clients may set', async () => {
  const file = (await client.books.get('x')).cover;
  compile(() =>
    client.books.create({ isbn: '1', title: 'x', authors: ['x'], published: new Date(), price: 5, code: 'x' }),
  );
  compile(() => client.books.update('x', { title: 'y', pages: null, cover: 'id', scans: [{ id: 'x' }] }));
  if (file) compile(() => client.books.update('x', { cover: file }));
  // @ts-expect-error the title is required
  compile(() => client.books.create({ isbn: '1', authors: [] }));
  // @ts-expect-error an unknown field
  compile(() => client.books.create({ isbn: '1', title: 'x', authors: [], titel: 'x' }));
  // @ts-expect-error clients cannot set a read-only field
  compile(() => client.books.update('x', { stock: 1 }));
  // @ts-expect-error clients cannot set a hidden field
  compile(() => client.books.update('x', { secret: 'x' }));
  // @ts-expect-error clients cannot change an immutable field
  compile(() => client.books.update('x', { isbn: '2' }));
  // @ts-expect-error a required field cannot be cleared
  compile(() => client.books.update('x', { title: null }));
  // @ts-expect-error the owner is set by the server
  compile(() => client.loans.create({ book: 'x', reader: 'y' }));
  // @ts-expect-error passwords have routes of their own
  compile(() => client.users.update('x', { password: 'x' }));
});

test('only the methods exist whose routes the resource has', () => {
  compile(() => client.books.restore('x'));
  compile(() => client.books.upsert('isbn', { isbn: '1', title: 'x', authors: [] }));
  // @ts-expect-error the field is not unique
  compile(() => client.books.upsert('title', { isbn: '1', title: 'x', authors: [] }));
  // @ts-expect-error the resource cannot be changed
  compile(() => client['shop/houses'].create({ name: 'x' }));
  // @ts-expect-error deleted records are not kept
  compile(() => client.loans.restore('x'));
  // @ts-expect-error the resource has no aggregates
  compile(() => client.loans.aggregate({ count: true }));
  // @ts-expect-error only the routes of the extension change memberships
  compile(() => client.memberships.update('x', { role: 'owner' }));
  // @ts-expect-error there is no such resource
  compile(() => client.articles);
});

test('aggregates take the fields that are opened for them', async () => {
  const { data } = await client.books.aggregate({
    group: ['genre', { month: 'published' }],
    count: true,
    sum: ['pages', 'price'],
    max: ['published'],
    where: { 'authors.name': 'Ada' },
  });
  expectTypeOf(data[0]!.group.genre).toEqualTypeOf<'novel' | 'poetry' | null>();
  expectTypeOf(data[0]!.group['month(published)']).toEqualTypeOf<string | null>();
  expectTypeOf(data[0]!.count).toEqualTypeOf<number>();
  expectTypeOf(data[0]!.sum).toEqualTypeOf<{ pages: number | null; price: string | null }>();
  expectTypeOf(data[0]!.max.published).toEqualTypeOf<string | null>();
  // @ts-expect-error a field that is not aggregatable
  compile(() => client.books.aggregate({ group: ['title'] }));
  // @ts-expect-error a field without numbers
  compile(() => client.books.aggregate({ sum: ['genre'] }));
  // @ts-expect-error a date without a bucket
  compile(() => client.books.aggregate({ group: ['published'] }));
  // @ts-expect-error an unknown parameter
  compile(() => client.books.aggregate({ grup: ['genre'] }));
});

test('custom routes are called by their names, with the types of their schemas', async () => {
  const loan = await client.books.call('POST /:id/lend', { params: { id: 'x' }, input: { to: 'y' } });
  expectTypeOf(loan.returned).toEqualTypeOf<boolean>();
  const newest = await client.books.call('GET /newest');
  expectTypeOf(newest[0]!.title).toEqualTypeOf<string>();
  if (typeof newest[0]!.editor === 'object') expectTypeOf(newest[0]!.editor.name).toEqualTypeOf<string>();
  const price = await client.books.call('GET /:id/price', { params: { id: 'x' } });
  expectTypeOf(price).toEqualTypeOf<{ amount: number; at: string }>();
  expectTypeOf(await client.books.call('POST /sort', { input: { by: 'x' } })).toEqualTypeOf<unknown>();
  // @ts-expect-error there is no such route
  compile(() => client.books.call('POST /:id/lent', { params: { id: 'x' } }));
  // @ts-expect-error the parameter of the path is missing
  compile(() => client.books.call('POST /:id/lend', { input: { to: 'y' } }));
  // @ts-expect-error the input is missing
  compile(() => client.books.call('POST /:id/lend', { params: { id: 'x' } }));
  // @ts-expect-error an input of the wrong type
  compile(() => client.books.call('POST /:id/lend', { params: { id: 'x' }, input: { to: 5 } }));
});

test('a client without a type has every resource, loosely typed', async () => {
  const loose = createClient({ url: 'https://api.example.com' });
  const { data } = await loose.anything!.list({ where: { any: 'x' }, include: ['some'] });
  expectTypeOf(data[0]!.field).toEqualTypeOf<unknown>();
});
