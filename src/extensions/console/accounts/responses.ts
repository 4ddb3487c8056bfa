// What the routes of the tab respond with. Times are ISO 8601.
import type {
  PanelColumn,
  PanelContent,
  PanelFact,
  PanelRow,
  PanelValue,
  PanelValueKind,
  SectionField,
} from '../../../declare/panel-content.ts';

export type { PanelColumn, PanelFact, PanelRow, PanelValue, PanelValueKind, SectionField };

/** What an administrator can do to an account or to a row. */
export interface ShownAction {
  id: string;
  label: string;
  /** The question before the action. */
  confirm: { title: string; text: string } | null;
  isDangerous: boolean;
  /** The message after the action. */
  done: string;
}

/** What a feature shows of an account. */
export interface ShownPanel extends PanelContent {
  id: string;
  label: string;
  columns: readonly PanelColumn[];
  /** What appears here, while there are no rows. */
  empty: string | null;
  /** Why the panel has no content. */
  error: string | null;
  rowActions: readonly ShownAction[];
  accountActions: readonly ShownAction[];
}

/** A form that adds something, such as an invitation. */
export interface ShownForm {
  id: string;
  label: string;
  fields: readonly SectionField[];
  done: string;
}

/** A page of the tab that a feature describes. */
export interface ShownSection {
  id: string;
  label: string;
  intro: string;
  columns: readonly PanelColumn[];
  /** What appears here, while there are no rows. */
  empty: string;
  /** The filter above the rows; the first state is the default. */
  states?: readonly { id: string; label: string }[];
  /** A search that must be filled in. */
  search?: { label: string; hint: string };
  rowActions: readonly ShownAction[];
  form: ShownForm | null;
}

/** What accounts of this app have. */
export interface AccountFacts {
  /** All roles; null: users have no roles. */
  roles: readonly string[] | null;
  /** Whether accounts can be disabled. */
  hasStatus: boolean;
  /** Whether the app verifies e-mail addresses. */
  hasVerification: boolean;
  /** The columns that panels add to the list of users. */
  summaries: { id: string; label: string; kind: PanelValueKind }[];
  sections: ShownSection[];
}

/** What the tab shows of every account. */
export interface AccountInfo {
  id: string;
  email: string;
  name: string | null;
  roles: readonly string[] | null;
  isActive: boolean;
  /** Null if the address is not verified, and if the app does not verify addresses. */
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
  panels: ShownPanel[];
}
