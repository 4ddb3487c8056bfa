import type { Operator } from '../../declare/field.ts';

/** Comparisons of values that are only the same or not. */
export const EQUALITY: readonly Operator[] = ['eq', 'ne', 'in', 'nin', 'exists'];

/** Comparisons of values that have an order. */
export const ORDER: readonly Operator[] = [...EQUALITY, 'gt', 'gte', 'lt', 'lte'];
