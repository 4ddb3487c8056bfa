/** A comparison of a field with a field or a number, such as `endsAt > startsAt` or `seats >= 1`. Operators: `<`, `<=`, `=`, `!=`, `>=`, `>`. */
export type FieldComparison<N extends string> = `${N} ${string}`;

/**
 * Which records meet a condition: a comparison of fields, a filter such as `{ status: 'confirmed', seats: { gte: 1 } }`, or a list of both, of
 * which a record must meet at least one.
 */
export type ConstraintCondition<N extends string> =
  | FieldComparison<N>
  | { readonly [Name in N]?: unknown }
  | readonly (FieldComparison<N> | { readonly [Name in N]?: unknown })[];

/** Options of constraints between records. */
export interface ConstraintOptions<N extends string> {
  /** The records that the constraint applies to. Default: all. */
  where?: ConstraintCondition<N>;
  /** The message of the error. Left out: a general one. */
  message?: string;
}

/** Which ends of a range belong to it: `[` and `]` include the value, `(` and `)` exclude it. */
export const RANGE_BOUNDS = ['[)', '[]', '(]', '()'] as const;

/** The range from the value of one field to the value of another. A missing value leaves the range open at this end. */
export interface FieldRange {
  from: string;
  to: string;
  bounds: (typeof RANGE_BOUNDS)[number];
}

/** A constraint on the records of a resource, which Postgres enforces. */
export type Constraint = { message: string | undefined } & (
  | { kind: 'exclude'; terms: readonly (string | FieldRange)[]; where: unknown }
  | { kind: 'unique'; fields: readonly string[]; where: unknown }
  | { kind: 'check'; condition: unknown }
);

/** Creates constraints, for the option `constraints` of a resource. `N` are the names of its fields. */
export interface ConstraintBuilder<N extends string> {
  /**
   * No two records have equal values of all fields and overlapping ranges. Violations are a 409. Records without a value of one of the fields
   * conflict with no other.
   *
   * @example c.exclude(['court', c.range('startsAt', 'endsAt')], { message: 'The court is booked at that time' })
   */
  exclude(terms: readonly (N | FieldRange)[], options?: ConstraintOptions<N>): Constraint;
  /**
   * The range between the values of two fields of the same type, for `exclude`.
   *
   * @param bounds default `[)`: a range that ends where another one begins does not overlap with it
   */
  range(from: N, to: N, bounds?: FieldRange['bounds']): FieldRange;
  /**
   * Every record meets the condition. Violations are a 422. A comparison of fields counts as met if a value is missing; a filter does not.
   *
   * @example c.check('endsAt > startsAt', 'The end must be after the start')
   */
  check(condition: ConstraintCondition<N>, message?: string): Constraint;
  /**
   * No two records have equal values of all fields. Violations are a 409. Records without a value of one of the fields conflict with no other.
   *
   * @example c.unique(['court', 'number'], { where: { status: 'active' } })
   */
  unique(fields: readonly N[], options?: ConstraintOptions<N>): Constraint;
}

const BUILDER: ConstraintBuilder<string> = {
  exclude: (terms, { where, message } = {}) => ({ kind: 'exclude', terms, where, message }),
  range: (from, to, bounds = '[)') => ({ from, to, bounds }),
  check: (condition, message) => ({ kind: 'check', condition, message }),
  unique: (fields, { where, message } = {}) => ({ kind: 'unique', fields, where, message }),
};

/** The constraints that a resource declares. Throws what the function of the declaration throws. */
export function declaredConstraints({
  constraints,
}: {
  // biome-ignore lint/suspicious/noExplicitAny: the builder of any fields
  constraints?: ((constraint: ConstraintBuilder<any>) => readonly Constraint[]) | undefined;
}): readonly Constraint[] {
  return constraints?.(BUILDER) ?? [];
}
