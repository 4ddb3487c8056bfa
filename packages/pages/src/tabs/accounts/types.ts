/** A value that a panel shows. Null and an empty text are shown as a dash. */
export type PanelValue = string | number | boolean | string[] | null;

/** How a value is shown. `user`: the id of a user; `record`: the name of a resource and the id of a record, `post/65f0…`. */
export type PanelValueKind = 'text' | 'code' | 'time' | 'list' | 'user' | 'record';

export interface PanelColumn {
  name: string;
  label: string;
  kind?: PanelValueKind;
}

/** A value with its name, above the rows. `tone`: shows the value as a state with this colour. */
export interface PanelFact {
  label: string;
  value: PanelValue;
  kind?: PanelValueKind;
  tone?: 'good' | 'warn' | 'bad' | 'neutral';
}

export interface PanelRow {
  id: string;
  /** By the name of the column. */
  values: Record<string, PanelValue>;
  /** The ids of the actions that this row has now. Left out: all. */
  actions?: string[];
}

/** What an administrator can do to an account or to a row. */
export interface PanelAction {
  id: string;
  label: string;
  /** The question before the action. */
  confirm: { title: string; text: string } | null;
  isDangerous: boolean;
  /** The message after the action. */
  done: string;
}

/** What a feature shows of an account. */
export interface AccountPanel {
  id: string;
  label: string;
  columns: PanelColumn[];
  /** What appears here, while there are no rows. */
  empty: string | null;
  /** Why the panel has no content. */
  error: string | null;
  facts?: PanelFact[];
  rows?: PanelRow[];
  /** The ids of the actions on the account that are possible now. Left out: all. */
  actions?: string[];
  /** A page of the console with more, if the console has its tab. */
  link?: { label: string; href: string };
  rowActions: PanelAction[];
  accountActions: PanelAction[];
}

/** A field of the form of a section. */
export type SectionField =
  | { name: string; label: string; kind: 'email'; hint?: string }
  | { name: string; label: string; kind: 'choices'; choices: string[]; hint?: string };

/** A form that adds something, such as an invitation. */
export interface SectionForm {
  id: string;
  label: string;
  fields: SectionField[];
  done: string;
}

/** A page of the tab that a feature describes. */
export interface AccountSection {
  id: string;
  label: string;
  intro: string;
  columns: PanelColumn[];
  /** What appears here, while there are no rows. */
  empty: string;
  /** The filter above the rows; the first state is the default. */
  states?: { id: string; label: string }[];
  /** A search that must be filled in. */
  search?: { label: string; hint: string };
  rowActions: PanelAction[];
  form: SectionForm | null;
}

/** What accounts of this app have. */
export interface AccountFacts {
  /** All roles; null: users have no roles. */
  roles: string[] | null;
  /** Whether accounts can be disabled. */
  hasStatus: boolean;
  /** Whether the app verifies e-mail addresses. */
  hasVerification: boolean;
  /** The columns that panels add to the list of users. */
  summaries: { id: string; label: string; kind: PanelValueKind }[];
  sections: AccountSection[];
}

/** What the tab shows of every account. Times are ISO 8601. */
interface AccountInfo {
  id: string;
  email: string;
  name: string | null;
  roles: string[] | null;
  isActive: boolean;
  emailVerifiedAt: string | null;
  createdAt: string | null;
}

/** An account in the list. `summary`: the values of the columns that panels add, by the id of the panel. */
export interface AccountItem extends AccountInfo {
  summary: Record<string, PanelValue>;
}

/** An account with its panels. */
export interface Account extends AccountInfo {
  /** Whether it is the account of the administrator. */
  isSelf: boolean;
  panels: AccountPanel[];
}
