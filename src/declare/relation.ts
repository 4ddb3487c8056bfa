import { normalizeResourceName } from './naming.ts';

/** A reverse relation: the records of another resource that refer to a record. Created with `f.reverse`. */
export class ReverseRelation {
  /** The name of the resource whose records refer to this one. */
  readonly target: string;
  /** The field of that resource that holds the reference. */
  readonly field: string;

  constructor(target: string, field: string) {
    this.target = normalizeResourceName(target);
    this.field = field;
  }
}
