import type { LoadRequest } from '../measure/load.ts';
import type { Child } from '../setup/children.ts';

/** What all sides store. */
export interface Article {
  title: string;
  body: string;
  category: string;
  status: string;
  tags: string[];
  views: number;
}

/** A page of articles, as a side returned it. `total` is undefined if the side did not count. */
export interface Page {
  articles: Article[];
  total: number | undefined;
}

/** How a side does the operations on articles. Articles and users are counted from 0, as in the seed. */
export interface ArticleApi {
  read(user: number, article: number): LoadRequest;
  /** Lists the newest 20 articles of a category. */
  list(user: number, category: string, isCounted: boolean): LoadRequest;
  create(user: number, article: Article): LoadRequest;
  /** Changes two fields of an article whose author is the user. */
  update(user: number, article: number, changes: Pick<Article, 'title' | 'views'>): LoadRequest;
  /** Reads the response to `read`. */
  parseArticle(response: unknown): Article;
  /** Reads the response to `list`. */
  parsePage(response: unknown): Page;
}

/** How a side does the operations on accounts. */
export interface AccountApi {
  /** Reads the signed-in user, by a session that the server looks up. */
  readSession(user: number): LoadRequest;
  signIn(user: number, password: string): LoadRequest;
  /** Returns whether the response to `readSession` tells that this user is signed in. */
  isUser(user: number, response: unknown): boolean;
}

/** A server that takes part in the comparison, with a process and a database of its own. */
export interface Server {
  process: Child;
  accounts: AccountApi;
  articles?: ArticleApi;
  /** Removes what was written since the seed, so that the next turn finds the same database. */
  reset(): Promise<void>;
}

/** A server with its name in the table. */
export interface Side extends Server {
  title: string;
}
