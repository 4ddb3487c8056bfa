import type { PanelColumn, PanelContent, PanelRow, PanelValue, PanelValueKind, SectionField } from './panel-content.ts';
import type { Route, RouteContext } from './route.ts';

/** The account, and the row if the action is about one. */
export interface AccountTarget {
  userId: string;
  rowId: string;
}

/** What an administrator can do to an account or to a row. */
export interface PanelAction<Target> {
  /** What has happened then, in camelCase: `sessionEnded` is recorded in the audit trail as `console.sessionEnded`. Unique in its panel. */
  id: string;
  /** The text of the button. */
  label: string;
  /** The question before the action, with its consequences. Left out: the action runs at once. */
  confirm?: { title: string; text: string };
  isDangerous?: boolean;
  /**
   * Whether an administrator who has a second factor must send a code of it: for actions that weaken or remove a second factor of another user.
   * Default: false.
   */
  needsSecondFactor?: boolean;
  /** The message after the action. */
  done: string;
  /**
   * Carries the action out, with the same events, e-mails and revocations as the routes of the feature. In development `ctx.user` is undefined:
   * the action is one of the system.
   *
   * @throws ApiError that says why the action is not possible, such as NOT_FOUND if the row is gone
   */
  run(target: Target, ctx: RouteContext): Promise<void>;
}

/**
 * A part of the page of an account in the console: data of a feature about one user, and what administrators can do with it. The console
 * renders it, and offers `actions` as routes that the audit trail records. Apps without a console ignore panels.
 */
export interface AccountPanel {
  /** Lowercase letters and hyphens; unique. */
  id: string;
  /** The heading. */
  label: string;
  columns?: readonly PanelColumn[];
  /** Says what appears here and what makes it appear, while there are no rows. */
  empty?: string;
  /**
   * Reads what the panel shows, in few queries: the panels of an account are read at the same time.
   *
   * @returns undefined to leave the panel out for this account
   */
  read(userId: string): Promise<PanelContent | undefined>;
  /** Actions on each row. */
  rowActions?: readonly PanelAction<AccountTarget>[];
  /** Actions on the whole account. */
  accountActions?: readonly PanelAction<Pick<AccountTarget, 'userId'>>[];
  /** A column of the list of all users, in one query for each page. Users without an entry have no value. */
  summary?: {
    label: string;
    kind?: PanelValueKind;
    read(userIds: readonly string[]): Promise<ReadonlyMap<string, PanelValue>>;
  };
}

/** A form that adds something, such as an invitation. */
export interface SectionForm {
  /** As in `PanelAction`. */
  id: string;
  /** The text of the button that opens the form, and its heading. */
  label: string;
  fields: readonly SectionField[];
  /** The schema of the body, which has a property for each field. */
  input: NonNullable<Route['input']>;
  done: string;
  /** @param ctx `ctx.input` has the values, checked by `input` */
  run(ctx: RouteContext): Promise<void>;
}

/** What a section is asked for. */
export interface SectionQuery {
  /** One of the section's states; undefined: all rows. */
  state: string | undefined;
  /** The text of the search; undefined: none. */
  search: string | undefined;
  /** The `next` of the previous page. */
  after: string | undefined;
  limit: number;
}

/** A page of the console's accounts that is about many users or about addresses without an account, such as invitations. */
export interface AccountSection {
  /** Lowercase letters and hyphens; unique, and none of the ids of panels. */
  id: string;
  label: string;
  /** What the section is for. */
  intro: string;
  columns: readonly PanelColumn[];
  /** Says what appears here and what makes it appear, while there are no rows. */
  empty: string;
  /** The filter above the rows; the first state is the default. */
  states?: readonly { id: string; label: string }[];
  /** A search that must be filled in, for data that cannot be listed. */
  search?: { label: string; hint: string };
  /** @throws ApiError BAD_REQUEST for an invalid query */
  read(query: SectionQuery): Promise<{ rows: readonly PanelRow[]; next: string | null }>;
  rowActions?: readonly PanelAction<Pick<AccountTarget, 'rowId'>>[];
  form?: SectionForm;
}
