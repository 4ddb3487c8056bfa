import type { LoadRequest } from '../measure/load.ts';
import { ARTICLES, PASSWORD, USERS } from '../setup/seed.ts';
import { createNewArticle, getCategory } from './articles.ts';
import type { Side } from './side.ts';

/** A measured operation of servers. */
export interface Operation {
  /** As in the table. */
  title: string;
  /** Whether the database is restored before each turn. */
  writes: boolean;
  connections: number;
  minSeconds: number;
  /** Returns what creates the next request of a connection. undefined if the side does not have the operation. */
  prepare(side: Side): ((connection: number) => LoadRequest) | undefined;
}

let created = 0;

const randomBelow = (count: number) => Math.floor(Math.random() * count);
const randomArticle = () => randomBelow(ARTICLES);
/** Each connection is signed in as its own user. */
const toUser = (connection: number) => connection % USERS;
const load = { writes: false, connections: 20, minSeconds: 0 };

/** Operations on articles and accounts. The last one adds sessions, so that no other may follow. */
export const OPERATIONS: readonly Operation[] = [
  {
    ...load,
    title: 'read by id',
    prepare: ({ articles }) => articles && ((connection) => articles.read(toUser(connection), randomArticle())),
  },
  {
    ...load,
    title: 'list of 20 with total',
    prepare: ({ articles }) =>
      articles && ((connection) => articles.list(toUser(connection), getCategory(randomArticle()), true)),
  },
  {
    ...load,
    title: 'list of 20 without total',
    prepare: ({ articles }) =>
      articles && ((connection) => articles.list(toUser(connection), getCategory(randomArticle()), false)),
  },
  {
    ...load,
    title: 'create',
    writes: true,
    prepare: ({ articles }) =>
      articles && ((connection) => articles.create(toUser(connection), createNewArticle(created++))),
  },
  {
    ...load,
    title: 'update',
    writes: true,
    prepare: ({ articles }) =>
      articles &&
      ((connection) => {
        const user = toUser(connection);
        const changes = { title: `Changed ${created++}`, views: created };
        return articles.update(user, randomBelow(ARTICLES / USERS) * USERS + user, changes);
      }),
  },
  {
    ...load,
    title: 'session look-up',
    prepare:
      ({ accounts }) =>
      (connection) =>
        accounts.readSession(toUser(connection)),
  },
  {
    ...load,
    title: 'sign-in with password',
    connections: 2,
    // A sign-in can take a fifth of a second, so shorter turns would count too few.
    minSeconds: 4,
    prepare:
      ({ accounts }) =>
      () =>
        accounts.signIn(toUser(created++), PASSWORD),
  },
];
