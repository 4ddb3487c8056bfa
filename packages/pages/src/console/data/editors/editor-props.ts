import type { ComponentType } from 'preact';
import type { FieldInfo, Labels, ResourceInfo, StoredRecord } from '../app-info.ts';

/** What the control for the values of a field gets. */
export interface ValueProps {
  id: string;
  field: FieldInfo;
  /** The resource of the record; left out: the value belongs to no record, and neither files nor secrets can be set. */
  resource?: ResourceInfo | undefined;
  /** Narrowed by each editor to the values of its type. */
  value: unknown;
  /** Of a value that the server does not return, `undefined` keeps the stored one. */
  onChange: (value: unknown) => void;
  labels: Labels | undefined;
  invalid?: boolean;
  describedBy?: string;
  isNew?: boolean;
  /** The record that exists already, and its stored value of the field. */
  record?: StoredRecord;
  saved?: unknown;
}

export interface EditorProps extends ValueProps {
  /** The control for the values within this one. */
  Inner: ComponentType<ValueProps>;
}

/** The attributes that connect a control with its error and its description. */
export const ariaProps = ({ invalid, describedBy }: Pick<ValueProps, 'invalid' | 'describedBy'>) =>
  ({ 'aria-invalid': invalid ? 'true' : undefined, 'aria-describedby': describedBy }) as const;
