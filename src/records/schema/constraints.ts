import { type Constraint, declaredConstraints, type FieldRange, RANGE_BOUNDS } from '../../declare/constraint.ts';
import { snakeCase } from '../../declare/naming.ts';
import type { AnyResource } from '../../declare/resource.ts';
import { computeShortDigest, quoteIdentifier, shortenIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { constraintConditionSql, findConstraintField, gistValueSql, rangeSql } from './constraint-conditions.ts';

/** A constraint of a resource's table. */
export interface CompiledConstraint {
  /** The name of the constraint; of a unique one, the name of its index. */
  name: string;
  kind: Constraint['kind'];
  /** The fields whose values violate the constraint. */
  fields: readonly string[];
  /** All fields on which the constraint depends. */
  used: readonly string[];
  /** The message for clients; undefined for the general one. */
  message: string | undefined;
  /** The part of the declaration in the database that follows the name: `CHECK ("ends_at" > "starts_at")`. */
  definition: string;
  /** The ranges of an exclusion. */
  ranges: readonly Pick<FieldRange, 'from' | 'to'>[];
  /** For an exclusion: the columns of the values that two conflicting records have in common, quoted. */
  lockedBy: readonly string[];
}

const SUFFIXES = { exclude: 'excl', check: 'check', unique: 'unique' } as const;

type Definition = Pick<CompiledConstraint, 'definition' | 'lockedBy' | 'fields' | 'ranges'>;

/** The SQL that limits a constraint to some records; empty if it applies to all. */
function whereSql(resource: AnyResource, where: unknown, used: Set<string>): string {
  return where === undefined ? '' : ` WHERE (${constraintConditionSql(resource, where, 'where', used)})`;
}

function compileExclusion(
  resource: AnyResource,
  { terms, where }: Extract<Constraint, { kind: 'exclude' }>,
  used: Set<string>,
): Definition {
  const parts: string[] = [];
  const lockedBy: string[] = [];
  const ranges: FieldRange[] = [];
  for (const term of terms) {
    if (typeof term === 'string') {
      const field = findConstraintField(resource, term);
      parts.push(`${gistValueSql(field)} WITH =`);
      lockedBy.push(field.column);
      used.add(term);
      continue;
    }
    const [from, to] = [findConstraintField(resource, term.from), findConstraintField(resource, term.to)];
    if (!RANGE_BOUNDS.includes(term.bounds))
      throw new Error(`"${term.bounds}" are not bounds of a range; bounds: ${RANGE_BOUNDS.join(' ')}`);
    const range = rangeSql(from, to, term.bounds);
    if (range === undefined)
      throw new Error(
        `"${term.from}" and "${term.to}" form no range; a range needs two dates or two numbers of one type`,
      );
    parts.push(`${range} WITH &&`);
    ranges.push(term);
    for (const name of [term.from, term.to]) used.add(name);
  }
  if (lockedBy.length === terms.length)
    throw new Error('an exclusion needs a range; for equal values only, declare unique() instead');
  const fields = [...used];
  const definition = `EXCLUDE USING gist (${parts.join(', ')})${whereSql(resource, where, used)}`;
  return { definition, lockedBy, fields, ranges };
}

function compileUnique(
  resource: AnyResource,
  { fields, where }: Extract<Constraint, { kind: 'unique' }>,
  used: Set<string>,
): Definition {
  if (fields.length === 0) throw new Error('unique() needs at least one field');
  const columns = fields.map((name) => findConstraintField(resource, name).column);
  for (const name of fields) used.add(name);
  return { definition: `(${columns.join(',')})${whereSql(resource, where, used)}`, lockedBy: [], fields, ranges: [] };
}

function compileDefinition(resource: AnyResource, constraint: Constraint, used: Set<string>): Definition {
  if (constraint.kind === 'exclude') return compileExclusion(resource, constraint, used);
  if (constraint.kind === 'unique') return compileUnique(resource, constraint, used);
  const definition = `CHECK (${constraintConditionSql(resource, constraint.condition, 'check', used)})`;
  return { definition, lockedBy: [], fields: [...used], ranges: [] };
}

/**
 * Compiles one constraint, without its final name.
 *
 * @throws Error naming what is wrong with it
 */
export function compileConstraint(resource: AnyResource, constraint: Constraint): Omit<CompiledConstraint, 'name'> {
  const used = new Set<string>();
  const { fields, ...definition } = compileDefinition(resource, constraint, used);
  const isDeclared = (name: string) => Object.hasOwn(resource.fields, name);
  return {
    kind: constraint.kind,
    message: constraint.message,
    ...definition,
    fields: fields.filter(isDeclared),
    used: [...used],
  };
}

/**
 * Compiles the constraints of a resource, with names that no other relation of the schema has.
 *
 * @param used the names that are taken; gets the names of the constraints
 */
export function compileConstraints(resource: AnyResource, table: string, used: Set<string>): CompiledConstraint[] {
  return declaredConstraints(resource).map((declared) => {
    const constraint = compileConstraint(resource, declared);
    const columns = constraint.kind === 'check' ? constraint.used : constraint.fields;
    const plain = `${table}_${columns.map(snakeCase).join('_')}_${SUFFIXES[constraint.kind]}`;
    let name = shortenIdentifier(plain);
    for (let again = 0; used.has(name); again++)
      name = shortenIdentifier(`${plain}_${computeShortDigest(`${constraint.definition} ${again}`)}`);
    used.add(name);
    return { ...constraint, name };
  });
}

/** Describes a constraint for clients. */
export function describeConstraint({ kind, fields, message }: CompiledConstraint): string {
  const names = fields.map((name) => `\`${name}\``).join(', ');
  const general = {
    exclude: 'No two records conflict',
    unique: 'No two records have equal values',
    check: 'The values are allowed together',
  };
  return `${message ?? general[kind]} (${names})`;
}

// A trigger with a condition that takes the lock. The condition follows renames of columns, as the constraint does; the function of the
// trigger is never called, because the condition is always false.
const LOCK_FUNCTION = 'belfry_lock_group';

/**
 * The functions that the triggers of exclusion constraints use. They make writes of records that may conflict wait for each other. Without
 * them, two transactions that insert conflicting rows at the same time would deadlock: Postgres ends one of them after a second.
 */
export const CREATE_LOCK_FUNCTIONS: readonly string[] = [
  `CREATE OR REPLACE FUNCTION ${LOCK_FUNCTION}(VARIADIC text[]) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
  IF array_position($1, NULL) IS NULL THEN PERFORM pg_advisory_xact_lock(hashtextextended(array_to_string($1, ' '), 0)); END IF;
  RETURN false;
END $$;`,
  `CREATE OR REPLACE FUNCTION ${LOCK_FUNCTION}_trigger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;`,
];

/** The statement that creates the trigger of an exclusion constraint, which has its name. */
export function createLockTriggerSql(
  table: string,
  { name, lockedBy }: Pick<CompiledConstraint, 'name' | 'lockedBy'>,
): string {
  const values = [`'${table}'`, ...lockedBy.map((column) => `NEW.${column}::text`)].join(', ');
  return `CREATE TRIGGER ${quoteIdentifier(name)} BEFORE INSERT OR UPDATE ON ${quoteIdentifier(table)} FOR EACH ROW WHEN (${LOCK_FUNCTION}(${values})) EXECUTE FUNCTION ${LOCK_FUNCTION}_trigger();`;
}
