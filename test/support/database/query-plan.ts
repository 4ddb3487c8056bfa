/** A node of a plan as `explain (analyze, format json)` returns it. */
export interface PlanNode {
  Plans?: PlanNode[];
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
}

/** Returns the number of rows of some tables, including their partitions, that the scans of a plan read. */
export function rowsRead(node: PlanNode, tables: readonly string[]): number {
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  const below = (node.Plans ?? []).reduce((sum, one) => sum + rowsRead(one, tables), 0);
  // A partition has the name of its table and a suffix.
  const table = (node['Relation Name'] ?? '').replace(/_(?:default|\d{8})$/, '');
  return below + (tables.includes(table) ? (node['Actual Rows'] + removed) * node['Actual Loops'] : 0);
}
