import { normalizeResourceName } from './naming.ts';

/** What happens to a record when the record that it refers to is deleted. `remove`: the id is removed from the list of references. */
export type OnDelete = 'restrict' | 'cascade' | 'setNull' | 'keep' | 'remove';

/** The options of a reference: `f.ref('organisation', { onDelete: 'cascade' })`. */
export interface ReferenceOptions {
  /**
   * What happens when the record that the field refers to is deleted. `restrict`: the deletion is refused. `cascade`: the referring record is
   * deleted too. `setNull`: the field is cleared. `keep`, the default: nothing. All but `keep` imply `exists` and add a foreign key.
   */
  onDelete?: 'restrict' | 'cascade' | 'setNull' | 'keep';
  /** Whether a write that sets the field checks that the record exists. Default false, or true with `onDelete`. */
  exists?: boolean;
}

/** The options of a list of references: `f.refs('tag', { max: 20 })`. */
export interface ReferenceListOptions {
  /** What happens when a record in the list is deleted. `remove`, the default: its id is removed from the list. `restrict`: the deletion is refused. */
  onDelete?: 'remove' | 'restrict';
  /** Maximum number of references, up to 1000. Default 1000. */
  max?: number;
}

/** The options of a reverse relation: `f.reverse('comment', 'post', { limit: 5 })`. */
export interface ReverseRelationOptions {
  /** Maximum number of records that `include` returns for each record, up to 100. Default 20. */
  limit?: number;
}

/** A reverse relation: the records of another resource that refer to a record. Created with `f.reverse`. */
export class ReverseRelation<Target extends string = string> {
  /** The name of the resource whose records refer to this one. */
  readonly target: Target;
  /** The field of that resource that holds the reference. */
  readonly field: string;
  /** Maximum number of records that `include` returns for each record. */
  readonly limit: number;
  /** The names of options that do not exist, which plain JavaScript can pass: a configuration error. */
  readonly unknownOptions: readonly string[];

  constructor(target: string, field: string, { limit = 20, ...unknown }: ReverseRelationOptions = {}) {
    this.target = normalizeResourceName(target) as Target;
    this.field = field;
    this.limit = limit;
    this.unknownOptions = Object.keys(unknown);
  }
}
