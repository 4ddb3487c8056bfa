// What the routes of the app and its records respond with. Members that are undefined are left out of the response.

/** The files of a tab that is not part of the frame. */
export interface TabFiles {
  entry: string;
  scripts: readonly string[];
  styles: readonly string[];
}

/** A tab in the navigation. */
export interface TabLink {
  id: string;
  label: string;
  path: string;
  /** Left out: the tab is part of the frame. */
  page?: TabFiles;
}

/** A record with the text that names it. */
export interface RecordOption {
  id: string;
  label: string;
  /** Of a user, in a picker: two users may have the same name. */
  email?: string;
}

/** What the pages of the console know about the app. `GET /console/api/app` */
export interface AppInfo {
  name: string;
  mode: 'development' | 'production';
  /** The script that starts the console in the version of the server. */
  script: string;
  /** The administrator who is signed in; null in development. */
  user: RecordOption | null;
  features: Readonly<Record<'softDelete' | 'audit' | 'realtime' | 'files' | 'organisations' | 'signInPages', boolean>>;
  tabs: readonly TabLink[];
  resources: readonly ResourceInfo[];
}

/** An action of the API of a resource. */
export type Action = 'list' | 'read' | 'create' | 'update' | 'delete';

/** What the pages of the console know about a resource. */
export interface ResourceInfo {
  name: string;
  /** The path of its routes, below `/api`. */
  path: string;
  label: string;
  plural: string;
  /** The path of its icon, drawn with a stroke on 16 × 16. */
  icon: string;
  description?: string | undefined;
  timestamps: boolean;
  /** The CRUD routes that exist. */
  crud: readonly Action[];
  softDelete: boolean;
  /** Whether the audit trail records every change. */
  audit: boolean;
  defaultSort: string;
  ownerField?: string | undefined;
  /** The field whose values name records; left out: a template of `titleFields` does, or their ids. */
  labelField?: string | undefined;
  /** The fields in the template that names records. */
  titleFields?: readonly string[] | undefined;
  /** The texts of the policies. */
  policies: Readonly<Record<Action | 'reference', string>>;
  /** Whether a scope filter limits which records exist for a viewer. */
  hasScope: boolean;
  searchable: boolean;
  fields: readonly FieldInfo[];
  relations: readonly ReferringField[];
}

/** The records of a resource that refer to a record. */
export interface ReferringField {
  /** A name that is unique among the relations of the resource: that of the declared relation, or one made of the referring resource. */
  name: string;
  /** The resource of the referring records. */
  resource: string;
  /** The field of these records that holds the reference. */
  field: string;
}

/** What the pages of the console know about a field. Fields that are not of records have no flags. */
export interface FieldInfo {
  name: string;
  /** The name for people. */
  label: string;
  /** The kind of its type: `string`, `date`, … */
  type: string;
  required: boolean;
  /** Left out if there is none, or if a function computes it: then `computedDefault` is true. */
  default?: unknown;
  computedDefault?: true;
  description?: string;
  example?: unknown;
  /** Of an enum. */
  values?: readonly string[];
  /** The name of the resource that a reference, or a list of references, leads to. */
  target?: string;
  /** The items of an array. */
  inner?: FieldInfo;
  /** The members of an object. */
  shape?: readonly FieldInfo[];
  min?: number | string;
  max?: number | string;
  /** The source of the regular expression that texts must match. */
  pattern?: string;
  unique?: boolean;
  immutable?: boolean;
  readOnly?: boolean;
  hidden?: boolean;
  writeOnly?: boolean;
  encrypted?: boolean;
  /** Whether the field holds personal data. */
  pii?: boolean;
  owner?: boolean;
  /** Whether the field holds the organisation that the record belongs to. */
  tenant?: boolean;
  /** The text of the policy. */
  visibleTo?: string;
  /** The text of the policy. */
  writableBy?: string;
  /** The operators of filters in the console. */
  operators: readonly string[];
  /** The operators that clients of the API may use, which limit filters in "View as…". */
  clientOperators: readonly string[];
  sortable?: boolean;
  /** Whether clients of the API may sort by the field. */
  clientSortable?: boolean;
  searchable?: boolean;
  file?: { maxBytes: number; types: readonly string[]; image: boolean; many: boolean };
  deprecated?: { since: string; sunset?: string; use?: string; link?: string };
  /** Of users: whether the field is changed only in the Accounts tab, or is set here only in a new user. */
  accounts?: 'never' | 'create';
}

/** A record as the server sends it. */
export type StoredRecord = Readonly<Record<string, unknown>> & { readonly id: string };

/** The texts that name records, by id, as the server makes them of what the viewer gets. */
export type Titles = Readonly<Record<string, string>>;

/** The labels of referenced records, by resource and id. */
export type Labels = Readonly<Record<string, Readonly<Record<string, string>>>>;
