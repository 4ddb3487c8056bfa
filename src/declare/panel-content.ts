/** A value that a panel shows: text for people, a list of texts, or a time in ISO 8601. Null and an empty text are shown as a dash. */
export type PanelValue = string | number | boolean | readonly string[] | null;

/** How a value is shown. Default: as plain text. `word`: a word of the feature, such as a state, in the language of the console. */
export type PanelValueKind = 'text' | 'word' | 'code' | 'time' | 'list' | 'user' | 'record';

/** A column of the rows. */
export interface PanelColumn {
  name: string;
  label: string;
  /**
   * `user`: the value is the id of a user, which becomes a link; other text is shown as it is. `record`: the name of a resource and the id of a
   * record, `post/65f0…`.
   */
  kind?: PanelValueKind;
}

/** A value with its name, above the rows. */
export interface PanelFact {
  label: string;
  value: PanelValue;
  kind?: PanelValueKind;
  /** Shows the value as a state with this colour. */
  tone?: 'good' | 'warn' | 'bad' | 'neutral';
}

/** A row, such as a session. */
export interface PanelRow {
  /** Identifies the row for actions: up to 320 characters. */
  id: string;
  /** By the name of the column. */
  values: Readonly<Record<string, PanelValue>>;
  /** The ids of the actions that this row has now. Left out: all. */
  actions?: readonly string[];
}

/** What a panel shows of one account. It must contain no secrets, tokens or hashes. */
export interface PanelContent {
  facts?: readonly PanelFact[];
  rows?: readonly PanelRow[];
  /** The ids of the actions on the whole account that are possible now. Left out: all. */
  actions?: readonly string[];
  /** A page of the console with more. It is shown if the console has a tab of this path. */
  link?: { label: string; href: string };
}

/** A field of the form of a section. */
export type SectionField =
  | { name: string; label: string; kind: 'email'; hint?: string }
  | { name: string; label: string; kind: 'choices'; choices: readonly string[]; hint?: string };
